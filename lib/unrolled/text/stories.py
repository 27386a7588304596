"""The embedded corpus: short stories drawn from a grammar, so that the exact probability of the text is known.

The grammar is in ``stories.toml``; `unrolled.text.grammar` explains how to read it. A corpus consists of whole stories,
each ended by a newline. Templates contain no newline, so the boundaries between stories are unambiguous.

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
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from itertools import accumulate
from statistics import fmean
from typing import NamedTuple, Self

from unrolled.text.grammar import PRONOUNS, Grammar, Rule, Slot

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

    Attributes:
        variable: the variable that is mentioned.
        kind: "pronoun", or the variable's symbol: "name", "animal", "place", …
        value: the text written there, without its article.
        position: the index of its first character.
        lag: the number of characters between the end of the previous mention and this position. For a pronoun any
            mention of the variable counts, for everything else only a mention that wrote the value out.

    >>> corpus(1000).recalls[0]
    Recall(variable='hero', kind='name', value='Kitty', position=83, lag=29)
    """

    variable: str
    kind: str
    value: str
    position: int
    lag: int


class Story(NamedTuple):
    """A story drawn from a `StoryGrammar`.

    Attributes:
        text: without the newline that ends it in a corpus.
        log_prob: the exact log-probability of the text, in nats.
        recalls: the repeated mentions in it, in order.

    >>> story = grammar().sample(random.Random(0))
    >>> story.text[:56], round(story.log_prob, 2), len(story.recalls)
    ('Once upon a time there was a gentle child called Kitty. ', -59.46, 16)
    """

    text: str
    log_prob: float
    recalls: tuple[Recall, ...]


class StoryGrammar(Grammar):
    """A grammar whose texts are stories. It draws them and computes their floor exactly.

    The argument, attributes and errors are those of `Grammar`.

    >>> pets = StoryGrammar({"story": ["Ann had {a animal=pet} and fed the {pet}."], "animal": ["owl", "cat"]})
    >>> pets.sample(random.Random(0)).text
    'Ann had a cat and fed the cat.'
    >>> round(pets.entropy(), 4)  # ln 2: one choice between two animals
    0.6931
    """

    def sample(self, rng: random.Random) -> Story:
        """Draw a story. It only calls ``rng.random()``, so the same seed gives the same story everywhere."""
        draft = Draft(self, rng)
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

    def _expected_size(self, size: Callable[[str], int]) -> float:
        """Return the mean over all stories of a size summed over texts and values as written; a newline adds 1."""

        def cost(part: str | Slot | Rule, left: int) -> float:
            if isinstance(part, Slot):
                return fmean(size("".join(self.written(part.form, value))) for value in self.values[part.symbol])
            return size(part) if isinstance(part, str) else 0

        return 1 + self.expect(cost)


class Draft:
    """A story being written: its text so far, its log-probability, and where each variable was last mentioned."""

    def __init__(self, grammar: StoryGrammar, rng: random.Random):
        self.grammar, self.rng = grammar, rng
        self.text, self.log_prob = "", 0.0
        self.recalls: list[Recall] = []
        self.bound: dict[str, str] = {}
        self.written_out: dict[str, int] = {}  # variable -> end of the last mention by its value
        self.mentioned: dict[str, int] = {}  # variable -> end of the last mention in any form

    def write(self, symbol: str) -> None:
        """Draw an alternative of the symbol and write its template."""
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
        """Write the value of a slot, drawn first if the slot draws."""
        name = slot.variable
        value = self.draw(slot) if slot.draws else self.bound[name]
        article, value = self.grammar.written(slot.form, value)
        start = len(self.text) + len(article)
        self.text += article + value
        if not slot.draws:
            mentions = self.mentioned if slot.form in PRONOUNS else self.written_out
            self.recalls.append(Recall(name, slot.kind, value, start, start - mentions[name]))
        if name:
            self.mentioned[name] = len(self.text)
            if slot.form not in PRONOUNS:
                self.written_out[name] = len(self.text)

    def draw(self, slot: Slot) -> str:
        """Draw the value of a slot, and bind it if the slot names a variable."""
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
    """Whole stories, one after another, each ended by a newline; `corpus` draws them.

    Attributes:
        stories: the stories, in order.
        text: all of them as one text.
        log_prob: the log-probability of the text in nats, given the number of stories.
        recalls: the recalls of all stories, with positions counted from the start of the text.

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
        """The position of the first character of each story."""
        return tuple(accumulate((len(story.text) + 1 for story in self.stories[:-1]), initial=0))

    @property
    def nats_per_character(self) -> float:
        """The floor for this text: −log p divided by its number of characters, newlines included."""
        return -self.log_prob / len(self.text)

    def split(self, fraction: float = 0.9) -> tuple[Self, Self]:
        """Cut the corpus in two at the story boundary nearest to this fraction of its characters.

        Raises:
            ValueError: the fraction is not strictly between 0 and 1, or a part would have no story.
        """
        if not 0 < fraction < 1:
            raise ValueError(f"fraction is {fraction}; it must lie between 0 and 1, exclusive, such as 0.9")
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
    """Return the grammar of the book's stories; the file is read once.

    >>> f"{grammar().entropy_per_character():.4f} nats per character"
    '0.1058 nats per character'
    """
    return StoryGrammar(tomllib.loads(resources.files(__package__).joinpath("stories.toml").read_text("utf-8")))


def corpus(characters: int = 1_000_000, seed: int = 0) -> StoryCorpus:
    """Draw whole stories from the book's grammar until they have at least this many characters.

    Args:
        characters: the least length of the text, newlines included.
        seed: the same seed gives the same text, on every machine and Python version.

    Raises:
        ValueError: characters is not positive.

    >>> drawn = corpus(2000, seed=0)
    >>> len(drawn.stories), len(drawn.text)
    (4, 2486)
    """
    if characters <= 0:
        raise ValueError(f"characters is {characters}; ask for at least 1")
    rng, source = random.Random(seed), grammar()
    stories, length = [], 0
    while length < characters:
        stories.append(source.sample(rng))
        length += len(stories[-1].text) + 1
    return StoryCorpus(tuple(stories))
