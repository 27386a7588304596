"""Cut a long sequence into windows that a network can be trained on."""

from __future__ import annotations

from typing import NamedTuple

import torch


class Window(NamedTuple):
    """One window of every stream: what goes in, what should come out, and whether the streams begin here.

    Attributes:
        inputs: symbol numbers, (batch, seq_len).
        targets: the symbol after each input, (batch, seq_len).
        fresh: True where the streams begin: no state can be carried into this window.
    """

    inputs: torch.Tensor
    targets: torch.Tensor
    fresh: bool


class Streams:
    """Lay a sequence out as parallel streams and read them side by side, window after window.

    The sequence is cut into `batch` contiguous pieces of equal length. Row b of window k + 1 goes on exactly
    where row b of window k stopped, so the state at the end of one window is the right state for the next: this
    is what truncated backpropagation through time needs. What is left over at the end is not read.

        tokens    0 1 2 3 4 5 6 7 8 9 …         batch = 2, seq_len = 2
        stream 0  0 1 | 2 3 | …                 window 0 is 0 1 above 5 6,
        stream 1  5 6 | 7 8 | …                 window 1 is 2 3 above 7 8

    Args:
        tokens: symbol numbers, (length,).
        batch: how many streams.
        seq_len: symbols of each stream in one window.

    Raises:
        ValueError: not one window of that size fits.
    """

    def __init__(self, tokens: torch.Tensor, batch: int, seq_len: int):
        if tokens.ndim != 1:
            raise ValueError(f"tokens have shape {tuple(tokens.shape)}; one axis is expected: (length,)")
        if batch < 1 or seq_len < 1:
            raise ValueError(f"batch is {batch} and seq_len is {seq_len}; both must be 1 or more")
        length = (len(tokens) - 1) // batch  # the last symbol is only ever a target
        if length < seq_len:
            raise ValueError(
                f"seq_len is {seq_len}, but {len(tokens)} symbols in {batch} streams leave {max(length, 0)} a stream; "
                "take a longer text, a smaller batch or a smaller seq_len"
            )
        self.batch, self.seq_len = batch, seq_len
        self._inputs = tokens[: batch * length].view(batch, length)
        self._targets = tokens[1 : batch * length + 1].view(batch, length)

    def __len__(self) -> int:
        """Return the number of windows in one pass over the sequence."""
        return self._inputs.shape[1] // self.seq_len

    def window(self, update: int) -> Window:
        """Return the window for this update; after the last one, the streams begin again."""
        index = update % len(self)
        here = slice(index * self.seq_len, (index + 1) * self.seq_len)
        return Window(self._inputs[:, here], self._targets[:, here], fresh=index == 0)
