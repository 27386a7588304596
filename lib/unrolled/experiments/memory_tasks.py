"""A cell is trained on a task of memory: how it begins, and how it ends; several experiments do this."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from unrolled import cells, settings, tasks
from unrolled.experiments.base import Configuration, Metric


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
        config: with ``updates``, ``batch``, ``score_every``, ``sequences``, ``learning_rate``, and ``clip``, the norm
            that the gradient is scaled down to (None: never).
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
