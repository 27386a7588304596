"""A cell is trained on a task of memory: how it begins, and how it ends; several experiments do this."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from unrolled import cells, settings, tasks
from unrolled.experiments.base import Configuration, Metric
from unrolled.models import causal_mask, scaled_dot_product


def cell_of(config: Configuration, input_size: int) -> cells.Cell:
    """Return the untrained cell that a configuration has under ``cell``, ``hidden_size`` and ``initialisation``.

    Where the initialisation is None, the recurrent weights begin as PyTorch's do.
    """
    kind, options = config["cell"]["kind"], config["cell"]["options"]
    made = cells.CELLS[kind](input_size, config["hidden_size"], **options)
    return made if config["initialisation"] is None else cells.initialise(made, config["initialisation"])


class Attending(nn.Module):
    """Answer at every step from what one head of causal attention finds: a memory that grows (:eq:`eq-self-attention`).

    Args:
        input_size: of a step's vector.
        size: of a query, a key and a value.
        output_size: of an answer.

    Example:
        >>> tuple(Attending(5, 16, output_size=3)(torch.zeros(2, 7, 5)).shape)
        (2, 7, 3)
    """

    def __init__(self, input_size: int, size: int, output_size: int):
        super().__init__()
        self.size = size
        self.project = nn.Linear(input_size, 3 * size)  # queries, keys and values
        self.output = nn.Linear(size, output_size)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the answers, (batch, time, output_size), to inputs (batch, time, input_size)."""
        queries, keys, values = self.project(inputs).chunk(3, dim=-1)
        found, _ = scaled_dot_product(queries, keys, values, causal_mask(inputs.shape[1], inputs.device))
        return self.output(found)


def network_of(config: Configuration, task: tasks.Task) -> nn.Module:
    """Return the untrained network of a configuration: its cell with a linear layer on top, or a head of attention."""
    if config["cell"]["kind"] == "attention":
        return Attending(task.input_size, config["hidden_size"], task.output_size)
    return tasks.SequenceModel(cell_of(config, task.input_size), task.output_size)


def attempt(config: Configuration, task: tasks.Task, seed: int) -> tuple[nn.Module, tasks.Outcome]:
    """Train the network of a configuration on a task until it solves it or the budget is spent.

    Args:
        config: what `network_of` needs, with ``updates``, ``batch``, ``score_every``, ``sequences``, ``learning_rate``,
            and ``clip``, the norm that the gradient is scaled down to (None: never).
        task: what to learn.
        seed: of the sequences.

    Returns:
        The trained model, and how it ended.
    """
    model = network_of(config, task).to(settings.device())
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
