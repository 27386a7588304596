"""The texts of experiments: which one a configuration names, its parts, and the same in numbers."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import torch

from unrolled.experiments.records import Configuration, digest
from unrolled.text import Vocabulary, WordVocabulary, load_corpus, split_words, stories


def text(
    corpus: str, characters: int | None = None, words: int | bool = False, *, three_parts: bool = False
) -> Configuration:
    """Return the configuration of a text.

    Args:
        corpus: ``"stories"``, or the name of a real corpus.
        characters: how many characters of stories; of a real corpus everything is read.
        words: how many words to know, in a text of words; True: all of them; False: it is a text of characters.
        three_parts: a part to train on, one to choose by, and one that is read once, at the end. Otherwise there are
            two, and what is chosen by the second is too good there.
    """
    return {"corpus": corpus, "characters": characters, "words": words, "three_parts": three_parts}


class Encoded(NamedTuple):
    """A text in numbers: the symbols, what to train on, (n,), what to hold out, (m,), and the test, (k,) or nothing."""

    vocabulary: Vocabulary | WordVocabulary
    training: torch.Tensor
    held_out: torch.Tensor
    test: torch.Tensor | None = None


HELD_OUT = 300_000  # characters of stories in the validation and in the test, where there are three parts


def texts(config: Configuration, seed: int = 0) -> tuple[str, ...]:
    """Return the parts of the text that a configuration has under ``text``: training, held-out, and test if any.

    Args:
        config: of the text.
        seed: that of the stories, of which another part is another draw where there are three. A real corpus gives its
            own parts; where it publishes two, the second is the test, and the last tenth of the first is held out.
    """
    return _texts(config["text"]["corpus"], config["text"]["characters"], config["text"]["three_parts"], seed)


def unseen_stories(seed: int = 0) -> tuple[stories.StoryCorpus, stories.StoryCorpus]:
    """Return the stories of the validation and of the test of a text of stories in three parts."""
    validation, test = (stories.corpus(HELD_OUT, seed=1_000_000 * part + seed) for part in (1, 2))
    return validation, test


@lru_cache(maxsize=1)  # one contender after the other reads the same
def _texts(corpus: str, characters: int | None, three_parts: bool, seed: int) -> tuple[str, ...]:
    if corpus == "stories":
        if three_parts:
            return stories.corpus(characters, seed=seed).text, *(part.text for part in unseen_stories(seed))
        training, held_out = stories.corpus(characters, seed=seed).split(0.9)
        return training.text, held_out.text
    loaded = load_corpus(corpus)
    if not three_parts:
        return loaded.train, loaded.validation
    if loaded.test:
        return loaded.train, loaded.validation, loaded.test
    cut = len(loaded.train) * 9 // 10
    return loaded.train[:cut], loaded.train[cut:], loaded.validation


def encoded(config: Configuration, seed: int = 0) -> Encoded:
    """Return the text that a configuration has under ``text``, in numbers.

    A character of the held-out text has a number in any case; the words are the most frequent ones of the training
    text. A real text is one that is already tokenised.
    """
    parts, size = texts(config, seed), config["text"]["words"]
    if size is False:
        vocabulary = Vocabulary("".join(parts))
        return Encoded(vocabulary, *map(vocabulary.encode, parts))
    split = stories.words if config["text"]["corpus"] == "stories" else split_words
    words = [split(part) for part in parts]
    vocabulary = WordVocabulary(words[0], None if size is True else size)
    return Encoded(vocabulary, *map(vocabulary.encode, words))


def data_hash(config: Configuration) -> str:
    """Return the digest of the text that a configuration has under ``text``; nothing where it has none."""
    return digest("".join(texts(config))) if "text" in config else ""
