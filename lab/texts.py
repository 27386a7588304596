"""The texts of experiments: which one a configuration names, its parts, and the same in numbers."""

from functools import lru_cache
from typing import NamedTuple

import torch

from lab.experiment import Config
from unrolled.text import Vocabulary, WordVocabulary, load_corpus, split_words, stories


class Encoded(NamedTuple):
    """A text in numbers: the symbols, what to train on, (n,), what to hold out, (m,), and the test, (k,) or nothing."""

    vocabulary: Vocabulary | WordVocabulary
    training: torch.Tensor
    held_out: torch.Tensor
    test: torch.Tensor | None = None


HELD_OUT = 300_000  # characters of stories in the validation and in the test, where there are three parts


def texts(config: Config, seed: int = 0) -> tuple[str, ...]:
    """Return the parts of the text that a configuration has under ``text``: training, held-out, and test if any.

    Args:
        config: with ``text``: its ``corpus``, ``"stories"`` or the name of a real one; how many ``characters`` of
            stories (of a real corpus everything is read); and whether it has ``three_parts``: one to train on, one to
            choose by, and one that is read once, at the end. What is chosen by the second of two is too good there.
        seed: that of the stories, of which another part is another draw where there are three. A real corpus gives its
            own parts; where it publishes two, the second is the test, and the last tenth of the first is held out.
    """
    named = config["text"]
    return _texts(named["corpus"], named.get("characters"), named.get("three_parts", False), seed)


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


def encoded(config: Config, seed: int = 0) -> Encoded:
    """Return the text that a configuration has under ``text``, in numbers.

    It is one of characters, or of words where the text has ``words``: how many to know, the most frequent ones of the
    training text, or True for all of them. A character of the held-out text has a number in any case. The words of a
    real text are its tokens.
    """
    parts, size = texts(config, seed), config["text"].get("words", False)
    if size is False:
        vocabulary = Vocabulary("".join(parts))
        return Encoded(vocabulary, *map(vocabulary.encode, parts))
    split = stories.words if config["text"]["corpus"] == "stories" else split_words
    words = [split(part) for part in parts]
    vocabulary = WordVocabulary(words[0], None if size is True else size)
    return Encoded(vocabulary, *map(vocabulary.encode, words))
