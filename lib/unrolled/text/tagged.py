"""Sentences with a tag for each word, and stories whose grammar knows the class of every word.

A tagger of the stories has a known optimum. A story has one derivation, which decides the class of each of its words:
whoever reads the whole story can be right every time. Whoever reads only from the left cannot: the word after "her"
decides whether it stands for a person, as in "thanked her", or for an owner, as in "her friend".
"""

import random
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from unrolled.text import stories
from unrolled.text.grammar import ARTICLES, Slot

CLASSES = (  # value lists of the grammar that are classes of words; pronouns are classes by their form
    *("name", "place", "animal", "object", "instrument", "person", "elder", "weather", "trick", "trait", "finish"),
    *("they", "them", "their"),
)
OTHER = "other"


class TaggedSentence(NamedTuple):
    """Words, and a tag for each of them.

    Example:
        >>> TaggedSentence(("show", "flights"), ("VERB", "NOUN")).tags
        ('VERB', 'NOUN')
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True)
class TaggedCorpus:
    """Tagged sentences in three parts.

    Attributes:
        train: what to learn from.
        validation: what to choose by.
        test: what to report on, once.

    Example:
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


class _TaggedDraft(stories.Draft):
    """A story being written, with the place of each word that has a class: (start, end, class)."""

    def __init__(self, rng: random.Random):
        super().__init__(stories.grammar(), rng)
        self.spans: list[tuple[int, int, str]] = []

    def write(self, symbol: str) -> None:
        start = len(self.text)
        super().write(symbol)
        self._note(start, symbol)

    def mention(self, slot: Slot) -> None:
        start = len(self.text)
        super().mention(slot)
        if slot.form in ARTICLES:
            start = self.text.index(" ", start) + 1
        self._note(start, slot.kind if slot.kind != "pronoun" else slot.form.lower())

    def _note(self, start: int, kind: str) -> None:
        if kind in CLASSES:
            self.spans.append((start, len(self.text), kind))


def tag_story(rng: random.Random) -> TaggedSentence:
    """Draw a story and return its words with their classes, one of `CLASSES` or `OTHER`, and its line break.

    The draws are those of `StoryGrammar.sample`: the same seed gives the same story.

    Args:
        rng: the source of the draws.
    """
    draft = _TaggedDraft(rng)
    draft.write("story")
    starts = [start for start, *_ in draft.spans]
    tags = []
    for position in stories.word_positions(draft.text):
        span = draft.spans[bisect_right(starts, position) - 1] if starts and starts[0] <= position else (0, 0, OTHER)
        tags.append(span[2] if position < span[1] else OTHER)
    return TaggedSentence((*stories.words(draft.text), "\n"), (*tags, OTHER))


def tagged_stories(train: int, validation: int, test: int, seed: int = 0) -> TaggedCorpus:
    """Return tagged stories from the book's grammar, each part drawn by itself.

    Args:
        train: the number of stories to learn from.
        validation: the number to choose by.
        test: the number to report on.
        seed: the same seed gives the same stories; parts of other sizes begin alike.

    Raises:
        ValueError: a number is below 1.
    """
    if min(train, validation, test) < 1:
        raise ValueError(f"the parts have {train}, {validation} and {test} stories; each needs at least 1")

    def drawn(part: int, count: int) -> tuple[TaggedSentence, ...]:
        rng = random.Random(1_000_000 * part + seed)
        return tuple(tag_story(rng) for _ in range(count))

    return TaggedCorpus(drawn(0, train), drawn(1, validation), drawn(2, test))


def ambiguous_words(sentences: Iterable[TaggedSentence]) -> set[str]:
    """Return the words that have more than one tag in these sentences.

    Example:
        >>> sorted(ambiguous_words([TaggedSentence(("flight", "a", "flight"), ("NOUN", "DET", "VERB"))]))
        ['flight']
    """
    tags: dict[str, set[str]] = {}
    for sentence in sentences:
        for word, tag in zip(*sentence, strict=True):
            tags.setdefault(word, set()).add(tag)
    return {word for word, seen in tags.items() if len(seen) > 1}
