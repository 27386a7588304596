"""Turn symbols into integers and back, exactly."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch


class Vocabulary:
    """Number the characters of a text: the smallest code point is 0, the next is 1.

    Args:
        text: the text whose distinct characters are the vocabulary.

    Attributes:
        symbols: the characters, a tuple in the order of their numbers.

    Raises:
        ValueError: the text is empty.
    """

    def __init__(self, text: str):
        if not text:
            raise ValueError("the text is empty; a vocabulary needs a text with at least one character")
        self.symbols = tuple(sorted(set(text)))
        self._number = {symbol: number for number, symbol in enumerate(self.symbols)}
        self._table = np.full(ord(self.symbols[-1]) + 1, -1, dtype=np.int64)
        self._table[[ord(symbol) for symbol in self.symbols]] = np.arange(len(self.symbols))

    def __len__(self) -> int:
        return len(self.symbols)

    def __contains__(self, symbol: str) -> bool:
        return symbol in self._number

    def __getitem__(self, symbol: str) -> int:
        """Return the number of one symbol; KeyError where it has none."""
        return self._number[symbol]

    def encode(self, text: str) -> torch.Tensor:
        """Return the numbers of a text's characters, int64, shape (len(text),).

        Raises:
            ValueError: the text is empty, or has a character that the vocabulary lacks (named with its position).
        """
        if not text:
            raise ValueError("the text is empty; there is nothing to encode")
        points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
        known = points < len(self._table)
        numbers = np.where(known, self._table[np.where(known, points, 0)], -1)
        if (numbers < 0).any():
            at = int(np.argmax(numbers < 0))
            raise ValueError(
                f"{text[at]!r} at position {at} is not among the {len(self)} symbols of this vocabulary; "
                "build the vocabulary from a text that has it, or replace it"
            )
        return torch.from_numpy(numbers)

    def decode(self, numbers: Iterable[int]) -> str:
        """Return the text that these numbers stand for.

        Raises:
            ValueError: a number is outside 0 … len(self) − 1.
        """
        numbers = [int(number) for number in numbers]
        wrong = [number for number in numbers if not 0 <= number < len(self)]
        if wrong:
            raise ValueError(f"{wrong[0]} is no symbol's number; they run from 0 to {len(self) - 1}")
        return "".join(self.symbols[number] for number in numbers)
