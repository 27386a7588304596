"""Arrange sequences that come with an answer: words with their tags, sources with their targets, as padded batches."""

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import torch

from unrolled.text.batches import Batch, padded, similar_lengths, token_row

Pair = tuple[torch.Tensor, torch.Tensor]  # what is read and what is answered: tokens, (length,) each


class PairBatch(NamedTuple):
    """Sources side by side and their targets, both padded at the end, as an encoder–decoder reads them.

    Attributes:
        sources: tokens, (batch, n).
        lengths: the number of symbols of each source without its pads, (batch,).
        inputs: what the decoder reads: the start symbol and the target but for its last symbol, (batch, m).
        targets: what it should say: the target with its end symbol, (batch, m).
        mask: True where the target is a symbol, False where it is a pad, (batch, m).

    >>> batch = pad_pairs([(torch.tensor([5, 6]), torch.tensor([6, 5, 1])), (torch.tensor([5]),) * 2], start=0)
    >>> batch.inputs.tolist(), batch.mask[1].tolist(), batch.lengths.tolist()
    ([[0, 6, 5], [0, 0, 0]], [True, False, False], [2, 1])
    """

    sources: torch.Tensor
    lengths: torch.Tensor
    inputs: torch.Tensor
    targets: torch.Tensor
    mask: torch.Tensor


def pad_pairs(pairs: Sequence[Pair], *, start: int, pad: int = 0) -> PairBatch:
    """Return sources with their targets, which end with their end symbol, as one batch.

    The decoder reads `start` before a target. Any symbol will do as a pad, since lengths and mask hide it.
    """
    sources = [token_row(source, f"source {number}") for number, (source, _) in enumerate(pairs)]
    targets = [token_row(target, f"target {number}") for number, (_, target) in enumerate(pairs)]
    read, _, lengths = padded(sources, pad)
    inputs, mask, _ = padded([torch.cat([target.new_tensor([start]), target[:-1]]) for target in targets], pad)
    return PairBatch(read, lengths, inputs, padded(targets, pad)[0], mask)


def pad_tagged(pairs: Sequence[Pair], *, pad: int = 0) -> Batch:
    """Return sentences, words with a tag for each, as one batch: inputs are words, targets their tags.

    >>> pad_tagged([(torch.tensor([5, 6]), torch.tensor([2, 1])), (torch.tensor([7]), torch.tensor([2]))]).mask
    tensor([[ True,  True],
            [ True, False]])
    """
    words = [token_row(read, f"sentence {number}") for number, (read, _) in enumerate(pairs)]
    tags = [token_row(answered, f"row of tags {number}") for number, (_, answered) in enumerate(pairs)]
    inputs, mask, lengths = padded(words, pad)
    targets, _, answered = padded(tags, pad)
    if not torch.equal(lengths, answered):
        raise ValueError(f"there are {lengths.tolist()} words and {answered.tolist()} tags; each word has one tag")
    return Batch(inputs, targets, mask, lengths)


class Examples:
    """Cut examples into padded batches of similar length; every pass over them cuts and orders them anew.

    Args:
        pairs: what is read and what is answered, one pair for each example.
        batch: the number of examples in a batch; in each pass, that of the longest ones may be smaller.
        padded: makes a batch of some pairs: `pad_tagged`, or `pad_pairs` with its start symbol.
        seed: of the orders.

    >>> pairs = [(torch.arange(n), torch.arange(n)) for n in (2, 9, 3, 8)]
    >>> examples = Examples(pairs, batch=2, padded=pad_tagged)
    >>> len(examples), sorted(tuple(examples.batch_of(update).inputs.shape) for update in (0, 1))
    (2, [(2, 3), (2, 9)])
    """

    def __init__(
        self, pairs: Sequence[Pair], batch: int, padded: Callable[[Sequence[Pair]], Batch | PairBatch], *, seed: int = 0
    ):
        if batch < 1 or not len(pairs):
            raise ValueError(f"batch is {batch}, for {len(pairs)} examples; both must be 1 or more")
        self.pairs, self.batch, self._padded, self._seed = list(pairs), batch, padded, seed
        self._lengths = torch.tensor([len(source) for source, _ in self.pairs])
        self._order = lru_cache(maxsize=2)(self._order_of)

    def __len__(self) -> int:
        """Return the number of batches in a pass."""
        return -(-len(self.pairs) // self.batch)

    def batch_of(self, update: int) -> Batch | PairBatch:
        """Return the batch for an update, counted from 0; after the last batch of a pass comes the next pass."""
        return self._padded([self.pairs[row] for row in self._order(update // len(self))[update % len(self)]])

    @property
    def digest(self) -> str:
        """A short hash of the examples and their order."""
        content = hashlib.sha256()
        for pair in self.pairs:
            for part in pair:
                content.update(len(part).to_bytes(8, "big") + part.cpu().long().contiguous().numpy().tobytes())
        return content.hexdigest()[:16]

    def _order_of(self, passed: int) -> list[list[int]]:
        """Return the rows of each batch of a pass. (PyTorch uses no more than 32 bits of a seed.)"""
        return similar_lengths(self._lengths, self.batch, seed=(1_000_003 * self._seed + passed) % 2**32)
