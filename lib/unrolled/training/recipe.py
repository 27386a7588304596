"""How to train: the optimizer, the learning rate of every update, the arithmetic, and when to stop."""

import math
import numbers
from collections.abc import Iterable
from dataclasses import dataclass

import torch

OPTIMIZERS = {"adam": torch.optim.AdamW, "sgd": torch.optim.SGD}
CHOICES = {"optimizer": tuple(OPTIMIZERS), "schedule": ("cosine", "constant"), "precision": ("float32", "bf16")}


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the result of a training, apart from the model's first weights and the text.

    Attributes:
        updates: the largest number of updates of the weights.
        batch: the number of parallel streams.
        seq_len: the number of symbols through which the gradient flows back.
        learning_rate: the highest learning rate.
        clip: a gradient longer than this is scaled down to this norm (Pascanu et al. 2013); infinity never scales.
        carry: whether each window starts from the state at the end of the previous one, or from the initial state.
        reset: the probability that a stream starts from the initial state in a window, although the state is carried.
            Streams begin too rarely to teach a network how a text begins: with 0, once in a pass over the text.
        optimizer: ``"adam"`` (Kingma & Ba 2015) or ``"sgd"``, plain gradient descent without momentum.
        beta2: β₂, the share of the squared gradients' running mean that Adam keeps in an update.
        weight_decay: λ: in each update every weight also loses λ times the learning rate of itself, apart from the
            optimizer's step (Loshchilov & Hutter 2019).
        averaging: the share of the weights' running mean that is kept in an update. It is the mean that is scored, and
            that the model has in the end (Polyak & Juditsky 1992). At first it is a plain mean of all updates so far. 0
            takes none.
        schedule: ``"cosine"`` or ``"constant"``; see `rate`.
        warm_up: the share of the updates in which the rate of ``"cosine"`` rises.
        patience: stop after so many validations in a row without a new lowest score, and restore the weights that had
            the lowest one; 0 trains to the end and keeps the last weights.
        precision: ``"float32"``, or ``"bf16"`` to multiply in bfloat16 in training (mixed precision). The weights, the
            optimizer and the validation stay in float32.

    Raises:
        ValueError: a value is out of range or unknown; the message names it and says what is right.

    Example:
        >>> recipe = Recipe(updates=100, learning_rate=0.01)
        >>> [round(recipe.rate(update), 4) for update in (0, 9, 55, 99)]  # warm-up, peak, half-way down, almost zero
        [0.001, 0.01, 0.005, 0.0]
        >>> Recipe(updates=100, clip=0)
        Traceback (most recent call last):
            ...
        ValueError: clip is 0; it must be above 0
    """

    updates: int
    batch: int = 64
    seq_len: int = 32
    learning_rate: float = 5e-3
    clip: float = 1.0
    carry: bool = True
    reset: float = 0.0
    optimizer: str = "adam"
    beta2: float = 0.999
    weight_decay: float = 0.0
    averaging: float = 0.0
    schedule: str = "cosine"
    warm_up: float = 0.1
    patience: int = 0
    precision: str = "float32"

    def __post_init__(self):
        for name in ("learning_rate", "clip"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be above 0")
        for name in ("updates", "batch", "seq_len"):
            if not isinstance(number := getattr(self, name), numbers.Integral) or number < 1:
                raise ValueError(f"{name} is {number!r}; it must be a whole number, 1 or more")
        if self.learning_rate == math.inf:
            raise ValueError("learning_rate is inf; it must be a finite number, such as 0.005")
        if not 0 <= self.reset <= 1:
            raise ValueError(f"reset is {self.reset}; a probability is 0 or more and at most 1")
        if self.reset and not self.carry:
            raise ValueError(f"reset is {self.reset}, but carry is False: every window starts from the initial state")
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(f"weight_decay is {self.weight_decay}; it must be 0 or more, and finite")
        for name in ("beta2", "averaging", "warm_up"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be 0 or more and below 1")
        if not self.patience >= 0:
            raise ValueError(f"patience is {self.patience}; it must be 0 or more")
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it can be one of {', '.join(choices)}")

    def rate(self, update: int) -> float:
        """Return the learning rate of an update.

            constant    learning_rate
            cosine      learning_rate · (update + 1) / W                in the first W updates, the warm-up
                        learning_rate · ½ (1 + cos π p)                 after it, with p rising from 0 to 1

        Args:
            update: its number, 0 … updates − 1.
        """
        if self.schedule == "constant":
            return self.learning_rate
        warm_up = max(1, int(self.updates * self.warm_up))
        if update < warm_up:
            return self.learning_rate * (update + 1) / warm_up
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * (update - warm_up) / (self.updates - warm_up)))

    def optimizer_of(self, weights: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
        """Return the optimizer of these weights; each of its steps is one fused operation where PyTorch has one."""
        weights = list(weights)
        fused = all(weight.device.type in ("cpu", "cuda") for weight in weights)
        betas = {"betas": (0.9, self.beta2)} if self.optimizer == "adam" else {}
        how = {"lr": self.learning_rate, "weight_decay": self.weight_decay, "fused": fused}
        return OPTIMIZERS[self.optimizer](weights, **how, **betas)
