"""What a training consists of between two updates, and what happened in it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import torch

from unrolled.cells import State
from unrolled.models import NeuralModel
from unrolled.training.recipe import Recipe


@dataclass
class History:
    """What happened during training.

    Attributes:
        losses: the training loss of each update, nats per symbol.
        norms: the norm of the gradient at each update, before clipping.
        validated: the updates after which the model was scored.
        validation: those scores, nats per symbol.
    """

    losses: list[float] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    validated: list[int] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)

    @property
    def setbacks(self) -> int:
        """How many validations brought no new lowest score."""
        lowest = itertools.accumulate(self.validation, min)
        return sum(score >= before for score, before in zip(self.validation[1:], lowest, strict=False))

    @property
    def waited(self) -> int:
        """How many validations there were since the lowest score."""
        return len(self.validation) - 1 - self.validation.index(min(self.validation)) if self.validation else 0


@dataclass
class Run:
    """All that a training consists of between two updates; the learning rate follows from the recipe and the history.

    Attributes:
        model: with its weights.
        optimizer: with its averages.
        recipe: how to train.
        text: the digest of what it is trained on.
        history: what happened so far.
        done: the updates so far.
        state: the carried state; where several processes share the streams, of this one's.
        best: the weights at the lowest score, by name, where the recipe has patience.
    """

    model: NeuralModel
    optimizer: torch.optim.Optimizer
    recipe: Recipe
    text: str = ""
    history: History = field(default_factory=History)
    done: int = 0
    state: State | None = None
    best: dict[str, torch.Tensor] | None = None

    @property
    def finished(self) -> bool:
        """Whether all updates were done, or the patience has run out."""
        return self.done >= self.recipe.updates or 0 < self.recipe.patience <= self.history.waited
