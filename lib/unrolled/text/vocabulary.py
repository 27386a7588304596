"""Turn symbols, characters or words, into integers and back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Self

import numpy as np
import torch

UNKNOWN = "<unk>"
NONE = -1  # stands for a symbol before the beginning or after the end, and for an n-gram that was never seen
_WORD = re.compile(r"\n|\S+")


def split_words(text: str) -> list[str]:
    r"""Return the words of a text that is already tokenised, as WikiText-2 is: whatever stands between white space.

    A line break is a word too, "\n"; the published counts of WikiText-2 have it as ``<eos>``. Nothing else is cut:
    ``<unk>`` and ``@-@`` stay whole. For the book's stories, whose punctuation touches the words, there is
    `unrolled.text.stories.words`, which separates it.

    What is lost is all other white space: how many spaces there were, tabs, carriage returns. " ".join(words) is
    the text again with exactly one space between any two words.

    Args:
        text: any text; without a word and a line break it gives an empty list.
    """
    return _WORD.findall(text)


class _Symbols:
    """What every vocabulary has: symbols, numbered in their order."""

    def __init__(self, symbols: Iterable[str]):
        self.symbols = tuple(symbols)
        self._number = {symbol: number for number, symbol in enumerate(self.symbols)}

    def __len__(self) -> int:
        return len(self.symbols)

    def __contains__(self, symbol: str) -> bool:
        return symbol in self._number

    def _look_up(self, numbers: Iterable[int]) -> list[str]:
        """Return the symbols that these numbers stand for."""
        if isinstance(numbers, torch.Tensor):
            numbers = numbers.tolist()  # many times faster than one element after the other
        numbers = [int(number) for number in numbers]
        wrong = [number for number in numbers if not 0 <= number < len(self)]
        if wrong:
            raise ValueError(f"{wrong[0]} is no symbol's number; they run from 0 to {len(self) - 1}")
        return [self.symbols[number] for number in numbers]


class Vocabulary(_Symbols):
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
        super().__init__(sorted(set(text)))
        self._table = np.full(ord(self.symbols[-1]) + 1, -1, dtype=np.int64)
        self._table[[ord(symbol) for symbol in self.symbols]] = np.arange(len(self.symbols))

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
        """Return the text that these numbers stand for: exactly the text that was encoded.

        Raises:
            ValueError: a number is outside 0 … len(self) − 1.
        """
        return "".join(self._look_up(numbers))


class WordVocabulary(_Symbols):
    """Number the most frequent words of a corpus; every other word is ``<unk>``, number 0.

    After ``<unk>`` the words follow from the most frequent to the rarest, equally frequent ones in the order of their
    code points. A corpus that says ``<unk>`` itself, as WikiText-2 does, means the same symbol.

    Args:
        words: the words of the corpus, in any order, from `split_words` or `unrolled.text.stories.words`.
        size: at most so many symbols, ``<unk>`` among them; None keeps every word.

    Attributes:
        symbols: ``<unk>`` and the words, a tuple in the order of their numbers.
        unknown: the number of ``<unk>``, 0.

    Raises:
        TypeError: words is one text, not yet split.
        ValueError: there are no words, or size is below 2.
    """

    unknown = 0

    def __init__(self, words: Sequence[str], size: int | None = None):
        _check_words(words, "a vocabulary needs at least one")
        if size is not None and size < 2:
            raise ValueError(f"size is {size}; it must be 2 or more, for {UNKNOWN} and at least one word")
        counts = Counter(words)
        counts.pop(UNKNOWN, None)
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        super().__init__([UNKNOWN, *ranked][:size])

    @classmethod
    def of(cls, symbols: Iterable[str]) -> Self:
        """Return the vocabulary that has these `symbols`, ``<unk>`` first, in their order."""
        vocabulary = cls.__new__(cls)
        _Symbols.__init__(vocabulary, symbols)
        return vocabulary

    def __getitem__(self, word: str) -> int:
        """Return the number of one word, `unknown` where it has none of its own."""
        return self._number.get(word, self.unknown)

    def encode(self, words: Sequence[str]) -> torch.Tensor:
        """Return the numbers of some words, int64, shape (len(words),); those outside the vocabulary get `unknown`.

        Raises:
            TypeError: words is one text, not yet split.
            ValueError: there are no words.
        """
        _check_words(words, "there is nothing to encode")
        numbers = map(self._number.get, words, repeat(self.unknown))
        return torch.from_numpy(np.fromiter(numbers, dtype=np.int64, count=len(words)))

    def decode(self, numbers: Iterable[int]) -> list[str]:
        """Return the words that these numbers stand for: those that were encoded, and ``<unk>`` for the unknown.

        To print them, " ".join(words).

        Raises:
            ValueError: a number is outside 0 … len(self) − 1.
        """
        return self._look_up(numbers)


def _check_words(words: Sequence[str], need: str) -> None:
    """Refuse a text in place of its words, and no words at all."""
    if isinstance(words, str):
        raise TypeError(f"words is the text {words[:20]!r}; split it first, as split_words does")
    if not len(words):
        raise ValueError(f"words is empty; {need}")
