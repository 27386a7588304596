"""Tasks that need a memory: adding, copying, write–ignore–read, and counting (chapters 4 to 6)."""

import math
from dataclasses import dataclass

import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, mse_loss, one_hot

from unrolled.tasks.base import Task


@dataclass(frozen=True)
class Adding(Task):
    """Add two marked numbers among many: the adding problem (after Hochreiter & Schmidhuber 1997).

    Every step brings a number, uniform between 0 and 1, and a marker, 0 or 1. One marker is in the first half of the
    sequence and one in the second, each at a random position (there, both are in the first half). The target is the sum
    of the two marked numbers, asked for after the last step. The loss is the mean squared error.

    Without memory the best answer is the mean, 1. Its error is the variance of the sum of two independent uniform
    numbers, 2 · 1/12 = 1/6. (The literature often gives 0.1767.) The goal is the 0.01 of Hochreiter & Schmidhuber 1997,
    6 % of the trivial error; their scale is twice ours.

    >>> inputs, targets = Adding(length=50).batch(8, torch.Generator().manual_seed(0))
    >>> tuple(inputs.shape), tuple(targets.shape), inputs[0, :, 1].sum().item()  # two markers in a sequence
    ((8, 50, 2), (8,), 2.0)
    """

    length: int  # T, the number of steps of a sequence, at least 2
    input_size = 2
    output_size = 1
    trivial = 1 / 6
    goal = 0.01

    def batch(self, batch: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a batch of inputs, numbers and markers, (batch, T, 2), and of targets, their sums, (batch,)."""
        half = self.length // 2
        numbers = torch.rand(batch, self.length, generator=generator)
        first = torch.randint(half, (batch,), generator=generator)
        second = torch.randint(half, self.length, (batch,), generator=generator)
        places = torch.stack([first, second], dim=1)  # (batch, 2)
        markers = torch.zeros_like(numbers).scatter_(1, places, 1.0)
        return torch.stack([numbers, markers], dim=2), numbers.gather(1, places).sum(1)

    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the mean squared error after the last step, for outputs (batch, T, 1) and targets (batch,)."""
        return mse_loss(outputs[:, -1, 0], targets)


@dataclass(frozen=True)
class Copy(Task):
    """Repeat a row of symbols after a pause: the copy problem (after Hochreiter & Schmidhuber 1997).

    A sequence has T + 20 steps. First come 10 symbols out of 8, all equally likely; then T − 1 blanks; then the
    delimiter; then 10 blanks. The target is a blank for the first T + 10 steps, and then the 10 symbols in their order.
    The loss is the mean cross-entropy of all steps, in nats.

    A model that knows the step but not the symbols answers at best with a blank for T + 10 steps, which costs nothing,
    and with probability 1/8 for each symbol afterwards, which costs ln 8: on average, 10 ln 8 / (T + 20).

    The goal is a tenth of that, 0.21 nats for each of the 10 symbols, or a probability of 0.81.

    >>> task = Copy(length=3)
    >>> inputs, targets = task.batch(1, torch.Generator().manual_seed(0))
    >>> tuple(inputs.shape), targets[0, :13].unique().tolist(), round(task.trivial, 3)  # 13 blanks, then the symbols
    ((1, 23, 10), [8], 0.904)
    """

    length: int  # T, the number of steps from the last symbol shown to the delimiter, at least 1
    symbols = 8
    wanted = 10
    blank, delimiter = 8, 9
    input_size = 10
    output_size = 9  # the delimiter is never wanted

    @property
    def trivial(self) -> float:
        return self.wanted * math.log(self.symbols) / (self.length + 2 * self.wanted)

    @property
    def goal(self) -> float:
        return self.trivial / 10

    def batch(self, batch: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a batch of inputs, one-hot, (batch, T + 20, 10), and of targets, symbols, (batch, T + 20)."""
        shown = torch.randint(self.symbols, (batch, self.wanted), generator=generator)
        inputs = torch.full((batch, self.length + 2 * self.wanted), self.blank)
        targets = inputs.clone()
        inputs[:, : self.wanted] = shown
        inputs[:, self.wanted + self.length - 1] = self.delimiter
        targets[:, -self.wanted :] = shown
        return one_hot(inputs, self.input_size).float(), targets


@dataclass(frozen=True)
class FlipFlop(Task):
    """Write, ignore, read: keep the last symbol written, through distractors, until it is asked for (Liu et al. 2023).

    Every step brings an instruction, write, ignore or read, and one of 8 symbols, all equally likely. The first 10
    steps write at least three times, at the first, at the last and at one more at least, so that what is kept has to be
    replaced, too. Then come `lag` − 1 steps to ignore, and at the end the read: which symbol was written last? That
    was exactly `lag` steps ago. The loss is the cross-entropy of that answer, in nats, and the error the share of wrong
    answers.

    Without memory the best answer is any symbol, which is wrong 7 times of 8. The goal is 99 right answers of 100.
    (Liu et al.'s flip-flop language has two symbols, and reads in between.)

    >>> inputs, targets = FlipFlop(lag=20).batch(8, torch.Generator().manual_seed(0))
    >>> write, ignore, read = inputs[0, :, 8:].sum(dim=0).int().tolist()
    >>> tuple(inputs.shape), tuple(targets.shape), write + ignore, read
    ((8, 30, 11), (8,), 29, 1)
    """

    lag: int  # the number of steps from the last write to the read, at least 1
    symbols = 8
    writing = 10  # steps, of which the last one writes
    input_size = 11
    output_size = 8
    trivial = 7 / 8
    goal = 0.01

    def batch(self, batch: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Return inputs, a symbol and an instruction, both one-hot, (batch, 10 + lag, 11), and symbols, (batch,)."""
        steps = self.writing + self.lag
        symbols = torch.randint(self.symbols, (batch, steps), generator=generator)
        writes = torch.rand(batch, steps, generator=generator) < 0.5
        third = torch.randint(1, self.writing - 1, (batch, 1), generator=generator)
        writes = writes.scatter(1, third, True)
        writes[:, 0] = writes[:, self.writing - 1] = True
        writes[:, self.writing :] = False
        instructions = torch.where(writes, 0, 1)  # write, ignore
        instructions[:, -1] = 2  # read
        inputs = torch.cat([one_hot(symbols, self.symbols), one_hot(instructions, 3)], dim=2).float()
        return inputs, symbols[:, self.writing - 1]

    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the cross-entropy at the read, nats, for logits (batch, 10 + lag, 8) and symbols (batch,)."""
        return cross_entropy(outputs[:, -1], targets)

    def error(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the share of wrong answers; the arguments are those of `loss`."""
        return (outputs[:, -1].argmax(dim=-1) != targets).float().mean()


@dataclass(frozen=True)
class Counting(Task):
    """Recognise the last b of the strings aⁿbⁿ (Gers & Schmidhuber 2001; Weiss et al. 2018).

    A sequence consists of n letters a and n letters b, with n uniform between 1 and `length`, and then nothing. At
    every b the model gives one answer, the logit of "this is the last b". The loss is the mean binary cross-entropy of
    these answers, in nats.

    Without memory the best answer is always the same: the share 2 / (length + 1) of all b are the last of their string,
    and the loss is the entropy of that share. The goal is a thousandth of it.

    >>> inputs, targets = Counting.strings(torch.tensor([2]), steps=5)  # aabb
    >>> inputs[0].tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 0.0]]
    >>> targets[0].tolist()
    [-1.0, -1.0, 0.0, 1.0, -1.0]
    """

    length: int  # the largest n in training, at least 2
    input_size = 2
    output_size = 1

    @property
    def trivial(self) -> float:
        last = 2 / (self.length + 1)
        return -last * math.log(last) - (1 - last) * math.log(1 - last)

    @property
    def goal(self) -> float:
        return self.trivial / 1000

    def batch(self, batch: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Return `strings` of random n as inputs, (batch, 2 length, 2), and targets, (batch, 2 length)."""
        return self.strings(torch.randint(1, self.length + 1, (batch,), generator=generator), 2 * self.length)

    @staticmethod
    def strings(n: torch.Tensor, steps: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return aⁿbⁿ for each n, (batch,), as inputs and targets of so many steps.

        Returns:
            Inputs, (batch, steps, 2): (1, 0) for a, (0, 1) for b and (0, 0) after the last b. Targets, (batch, steps):
            1 at the last b, 0 at every other b, and −1 where no answer is asked for.
        """
        step, n = torch.arange(steps), n[:, None]
        is_a, is_b = step < n, (step >= n) & (step < 2 * n)
        targets = torch.where(is_b, (step == 2 * n - 1).float(), -1.0)
        return torch.stack([is_a, is_b], dim=2).float(), targets

    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the mean cross-entropy over all b, for logits (batch, 2 length, 1) and targets (batch, 2 length)."""
        is_b = targets >= 0
        return binary_cross_entropy_with_logits(outputs[..., 0][is_b], targets[is_b])
