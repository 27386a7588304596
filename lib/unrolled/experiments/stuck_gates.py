"""What is each gate of an LSTM good for: what is lost where it is stuck open or shut (chapter 5)?"""

from __future__ import annotations

import statistics
from functools import partial
from pathlib import Path

import torch
from torch import nn

from unrolled import cells, tasks
from unrolled.experiments import cells_over_budget
from unrolled.experiments.base import NATS, Configuration, Experiment, Metric, fit, model, model_of, recipe
from unrolled.experiments.gated_stories import RATES
from unrolled.experiments.memory_tasks import BUDGETS, ENDING, GATED, attempt, cell_of, ending
from unrolled.experiments.reading import text
from unrolled.experiments.tuning import Tuned, check_chosen
from unrolled.measure import evaluate
from unrolled.models import LanguageModel

OPEN, SHUT = 100.0, -100.0  # the biases of a stuck gate


def stick(cell: cells.Cell, stuck: dict[str, float]) -> None:
    """Set the biases of these gates so far out that nothing moves them: there σ is 1 or 0, and its slope is 0."""
    for gate, bias in stuck.items():
        nn.init.constant_(cell.block(gate).b_h, bias)


def begin(config: Configuration, vocab_size: int) -> LanguageModel:
    """Return the untrained model of a configuration, with the gates under ``stuck`` stuck."""
    untrained = model_of(config, vocab_size)
    stick(untrained.core.cell, config["stuck"])
    return untrained


def measure(config: Configuration, seed: int, folder: Path) -> dict:
    """Train an LSTM, some of its gates stuck, on the adding problem; and another one on stories."""
    task = tasks.Adding(config["adding"]["length"])
    torch.manual_seed(seed)
    cell = cell_of(config["adding"], task.input_size)
    stick(cell, config["stuck"])
    _, outcome = attempt(config["adding"], task, cell, seed)
    network, read, history, _ = fit(config, seed, folder, begin=partial(begin, config))
    return ending(outcome, task) | {
        "nats": evaluate(network, read.held_out).nats_per_symbol,
        "training_nats": statistics.fmean(history.losses[-100:]),
    }


METRICS = ENDING | {
    "nats": NATS._replace(about=f"{NATS.about}, read from an empty state"),
    "training_nats": Metric(
        "nats per character", "what one cost in the last 100 updates, whose state was carried on from the first"
    ),
}


def _contenders(profile: str, hidden_size: int, updates: int) -> dict[str, Configuration]:
    """Return the contenders of `gates-stuck`: the LSTM of `gated-memory-tasks` and `gated-stories`, half as long."""
    budget = {name: value for name, value in BUDGETS[profile]["adding"].items() if name != "lengths"}
    free = {
        "adding": {"length": 40} | budget | GATED["lstm"],
        "text": text("stories", 2_000_000),
        "model": model("LanguageModel", core="lstm", hidden_size=hidden_size),
        "recipe": recipe(updates=updates, symbols_per_update=2048, seq_len=64, learning_rate=RATES["lstm"]),
    }
    stuck = {
        f"{name}-{state}": {gate: bias}
        for name, gate in {"forget": "f", "input": "i", "output": "o"}.items()
        for state, bias in {"open": OPEN, "shut": SHUT}.items()
    }
    return {label: free | {"stuck": gates} for label, gates in ({"free": {}} | stuck).items()}


def measure_over_budget(config: Configuration, seed: int, folder: Path) -> dict:
    """Train an LSTM of characters, its forget gate stuck or not, and return the metrics of `cells_over_budget`."""
    check_chosen(config)
    return cells_over_budget.scores(fit(config, seed, folder, begin=partial(begin, config)), config)


FORGET_GATES = {  # the forget bias, and what is stuck
    "bias 1": (1.0, {}),
    "bias -1": (-1.0, {}),
    "open": (1.0, {"f": OPEN}),
    "shut": (1.0, {"f": SHUT}),
}


def _over_budget(profile: str) -> dict[str, Configuration]:
    """Return the contenders of `gates-over-budget`: the LSTM of `cells-over-budget` with four forget gates.

    All begin orthogonal, with the learning rate that was chosen there for the number of updates, whatever forget bias
    was chosen with it: not equal trials, as the protocol asks for.
    """
    comparison = cells_over_budget.COMPARISON
    return {
        f"{label} {updates}": comparison.contender(
            "lstm", updates, profile, initialisation="orthogonal", forget_bias=bias
        )
        | {"stuck": stuck}
        for label, (bias, stuck) in FORGET_GATES.items()
        for updates in comparison.budgets[profile]
    }


EXPERIMENTS = (
    Experiment(
        "gates-stuck",
        "LSTM: each gate stuck open or shut, on the adding problem and on stories",
        METRICS,
        {"quick": _contenders("quick", 128, 1000), "full": _contenders("full", 512, 10_000)},
        measure,
    ),
    Experiment(
        "gates-over-budget",
        "Stories: LSTMs with a free forget gate and with one stuck open or shut, after three numbers of updates",
        cells_over_budget.METRICS,
        Tuned(_over_budget),
        measure_over_budget,
        cells_over_budget.axes,
    ),
)
