"""The state of a training between two updates, and the history of its losses and scores."""

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

    def __post_init__(self):
        self.weights = [weight for weight in self.model.parameters() if weight.requires_grad]
        self.optimizer = self.recipe.optimizer_of(self.weights)

    @property
    def finished(self) -> bool:
        """Whether all updates are done or the patience has run out."""
        return self.done >= self.recipe.updates or 0 < self.recipe.patience <= self.history.waited
