"""Which remedy lets a vanilla network remember for how many steps (chapter 4)?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from unrolled import cells, settings, tasks
from unrolled.experiments.base import Configuration, Experiment, Metric, cell


def cell_of(config: Configuration, input_size: int) -> cells.Cell:
    """Return the untrained cell that a configuration has under ``cell``, ``hidden_size`` and ``initialisation``.

    Where the initialisation is None, the recurrent weights begin as PyTorch's do.
    """
    kind, options = config["cell"]["kind"], config["cell"]["options"]
    made = cells.CELLS[kind](input_size, config["hidden_size"], **options)
    return made if config["initialisation"] is None else cells.initialise(made, config["initialisation"])


def attempt(
    config: Configuration, task: tasks.Task, cell: cells.Cell, seed: int
) -> tuple[tasks.SequenceModel, tasks.Outcome]:
    """Train a cell, with a linear layer on top, on a task until it solves it or the budget is spent.

    Args:
        config: with the budget, as `BUDGETS` have it, the ``learning_rate``, and ``clip``, the norm that the gradient
            is scaled down to (None: never).
        task: what to learn.
        cell: the untrained cell.
        seed: of the sequences.

    Returns:
        The trained model, and how it ended.
    """
    model = tasks.SequenceModel(cell, task.output_size).to(settings.device())
    outcome = tasks.solve(
        model,
        task,
        updates=config["updates"],
        batch=config["batch"],
        learning_rate=config["learning_rate"],
        clip=math.inf if config["clip"] is None else config["clip"],
        seed=seed,
        score_every=config["score_every"],
        sequences=config["sequences"],
    )
    return model, outcome


def ending(outcome: tasks.Outcome, task: tasks.Task) -> dict[str, float]:
    """Return how a training ended, as `ENDING` declares it."""
    finite = [loss for loss in outcome.scores if math.isfinite(loss)]
    return {
        "success": int(outcome.success),
        "diverged": int(outcome.diverged),
        "updates": outcome.updates,
        "loss": finite[-1] / task.trivial if finite else 1.0,
    }


ENDING = {
    "success": Metric("", "1 where the task was solved, else 0"),
    "diverged": Metric("", "1 where the loss became infinite or NaN, which ends the training, else 0"),
    "updates": Metric("updates", "how many there were until success, divergence or the end of the budget"),
    "loss": Metric("", "the last finite one on fresh sequences, as a share of that without memory; 1 if there is none"),
}


@contextmanager
def flushing() -> Iterator[None]:
    """Take subnormal numbers for zero for a while.

    A gradient that vanishes is subnormal before it is zero, and such numbers take a processor several times longer.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def measure(config: Configuration, seed: int, folder: Path) -> dict:
    """Train a network at each length of one task; each begins with the same seed."""
    endings = []
    with flushing():
        for length in config["lengths"]:
            task = tasks.TASKS[config["task"]](length)
            torch.manual_seed(seed)
            _, outcome = attempt(config, task, cell_of(config, task.input_size), seed)
            endings.append(ending(outcome, task))
    by_length = {name: [each[name] for each in endings] for name in ENDING}
    return by_length | {"solved": sum(by_length["success"])}


METRICS = {name: metric._replace(axes=("length",)) for name, metric in ENDING.items()} | {
    "solved": Metric("lengths", "at how many the task was solved")
}


def axes(config: Configuration) -> dict:
    """Return the coordinates of the axis of `METRICS`, in steps."""
    return {"length": config["lengths"]}


def _budget(lengths: list[int], hidden_size: int, updates: int = 3000) -> Configuration:
    size = {"lengths": lengths, "hidden_size": hidden_size, "updates": updates}
    return size | {"batch": 64, "score_every": 100, "sequences": 1000}


BUDGETS = {
    "quick": {"adding": _budget([10, 20, 40, 80, 160], 64), "copy": _budget([1, 2, 5, 10], 128)},
    "full": {
        "adding": _budget([10, 20, 40, 80, 160, 320], 128, 20_000),
        "copy": _budget([1, 2, 5, 10, 20, 50], 256, 20_000),
    },
}


def _remedy(nonlinearity: str, initialisation: str | None, learning_rate: float, clip: float | None) -> Configuration:
    begun = {"cell": cell("rnn", nonlinearity=nonlinearity), "initialisation": initialisation}
    return begun | {"learning_rate": learning_rate, "clip": clip}


VANILLA = {
    "tanh": _remedy("tanh", None, 3e-3, None),
    "tanh-clipped": _remedy("tanh", None, 3e-3, 1.0),
    "orthogonal-clipped": _remedy("tanh", "orthogonal", 3e-3, 1.0),
    "irnn": _remedy("relu", "identity", 1e-3, None),  # 3e-3 diverges
    "irnn-clipped": _remedy("relu", "identity", 1e-3, 1.0),
}


def _vanilla(profile: str) -> dict[str, Configuration]:
    """Return the contenders of `memory-tasks`: each remedy on each task."""
    return {
        f"{task}/{label}": {"task": task} | budget | remedy
        for task, budget in BUDGETS[profile].items()
        for label, remedy in VANILLA.items()
    }


EXPERIMENTS = (
    Experiment(
        "memory-tasks",
        "Adding and copying: which remedy lets a vanilla RNN remember for how many steps",
        METRICS,
        {profile: _vanilla(profile) for profile in settings.PROFILES},
        measure,
        axes,
        seeds=5,
    ),
)
