"""Words in letters and in phonemes: the CMU Pronouncing Dictionary, without stress."""

import re
from dataclasses import dataclass

from unrolled.text import load_corpus
from unrolled.text.corpora import headword

Phonemes = tuple[str, ...]
_LETTERS = re.compile("[a-z]+")


@dataclass(frozen=True)
class Pronunciations:
    """Words with all their pronunciations, in three parts that share no word.

    Attributes:
        train: maps each word to learn from to its pronunciations, as the dictionary lists them.
        validation: the same of the words to choose by.
        test: the same of the words to report on, once.

    Example:
        >>> dictionary = Pronunciations({"read": (("R", "EH", "D"), ("R", "IY", "D"))}, {}, {})
        >>> dictionary.phonemes
        ('D', 'EH', 'IY', 'R')
    """

    train: dict[str, tuple[Phonemes, ...]]
    validation: dict[str, tuple[Phonemes, ...]]
    test: dict[str, tuple[Phonemes, ...]]

    @property
    def phonemes(self) -> Phonemes:
        """The phonemes of the words to learn from, each once, in alphabetical order."""
        return tuple(sorted({sound for listed in self.train.values() for sounds in listed for sound in sounds}))


def read_dictionary(text: str) -> dict[str, tuple[Phonemes, ...]]:
    """Return the pronunciations of each word of a pronouncing dictionary.

    Stress, the digit after a vowel, is dropped; alternatives that differ in nothing else become one. What follows a #
    is a remark. Words that are not written with the letters a to z alone, such as "don't", are left out.

    Args:
        text: an entry a line: a word, with the number of the alternative in brackets, and its phonemes.

    Raises:
        ValueError: an entry has no phonemes.

    Example:
        >>> read_dictionary("read R EH1 D\\nread(2) R IY1 D # to read\\ndon't D OW1 N T\\n")
        {'read': (('R', 'EH', 'D'), ('R', 'IY', 'D'))}
    """
    listed: dict[str, dict[Phonemes, None]] = {}
    for line in text.splitlines():
        entry, *sounds = line.partition(" #")[0].split()
        if not sounds:
            raise ValueError(f"the entry {line!r} has no phonemes; give a word and its phonemes, with spaces between")
        word = headword(entry)
        if _LETTERS.fullmatch(word):
            listed.setdefault(word, {})[tuple(sound.rstrip("012") for sound in sounds)] = None
    return {word: tuple(alternatives) for word, alternatives in listed.items()}


def load_cmudict() -> Pronunciations:
    """Return the corpus ``cmudict``, split by word as `corpora.by_word` does it.

    Raises:
        CorpusError: what `load_corpus` raises.
    """
    corpus = load_corpus("cmudict")
    return Pronunciations(*map(read_dictionary, (corpus.train, corpus.validation, corpus.test)))
