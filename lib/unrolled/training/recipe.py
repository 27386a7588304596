"""How to train: the optimizer, the learning rate of every update, the arithmetic, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch

OPTIMIZERS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
CHOICES = {
    "optimizer": tuple(OPTIMIZERS),
    "schedule": ("cosine", "constant", "plateau"),
    "precision": ("float32", "bf16"),
}


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the result of a training, apart from the model's first weights and the text.

    Attributes:
        updates: how many times the weights are changed, at the most.
        batch: parallel streams.
        seq_len: symbols through which the gradient flows back.
        learning_rate: the highest learning rate.
        clip: the gradient is scaled down to this norm where it is longer (Pascanu et al. 2013); infinite: never.
        carry: start each window from the state at the end of the last one; False starts it afresh.
        optimizer: ``"adam"`` (Kingma & Ba 2015), ``"adamw"`` (Loshchilov & Hutter 2019) or ``"sgd"``, plain gradient
            descent without momentum.
        weight_decay: λ. Adam and SGD add λ w to the clipped gradient of the weights w; AdamW leaves the gradient alone
            and subtracts rate · λ w from the weights.
        schedule: ``"cosine"``, ``"constant"`` or ``"plateau"``, which needs a validation text: see `rate`.
        patience: stop after so many validations in a row without a new lowest score, and give the model the weights
            that it had at the lowest one; 0: train to the end, and keep the last weights.
        precision: ``"float32"``, or ``"bf16"`` to multiply in bfloat16 while training (mixed precision). The weights,
            the optimizer and the validation stay in float32.
        compile: whether `torch.compile` translates the model first; it computes the same up to rounding. Of the book's
            own cells every step is translated, which can take minutes.

    Raises:
        ValueError: a value that cannot be.
    """

    updates: int
    batch: int = 64
    seq_len: int = 32
    learning_rate: float = 5e-3
    clip: float = 1.0
    carry: bool = True
    optimizer: str = "adam"
    weight_decay: float = 0.0
    schedule: str = "cosine"
    patience: int = 0
    precision: str = "float32"
    compile: bool = False

    def __post_init__(self):
        for name in ("updates", "learning_rate", "clip"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be above 0")
        for name in ("weight_decay", "patience"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be 0 or more")
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it can be one of {', '.join(choices)}")

    @property
    def needs_validation(self) -> bool:
        """Whether the scores of a validation text decide how the training goes on."""
        return self.schedule == "plateau" or self.patience > 0

    def rate(self, update: int, setbacks: int = 0) -> float:
        """Return the learning rate of an update.

            cosine      learning_rate · (update + 1) / warm_up              in the first tenth, which is the warm-up
                        learning_rate · ½ (1 + cos π p)                     after it; p goes from 0 to 1
            constant    learning_rate
            plateau     learning_rate / 4^setbacks                          as PyTorch's word-language-model example

        Args:
            update: 0 … updates − 1.
            setbacks: how many validations before this update brought no new lowest score.
        """
        if self.schedule == "constant":
            return self.learning_rate
        if self.schedule == "plateau":
            return self.learning_rate * 0.25**setbacks
        warm_up = max(1, self.updates // 10)
        if update < warm_up:
            return self.learning_rate * (update + 1) / warm_up
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * (update - warm_up) / (self.updates - warm_up)))

    def optimizer_of(self, weights: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
        """Return the optimizer of these weights; its steps are one fused operation where PyTorch has that."""
        weights = list(weights)
        return OPTIMIZERS[self.optimizer](
            weights,
            lr=self.learning_rate,
            weight_decay=self.weight_decay,
            fused=all(weight.device.type in ("cpu", "cuda") for weight in weights),
        )
