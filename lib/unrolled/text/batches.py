"""Arrange tokens for training: a long sequence as parallel streams, sentences as padded batches."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence

from unrolled.text.numbers import check_range, symbol_numbers


class Window(NamedTuple):
    """The same stretch of every stream, as `Streams` cuts it."""

    inputs: torch.Tensor  # (batch, seq_len)
    targets: torch.Tensor  # the token after each input, (batch, seq_len)
    fresh: bool  # True if the streams begin with this window, so that no state may be carried into it


class Streams:
    """Cut a sequence into parallel streams and read them side by side, window by window.

    The streams are `batch` contiguous pieces of equal length. Row b of window k + 1 continues exactly where row b of
    window k ended, so the state at the end of one window is the right initial state for the next, as truncated
    backpropagation through time requires. Symbols left over at the end are not read.

        tokens    0 1 2 3 4 5 6 7 8 9 10        batch = 2, seq_len = 2
        stream 0  0 1 | 2 3 | 4                 window 0 is 0 1 above 5 6,
        stream 1  5 6 | 7 8 | 9                 window 1 is 2 3 above 7 8

    Args:
        tokens: what to read, (length,).
        batch: the number of streams.
        seq_len: the number of symbols that a window takes from each stream.

    >>> streams = Streams(torch.arange(11), batch=2, seq_len=2)
    >>> len(streams)
    2
    >>> streams.window(1).inputs
    tensor([[2, 3],
            [7, 8]])
    """

    def __init__(self, tokens: torch.Tensor, batch: int, seq_len: int):
        tokens = symbol_numbers(tokens, ("length",))
        check_range(tokens)
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
        """Return the window for an update, counted from 0; after the last window the streams begin again."""
        index = update % len(self)
        here = slice(index * self.seq_len, (index + 1) * self.seq_len)
        return Window(self._inputs[:, here], self._targets[:, here], fresh=index == 0)


class Batch(NamedTuple):
    """Sentences side by side, padded at the end to the length of the longest, as `Sentences` arranges them.

    The mask decides what counts, not the token used for padding: `masked_loss` is the loss of the sentences alone. The
    state after a sentence is the one that `last_states` returns, not the last in its row. A network that reads from the
    right must be given the rows `backwards`.

    Attributes:
        inputs: tokens, (batch, time).
        targets: the token after each input, (batch, time).
        mask: True where the target is a symbol of the sentence, False where it is a pad, (batch, time).
        lengths: the number of targets that are symbols of the sentence, (batch,).

    >>> (batch,) = Sentences([torch.tensor([5, 6, 9]), torch.tensor([7, 9])], 2, pad=1, start=0).epoch(seed=0)
    >>> batch.targets
    tensor([[7, 9, 1],
            [5, 6, 9]])
    """

    inputs: torch.Tensor
    targets: torch.Tensor
    mask: torch.Tensor
    lengths: torch.Tensor


class Sentences:
    """Group sentences of similar length in padded batches.

    An epoch reads each sentence once. The sentences are sorted by length and cut into batches, which are then shuffled:
    batches hold little padding. If the sentences do not divide evenly, the batch of the longest ones is smaller.

        sentences 7 9 and 5 6 9         inputs     targets    mask
        with start = 0, pad = 1         0 7 1      7 9 1      1 1 0      lengths 2
                                        0 5 6      5 6 9      1 1 1              3

    Args:
        sentences: tokens, one tensor for each sentence, (length,), its end symbol included.
        batch: the number of sentences in a batch.
        pad: the token that fills up the shorter rows: any symbol of the model, since the mask hides the effect.
        start: the token put before every sentence. Without it, its first symbol is an input and never a target.

    >>> sentences = Sentences([torch.tensor([5, 6, 9]), torch.tensor([7, 9])], batch=2, pad=1, start=0)
    >>> len(sentences), f"{sentences.padding:.2f}"
    (1, '0.17')
    """

    def __init__(self, sentences: Sequence[torch.Tensor], batch: int, *, pad: int, start: int | None = None):
        if batch < 1 or not len(sentences):
            raise ValueError(f"batch is {batch}, for {len(sentences)} sentences; both must be 1 or more")
        self.batch, self.pad = batch, pad
        self._rows = [token_row(sentence, f"sentence {index}") for index, sentence in enumerate(sentences)]
        if start is not None:
            self._rows = [torch.cat([row.new_tensor([start]), row]) for row in self._rows]
        self._lengths = torch.tensor([len(row) - 1 for row in self._rows])  # targets in each sentence, (sentences,)
        if not self._lengths.all():
            raise ValueError("a sentence is one symbol, with nothing before it to predict it from; give a start")

    def __len__(self) -> int:
        """Return the number of batches in an epoch."""
        return math.ceil(len(self._rows) / self.batch)

    @property
    def padding(self) -> float:
        """The share of pads among all targets of an epoch, 0 to 1; it is the same in every epoch."""
        batches = self._lengths.sort().values.split(self.batch)
        return 1 - int(self._lengths.sum()) / sum(len(lengths) * int(lengths[-1]) for lengths in batches)

    def epoch(self, seed: int) -> Iterator[Batch]:
        """Yield every sentence once, in ``len(self)`` batches; the seed decides their order and who shares one."""
        for batch in similar_lengths(self._lengths, self.batch, seed):
            rows = [self._rows[row] for row in batch]
            inputs, _, _ = padded([row[:-1] for row in rows], self.pad)
            yield Batch(inputs, *padded([row[1:] for row in rows], self.pad))


def token_row(tokens: torch.Tensor, name: str) -> torch.Tensor:
    """Return the tokens of one sequence as int64, (length,), and refuse what is empty or no tokens."""
    tokens = symbol_numbers(tokens, ("length",), f"the symbols of {name}")
    check_range(tokens, name=f"the symbols of {name}")
    return tokens


def padded(rows: list[torch.Tensor], pad: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return rows of tokens side by side, (batch, time), where they are no pads, and the lengths, (batch,)."""
    tokens = pad_sequence(rows, batch_first=True, padding_value=pad)  # (batch, time)
    lengths = torch.tensor([len(row) for row in rows], device=tokens.device)
    return tokens, torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None], lengths


def similar_lengths(lengths: torch.Tensor, batch: int, seed: int) -> list[list[int]]:
    """Return the rows of each batch of one pass over rows of these lengths, (rows,): similar ones stand together."""
    generator = torch.Generator().manual_seed(seed)
    shuffled = torch.randperm(len(lengths), generator=generator)
    by_length = shuffled[lengths[shuffled].argsort(stable=True)]
    batches = by_length.split(batch)
    return [batches[index].tolist() for index in torch.randperm(len(batches), generator=generator).tolist()]


def masked_loss(logits: torch.Tensor, targets: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the mean cross-entropy of the targets that the mask keeps, a scalar in nats per symbol.

        L = −Σ m_t ln p(w_t | w_1, …, w_{t−1}) / Σ m_t

    The loss over several batches is the mean of their losses weighted by ``mask.sum()``.

    Args:
        logits: (batch, time, vocab_size).
        targets: tokens, (batch, time).
        mask: m, True where the target counts, (batch, time).

    >>> uniform = torch.zeros(1, 3, 4)  # every one of 4 symbols has probability 1/4
    >>> masked_loss(uniform, torch.tensor([[2, 3, 0]]), torch.tensor([[True, True, False]]))
    tensor(1.3863)
    """
    if not logits.shape[:-1] == targets.shape == mask.shape:
        raise ValueError(
            f"logits have shape {tuple(logits.shape)}, targets {tuple(targets.shape)} and mask {tuple(mask.shape)}; "
            "(batch, time, vocab_size) and twice (batch, time) are expected"
        )
    if mask.dtype != torch.bool:
        raise ValueError(f"mask is {mask.dtype}; torch.bool is expected: use mask.bool()")
    if not mask.any():
        raise ValueError("the mask is False everywhere; a mean needs at least one target that counts")
    mask = mask.to(logits.device)
    kept = symbol_numbers(targets, name="targets").to(logits.device)[mask]  # (symbols,)
    check_range(kept, logits.shape[-1], "targets")
    return cross_entropy(logits[mask], kept)  # (symbols, vocab) and (symbols,)


def last_states(states: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Return the hidden state after the last symbol of each row, (batch, hidden_size).

    Args:
        states: the hidden state after every symbol, (batch, time, hidden_size).
        lengths: the number of symbols in each row without its pads, (batch,), 1 or more.

    >>> states = torch.tensor([[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]])  # (2, 3, 1)
    >>> last_states(states, torch.tensor([2, 3]))
    tensor([[2.],
            [6.]])
    """
    if lengths.min() < 1:
        raise ValueError(f"a length is {lengths.min()}; leave out rows without a symbol, which have no last state")
    rows = torch.arange(len(states), device=states.device)
    return states[rows, lengths.to(states.device) - 1]


def backwards(rows: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Return the rows with the symbols of each in reverse order and its pads still at the end, same shape.

    A network that reads these rows from the left reads each sentence from the right and meets no pad before it. Applied
    to the resulting hidden states, the function puts them back in the order of the symbols.

    Args:
        rows: tokens, (batch, time), or vectors, (batch, time, features).
        lengths: the number of entries in each row without its pads, (batch,).

    >>> backwards(torch.tensor([[5, 6, 9], [7, 9, 1]]), torch.tensor([3, 2]))
    tensor([[9, 6, 5],
            [9, 7, 1]])
    """
    time = torch.arange(rows.shape[1], device=rows.device)
    lengths = lengths.to(rows.device)[:, None]  # (batch, 1)
    source = torch.where(time < lengths, lengths - 1 - time, time)  # (batch, time)
    return rows[torch.arange(len(rows), device=rows.device)[:, None], source]
