"""Count the n-grams of a text: all orders at once, in one sort."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from unrolled.text import NONE


@dataclass(frozen=True)
class Level:
    """The distinct k-grams of a text, in the order of their words' numbers; one row each.

    Attributes:
        parent: the row of its first k − 1 words, among the (k−1)-grams.
        suffix: the row of its last k − 1 words, likewise.
        word: the number of its last word.
        count: how often it occurs.
        left: after how many different words it occurs (the beginning of the text counts as one).
    """

    parent: np.ndarray
    suffix: np.ndarray
    word: np.ndarray
    count: np.ndarray
    left: np.ndarray


class Counts:
    """Count the n-grams of a text, of every order up to the one given.

    All n-grams are sorted once. Those that begin with the same k words are then neighbours, whatever k is, so one
    pass over the sorted list finds the k-grams of each order. A k-gram is found again by its key, made of its parent
    and its last word; the keys of a level ascend.

    Args:
        tokens: symbol numbers, (length,).
        vocab_size: V, the number of symbols.
        order: the length of the longest n-grams.

    Attributes:
        levels: one `Level` for each order, 1 … order.

    Raises:
        ValueError: the text is shorter than an n-gram, a number is no symbol's, or the order is below 1.
    """

    def __init__(self, tokens: torch.Tensor | np.ndarray, vocab_size: int, order: int):
        tokens = np.asarray(tokens)
        if tokens.ndim != 1:
            raise ValueError(f"tokens have shape {tokens.shape}; one axis is expected: (length,)")
        if not 1 <= order <= len(tokens):
            raise ValueError(f"order is {order}; it must be from 1 to the length of the text, {len(tokens)}")
        if tokens.min() < 0 or tokens.max() >= vocab_size:
            raise ValueError(
                f"tokens run from {tokens.min()} to {tokens.max()}; with {vocab_size} symbols they must lie "
                f"between 0 and {vocab_size - 1}"
            )
        self.vocab_size, self.order, self.levels = vocab_size, order, []
        padded = np.concatenate([tokens, np.full(order, NONE)]).astype(np.int32)
        starts = _sorted_starts(padded, vocab_size, order)
        begins = np.zeros(len(starts), dtype=bool)  # rows of the sorted list where another k-gram begins
        begins[0] = True
        row = np.zeros(len(starts), dtype=np.int32)  # of the (k−1)-gram in each row of the sorted list
        at = np.zeros(len(starts) + 1, dtype=np.int32)  # of the (k−1)-gram that begins at each place of the text
        for k in range(1, order + 1):
            words = padded[starts + (k - 1)]
            begins[1:] |= words[1:] != words[:-1]
            whole = words != NONE  # the text does not end within the k-gram
            first = np.flatnonzero(begins & whole)
            parent, suffix = row[first], at[starts[first] + 1]
            if self.levels:
                self.levels[-1].left[:] += np.bincount(suffix, minlength=len(self.levels[-1].left))
            row = np.where(whole, np.cumsum(begins & whole, dtype=np.int32) - 1, NONE).astype(np.int32)
            count = np.bincount(row[whole], minlength=len(first))
            at[starts] = row
            left = np.zeros(len(first), dtype=np.int64)
            left[at[0]] = 1  # nothing stands before the k-gram that begins the text
            self.levels.append(Level(parent, suffix, words[first], count, left))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(level.word):,}" for level in self.levels)
        return f"Counts of orders 1 to {self.order} over {self.vocab_size} symbols: {sizes} different n-grams"


def _sorted_starts(padded: np.ndarray, vocab_size: int, order: int) -> np.ndarray:
    """Return the places of a text in the order of the n-grams that begin there; an early end comes first."""
    digits = padded.astype(np.int64) + 1
    length, base = len(padded) - order, vocab_size + 1
    fit = 1  # as many symbols are packed into one number as fit
    while base ** (fit + 1) < 2**63:
        fit += 1
    columns = []
    for first in range(0, order, fit):
        packed = np.zeros(length, dtype=np.int64)
        for place in range(first, min(first + fit, order)):
            packed = packed * base + digits[place : place + length]
        columns.append(packed)
    return np.argsort(columns[0]) if len(columns) == 1 else np.lexsort(columns[::-1])
