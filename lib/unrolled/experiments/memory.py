"""The experiment of chapter 4: which remedy lets a vanilla network remember for how long; and its measurement."""

from __future__ import annotations

import math
from pathlib import Path

import torch
from torch import nn

from unrolled import cells, settings, tasks
from unrolled.cells import initialise
from unrolled.experiments.base import Experiment, kept


def resolved(cell: str, options: dict) -> tuple[str, dict]:
    """Return a cell's name and options, where a configuration calls the cell of 1997 an LSTM without forget gate."""
    return ("lstm-1997", {}) if options == {"forget_gate": False} else (cell, options)


def cell_of(remedy: dict, input_size: int, hidden_size: int) -> cells.Cell:
    """Return an untrained cell as a remedy describes it.

    Either the remedy names its ``cell`` and the ``options`` that this takes; or the cell is a vanilla one, and the
    remedy has its ``nonlinearity`` and its ``initialisation`` (None: PyTorch's own).

    A gated cell's remedy may say which gates are ``stuck``, and at which biases.
    """
    if "cell" in remedy:
        name, options = resolved(remedy["cell"], remedy["options"])
        cell = cells.CELLS[name](input_size, hidden_size, **options)
        stick(cell, remedy.get("stuck", {}))
        return cell
    cell = cells.RNNCell(input_size, hidden_size, remedy["nonlinearity"])
    return cell if remedy["initialisation"] is None else initialise(cell, remedy["initialisation"])


def stick(cell: cells.Cell, stuck: dict[str, float]) -> None:
    """Set the biases of these gates so far out that nothing moves them: there σ is 1 or 0, and its slope is 0."""
    for gate, bias in stuck.items():
        nn.init.constant_(cell.block(gate).b_h, bias)


def train_one(told: dict, remedy: dict, task: tasks.Task, seed: int) -> dict:
    """Train one network on one task with one remedy; return how it ended.

    Args:
        told: the network's size, and the training's budget and batch.
        remedy: what `cell_of` needs, the ``learning_rate``, and ``clip``, the norm that the gradient is scaled down to
            (None: never).
        task: what to learn.
        seed: of the first weights and of the sequences.

    Returns:
        ``success`` and ``diverged`` (0 or 1), ``updates``, and ``loss``, the last finite one on fresh sequences as a
        share of the loss without memory (1 where there was none).
    """
    torch.manual_seed(seed)
    cell = cell_of(remedy, task.input_size, told["hidden_size"])
    outcome = tasks.solve(
        tasks.SequenceModel(cell, task.output_size).to(settings.device()),
        task,
        updates=told["updates"],
        batch=told["batch"],
        learning_rate=remedy["learning_rate"],
        clip=math.inf if remedy["clip"] is None else remedy["clip"],
        seed=seed,
        score_every=told["score_every"],
        sequences=told["sequences"],
    )
    finite = [loss for loss in outcome.scores if math.isfinite(loss)]
    return {
        "success": int(outcome.success),
        "diverged": int(outcome.diverged),
        "updates": outcome.updates,
        "loss": finite[-1] / task.trivial if finite else 1.0,
    }


def measure_memory(config: dict, seed: int, folder: Path) -> dict:
    """Train on each task with each remedy at each length; tell how each ended, in lists over the lengths.

    A task that names ``remedies`` is tried with those only.

    Beside them, ``TASK-REMEDY-solved`` is the number of lengths at which that remedy succeeded. Every training leaves
    a small file in the folder, so that a killed run goes on with the next one.
    """
    # Gradients that vanish are subnormal numbers before they are zero, and those take a processor several times longer.
    torch.set_flush_denormal(True)
    try:
        metrics = {}
        for name, told in config["tasks"].items():
            metrics[f"{name}-lengths"] = told["lengths"]
            for label in told.get("remedies", config["remedies"]):
                remedy, ends = config["remedies"][label], []
                for length in told["lengths"]:
                    task = tasks.TASKS[name](length)
                    ends.append(
                        kept(
                            folder / f"{name}-{label}-{length}.json",
                            lambda told=told, remedy=remedy, task=task: train_one(told, remedy, task, seed),
                        )
                    )
                for what in ends[0]:
                    metrics[f"{name}-{label}-{what}"] = [end[what] for end in ends]
                metrics[f"{name}-{label}-solved"] = sum(end["success"] for end in ends)
        return metrics
    finally:
        torch.set_flush_denormal(False)


_TANH = {"nonlinearity": "tanh", "initialisation": None, "clip": None, "learning_rate": 3e-3}
_IRNN = {"nonlinearity": "relu", "initialisation": "identity", "clip": None, "learning_rate": 1e-3}  # 3e-3 diverges
_SCORED = {"score_every": 100, "sequences": 1000}
_ADDING = {"lengths": [10, 20, 40, 80, 160], "hidden_size": 64, "batch": 64, "updates": 3000} | _SCORED
_COPY = {"lengths": [1, 2, 5, 10], "hidden_size": 128, "batch": 64, "updates": 3000} | _SCORED
_MEMORY = {
    "tasks": {"adding": _ADDING, "copy": _COPY},
    "remedies": {
        "tanh": _TANH,
        "tanh-clipped": _TANH | {"clip": 1.0},
        "orthogonal-clipped": _TANH | {"initialisation": "orthogonal", "clip": 1.0},
        "irnn": _IRNN,
        "irnn-clipped": _IRNN | {"clip": 1.0},
    },
}
_LONG = {
    "adding": _ADDING | {"lengths": [10, 20, 40, 80, 160, 320], "hidden_size": 128, "updates": 20_000},
    "copy": _COPY | {"lengths": [1, 2, 5, 10, 20, 50], "hidden_size": 256, "updates": 20_000},
}

EXPERIMENTS = (
    Experiment(
        "memory-tasks",
        "Adding and copying: which remedy lets a vanilla RNN remember for how many steps",
        {"quick": _MEMORY, "full": _MEMORY | {"tasks": _LONG}},
        measure_memory,
    ),
)
