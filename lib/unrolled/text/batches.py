"""Cut what a network is trained on to size: a long sequence into windows, sentences into padded batches."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_sequence


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


class Batch(NamedTuple):
    """Some sentences side by side, the shorter ones filled up with pads at their ends.

    The mask says what counts, not the pad's number: `masked_loss` is the sentences' own loss. A recurrent network reads
    a row from the left, so no pad has touched what the mask keeps; the state after a sentence is that of `last_states`,
    not the row's last. What reads from the right has to read `backwards`. Every batch begins without a past: the state
    of another one belongs to other sentences.

    Attributes:
        inputs: symbol numbers, (batch, time).
        targets: the symbol after each input, (batch, time).
        mask: True where the target is a symbol of the sentence, False where it is a pad, (batch, time).
        lengths: how many targets of each row count, (batch,).
    """

    inputs: torch.Tensor
    targets: torch.Tensor
    mask: torch.Tensor
    lengths: torch.Tensor

    def pack(self, vectors: torch.Tensor) -> PackedSequence:
        """Return the rows of vectors, (batch, time, features), without the pads, for ``torch.nn``'s recurrent networks.

        Those give packed hidden states back, which ``torch.nn.utils.rnn.pad_packed_sequence`` pads again, and the state
        after the sentence in each row.
        """
        return pack_padded_sequence(vectors, self.lengths.cpu(), batch_first=True, enforce_sorted=False)


class Sentences:
    """Cut sentences into padded batches, those of similar length together.

    In an epoch every sentence is read exactly once. The sentences are sorted by length and cut into batches, and the
    batches are then shuffled. So each batch holds little padding, and the longest sentences do not come last. Where
    the sentences do not divide evenly, the batch of the longest ones is smaller.

        sentences 5 6 9 and 7 9         inputs     targets    mask
        with start = 0, pad = 1         0 5 6      5 6 9      1 1 1      lengths 3
                                        0 7 1      7 9 1      1 1 0              2

    Args:
        sentences: symbol numbers, one tensor a sentence, (length,), its end symbol included.
        batch: how many sentences there are in a batch.
        pad: the number that fills the shorter rows. The model reads it, so it must be one that the model knows; any
            will do, since the mask hides what comes of it.
        start: the symbol that stands before every sentence. Without it a sentence's first symbol has no past and is
            only ever an input.

    Raises:
        ValueError: no sentences; one that has another number of axes, is empty or leaves nothing to predict; a batch
            below 1; a negative pad or start.
    """

    def __init__(self, sentences: Sequence[torch.Tensor], batch: int, *, pad: int, start: int | None = None):
        if not len(sentences):
            raise ValueError("there are no sentences; give at least one")
        if batch < 1:
            raise ValueError(f"batch is {batch}; it must be 1 or more")
        if pad < 0 or (start is not None and start < 0):
            raise ValueError(f"pad is {pad} and start is {start}; the model reads both, so neither can be negative")
        for index, sentence in enumerate(sentences):
            if sentence.ndim != 1:
                raise ValueError(f"sentence {index} has shape {tuple(sentence.shape)}; one axis is expected: (length,)")
            if not len(sentence):
                raise ValueError(f"sentence {index} is empty; leave it out, or end it with the end symbol")
            if len(sentence) == 1 and start is None:
                raise ValueError(
                    f"sentence {index} is the one symbol {int(sentence)}, and nothing stands before it to predict it "
                    "from; give a start, or leave the sentence out"
                )
        self.batch, self.pad = batch, pad
        before = [] if start is None else [sentences[0].new_tensor([start])]
        self._rows = [torch.cat([*before, sentence]) for sentence in sentences]
        self._lengths = torch.tensor([len(row) - 1 for row in self._rows])  # targets a sentence, (sentences,)

    def __len__(self) -> int:
        """Return the number of batches in an epoch."""
        return math.ceil(len(self._rows) / self.batch)

    @property
    def padding(self) -> float:
        """The share of pads among all targets of an epoch, the same in each."""
        batches = self._lengths.sort().values.split(self.batch)
        return 1 - int(self._lengths.sum()) / sum(len(lengths) * int(lengths[-1]) for lengths in batches)

    def epoch(self, seed: int) -> Iterator[Batch]:
        """Yield every sentence once, in `len(self)` batches.

        Args:
            seed: decides the order of the batches, and which of the sentences of equal length are together. The same
                seed gives the same batches.
        """
        generator = torch.Generator().manual_seed(seed)
        shuffled = torch.randperm(len(self._rows), generator=generator)
        by_length = shuffled[self._lengths[shuffled].argsort(stable=True)]
        batches = by_length.split(self.batch)
        for index in torch.randperm(len(batches), generator=generator).tolist():
            yield self._padded([self._rows[row] for row in batches[index].tolist()])

    def _padded(self, rows: list[torch.Tensor]) -> Batch:
        """Return these rows as one batch."""
        inputs = pad_sequence([row[:-1] for row in rows], batch_first=True, padding_value=self.pad)  # (batch, time)
        targets = pad_sequence([row[1:] for row in rows], batch_first=True, padding_value=self.pad)
        lengths = torch.tensor([len(row) - 1 for row in rows], device=inputs.device)
        mask = torch.arange(inputs.shape[1], device=inputs.device) < lengths[:, None]
        return Batch(inputs, targets, mask, lengths)


def masked_loss(logits: torch.Tensor, targets: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the mean cost of the targets that count, nats per symbol; pads weigh nothing.

        L = −Σ m_t ln p(w_t | w_1, …, w_{t−1}) / Σ m_t

    The loss of several batches is the mean of theirs weighted by ``mask.sum()``.

    Args:
        logits: (batch, time, vocab_size).
        targets: symbol numbers, (batch, time).
        mask: m, True where the target counts, (batch, time).

    Raises:
        ValueError: the shapes do not agree, or no target counts.
    """
    if not logits.shape[:-1] == targets.shape == mask.shape:
        raise ValueError(
            f"logits have shape {tuple(logits.shape)}, targets {tuple(targets.shape)} and mask {tuple(mask.shape)}; "
            "(batch, time, vocab_size) and twice (batch, time) are expected"
        )
    if not mask.any():
        raise ValueError("the mask is False everywhere; a mean needs at least one target that counts")
    mask = mask.to(logits.device)
    return cross_entropy(logits[mask], targets.to(logits.device)[mask])  # (symbols, vocab) and (symbols,)


def last_states(states: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Return the hidden state after the last symbol of every row, (batch, hidden_size).

    Args:
        states: the hidden states after every symbol, (batch, time, hidden_size).
        lengths: how many symbols of each row count, (batch,), 1 or more.
    """
    rows = torch.arange(len(states), device=states.device)
    return states[rows, lengths.to(states.device) - 1]


def backwards(rows: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Return every row's symbols in reverse order, with the pads at its end as before.

        5 6 9        9 6 5
        7 9 1   →    9 7 1        lengths 3 and 2

    So a network that reads from the left reads each sentence from the right, and meets no pad before it. Done twice,
    this changes nothing: it also brings the states that were found so back to their symbols.

    Args:
        rows: symbol numbers, (batch, time), or vectors, (batch, time, features).
        lengths: how many entries of each row count, (batch,).
    """
    time = torch.arange(rows.shape[1], device=rows.device)
    lengths = lengths.to(rows.device)[:, None]  # (batch, 1)
    source = torch.where(time < lengths, lengths - 1 - time, time)  # (batch, time)
    return rows[torch.arange(len(rows), device=rows.device)[:, None], source]
