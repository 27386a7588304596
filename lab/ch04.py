"""Chapter 4: what becomes of the gradient of a vanilla language model: before, during and after training."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from lab.experiment import CHOSEN_BY, Config, Experiment, Metric, model, recipe, text
from lab.texts import encoded
from lab.training import NATS, fit, model_of, recipe_of
from unrolled import cells, settings
from unrolled.measure import evaluate, gradients
from unrolled.models import LanguageModel
from unrolled.training import train


def untrained(config: Config, vocab_size: int) -> LanguageModel:
    """Return the untrained model of a configuration, its cell drawn last and with the ``initialisation`` named there.

    Where the initialisation is None, the recurrent weights begin as PyTorch's do. The input weights are drawn with the
    standard deviation ``input_deviation``, where there is one.
    """
    model = model_of(config, vocab_size)
    cell = model.core.layers[0]
    model.core.layers[0] = cell = cells.RNNCell(cell.input_size, cell.hidden_size, **cell.options())
    if config["initialisation"] is not None:
        cells.initialise(cell, config["initialisation"])
    if "input_deviation" in config:
        nn.init.normal_(cell.W_xh, std=config["input_deviation"])
    return model


def trial(config: Config, seed: int, folder: Path) -> dict:
    """Train a network at one of the rates; all begin with the same weights."""
    read = encoded(config)
    network = fit(config | {"validations": 0}, seed, folder, text=read, untrained=partial(untrained, config)).model
    return {CHOSEN_BY: evaluate(network, read.held_out).nats_per_symbol}


def last_loss(model: LanguageModel, targets: torch.Tensor) -> gradients.Loss:
    """Return the loss of the last prediction, nats a sequence, as a function of the last state; targets (batch,)."""
    return lambda last: cross_entropy(model.output(last), targets, reduction="none")


def probe(model: LanguageModel, tokens: torch.Tensor) -> dict:
    """Measure what happens to the last prediction's gradient on its way back through tokens (batch, time + 1).

    Returns:
        ``lag``, ``lyapunov``, ``slope`` and ``log_slope`` as `LAG` declares them, each for one moment of the training.
    """
    cell = model.core.layers[0]
    with torch.no_grad():
        inputs = model.embed(tokens[:, :-1])
        slopes = gradients.slopes(cells.unroll(cell, inputs)[0], cell.nonlinearity)
    norms = gradients.gradient_by_lag(cell, inputs, last_loss(model, tokens[:, -1]))
    return {
        "lag": (norms / norms[:, :1]).median(dim=0).values.tolist(),
        "lyapunov": gradients.lyapunov(cell, inputs).clamp(min=-1e3).mean().item(),
        "slope": slopes.mean().item(),
        "log_slope": slopes.clamp(min=1e-12).log().mean().item(),
    }


def windows_of(tokens: torch.Tensor, sequences: int, steps: int) -> torch.Tensor:
    """Return so many windows from all over the text, of `steps` inputs and a target: (sequences, steps + 1)."""
    starts = torch.linspace(0, len(tokens) - steps - 1, sequences).long()
    return tokens[starts[:, None].to(tokens.device) + torch.arange(steps + 1, device=tokens.device)]


def train_watched(config: Config, seed: int, watch: Callable[[LanguageModel, int, torch.Tensor], None]) -> float:
    """Train one model; call ``watch(model, updates done, held-out numbers)`` before the first update and after each.

    Returns:
        Nats per character on the held-out text.
    """
    read = encoded(config)
    held_out = read.held_out.to(settings.device())
    torch.manual_seed(seed)
    model = untrained(config, len(read.vocabulary)).to(settings.device())
    watch(model, 0, held_out)
    train(model, read.training, recipe_of(config), watch=lambda done: watch(model, done, held_out), progress=False)
    return evaluate(model, held_out).nats_per_symbol


def measure_lag(config: Config, seed: int, folder: Path) -> dict:
    """Train; measure the gradient at the start and at the end, and the singular values on the way."""
    singular, probes = [], []

    def watch(model: LanguageModel, done: int, held_out: torch.Tensor) -> None:
        if done in config["watched"]:
            values = torch.linalg.svdvals(model.core.layers[0].W_hh.detach().double())  # the largest first
            singular.append([values[0].item(), values.median().item(), values[-1].item()])
        if done in (0, config["recipe"]["updates"]):
            probes.append(probe(model, windows_of(held_out, config["sequences"], config["steps"])))

    nats = train_watched(config, seed, watch)
    return {"nats": nats, "singular": singular} | {name: [each[name] for each in probes] for name in probes[0]}


LAG = {
    "nats": NATS,
    "singular": Metric("", "the largest, the median and the smallest singular value of W_hh", ("watched", "value")),
    "lag": Metric(
        "", "median over the sequences of ‖∂L_T/∂h_t‖ as a share of ‖∂L_T/∂h_T‖, by the lag T − t", ("when", "lag")
    ),
    "lyapunov": Metric("nats a step", "the largest Lyapunov exponent, on average over the sequences", ("when",)),
    "slope": Metric("", "the mean of φ′", ("when",)),
    "log_slope": Metric("nats", "the mean of ln φ′, with slopes below 1e-12 counted as that", ("when",)),
}


def lag_axes(config: Config) -> dict:
    """Return the coordinates of the axes of `LAG`."""
    return {
        "watched": config["watched"],
        "value": ("largest", "median", "smallest"),
        "when": ("before", "after"),  # training
        "lag": range(config["steps"] + 1),
    }


def recurrent_gradient(
    cell: cells.Cell, inputs: torch.Tensor, loss: gradients.Loss, state: cells.State | None = None
) -> np.ndarray:
    """Return the elements of ∂L_T/∂W_hh as one vector, ready for a histogram.

    L_T is the mean of the sequences' losses after the last step; the derivative is total. The gradients stored with the
    weights do not change.

    Args:
        cell, inputs, loss, state: as in `gradients.gradient_by_lag`.

    Returns:
        The elements, (blocks · hidden_size²,). A gated cell has a block for each gate and candidate, in the order of
        `cell.blocks`.

    Example:
        >>> from unrolled.cells import RNNCell
        >>> recurrent_gradient(RNNCell(1, 4), torch.ones(2, 3, 1), lambda last: last.sum(1)).shape
        (16,)
    """
    with torch.enable_grad():
        states, _ = cells.unroll(cell, inputs, state)
        (gradient,) = torch.autograd.grad(loss(states[:, -1]).mean(), [cell.W_hh])
    return gradient.flatten().cpu().numpy()


def measure_histogram(config: Config, seed: int, folder: Path) -> dict:
    """Train with windows of T steps; halfway, take the last prediction's gradient with respect to W_hh."""
    axes, seq_len, seen = histogram_axes(config), config["recipe"]["seq_len"], {}
    edges, steps = np.array([-config["reach"], *axes["bin"]]), axes["steps"]

    def watch(model: LanguageModel, done: int, held_out: torch.Tensor) -> None:
        if done != config["recipe"]["updates"] // 2:
            return
        cell, tokens = model.core.layers[0], windows_of(held_out, config["sequences"], steps[-1])
        inputs, loss = model.embed(tokens[:, :-1]).detach(), last_loss(model, tokens[:, -1])
        entries = recurrent_gradient(cell, inputs[:, -seq_len:], loss)
        seen["counts"] = np.histogram(np.clip(entries, edges[0], edges[-1]), edges)[0].tolist()
        seen["spread"] = float(entries.std())
        with torch.no_grad():
            _, last = cells.unroll(cell, inputs[:, -seq_len:])
            seen["loss"] = loss(last).mean().item()
            states, _ = cells.unroll(cell, inputs)  # (batch, time, hidden)
            before = torch.cat([torch.zeros_like(states[:, :1]), states[:, :-1]], dim=1)
        seen["by_steps"] = [float(recurrent_gradient(cell, inputs[:, -m:], loss, before[:, -m]).std()) for m in steps]

    return {"nats": train_watched(config, seed, watch)} | seen


HISTOGRAM = {
    "nats": NATS,
    "counts": Metric(
        "entries of W_hh",
        "how many have a gradient in each bin (the outermost take the rest), through a window of T steps that begins "
        "with an empty state, as in training",
        ("bin",),
    ),
    "spread": Metric("", "the standard deviation of that gradient over the entries"),
    "loss": Metric("nats per character", "the mean loss of the last predictions"),
    "by_steps": Metric(
        "",
        "the same spread, where the states are those of the longest window, but the gradient is followed through the "
        "last 1, 2, 4 … steps only",
        ("steps",),
    ),
}


def histogram_axes(config: Config) -> dict:
    """Return the coordinates of the axes of `HISTOGRAM`: the upper edges of the bins, and the numbers of steps."""
    edges = np.linspace(-config["reach"], config["reach"], config["bins"] + 1)
    return {"bin": edges[1:].tolist(), "steps": [2**power for power in range(config["longest"].bit_length())]}


WATCHED = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000]
STARTS = {  # nonlinearity, initialisation of W_hh, and what else
    "tanh": ("tanh", None, {}),
    "sigmoid": ("sigmoid", None, {}),
    "orthogonal": ("tanh", "orthogonal", {}),
    "irnn": ("relu", "identity", {}),
    "irnn, small inputs": ("relu", "identity", {"input_deviation": 1e-3}),  # as Le et al. 2015 draw it
}
RATES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)


def _vanilla(kind: str) -> Config:
    nonlinearity, initialisation, more = STARTS[kind]
    network = model("LanguageModel", hidden_size=128, cell_options={"nonlinearity": nonlinearity})
    return {"model": network, "initialisation": initialisation} | more


SIZE = {"updates": 2000, "symbols_per_update": 2048}


def _by_lag(kind: str) -> Config:
    """Return a network before its learning rate is chosen."""
    probed = {"sequences": 64, "steps": 128, "watched": WATCHED}
    return _vanilla(kind) | {"text": text("stories", 2_000_000), "recipe": recipe(**SIZE, seq_len=64)} | probed


BY_WINDOW = {  # labelled by T
    str(seq_len): _vanilla("tanh")
    | {"text": text("tinystories-sample")}
    | {"recipe": recipe(**SIZE, seq_len=seq_len, learning_rate=1e-2, carry=False)}
    | {"sequences": 64, "reach": 0.03, "bins": 120, "longest": 64}
    for seq_len in (16, 32, 64)
}

EXPERIMENTS = (
    Experiment(
        "gradient-lag",
        "Stories: the last prediction's gradient against lag, before and after training, for five beginnings",
        LAG,
        {kind: _by_lag(kind) for kind in STARTS},
        measure_lag,
        lag_axes,
        seeds=5,
        trials={kind: [{"learning_rate": rate} for rate in RATES] for kind in STARTS},
        trial=trial,
        small={"watched": [0, 1, 3], "sequences": 4, "steps": 8},
    ),
    Experiment(
        "gradient-histogram",
        "TinyStories sample: the last prediction's gradient by W_hh, halfway through training on windows of 16, 32, 64",
        HISTOGRAM,
        BY_WINDOW,
        measure_histogram,
        histogram_axes,
        seeds=5,
    ),
)
