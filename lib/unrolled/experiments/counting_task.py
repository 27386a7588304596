"""How far does each cell count beyond what it was trained on (chapter 6)?"""

from __future__ import annotations

from pathlib import Path

import torch

from unrolled import tasks
from unrolled.experiments.base import Configuration, Experiment, Metric, cell
from unrolled.experiments.memory_tasks import ENDING, attempt, ending


def measure(config: Configuration, seed: int, folder: Path) -> dict:
    """Train a cell to count; ask it for aⁿbⁿ with n far beyond those that it was trained on."""
    task = tasks.Counting(config["length"])
    torch.manual_seed(seed)
    model, outcome = attempt(config, task, seed)
    right = tasks.counted(model, config["limit"]).tolist()
    ended = ending(outcome, task)
    return {name: ended[name] for name in ENDED} | {"reach": [*right, False].index(False)}


ENDED = ("success", "updates", "loss")
METRICS = {name: ENDING[name] for name in ENDED} | {
    "reach": Metric("n", "the last one up to which all answers are right, at most the limit")
}


def _contenders(length: int, limit: int, updates: int) -> dict[str, Configuration]:
    """Return the contenders of `counting-task`: cells that learn with n up to a length, and are asked to a limit."""
    budget = {"hidden_size": 10, "updates": updates, "batch": 32, "score_every": 100, "sequences": 200}
    begun = {"initialisation": None, "learning_rate": 1e-2, "clip": 1.0}
    return {
        kind: {"length": length, "limit": limit, "cell": cell(kind)} | budget | begun for kind in ("rnn", "gru", "lstm")
    }


EXPERIMENTS = (
    Experiment(
        "counting-task",
        "Strings a^n b^n: how far RNN, GRU and LSTM count beyond the n that they were trained on",
        METRICS,
        {"quick": _contenders(40, 400, 6000), "full": _contenders(100, 2000, 30_000)},
        measure,
        seeds=5,
    ),
)
