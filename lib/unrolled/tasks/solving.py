"""Train a network on a task until it solves it, or until its budget is spent."""

import math
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

from unrolled import cells
from unrolled.tasks.base import Task


class SequenceModel(nn.Module):
    """Read vectors and answer at every step, with a recurrent cell and a linear layer.

        h_t = cell(x_t, h_{t−1})               (:eq:`eq-rnn`, or a gated cell's equations)
        y_t = W_hy h_t + b_y                   (:eq:`eq-output`)

    Args:
        cell: any recurrent cell.
        output_size: the size of an answer.

    >>> from unrolled.cells import LSTMCell
    >>> model = SequenceModel(LSTMCell(2, 16), output_size=1)
    >>> tuple(model(torch.zeros(4, 10, 2)).shape)
    (4, 10, 1)
    """

    def __init__(self, cell: cells.Cell, output_size: int):
        super().__init__()
        self.cell = cell
        self.output = nn.Linear(cell.hidden_size, output_size)  # W_hy, b_y

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the answers, (batch, time, output_size), to inputs (batch, time, input_size)."""
        states, _ = cells.unroll(self.cell, inputs)
        return self.output(states)


@dataclass
class Outcome:
    """The outcome of `solve`.

    >>> Outcome(success=True, updates=300).diverged
    False
    """

    success: bool = False  # whether the goal was reached
    diverged: bool = False  # whether the loss became infinite or NaN, which ends the training
    updates: int = 0  # until success, divergence or the end of the budget
    losses: list[float] = field(default_factory=list)  # the training loss of each update
    scored: list[int] = field(default_factory=list)  # the updates after which new sequences were scored
    scores: list[float] = field(default_factory=list)  # the errors on these


@torch.no_grad()
def score(model: nn.Module, task: Task, sequences: int, generator: torch.Generator) -> float:
    """Return the model's error on so many new sequences, which the generator draws.

    >>> from unrolled.tasks import Adding
    >>> model = SequenceModel(cells.RNNCell(2, 1), 1)
    >>> _ = nn.init.zeros_(model.output.weight), nn.init.ones_(model.output.bias)  # the answer is always 1
    >>> error = score(model, Adding(30), 2000, torch.Generator().manual_seed(0))
    >>> abs(error - Adding.trivial) < 0.02
    True
    """
    return task.error(*_answered(model, task, sequences, generator)).item()


def _answered(
    model: nn.Module, task: Task, sequences: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return outputs for new sequences, drawn on the CPU so that they are the same on every device, and targets."""
    device = next(model.parameters()).device
    inputs, targets = (part.to(device) for part in task.batch(sequences, generator))
    return model(inputs), targets


def solve(
    model: nn.Module,
    task: Task,
    *,
    updates: int,
    batch: int = 64,
    learning_rate: float = 1e-3,
    clip: float = math.inf,
    seed: int = 0,
    score_every: int = 100,
    sequences: int = 1000,
) -> Outcome:
    """Train the model in place with Adam (Kingma & Ba 2015) until it solves the task or the budget is spent.

    Every batch is new, so there is nothing to overfit. An infinite or NaN loss ends the training and is reported in the
    outcome: here divergence is a result, not an error.

    Args:
        model: maps inputs (batch, time, task.input_size) to outputs (batch, time, task.output_size).
        task: what to learn.
        updates: the budget.
        batch: the number of sequences per update.
        learning_rate: Adam's learning rate.
        clip: a gradient of a larger norm is scaled down to this one (Pascanu et al. 2013); infinity never clips.
        seed: the seed of the training sequences, and of the separate sequences that are scored.
        score_every: the number of updates between two scores; the last update is scored too.
        sequences: the number of sequences that are scored, new ones each time.

    >>> from unrolled.tasks import Adding
    >>> _ = torch.manual_seed(0)
    >>> model = SequenceModel(cells.RNNCell(2, 16), 1)
    >>> outcome = solve(model, Adding(2), updates=400, learning_rate=0.01, score_every=20)
    >>> outcome.success, outcome.scores[-1] < Adding.goal
    (True, True)
    """
    if updates < 1 or not clip > 0:
        raise ValueError(f"updates is {updates} and clip is {clip}; both must be above 0")
    outcome = Outcome()
    for_training, for_scoring = (torch.Generator().manual_seed(2 * seed + offset) for offset in (0, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    for update in range(1, updates + 1):
        loss = task.loss(*_answered(model, task, batch, for_training))
        if not torch.isfinite(loss):
            outcome.diverged = True
            break
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        outcome.losses.append(loss.item())
        outcome.updates = update
        if update % score_every == 0 or update == updates:
            outcome.scored.append(update)
            outcome.scores.append(score(model, task, sequences, for_scoring))
            outcome.success = outcome.scores[-1] < task.goal
            if outcome.success:
                break
    return outcome
