"""A cell is trained on a task of memory: how it begins, and how it ends; several experiments do this."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import nn

from lab.experiment import CHOSEN_BY, Config
from lab.training import cell_of
from unrolled import cells, settings, tasks
from unrolled.records import Metric


def initialised_cell(config: Config, input_size: int) -> cells.Cell:
    """Return the cell of a configuration.

    Its recurrent weights are drawn again where it has an ``initialisation``. Those are multiplied by its ``radius``,
    and the input weights by its ``input_scale``, where it has them. Its gates under ``stuck`` are stuck.
    """
    made = cell_of(config, input_size)
    if config.get("initialisation"):
        made = cells.initialise(made, config["initialisation"])
    with torch.no_grad():
        for weights, factor in ((made.W_hh, "radius"), (made.W_xh, "input_scale")):
            if factor in config:
                weights *= config[factor]
    stick(made, config.get("stuck", {}))
    return made


def stick(cell: cells.Cell, stuck: dict[str, float]) -> None:
    """Set the biases of these gates so far out that nothing moves them: there σ is 1 or 0, and its slope is 0."""
    for gate, bias in stuck.items():
        nn.init.constant_(cell.block(gate).b_h, bias)


def attempt(config: Config, task: tasks.Task, seed: int) -> tuple[nn.Module, tasks.Outcome]:
    """Train the cell of a configuration, with a linear layer on top, until it solves a task or the budget is spent.

    Args:
        config: what `initialised_cell` needs, with ``updates``, ``batch``, ``score_every``, ``sequences``,
            ``learning_rate``, and ``clip``, the norm that the gradient is scaled down to (None: never).
        task: what to learn.
        seed: of the sequences.

    Returns:
        The trained model, and how it ended.
    """
    cell = initialised_cell(config, task.input_size)
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


def train_on(config: Config, task: tasks.Task, seed: int, updates: int) -> tuple[nn.Module, tasks.Outcome]:
    """Train the network of a configuration on a task for at most so many updates."""
    torch.manual_seed(seed)
    with flushing():
        return attempt(config | {"updates": updates}, task, seed)


def trial_on(task_of: Callable[[Config], tasks.Task], config: Config, seed: int, folder: Path) -> dict:
    """Train the network of a configuration for a quarter of its updates, and say what the trial came to.

    Returns:
        ``validation``: the share of those updates that it needed; beyond 1 by the error left, as a share of that
        without memory.
    """
    task, updates = task_of(config), config["updates"] // 4
    ended = ending(train_on(config, task, seed, updates)[1], task)
    if ended["diverged"]:
        return {CHOSEN_BY: math.inf}
    return {CHOSEN_BY: ended["updates"] / updates if ended["success"] else 1 + ended["loss"]}
