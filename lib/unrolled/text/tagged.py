"""Sentences with a tag for each word, and stories whose grammar knows the class of every word.

A tagger of the stories has a known optimum. A story has one derivation, which decides the class of each of its words:
whoever reads the whole story can be right every time. Whoever reads only from the left cannot: the word after "her"
decides whether it stands for a person, as in "thanked her", or for an owner, as in "her friend".
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from unrolled.text import stories

CLASSES = (  # value lists of the grammar that are classes of words; pronouns are classes by their form
    *("name", "place", "animal", "object", "instrument", "person", "elder", "weather", "trick", "trait", "finish"),
    *("they", "them", "their"),
)
OTHER = "other"


class TaggedSentence(NamedTuple):
    """Words, and a tag for each of them.

    >>> TaggedSentence(("show", "flights"), ("VERB", "NOUN")).tags
    ('VERB', 'NOUN')
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True)
class TaggedCorpus:
    """Tagged sentences in three parts: to learn from, to choose by, to report on.

    >>> corpus = tagged_stories(train=3, validation=1, test=1)
    >>> len(corpus.train), corpus.train[0].words[:4], corpus.train[0].tags[:4]
    (3, ('Once', 'upon', 'a', 'time'), ('other', 'other', 'other', 'other'))
    """

    train: tuple[TaggedSentence, ...]
    validation: tuple[TaggedSentence, ...]
    test: tuple[TaggedSentence, ...]

    @property
    def words(self) -> list[str]:
        """All words of the training sentences, in order."""
        return [word for sentence in self.train for word in sentence.words]

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the training sentences, each once, in alphabetical order."""
        return tuple(sorted({tag for sentence in self.train for tag in sentence.tags}))


def tag_story(rng: random.Random) -> TaggedSentence:
    """Draw a story and return its words with their classes, one of `CLASSES` or `OTHER`, and its line break.

    The draws are those of `stories.corpus`: the same seed gives the same story.
    """
    draft = stories.Draft(stories.grammar(), rng)
    text = draft.story().text
    tag_at = {at: kind for start, end, kind in draft.spans if kind in CLASSES for at in range(start, end)}
    tags = [tag_at.get(position, OTHER) for position in stories.word_positions(text)]
    return TaggedSentence((*stories.words(text), "\n"), (*tags, OTHER))


def tagged_stories(train: int, validation: int, test: int, seed: int = 0) -> TaggedCorpus:
    """Return so many tagged stories from the book's grammar in each part, which is drawn by itself.

    The same seed gives the same stories; parts of other sizes begin alike.
    """
    rngs = [random.Random(1_000_000 * part + seed) for part in range(3)]
    sizes = zip(rngs, (train, validation, test), strict=True)
    return TaggedCorpus(*(tuple(tag_story(rng) for _ in range(count)) for rng, count in sizes))


def ambiguous_words(sentences: Iterable[TaggedSentence]) -> set[str]:
    """Return the words that have more than one tag in these sentences.

    >>> sorted(ambiguous_words([TaggedSentence(("flight", "a", "flight"), ("NOUN", "DET", "VERB"))]))
    ['flight']
    """
    tags: dict[str, set[str]] = {}
    for sentence in sentences:
        for word, tag in zip(*sentence, strict=True):
            tags.setdefault(word, set()).add(tag)
    return {word for word, seen in tags.items() if len(seen) > 1}
