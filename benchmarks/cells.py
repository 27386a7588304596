"""The book's recurrent cells against PyTorch's."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from pairs import Pair
from torch import nn

from unrolled.cells import RNNCell, unroll

SHAPES = [  # batch, time steps, d = h, forward only
    (32, 64, 128, False),
    (32, 64, 128, True),
    (64, 128, 256, False),
    (1, 64, 128, False),
]


def rows() -> Iterator[Pair]:
    """Yield the comparisons: each cell on the same input as its peer, forward, or forward and backward."""
    for batch, time_steps, size, forward_only in SHAPES:
        passes = "forward" if forward_only else "forward + backward"
        name = f"RNN, {passes}, B={batch} T={time_steps} d=h={size}"
        yield Pair(name, *rnn(batch, time_steps, size, forward_only))


def rnn(batch: int, time_steps: int, size: int, forward_only: bool) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return the book's RNN and ``torch.nn.RNN`` on the same input: forward, or forward and backward."""
    theirs = nn.RNN(size, size, batch_first=True)
    cell = RNNCell.from_torch(theirs)
    inputs = torch.randn(batch, time_steps, size, requires_grad=not forward_only)

    def call(layer: Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]) -> None:
        with torch.set_grad_enabled(not forward_only):
            states, _ = layer(inputs)
        if not forward_only:
            states.sum().backward()

    return lambda: call(lambda x: unroll(cell, x)), lambda: call(theirs)
