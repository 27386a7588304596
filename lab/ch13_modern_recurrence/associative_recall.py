"""A task that asks how much a state of fixed size can hold: associative recall (chapter 13)."""

import math
from dataclasses import dataclass

import torch
from torch.nn.functional import cross_entropy, one_hot


@dataclass(frozen=True)
class AssociativeRecall:
    """Read pairs of a key and a value, then give the value of every key (after Graves et al. 2014; Arora et al. 2024).

    The keys are all different and drawn anew for each sequence, as are the values, all equally likely. Then every key
    comes once more, in random order, and its value is the target. The loss is the mean cross-entropy of these answers,
    in nats. Without memory they cost ln of the number of values each.

    To answer everything, a state must hold the values of all pairs: log₂ of the number of values bits for each.

    Attributes:
        pairs: how many there are.
        keys: how many different keys there are to draw from.
        values: how many different values.

    Raises:
        ValueError: there is no pair, there are fewer keys than pairs, or fewer than two values.

    Example:
        >>> task = AssociativeRecall(pairs=2, keys=4, values=3)
        >>> inputs, targets = task.batch(1, torch.Generator().manual_seed(0))
        >>> tuple(inputs.shape)  # a step for each pair and for each question; key and value side by side, one-hot
        (1, 4, 7)
        >>> targets[0, :2].tolist()  # nothing is asked while the pairs are read
        [-1, -1]
    """

    pairs: int
    keys: int = 64
    values: int = 16

    def __post_init__(self):
        if self.pairs < 1 or self.keys < self.pairs:
            raise ValueError(f"pairs is {self.pairs}; with {self.keys} keys, all different, it can be 1 to {self.keys}")
        if self.values < 2:
            raise ValueError(f"values is {self.values}; there must be at least 2 to choose from")

    @property
    def input_size(self) -> int:
        """The length of a step's vector: a place for every key, and one for every value."""
        return self.keys + self.values

    @property
    def output_size(self) -> int:
        """The number of values."""
        return self.values

    @property
    def trivial(self) -> float:
        """The loss without memory, in nats per answer."""
        return math.log(self.values)

    @property
    def goal(self) -> float:
        """The loss below which the task counts as solved, in nats per answer."""
        return self.trivial / 100

    def batch(self, batch: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a batch of inputs, (batch, 2 pairs, keys + values), and of targets, (batch, 2 pairs), −1 at a pair."""
        keys = torch.rand(batch, self.keys, generator=generator).argsort(dim=1)[:, : self.pairs]
        values = torch.randint(self.values, (batch, self.pairs), generator=generator)
        order = torch.rand(batch, self.pairs, generator=generator).argsort(dim=1)
        asked, wanted = keys.gather(1, order), values.gather(1, order)
        inputs = one_hot(torch.cat([keys, asked], dim=1), self.input_size).float()
        inputs[:, : self.pairs] += one_hot(self.keys + values, self.input_size)
        return inputs, torch.cat([torch.full_like(values, -1), wanted], dim=1)

    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the mean cross-entropy of the answers, for logits (batch, 2 pairs, values) and targets."""
        return cross_entropy(outputs.flatten(0, 1), targets.flatten(), ignore_index=-1)

    error = loss
