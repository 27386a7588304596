"""Map symbols, which are characters or words, to integers and back."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
import torch

from unrolled.text.numbers import check_range, symbol_numbers

UNKNOWN = "<unk>"
NONE = -1  # in place of a token: before the beginning or after the end of a text, and for an n-gram never seen
_WORD = re.compile(r"\n|\S+")


def split_words(text: str) -> list[str]:
    r"""Return the words of a text that is already tokenised, as WikiText-2 is: whatever stands between white space.

    A line break is a word too, "\n", counted as ``<eos>`` in the published figures for WikiText-2; other white space is
    lost. In the book's stories punctuation touches the words: split those with `unrolled.text.stories.words`.

    >>> split_words("the cat  saw <unk> \n")
    ['the', 'cat', 'saw', '<unk>', '\n']
    """
    return _WORD.findall(text)


class _Symbols:
    def __init__(self, symbols: Iterable[str]):
        self.symbols = tuple(symbols)
        self._number = {symbol: number for number, symbol in enumerate(self.symbols)}

    def __len__(self) -> int:
        return len(self.symbols)

    def __contains__(self, symbol: str) -> bool:
        return symbol in self._number

    def _look_up(self, numbers: Iterable[int]) -> list[str]:
        """Return the symbols with these numbers, and refuse what is not the number of one."""
        if not isinstance(numbers, (torch.Tensor, np.ndarray)):
            numbers = list(numbers)
        numbers = symbol_numbers(numbers, ("length",), "numbers", empty=True)
        check_range(numbers, len(self), "numbers")
        return [self.symbols[number] for number in numbers.tolist()]


class Vocabulary(_Symbols):
    """Number the distinct characters of a text, its `symbols`, in the order of their code points, from 0.

    >>> vocabulary = Vocabulary("banana")
    >>> vocabulary.symbols
    ('a', 'b', 'n')
    >>> vocabulary.encode("nab")
    tensor([2, 0, 1])
    >>> vocabulary.decode([1, 0, 2])
    'ban'
    """

    def __init__(self, text: str):
        if not text:
            raise ValueError("the text is empty; a vocabulary needs a text with at least one character")
        super().__init__(sorted(set(text)))
        self._table = np.full(ord(self.symbols[-1]) + 1, -1, dtype=np.int64)  # code point -> number
        self._table[[ord(symbol) for symbol in self.symbols]] = np.arange(len(self.symbols))

    def __getitem__(self, symbol: str) -> int:
        """Return the number of a symbol; KeyError if it is not in the vocabulary."""
        return self._number[symbol]

    def encode(self, text: str) -> torch.Tensor:
        """Return the tokens of a text, int64, (len(text),); refuse a character outside the vocabulary."""
        points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
        known = points < len(self._table)
        tokens = np.where(known, self._table[np.where(known, points, 0)], -1)
        if (tokens < 0).any():
            at = int(np.argmax(tokens < 0))
            others = "".join(sorted({*text} - {*self.symbols, text[at]})[:20])
            raise ValueError(
                f"{text[at]!r} at position {at} is not among the {len(self)} symbols of this vocabulary"
                f"{others and f' (nor are those in {others!r})'}; build it from a text that has them, or replace them"
            )
        return torch.from_numpy(tokens)

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of tokens; decoding an encoded text restores it exactly."""
        return "".join(self._look_up(tokens))


class WordVocabulary(_Symbols):
    """Number the most frequent words of a corpus; every other word becomes ``<unk>``, which has number 0.

    After ``<unk>`` come the words from the most frequent to the rarest, ties in the order of their code points: the
    `symbols`. An ``<unk>`` in the corpus itself, as in WikiText-2, is the same symbol.

    Args:
        words: the words of the corpus, in any order, from `split_words` or `unrolled.text.stories.words`.
        size: the largest number of symbols, ``<unk>`` included; None keeps every word.

    >>> vocabulary = WordVocabulary(["the", "cat", "saw", "the", "dog"], size=3)
    >>> vocabulary.symbols
    ('<unk>', 'the', 'cat')
    >>> vocabulary.encode(["the", "dog"])
    tensor([1, 0])
    >>> vocabulary.decode([1, 0])
    ['the', '<unk>']
    """

    unknown = 0

    def __init__(self, words: Sequence[str], size: int | None = None):
        if not len(words) or (size is not None and size < 2):
            raise ValueError(
                f"there are {len(words)} words and size is {size}; give at least one word, and size 2 or more"
            )
        counts = Counter(_split(words))
        counts.pop(UNKNOWN, None)
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        super().__init__([UNKNOWN, *ranked][:size])

    @classmethod
    def of(cls, symbols: Iterable[str]) -> Self:
        """Return the vocabulary with exactly these `symbols`, the one for unknown words first, in this order."""
        vocabulary = cls.__new__(cls)
        _Symbols.__init__(vocabulary, symbols)
        return vocabulary

    def __getitem__(self, word: str) -> int:
        """Return the number of a word, or `unknown` if it is not in the vocabulary."""
        return self._number.get(word, self.unknown)

    def encode(self, words: Sequence[str]) -> torch.Tensor:
        """Return the tokens of words, int64, (len(words),); words outside the vocabulary get `unknown`."""
        return torch.tensor([self[word] for word in _split(words)], dtype=torch.int64)

    def decode(self, tokens: Iterable[int]) -> list[str]:
        """Return the words of tokens, ``<unk>`` for words that were not in the vocabulary."""
        return self._look_up(tokens)


def _split(words: Sequence[str]) -> Sequence[str]:
    """Return words, and refuse a text, which would be taken for a list of words of one letter each."""
    if isinstance(words, str):
        raise TypeError(f"words is the text {words[:20]!r}; split it first, for example with split_words")
    return words
