"""Language models with gated cells beside the vanilla one: what they pay, recall, and let through of the gradient.

Chapters 5 and 6 compare cells of one hidden size, and of equally many weights; chapter 2 asks the vanilla one alone.
"""

from __future__ import annotations

import math
from pathlib import Path

import torch

from unrolled import cells, settings
from unrolled.experiments.base import (
    CURVE,
    NATS,
    PARAMETERS,
    UPDATES,
    Configuration,
    Experiment,
    Metric,
    fit,
    model,
    model_of,
    parameters,
    recipe,
)
from unrolled.experiments.gradients import WHEN, last_loss, windows_of
from unrolled.experiments.reading import text, texts
from unrolled.measure import evaluate, gradients, recall_by_lag
from unrolled.models import LanguageModel
from unrolled.text import Vocabulary, stories

EMBEDDING = 32  # d in the language models below
GATES = {"f": "forget", "i": "input", "o": "output", "z": "update", "r": "reset"}
EDGES = [1, 10, 20, 40, 80, 160, 320, 640]  # of the bins of lag, in characters


def core_parameters(core: str, hidden_size: int) -> int:
    """Return how many weights a core of a language model has: blocks · (h (h + d) + h)."""
    return len(cells.CELLS[core].torch_blocks) * (hidden_size * (hidden_size + EMBEDDING) + hidden_size)


def hidden_size_for(core: str, weights: int) -> int:
    """Return the hidden size at which a core has about so many weights: the root of `core_parameters`, rounded."""
    half = (EMBEDDING + 1) / 2
    return round(math.sqrt(half * half + weights / len(cells.CELLS[core].torch_blocks)) - half)


def probe(network: LanguageModel, tokens: torch.Tensor) -> dict:
    """Measure the last prediction's gradient on its way back through tokens (batch, time + 1), and the gates.

    Returns:
        ``lag_h``, and ``lag_c`` of an LSTM; ``gate_f``, ``gate_i`` …; and ``half_life``, as `METRICS` declares them,
        each for one moment of the training.
    """
    cell = network.core.cell
    with torch.no_grad():
        inputs = network.embed(tokens[:, :-1])
        values = cells.trace(cell, inputs)
    probed = {}
    for part in cell.state_names:
        norms = gradients.gradient_by_lag(cell, inputs, last_loss(network, tokens[:, -1]), part=part)
        probed[f"lag_{part}"] = (norms / norms[:, :1]).median(dim=0).values.tolist()
    gates = {name: values[name].mean().item() for name in GATES if name in values}
    probed |= {f"gate_{name}": mean for name, mean in gates.items()}
    if "f" in gates or "z" in gates:
        probed["half_life"] = gradients.half_life(gates["f"] if "f" in gates else 1 - gates["z"])
    return probed


def measure_recall(network: LanguageModel, config: Configuration) -> dict:
    """Ask a model of stories for names and pronouns at every lag, in stories that it has not seen: `RECALL`."""
    metrics = {}
    vocabulary, unseen = Vocabulary("".join(texts(config))), stories.corpus(config["asked"], seed=1)
    for kind in ("name", "pronoun"):
        shares, counts = recall_by_lag(network, vocabulary, unseen, kind, config["edges"])
        metrics[kind], metrics[f"{kind}_asked"] = shares.tolist(), counts.tolist()
    return metrics


RECALL = {
    "name": Metric("", "the share of right answers where a name returns", ("lag_bin",)),
    "name_asked": Metric("questions", "how many there were", ("lag_bin",)),
    "pronoun": Metric("", "the share of right answers to whether it was she or he", ("lag_bin",)),
    "pronoun_asked": Metric("questions", "how many there were", ("lag_bin",)),
}


def recall_axes(config: Configuration) -> dict:
    """Return the coordinates of the axis of `RECALL`: the upper edges of the bins of lag."""
    return {"lag_bin": config["edges"][1:]}


def measure(config: Configuration, seed: int, folder: Path) -> dict:
    """Train a language model; score it, ask it for names and pronouns, and probe it before and after."""
    network, read, history, _ = fit(config, seed, folder)
    torch.manual_seed(seed)
    untrained = model_of(config, len(read.vocabulary)).to(settings.device())  # as the trained one was at first
    tokens = windows_of(read.held_out.to(settings.device()), config["sequences"], config["steps"])
    probes = [probe(each, tokens) for each in (untrained, network)]
    return {
        "hidden_size": network.hidden_size,
        "parameters": parameters(network.core),
        "nats": evaluate(network, read.held_out).nats_per_symbol,
        "updates": history.validated,
        "curve": history.validation,
        **{name: [each[name] for each in probes] for name in probes[0]},
        **measure_recall(network, config),
    }


METRICS = {
    "hidden_size": Metric("units", "h"),
    "parameters": PARAMETERS._replace(about="those of the recurrent core"),
    "nats": NATS,
    "updates": UPDATES,
    "curve": CURVE,
    "lag_h": Metric(
        "", "median over the sequences of ‖∂L_T/∂h_t‖ as a share of ‖∂L_T/∂h_T‖, by the lag T − t", ("when", "lag")
    ),
    "lag_c": Metric("", "the same of an LSTM's cell state", ("when", "lag")),
    **{f"gate_{letter}": Metric("", f"the mean of the {name} gate", ("when",)) for letter, name in GATES.items()},
    "half_life": Metric(
        "steps", "after which half is left if every step keeps the mean of f, or of 1 − z in a GRU", ("when",)
    ),
    **RECALL,
}


def axes(config: Configuration) -> dict:
    """Return the coordinates of the axes of `METRICS`."""
    return {"when": WHEN, "lag": range(config["steps"] + 1)} | recall_axes(config)


def measure_one(config: Configuration, seed: int, folder: Path) -> dict:
    """Train one model on stories; score it, and ask it for names and pronouns."""
    network, read, *_ = fit(config, seed, folder)
    return {"nats": evaluate(network, read.held_out).nats_per_symbol} | measure_recall(network, config)


# Of 5e-3 (the GRU alone), 1e-2, 2e-2 and 4e-2, best after 2000 updates with seed 0 and 128 units; the RNN's is that of
# chapter 4, better than 2e-2.
RATES = {"rnn": 1e-2, "lstm": 2e-2, "lstm-1997": 2e-2, "gru": 1e-2}


def compared(hidden_size: int) -> dict[str, tuple[str, int]]:
    """Return the core and the hidden size of each cell compared: all of one size, or of equally many weights."""

    def equal(core: str, other: str) -> tuple[str, int]:
        return core, hidden_size_for(core, core_parameters(other, hidden_size))

    return {
        **{core: (core, hidden_size) for core in ("rnn", "gru", "lstm")},
        **{f"{core}-as-rnn": equal(core, "rnn") for core in ("gru", "lstm")},
        **{f"{core}-as-lstm": equal(core, "lstm") for core in ("rnn", "gru")},
    }


def _contender(core: str, hidden_size: int, updates: int, characters: int, **options) -> Configuration:
    size = {"updates": updates, "symbols_per_update": 2048, "seq_len": 64}
    return {
        "text": text("stories", characters),
        "model": model(
            "LanguageModel", core=core, embedding_size=EMBEDDING, hidden_size=hidden_size, cell_options=options
        ),
        "recipe": recipe(**size, learning_rate=RATES[core]),
        "sequences": 64,
        "steps": 128,
        "edges": EDGES,
        "asked": 500_000,
    }


def _stories(hidden_size: int, updates: int) -> dict[str, Configuration]:
    """Return the contenders of `gated-stories`: the cells compared, and variants of the LSTM."""
    variants = {
        "lstm-bias-minus-1": ("lstm", {"forget_bias": -1.0}),
        "lstm-bias-0": ("lstm", {"forget_bias": 0.0}),
        "lstm-bias-2": ("lstm", {"forget_bias": 2.0}),
        "lstm-1997": ("lstm-1997", {}),
    }
    size = {"updates": updates, "characters": 2_000_000}
    return {
        **{label: _contender(core, units, **size) for label, (core, units) in compared(hidden_size).items()},
        **{label: _contender(core, hidden_size, **size, **options) for label, (core, options) in variants.items()},
    }


def _recall(hidden_size: int, updates: int) -> dict[str, Configuration]:
    """Return the contenders of `gated-recall`: one hidden size, and so much text that none is read twice."""
    return {core: _contender(core, hidden_size, updates, updates * 2500) for core in ("rnn", "gru", "lstm")}


def _vanilla(hidden_size: int, updates: int) -> dict[str, Configuration]:
    """Return the contender of `rnn-recall`."""
    size = {"updates": updates, "symbols_per_update": 2048, "seq_len": 64}
    config = {
        "text": text("stories", 20_000_000),
        "model": model("LanguageModel", hidden_size=hidden_size),
        "recipe": recipe(**size, learning_rate=3e-3),
        "edges": EDGES,
        "asked": 1_000_000,
    }
    return {"rnn": config}


EXPERIMENTS = (
    Experiment(
        "rnn-recall",
        "Stories: how far back a vanilla RNN remembers a name, and whether it was she or he",
        {"nats": NATS} | RECALL,
        {"quick": _vanilla(256, 8000), "full": _vanilla(512, 40_000)},
        measure_one,
        recall_axes,
    ),
    Experiment(
        "gated-stories",
        "Stories: RNN, LSTM and GRU of equal size and of equally many weights, and the LSTM's forget bias",
        METRICS,
        {"quick": _stories(128, 2000), "full": _stories(512, 20_000)},
        measure,
        axes,
    ),
    Experiment(
        "gated-recall",
        "Stories, twice as long and all new: what RNN, LSTM and GRU have learned by then, and what they recall",
        METRICS,
        {"quick": _recall(128, 4000), "full": _recall(512, 40_000)},
        measure,
        axes,
    ),
)
