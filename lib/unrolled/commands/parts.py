"""A text of one's own: read it, split it in three, and give it a network of a size that follows from its length."""

import math
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from unrolled import settings
from unrolled.models import LanguageModel
from unrolled.text import Vocabulary, WordVocabulary, tokenise
from unrolled.training import Recipe

LEAST = 10_000  # symbols of a text
CHOOSING = 30_000  # symbols of the second part that choose, at most
WORDS = 10_000  # of a vocabulary, at most


BATCH, SEQ_LEN = 16, 64  # short updates: for the same passes, 32 x 100 learned less


class Size(NamedTuple):
    """What a text with fewer symbols to train on than `below` gets: units, dropout, and so many passes at most."""

    below: float
    units: int
    dropout: float
    passes: int


SIZES = [
    Size(100_000, 256, 0.5, 40),
    Size(500_000, 512, 0.5, 20),
    Size(2_000_000, 512, 0.3, 15),
    Size(math.inf, 512, 0.1, 10),
]


def read(names: Sequence[str]) -> str:
    """Return the texts of some files, one after the other; ``-`` is standard input.

    Raises:
        ValueError: a file cannot be read or is not UTF-8, or there is nothing in any of them.
    """
    if not (text := "".join(map(_text, names))):
        raise ValueError(f"{', '.join(names)}: there is no text; give a longer one, or several files")
    return text


def _text(name: str) -> str:
    try:
        content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return content.decode("utf8").removeprefix("\ufeff").replace("\r\n", "\n")
    except OSError as error:
        advice = "give the path of a text, or - for standard input"
        raise ValueError(f"{name} cannot be read ({error.strerror}); {advice}") from error
    except UnicodeDecodeError as error:
        at, line = error.start, content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{name} is not UTF-8: the byte at offset {at}, in line {line}, is 0x{content[at]:02x}; convert the file, "
            f"for example with: iconv -f latin1 -t utf8 {name}"
        ) from error


class Parts:
    """A text in three parts, in numbers, with its network and its recipe.

    Args:
        text: the text.
        words: whether its symbols are the words of `tokenise`, and not characters.

    Attributes:
        unit: "character" or "word".
        vocabulary: the characters of the whole text; or the most frequent words that the first part has twice.
        training: the first 80 % of the symbols, (length,).
        choosing: the next 10 %, or their beginning, (length,).
        test: the last 10 %, (length,).
        before: the symbol before the test, (1,).
        size: the one of `SIZES` for the first part.

    Raises:
        ValueError: the text is too short.
    """

    def __init__(self, text: str, words: bool):
        self.unit = "word" if words else "character"
        symbols = tokenise(text) if words else text
        if len(symbols) < LEAST:
            length = f"has {len(symbols):,} {self.unit}s, and {LEAST:,} are the least"
            raise ValueError(f"the text {length}; give a longer one, or several files")
        first, second = len(symbols) * 8 // 10, len(symbols) * 9 // 10
        if words:
            often = sum(count > 1 for count in Counter(symbols[:first]).values())
            self.vocabulary = WordVocabulary(symbols[:first], min(1 + often, WORDS))
        else:
            self.vocabulary = Vocabulary(text)
        self.training, choosing, self.test = self.vocabulary.encode(symbols).tensor_split([first, second])
        self.choosing, self.before = choosing[:CHOOSING], choosing[-1:]
        self.size = next(size for size in SIZES if first < size.below)

    def network(self) -> LanguageModel:
        """Return the untrained network; for words, its input and its output share a matrix."""
        torch.manual_seed(0)
        units, how = self.size.units, {"dropout": self.size.dropout, "tied": self.unit == "word"}
        network = LanguageModel(len(self.vocabulary), core="gru", hidden_size=units, embedding_size=units, **how)
        return network.to(settings.device())

    def recipe(self, updates: int, patience: int = 0) -> Recipe:
        """Return how to train it for so many updates, or for as many as make up the passes if those are fewer."""
        most = self.size.passes * len(self.training) // (BATCH * SEQ_LEN)
        return Recipe(max(1, min(updates, most)), BATCH, SEQ_LEN, learning_rate=3e-3, patience=patience)
