"""The embedded corpus: short stories drawn from a grammar, so that the exact probability of the text is known.

The grammar is in ``stories.toml``. A corpus consists of whole stories, each ended by a newline, which none contains.

**The floor.** The probability of a derivation is the product of the probabilities of its draws. Every story has exactly
one derivation (the tests count them with a parser), so this product is the probability of the *text*. The mean of
−log p over all stories is the entropy of the grammar: no model of these stories has a lower cross-entropy. For one
given text, the value to compare with is −log p of that text.
"""

import math
import random
import re
import tomllib
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from itertools import accumulate
from typing import NamedTuple, Self

from unrolled.text.grammar import PRONOUNS, Grammar, Slot

_WORD = re.compile(r"'?[A-Za-z-]+|[^ ]")


def words(text: str) -> list[str]:
    r"""Return the words of a text: runs of letters and hyphens, and each punctuation mark and newline by itself.

    An apostrophe begins a new word. Spaces are dropped.

    >>> words("Mia's owl, half-awake, hooted.\n")
    ['Mia', "'s", 'owl', ',', 'half-awake', ',', 'hooted', '.', '\n']
    """
    return _WORD.findall(text)


def word_positions(text: str) -> list[int]:
    """Return the index of the first character of each of the `words` of a text.

    >>> word_positions("Mia's owl.")
    [0, 3, 6, 9]
    """
    return [match.start() for match in _WORD.finditer(text)]


class Recall(NamedTuple):
    """A repeated mention of a bound value, which a reader can only predict by remembering it.

    The lag is the number of characters between the end of the previous mention and the position. For a pronoun any
    mention of the variable counts, for everything else only a mention that wrote the value out.

    >>> corpus(1000).recalls[0]
    Recall(variable='hero', kind='name', value='Kitty', position=83, lag=29)
    """

    variable: str
    kind: str  # "pronoun", or the variable's symbol: "name", "animal", "place", …
    value: str  # the text written there, without its article
    position: int  # of its first character
    lag: int


class Story(NamedTuple):
    """A story drawn from a grammar."""

    text: str  # without the newline that ends it in a corpus
    log_prob: float  # the exact log-probability of the text, in nats
    recalls: tuple[Recall, ...]  # in order


class Draft:
    """A story being written. It only calls ``rng.random()``, so the same seed gives the same story everywhere.

    >>> pets = Grammar({"story": ["Ann had {a animal=pet} and fed the {pet}."], "animal": ["owl", "cat"]})
    >>> Draft(pets, random.Random(0)).story().text
    'Ann had a cat and fed the cat.'
    """

    def __init__(self, grammar: Grammar, rng: random.Random):
        self.grammar, self.rng = grammar, rng
        self.text, self.log_prob = "", 0.0
        self.recalls: list[Recall] = []
        self._bound: dict[str, str] = {}
        self._written_out: dict[str, int] = {}  # variable -> end of the last mention by its value
        self._mentioned: dict[str, int] = {}  # variable -> end of the last mention in any form

    def story(self) -> Story:
        """Write a whole story and return it."""
        self._write("story")
        return Story(self.text, self.log_prob, tuple(self.recalls))

    def _write(self, symbol: str) -> None:
        """Draw an alternative of the symbol and write its template."""
        choices = self.grammar.choices[symbol]
        rule = self.grammar.rules[symbol][bisect_right(choices, int(self.rng.random() * choices[-1]))]
        self.log_prob += rule.log_prob
        for part in rule.parts:
            if isinstance(part, str):
                self.text += part
            elif part.form or part.variable:
                self._mention(part)
            else:
                self._write(part.symbol)

    def _mention(self, slot: Slot) -> None:
        """Write the value of a slot, drawn first if the slot draws."""
        name, is_pronoun = slot.variable, slot.form in PRONOUNS
        article, value = self.grammar.written(slot.form, self._draw(slot) if slot.draws else self._bound[name])
        start = len(self.text) + len(article)
        self.text += article + value
        if not slot.draws:
            before = (self._mentioned if is_pronoun else self._written_out)[name]
            self.recalls.append(Recall(name, "pronoun" if is_pronoun else slot.symbol, value, start, start - before))
        self._mentioned[name] = len(self.text)
        if not is_pronoun:
            self._written_out[name] = len(self.text)

    def _draw(self, slot: Slot) -> str:
        """Draw the value of a slot, and bind it if the slot names a variable."""
        values = self.grammar.values[slot.symbol]
        if slot.variable:
            taken = [value for name, value in self._bound.items() if self.grammar.variables[name] == slot.symbol]
            values = [value for value in values if value not in taken]
        value = values[int(self.rng.random() * len(values))]
        self.log_prob -= math.log(len(values))
        if slot.variable:
            self._bound[slot.variable] = value
        return value


@dataclass(frozen=True)
class StoryCorpus:
    """Whole stories, one after another, each ended by a newline; `corpus` draws them.

    Attributes:
        text: all of them as one text.
        log_prob: the log-probability of the text in nats, given the number of stories.
        recalls: the recalls of all stories, with positions counted from the start of the text.
        starts: the position of the first character of each story.

    >>> drawn = corpus(1000)
    >>> drawn.text[: drawn.text.index(".") + 1]
    'Once upon a time there was a gentle child called Kitty.'
    >>> f"{drawn.nats_per_character:.3f}"
    '0.099'
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
        return tuple(accumulate((len(story.text) + 1 for story in self.stories[:-1]), initial=0))

    @property
    def nats_per_character(self) -> float:
        """The floor for this text: −log p divided by its number of characters, newlines included."""
        return -self.log_prob / len(self.text)

    def split(self, fraction: float = 0.9) -> tuple[Self, Self]:
        """Cut the corpus in two at the story boundary nearest to this fraction of its characters."""
        ends = list(accumulate(len(story.text) + 1 for story in self.stories))
        cut = min(range(len(ends)), key=lambda story: abs(ends[story] - fraction * ends[-1])) + 1
        if not 0 < fraction < 1 or cut == len(ends):
            raise ValueError(f"fraction is {fraction} of {len(ends)} stories, and each part needs one; take, say, 0.9")
        return StoryCorpus(self.stories[:cut]), StoryCorpus(self.stories[cut:])


@cache
def grammar() -> Grammar:
    """Return the grammar of the book's stories; the file is read once.

    >>> f"{grammar().entropy_per_character():.4f} nats per character"
    '0.1058 nats per character'
    """
    return Grammar(tomllib.loads(resources.files(__package__).joinpath("stories.toml").read_text("utf-8")))


def corpus(characters: int = 1_000_000, seed: int = 0) -> StoryCorpus:
    """Draw whole stories from the book's grammar until they have at least this many characters, newlines included.

    The same seed gives the same text, on every machine and Python version.

    >>> drawn = corpus(2000, seed=0)
    >>> len(drawn.stories), len(drawn.text)
    (4, 2486)
    """
    rng, stories, length = random.Random(seed), [], 0
    while length < characters:
        stories.append(Draft(grammar(), rng).story())
        length += len(stories[-1].text) + 1
    return StoryCorpus(tuple(stories))
