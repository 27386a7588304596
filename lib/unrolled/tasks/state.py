"""A task that asks what a state of fixed size can track: the shell game (chapter 13)."""

import itertools
import math
from dataclasses import dataclass

import torch
from torch.nn.functional import one_hot

from unrolled.tasks.base import Task


@dataclass(frozen=True)
class ShellGame(Task):
    """Follow a ball under one of several cups, two of which change places at every step, or none.

    The ball begins under cup 0. A step is one of 1 + n (n − 1) / 2 symbols: nothing happens, or a certain two of the n
    cups change places; all are equally likely. The target at every step is the cup that hides the ball now, and the
    loss the mean cross-entropy, in nats. A model that has lost the ball pays ln n; the goal is a hundredth of it.

    With two cups this is parity: has there been an odd number of exchanges? With five, the moves generate all
    permutations of five things, the smallest symmetric group that is not solvable (Barrington 1989), which networks of
    constant depth are believed unable to follow (Merrill et al. 2024).

    >>> task = ShellGame(length=4, cups=3)
    >>> task.moves  # by symbol
    ((), (0, 1), (0, 2), (1, 2))
    >>> task.follow(torch.tensor([[1, 0, 3, 2]])).tolist()  # to cup 1, stays, to cup 2, to cup 0
    [[1, 1, 2, 0]]
    """

    length: int  # T, the number of steps of a sequence
    cups: int = 2  # n

    @property
    def moves(self) -> tuple[tuple[int, ...], ...]:
        """The two cups that change places, by symbol; none at symbol 0."""
        return ((), *itertools.combinations(range(self.cups), 2))

    @property
    def input_size(self) -> int:
        return len(self.moves)

    @property
    def output_size(self) -> int:
        return self.cups

    @property
    def trivial(self) -> float:
        return math.log(self.cups)

    @property
    def goal(self) -> float:
        return self.trivial / 100

    def follow(self, symbols: torch.Tensor) -> torch.Tensor:
        """Return the cup that hides the ball after every step, (batch, time), for symbols (batch, time)."""
        table = torch.arange(self.cups).repeat(len(self.moves), 1)  # (symbols, cups): where a ball under a cup goes
        for symbol, move in enumerate(self.moves):
            table[symbol, list(move)] = torch.tensor(move[::-1], dtype=torch.long)
        ball, places = torch.zeros_like(symbols[:, 0]), []
        for symbol in symbols.unbind(1):
            ball = table[symbol, ball]
            places.append(ball)
        return torch.stack(places, dim=1)

    def batch(self, batch: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a batch of inputs, one-hot, (batch, T, symbols), and of targets, cups, (batch, T)."""
        symbols = torch.randint(self.input_size, (batch, self.length), generator=generator)
        return one_hot(symbols, self.input_size).float(), self.follow(symbols)
