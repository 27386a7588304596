"""Count the n-grams of a text, all orders at once, in one sort."""

from typing import NamedTuple

import numpy as np
import torch

from unrolled.text import NONE, check_range, symbol_numbers


class Level(NamedTuple):
    """The distinct k-grams of a text, sorted by their tokens, one row each: (rows,)."""

    parent: np.ndarray  # the row of the first k − 1 words among the (k−1)-grams
    word: np.ndarray  # the token of the last word
    count: np.ndarray  # the number of occurrences
    left: np.ndarray  # the number of different words that come before it; the beginning of the text counts as one


class Counts:
    """Count the n-grams of a text, of every order up to the one given.

    All n-grams are sorted once. Those that begin with the same k words are then neighbours, whatever k is, so one
    pass over the sorted list finds the k-grams of each order. A k-gram is looked up by its key, made of its parent and
    its last word; the keys of a level are in ascending order.

    Args:
        tokens: the text, (length,).
        vocab_size: V, the number of symbols.
        order: the length of the longest n-grams; `levels` has one `Level` for each from 1 to it.

    >>> pairs = Counts([0, 1, 0, 1, 2], vocab_size=3, order=2).levels[1]
    >>> list(zip(pairs.parent.tolist(), pairs.word.tolist(), pairs.count.tolist()))  # 01, 10 and 12
    [(0, 1, 2), (1, 0, 1), (1, 2, 1)]
    """

    def __init__(self, tokens: torch.Tensor | np.ndarray, vocab_size: int, order: int):
        checked = symbol_numbers(tokens, ("length",))
        check_range(checked, vocab_size)
        if not 1 <= order <= len(checked):
            raise ValueError(f"order is {order}; it must be from 1 to the length of the text, {len(checked)}")
        self.vocab_size, self.order, self.levels = vocab_size, order, []
        padded = np.concatenate([checked.numpy(), np.full(order, NONE)]).astype(np.int32)
        starts = _sorted_starts(padded, vocab_size, order)
        is_new = np.zeros(len(starts), dtype=bool)  # whether another k-gram begins at this place of the sorted list
        is_new[0] = True
        row = np.zeros(len(starts), dtype=np.int32)  # of the (k−1)-gram at each place of the sorted list
        row_at = np.zeros(len(starts) + 1, dtype=np.int32)  # of the (k−1)-gram at each position of the text
        for k in range(1, order + 1):
            words = padded[starts + (k - 1)]
            is_new[1:] |= words[1:] != words[:-1]
            whole = words != NONE  # the text does not end within the k-gram
            first = np.flatnonzero(is_new & whole)
            parent, suffix = row[first], row_at[starts[first] + 1]
            if self.levels:
                self.levels[-1].left[:] += np.bincount(suffix, minlength=len(self.levels[-1].left))
            row = np.where(whole, np.cumsum(is_new & whole, dtype=np.int32) - 1, NONE).astype(np.int32)
            count = np.bincount(row[whole], minlength=len(first))
            row_at[starts] = row
            left = np.zeros(len(first), dtype=np.int64)
            left[row_at[0]] = 1  # the beginning of the text counts as a word
            self.levels.append(Level(parent, words[first], count, left))


def _sorted_starts(padded: np.ndarray, vocab_size: int, order: int) -> np.ndarray:
    """Return the positions of a text sorted by the n-grams that begin there; an n-gram cut short sorts first."""
    digits = padded.astype(np.int64) + 1
    length, base = len(padded) - order, vocab_size + 1
    fit = 1  # how many symbols fit into one 64-bit number
    while base ** (fit + 1) < 2**63:
        fit += 1
    columns = []
    for first in range(0, order, fit):
        packed = np.zeros(length, dtype=np.int64)
        for offset in range(first, min(first + fit, order)):
            packed = packed * base + digits[offset : offset + length]
        columns.append(packed)
    return np.argsort(columns[0]) if len(columns) == 1 else np.lexsort(columns[::-1])
