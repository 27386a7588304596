"""The embedded corpus: short stories drawn from a grammar, so that the exact probability of the text is known.

The stories' table is ``stories.toml``; how to read it is written at the top of `unrolled.grammar`. A corpus is whole
stories, each ended by a newline, and no template has one: the text decodes in one way.

**The floor.** The probability of a derivation is the product of those of its draws. Every story has one derivation
only (the tests count them with a parser), so this product is the probability of the *text*. The mean of −log p over
all stories is the grammar's entropy: no model of these stories has a lower cross-entropy. For one given text, the
line to compare with is −log p of that text.
"""

from __future__ import annotations

import math
import random
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from itertools import accumulate
from statistics import fmean
from typing import NamedTuple

from unrolled.text.grammar import PRONOUNS, Grammar, Rule, Slot

_WORD = re.compile(r"'?[A-Za-z-]+|[^ ]")


def words(text: str) -> list[str]:
    """Return the words of a text: runs of letters and hyphens (an apostrophe opens a new one: Mia 's), and
    every punctuation mark and newline by itself. Spaces separate and are dropped."""
    return _WORD.findall(text)


class Recall(NamedTuple):
    """A later mention of a bound value: something a reader can only know by remembering.

    Attributes:
        variable: which variable is mentioned.
        kind: "pronoun", or the variable's symbol: "name", "animal", "place", …
        value: the text written there, without its article.
        position: index of its first character.
        lag: characters between the end of the mention before and this position. For a pronoun any mention of the
            variable counts; for everything else only one that wrote the value out.
    """

    variable: str
    kind: str
    value: str
    position: int
    lag: int


class Story(NamedTuple):
    """One story: its text (no newline), its exact log-probability in nats, and what it recalls, in order."""

    text: str
    log_prob: float
    recalls: tuple[Recall, ...]


class StoryGrammar(Grammar):
    """A grammar whose texts are stories: it draws them, and knows their floor and what memory is worth in them."""

    def sample(self, rng: random.Random) -> Story:
        """Draw one story. Only ``rng.random()`` is called, so the same seed gives the same story everywhere."""
        draft = _Draft(self, rng)
        draft.write("story")
        return Story(draft.text, draft.log_prob, tuple(draft.recalls))

    def expected_length(self) -> float:
        """Return the mean number of characters in a story, its newline included."""
        return self._expected_size(len)

    def expected_words(self) -> float:
        """Return the mean number of `words` in a story, its newline included."""
        return self._expected_size(lambda text: len(words(text)))

    def entropy_per_character(self) -> float:
        """Return the floor in nats per character, newlines included."""
        return self.entropy() / self.expected_length()

    def entropy_per_word(self) -> float:
        """Return the floor in nats per word, newlines included."""
        return self.entropy() / self.expected_words()

    def chance(self, kind: str) -> float:
        """Return how likely the first character of a recalled value is to a reader who has forgotten everything.

        Such a reader knows which list the value is from and gives each first character its share of the list,
        so the mean probability of the right one is the sum of the squared shares. Where the slots of a kind
        differ (she or he begin differently, her and his alike), this is the mean over the recalls of a story.

        Args:
            kind: a `Recall.kind`.

        Raises:
            ValueError: no story recalls that kind.
        """
        recalled = {slot for symbol in self.rules for slot in self.slots(symbol) if not slot.draws}
        if kind not in (kinds := {slot.kind for slot in recalled}):
            raise ValueError(f"kind is {kind!r}; the stories recall {', '.join(sorted(kinds))}")
        guessed = {}  # slot -> the mean probability of its first character
        for slot in recalled:
            if slot.kind == kind:
                first = Counter(self.written(slot.form, value)[1][0] for value in self.values[slot.symbol])
                guessed[slot] = sum(count**2 for count in first.values()) / first.total() ** 2
        return self.expect(lambda part, left: guessed.get(part, 0)) / self.expect(lambda part, left: part in guessed)

    def _expected_size(self, size: Callable[[str], int]) -> float:
        """Return the mean over all stories of a size that is summed over texts and values as written; newline: 1."""

        def cost(part: str | Slot | Rule, left: int) -> float:
            if isinstance(part, Slot):
                return fmean(size("".join(self.written(part.form, value))) for value in self.values[part.symbol])
            return size(part) if isinstance(part, str) else 0

        return 1 + self.expect(cost)


class _Draft:
    """A story while it is written: its text so far, its log-probability, and where each variable was mentioned."""

    def __init__(self, grammar: StoryGrammar, rng: random.Random):
        self.grammar, self.rng = grammar, rng
        self.text, self.log_prob = "", 0.0
        self.recalls: list[Recall] = []
        self.bound: dict[str, str] = {}
        self.written_out: dict[str, int] = {}  # variable -> end of the last mention by its value
        self.mentioned: dict[str, int] = {}  # variable -> end of the last mention in any form

    def write(self, symbol: str) -> None:
        """Draw one of the symbol's alternatives and write its template."""
        choices = self.grammar.choices[symbol]
        rule = self.grammar.rules[symbol][bisect_right(choices, int(self.rng.random() * choices[-1]))]
        self.log_prob += rule.log_prob
        for part in rule.parts:
            if isinstance(part, str):
                self.text += part
            elif part.form or part.variable:
                self.mention(part)
            else:
                self.write(part.symbol)

    def mention(self, slot: Slot) -> None:
        """Write the value of a slot, drawing it first where the slot says so."""
        name = slot.variable
        value = self.draw(slot) if slot.draws else self.bound[name]
        article, value = self.grammar.written(slot.form, value)
        start = len(self.text) + len(article)
        self.text += article + value
        if not slot.draws:
            before = self.mentioned if slot.form in PRONOUNS else self.written_out
            self.recalls.append(Recall(name, slot.kind, value, start, start - before[name]))
        if name:
            self.mentioned[name] = len(self.text)
            if slot.form not in PRONOUNS:
                self.written_out[name] = len(self.text)

    def draw(self, slot: Slot) -> str:
        """Draw the value of a slot, and bind it where the slot names a variable."""
        values = self.grammar.values[slot.symbol]
        if slot.variable:
            taken = [value for name, value in self.bound.items() if self.grammar.variables[name] == slot.symbol]
            values = [value for value in values if value not in taken]
        value = values[int(self.rng.random() * len(values))]
        self.log_prob -= math.log(len(values))
        if slot.variable:
            self.bound[slot.variable] = value
        return value


@dataclass(frozen=True)
class StoryCorpus:
    """Whole stories, one after the other, each ended by a newline.

    Attributes:
        stories: the stories, in order.
        text: all of them as one text.
        log_prob: the log-probability of the text in nats, given how many stories it has.
        recalls: every story's recalls, positions counted from the start of the text.
    """

    stories: tuple[Story, ...] = field(repr=False)

    @cached_property
    def text(self) -> str:
        return "".join(f"{story.text}\n" for story in self.stories)

    @cached_property
    def log_prob(self) -> float:
        return math.fsum(story.log_prob for story in self.stories)

    @cached_property
    def recalls(self) -> tuple[Recall, ...]:
        return tuple(
            recall._replace(position=start + recall.position)
            for start, story in zip(self.starts, self.stories, strict=True)
            for recall in story.recalls
        )

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The place of every story's first character."""
        return tuple(accumulate((len(story.text) + 1 for story in self.stories[:-1]), initial=0))

    @property
    def nats_per_character(self) -> float:
        """The floor of this very text: −log p over its characters, newlines included."""
        return -self.log_prob / len(self.text)

    @property
    def nats_per_word(self) -> float:
        """The floor of this very text: −log p over its `words`."""
        return -self.log_prob / len(words(self.text))

    def split(self, fraction: float = 0.9) -> tuple[StoryCorpus, StoryCorpus]:
        """Cut the corpus in two at the story boundary that leaves nearest to `fraction` of its characters before it.

        Raises:
            ValueError: the fraction is not between 0 and 1, or a part would have no story.
        """
        if not 0 < fraction < 1:
            raise ValueError(f"fraction is {fraction}; it must lie between 0 and 1, both excluded, such as 0.9")
        ends = list(accumulate(len(story.text) + 1 for story in self.stories))
        cut = min(range(len(ends)), key=lambda story: abs(ends[story] - fraction * ends[-1])) + 1
        if cut == len(ends):
            raise ValueError(
                f"fraction is {fraction}, but {len(ends)} stories cannot be cut there: a part would be empty; "
                "take more characters or a fraction nearer to a half"
            )
        return StoryCorpus(self.stories[:cut]), StoryCorpus(self.stories[cut:])


@cache
def grammar() -> StoryGrammar:
    """Return the book's grammar, read once."""
    return StoryGrammar.load(resources.files(__package__).joinpath("stories.toml").read_text(encoding="utf-8"))


def corpus(characters: int = 1_000_000, seed: int = 0) -> StoryCorpus:
    """Draw whole stories from the book's grammar until they have at least this many characters.

    Args:
        characters: how long the text must be, newlines included.
        seed: the same seed gives the same text, on every machine and Python version.

    Raises:
        ValueError: characters is not positive.
    """
    if characters <= 0:
        raise ValueError(f"characters is {characters}; ask for at least 1")
    rng, source = random.Random(seed), grammar()
    stories, length = [], 0
    while length < characters:
        stories.append(source.sample(rng))
        length += len(stories[-1].text) + 1
    return StoryCorpus(tuple(stories))
