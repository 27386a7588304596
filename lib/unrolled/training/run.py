"""The state of a training between two updates, and the history of its losses and scores."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

from unrolled.cells import State
from unrolled.models import Network
from unrolled.training.recipe import Recipe


@dataclass
class History:
    """What happened in a training, update by update.

    Attributes:
        losses: the training loss of each update, nats per symbol.
        norms: the norm of the gradient at each update, before clipping.
        validated: the numbers of updates after which the model was scored.
        validation: those scores, nats per symbol.

    Example:
        >>> History(validated=[10, 20, 30, 40], validation=[3.0, 1.0, 2.0, 1.5]).waited
        2
    """

    losses: list[float] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    validated: list[int] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def waited(self) -> int:
        """The number of validations since the lowest score."""
        return len(self.validation) - 1 - self.validation.index(min(self.validation)) if self.validation else 0


@dataclass
class Run:
    """Everything that a training consists of between two updates.

    The learning rate is no part of it: it follows from the recipe and the history.

    Attributes:
        model: the model with its weights.
        recipe: how to train.
        text: the digest of what the model is trained on.
        history: what happened so far.
        done: the number of updates so far.
        state: the state carried to the next window; where several processes share the streams, this process's part.
        best: the weights at the lowest score, by name, if the recipe has patience.
        mean: the running mean of the weights that are trained, by name, if the recipe takes one.
        weights: those that are trained.
        optimizer: their optimizer with its moving averages.

    Example:
        >>> from unrolled.models import LanguageModel
        >>> run = Run(LanguageModel(5), Recipe(updates=100))
        >>> run.done, run.finished
        (0, False)
    """

    model: Network
    recipe: Recipe
    text: str = ""
    history: History = field(default_factory=History)
    done: int = 0
    state: State | None = None
    best: dict[str, torch.Tensor] | None = None
    mean: dict[str, torch.Tensor] | None = None

    def __post_init__(self):
        self.weights = [weight for weight in self.model.parameters() if weight.requires_grad]
        self.optimizer = self.recipe.optimizer_of(self.weights)

    @property
    def finished(self) -> bool:
        """Whether all updates are done or the patience has run out."""
        return self.done >= self.recipe.updates or 0 < self.recipe.patience <= self.history.waited

    @torch.no_grad()
    def average(self) -> None:
        """Take the weights after an update into their running mean, if the recipe takes one."""
        if not self.recipe.averaging:
            return
        if self.mean is None:
            self.mean = {name: torch.zeros_like(weight) for name, weight in self._trained().items()}
        for name, weight in self._trained().items():
            self.mean[name].lerp_(weight, max(1 / self.done, 1 - self.recipe.averaging))

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Give the model the mean of its weights for the length of the ``with`` block, if there is one."""
        own = {name: weight.detach().clone() for name, weight in self._trained().items()} if self.mean else {}
        self._put(self.mean or {})
        try:
            yield
        finally:
            self._put(own)

    def keep(self) -> None:
        """Give the model what the training was for: the weights with the lowest score, or their mean, or the last."""
        if self.best is not None:
            self.model.load_state_dict(self.best)
        else:
            self._put(self.mean or {})

    def _trained(self) -> dict[str, torch.nn.Parameter]:
        return {name: weight for name, weight in self.model.named_parameters() if weight.requires_grad}

    @torch.no_grad()
    def _put(self, values: dict[str, torch.Tensor]) -> None:
        for name, value in values.items():
            self.model.get_parameter(name).copy_(value)
