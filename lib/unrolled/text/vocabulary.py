"""Map symbols, which are characters or words, to integers and back."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Self

import numpy as np
import torch

from unrolled.text.numbers import check_range, symbol_numbers

UNKNOWN = "<unk>"
NONE = -1  # the number of a symbol before the beginning or after the end of a text, and of an n-gram never seen
_WORD = re.compile(r"\n|\S+")
_PRINTED = re.compile(r"\n|\w+(?:['’-]\w+)*|[^\w\s]")


def split_words(text: str) -> list[str]:
    r"""Return the words of a text that is already tokenised, as WikiText-2 is: whatever stands between white space.

    A line break is a word too, "\n", counted as ``<eos>`` in the published figures for WikiText-2. Tokens such as
    ``<unk>`` and ``@-@`` stay whole. In the book's stories punctuation touches the words: split those with
    `unrolled.text.stories.words`. All white space other than line breaks is lost: ``" ".join(words)`` has exactly one
    space between any two words.

    Args:
        text: any text; the list is empty if it holds neither a word nor a line break.

    >>> split_words("the cat  saw <unk> \n")
    ['the', 'cat', 'saw', '<unk>', '\n']
    """
    return _WORD.findall(text)


def tokenise(text: str) -> list[str]:
    r"""Return the words, numbers, punctuation marks and line breaks of a text as it is printed, in any script.

    What an apostrophe or a hyphen joins is one word. All other white space is lost. `split_words` is for a text in
    which spaces already stand between the marks.

    >>> tokenise("Half-awake, she didn't see 3 owls…\n")
    ['Half-awake', ',', 'she', "didn't", 'see', '3', 'owls', '…', '\n']
    """
    return _PRINTED.findall(text)


class _Symbols:
    """Symbols and their numbers, as every vocabulary has them."""

    def __init__(self, symbols: Iterable[str]):
        self.symbols = tuple(symbols)
        self._number = {symbol: number for number, symbol in enumerate(self.symbols)}

    def __len__(self) -> int:
        return len(self.symbols)

    def __contains__(self, symbol: str) -> bool:
        return symbol in self._number

    def _look_up(self, numbers: Iterable[int]) -> list[str]:
        """Return the symbols with these numbers."""
        if not isinstance(numbers, (torch.Tensor, np.ndarray)):
            numbers = list(numbers)
        checked = symbol_numbers(numbers, ("length",), "numbers", empty=True)
        check_range(checked, len(self), "numbers")
        return [self.symbols[number] for number in checked.tolist()]


class Vocabulary(_Symbols):
    """Number the distinct characters of a text in the order of their code points, from 0.

    Args:
        text: the text whose characters make up the vocabulary.

    Attributes:
        symbols: the characters, a tuple in the order of their numbers.

    Raises:
        ValueError: the text is empty.

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
        self._table = np.full(ord(self.symbols[-1]) + 1, -1, dtype=np.int64)
        self._table[[ord(symbol) for symbol in self.symbols]] = np.arange(len(self.symbols))

    def __getitem__(self, symbol: str) -> int:
        """Return the number of a symbol; KeyError if it is not in the vocabulary."""
        return self._number[symbol]

    def encode(self, text: str) -> torch.Tensor:
        """Return the numbers of a text's characters, int64, shape (len(text),).

        Raises:
            ValueError: the text is empty or has a character outside the vocabulary, which is named with its position.
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
        """Return the text with these numbers; decoding an encoded text restores it exactly.

        Raises:
            ValueError: a number is no integer, or outside 0 … len(self) − 1.
        """
        return "".join(self._look_up(numbers))


class WordVocabulary(_Symbols):
    """Number the most frequent words of a corpus; every other word becomes ``<unk>``, which has number 0.

    After ``<unk>`` come the words from the most frequent to the rarest, ties in the order of their code points. An
    ``<unk>`` in the corpus itself, as in WikiText-2, is the same symbol.

    Args:
        words: the words of the corpus, in any order, from `split_words` or `unrolled.text.stories.words`.
        size: the largest number of symbols, ``<unk>`` included; None keeps every word.

    Attributes:
        symbols: ``<unk>`` and the words, a tuple in the order of their numbers.
        unknown: the number of ``<unk>``, 0.

    Raises:
        TypeError: words is a text that has not been split.
        ValueError: there are no words, or size is below 2.

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
        _check_words(words, "a vocabulary needs at least one")
        if size is not None and size < 2:
            raise ValueError(f"size is {size}; it must be 2 or more, for {UNKNOWN} and at least one word")
        counts = Counter(words)
        counts.pop(UNKNOWN, None)
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        super().__init__([UNKNOWN, *ranked][:size])

    @classmethod
    def of(cls, symbols: Iterable[str]) -> Self:
        """Return the vocabulary with exactly these `symbols`, ``<unk>`` first, in this order."""
        vocabulary = cls.__new__(cls)
        _Symbols.__init__(vocabulary, symbols)
        return vocabulary

    def __getitem__(self, word: str) -> int:
        """Return the number of a word, or `unknown` if it is not in the vocabulary."""
        return self._number.get(word, self.unknown)

    def encode(self, words: Sequence[str]) -> torch.Tensor:
        """Return the numbers of words, int64, shape (len(words),); words outside the vocabulary get `unknown`.

        Raises:
            TypeError: words is a text that has not been split.
            ValueError: there are no words.
        """
        _check_words(words, "there is nothing to encode")
        numbers = map(self._number.get, words, repeat(self.unknown))
        return torch.from_numpy(np.fromiter(numbers, dtype=np.int64, count=len(words)))

    def decode(self, numbers: Iterable[int]) -> list[str]:
        """Return the words with these numbers, ``<unk>`` for words that were not in the vocabulary.

        Raises:
            ValueError: a number is no integer, or outside 0 … len(self) − 1.
        """
        return self._look_up(numbers)


def _check_words(words: Sequence[str], need: str) -> None:
    """Raise if words is a text instead of a list of words, or empty; `need` says why it may not be empty."""
    if isinstance(words, str):
        raise TypeError(f"words is the text {words[:20]!r}; split it first, for example with split_words")
    if not len(words):
        raise ValueError(f"words is empty; {need}")
