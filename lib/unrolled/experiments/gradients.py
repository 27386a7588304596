"""The experiments of chapter 4 that watch the gradient of a language model, before, during and after training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from unrolled import cells, settings
from unrolled.cells import initialise
from unrolled.experiments.base import Experiment, kept, recipe_of, texts
from unrolled.measure import evaluate, gradients
from unrolled.models import LanguageModel
from unrolled.text import Vocabulary
from unrolled.training import train


def model_of(vocab_size: int, hidden_size: int, remedy: dict) -> LanguageModel:
    """Return an untrained language model whose cell has the remedy's ``nonlinearity`` and ``initialisation``.

    Where the initialisation is None, the recurrent weights begin as PyTorch's do.
    """
    model = LanguageModel(vocab_size, hidden_size=hidden_size)
    model.core.cell = cells.RNNCell(model.embedding.embedding_dim, hidden_size, remedy["nonlinearity"])
    if remedy["initialisation"] is not None:
        initialise(model.core.cell, remedy["initialisation"])
    return model


def last_loss(model: LanguageModel, targets: torch.Tensor) -> gradients.Loss:
    """Return the loss of the last prediction, nats a sequence, as a function of the last state; targets (batch,)."""
    return lambda last: cross_entropy(model.output(last), targets, reduction="none")


def probe(model: LanguageModel, tokens: torch.Tensor) -> dict:
    """Measure what happens to the last prediction's gradient on its way back through tokens (batch, time + 1).

    Returns:
        ``lag``, the median over the sequences of ‖∂L_T/∂h_t‖ as a share of ‖∂L_T/∂h_T‖, for T − t = 0 … time;
        ``lyapunov``, the mean exponent of the sequences, nats a step; ``slope``, the mean of φ′; and ``log-slope``, the
        mean of ln φ′, with slopes below 1e-12 counted as that.
    """
    cell = model.core.cell
    with torch.no_grad():
        inputs = model.embedding(tokens[:, :-1])
        slopes = gradients.slopes(cells.unroll(cell, inputs)[0], cell.nonlinearity)
    norms = gradients.gradient_by_lag(cell, inputs, last_loss(model, tokens[:, -1]))
    return {
        "lag": (norms / norms[:, :1]).median(dim=0).values.tolist(),
        "lyapunov": gradients.lyapunov(cell, inputs).clamp(min=-1e3).mean().item(),
        "slope": slopes.mean().item(),
        "log-slope": slopes.clamp(min=1e-12).log().mean().item(),
    }


def _train(config: dict, remedy: dict, seed: int, watch: Callable[[LanguageModel, int, torch.Tensor], None]) -> float:
    """Train one model; call ``watch(model, updates done, held-out numbers)`` before the first update and after each.

    Returns:
        Nats per character on the held-out text.
    """
    training, validation = texts(config)
    vocabulary = Vocabulary(training + validation)
    held_out = vocabulary.encode(validation).to(settings.device())
    torch.manual_seed(seed)
    model = model_of(len(vocabulary), config["hidden_size"], remedy).to(settings.device())
    watch(model, 0, held_out)
    tokens, recipe = vocabulary.encode(training), recipe_of(config | {"learning_rate": remedy["learning_rate"]})
    train(model, tokens, recipe, watch=lambda done: watch(model, done, held_out), progress=False)
    return evaluate(model, held_out).nats_per_symbol


def windows_of(tokens: torch.Tensor, sequences: int, steps: int) -> torch.Tensor:
    """Return so many windows from all over the text, of `steps` inputs and a target: (sequences, steps + 1)."""
    starts = torch.linspace(0, len(tokens) - steps - 1, sequences).long()
    return tokens[starts[:, None].to(tokens.device) + torch.arange(steps + 1, device=tokens.device)]


def measure_lag(config: dict, seed: int, folder: Path) -> dict:
    """Train with each remedy; measure the gradient at the start and at the end, and the singular values on the way."""

    def one(remedy: dict) -> dict:
        found = {"singular": []}

        def watch(model: LanguageModel, done: int, held_out: torch.Tensor) -> None:
            if done in config["watched"]:
                singular, _ = gradients.spectra(model.core.cell.W_hh.double())
                found["singular"].append([singular[0].item(), singular.median().item(), singular[-1].item()])
            if done in (0, config["updates"]):
                when = "after" if done else "before"
                measured = probe(model, windows_of(held_out, config["sequences"], config["steps"]))
                found.update({f"{when}-{what}": value for what, value in measured.items()})

        return found | {"nats": _train(config, remedy, seed, watch)}

    metrics = {"watched": config["watched"], "lags": list(range(config["steps"] + 1))}
    for label, remedy in config["remedies"].items():
        found = kept(folder / f"{label}.json", lambda remedy=remedy: one(remedy))
        metrics |= {f"{label}-{what}": value for what, value in found.items()}
    return metrics


def measure_histogram(config: dict, seed: int, folder: Path) -> dict:
    """Train with windows of several lengths T; halfway, take the last prediction's gradient by the recurrent weights.

    For each T: ``counts``, how many of its entries lie in each of the bins between ``edges`` (the outermost ones take
    the rest), taken through a window of T steps that begins with an empty state, as in training; ``spread``, their
    standard deviation; ``loss``, the mean loss there. And ``by-steps``, the spread when the states are those of the
    longest window for all, but the gradient is followed through the last 1, 2, 4 … of its steps only.
    """
    edges = np.linspace(-config["reach"], config["reach"], config["bins"] + 1)
    steps = [2**power for power in range(max(config["seq_lens"]).bit_length())]

    def one(seq_len: int) -> dict:
        found = {}

        def watch(model: LanguageModel, done: int, held_out: torch.Tensor) -> None:
            if done != config["updates"] // 2:
                return
            cell, tokens = model.core.cell, windows_of(held_out, config["sequences"], steps[-1])
            inputs, loss = model.embedding(tokens[:, :-1]).detach(), last_loss(model, tokens[:, -1])
            entries = gradients.recurrent_gradient(cell, inputs[:, -seq_len:], loss)
            found["counts"] = np.histogram(np.clip(entries, edges[0], edges[-1]), edges)[0].tolist()
            found["spread"] = float(entries.std())
            with torch.no_grad():
                states, last = cells.unroll(cell, inputs[:, -seq_len:])
                found["loss"] = loss(last).mean().item()
                states, _ = cells.unroll(cell, inputs)  # (batch, time, hidden)
                before = torch.cat([torch.zeros_like(states[:, :1]), states[:, :-1]], dim=1)
            found["by-steps"] = [
                float(gradients.recurrent_gradient(cell, inputs[:, -m:], loss, before[:, -m]).std()) for m in steps
            ]

        nats = _train(config | {"seq_len": seq_len}, config, seed, watch)
        return found | {"nats": nats}

    metrics = {"edges": edges.tolist(), "steps": steps}
    for seq_len in config["seq_lens"]:
        found = kept(folder / f"{seq_len}.json", lambda seq_len=seq_len: one(seq_len))
        metrics |= {f"{seq_len}-{what}": value for what, value in found.items()}
    return metrics


_TANH = {"nonlinearity": "tanh", "initialisation": None, "learning_rate": 1e-2}
_TEXT = {"symbols_per_update": 2048, "updates": 2000, "hidden_size": 128}
_LAG = _TEXT | {
    "corpus": "stories",
    "characters": 2_000_000,
    "seq_len": 64,
    "carry": True,
    "sequences": 64,
    "steps": 128,
    "watched": [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000],
    "remedies": {
        "tanh": _TANH,
        "sigmoid": _TANH | {"nonlinearity": "sigmoid"},
        "irnn": {"nonlinearity": "relu", "initialisation": "identity", "learning_rate": 1e-3},
        "orthogonal": _TANH | {"initialisation": "orthogonal"},
    },
}
_HISTOGRAM = (
    _TEXT
    | _TANH
    | {
        "corpus": "tinystories-sample",
        "seq_lens": [16, 32, 64],
        "carry": False,
        "sequences": 64,
        "reach": 0.03,
        "bins": 120,
    }
)

EXPERIMENTS = (
    Experiment(
        "gradient-lag",
        "Stories: the last prediction's gradient against lag, before and after training, for four beginnings",
        {
            "quick": _LAG,
            "full": _LAG | {"updates": 20_000, "hidden_size": 512, "watched": [*_LAG["watched"], 5000, 10_000, 20_000]},
        },
        measure_lag,
    ),
    Experiment(
        "gradient-histogram",
        "TinyStories sample: the last prediction's gradient by W_hh, halfway through training on windows of 16, 32, 64",
        {"quick": _HISTOGRAM, "full": _HISTOGRAM | {"updates": 20_000, "hidden_size": 256}},
        measure_histogram,
    ),
)
