"""The embedded corpus: short stories drawn from a grammar, so that the exact probability of the text is known.

**The grammar** is a table: each symbol has alternatives, each alternative a weight and a template. A story is
drawn from the symbol ``story`` by taking one of its alternatives, with probability weight / (sum of the weights),
and filling the slots of its template from left to right. A slot reads ``{[form ]thing[=variable]}``:

    {symbol}            draw an alternative of the symbol afresh
    {symbol=variable}   draw one of the symbol's values and bind it to the variable for the rest of the story:
                        uniform over the values that no other variable of this story holds, so friend ≠ hero
    {variable}          the bound value again
    {a …} {A …}         the value after its article: "an" before a, e, i, o and u, "a" otherwise
    {they …} {them …} {their …} {They …} {Their …}
                        the pronoun of a bound name instead of the name

A value list is a symbol whose alternatives are plain text of equal weight; only value lists can be bound or take a
form. Two lists, ``symbol.she`` and ``symbol.he``, make a value list of names. No symbol leads back to itself, and on
every path a variable is bound once, before it is used: `Grammar` refuses anything else.

**The floor.** The probability of a derivation is the product of those of its draws. Every story has one derivation
only (the tests count them with a parser), so this product is the probability of the *text*. The mean of −log p over
all stories is the grammar's entropy: no model of these stories has a lower cross-entropy. For one given text, the
line to compare with is −log p of that text.

**The file**, ``stories.toml``: ``symbol = ["template", [weight, "template"], …]``, weights positive integers. A corpus
is whole stories, each ended by a newline, and no template has one: the text decodes in one way.
"""

from __future__ import annotations

import math
import random
import re
import tomllib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

ARTICLES = ("a", "A")
PRONOUNS = {"they": ("she", "he"), "them": ("her", "him"), "their": ("her", "his")}
PRONOUNS |= {form.title(): (she.title(), he.title()) for form, (she, he) in PRONOUNS.items()}

_SLOT = re.compile(r"\{(?:(\w+) )?(\w+)(?:=(\w+))?\}")
_WORD = re.compile(r"'?[A-Za-z-]+|[^ ]")


def words(text: str) -> list[str]:
    """Return the words of a text: runs of letters and hyphens (an apostrophe opens a new one: Mia 's), and
    every punctuation mark and newline by itself. Spaces separate and are dropped."""
    return _WORD.findall(text)


class Slot(NamedTuple):
    """A slot of a template: its form ("" for none), symbol, variable ("" for none), and whether it draws."""

    form: str
    symbol: str
    variable: str
    draws: bool

    @property
    def kind(self) -> str:
        """What a reader who meets the slot has to recall: "pronoun", or the symbol."""
        return "pronoun" if self.form in PRONOUNS else self.symbol


class Rule(NamedTuple):
    """One alternative: its log-probability (nats), its template, and the template cut into text and slots."""

    log_prob: float
    template: str
    parts: tuple[str | Slot, ...]


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


class Grammar:
    """A story grammar, checked when it is made. `Grammar.load` reads one from a file.

    Args:
        table: symbol -> list of alternatives, each a template or a pair [weight, template]; or, for names,
            symbol -> {"she": list of names, "he": list of names}.

    Attributes:
        rules: symbol -> its alternatives as `Rule`s.
        variables: variable -> the symbol whose values it takes.
        gender: name -> 0 for she, 1 for he.

    Raises:
        ValueError: the table breaks a rule of the formalism; the message names the symbol and the template.
    """

    def __init__(self, table: dict):
        alternatives = {symbol: _alternatives(symbol, entry) for symbol, entry in table.items()}
        self.gender = {
            name: gender
            for entry in table.values()
            if isinstance(entry, dict)
            for gender, pronoun in enumerate(("she", "he"))
            for name in entry[pronoun]
        }
        self.variables: dict[str, str] = {}
        for symbol, weighted in alternatives.items():
            for _, template in weighted:
                for _, thing, variable in _SLOT.findall(template):
                    if variable in table or (variable and self.variables.setdefault(variable, thing) != thing):
                        taken = "a symbol" if variable in table else f"bound from {self.variables[variable]!r}"
                        raise _wrong(symbol, template, f"variable {variable!r} is already {taken}; rename it")
        self._choices = {  # symbol -> cumulative weights
            symbol: tuple(accumulate(weight for weight, _ in weighted)) for symbol, weighted in alternatives.items()
        }
        self._values = {
            symbol: tuple(template for _, template in weighted)
            for symbol, weighted in alternatives.items()
            if len({weight for weight, _ in weighted}) == 1 and not any("{" in template for _, template in weighted)
        }
        self.rules = {
            symbol: tuple(
                Rule(math.log(weight / self._choices[symbol][-1]), template, self._parts(symbol, template))
                for weight, template in weighted
            )
            for symbol, weighted in alternatives.items()
        }
        self._check_reach()
        self._expect(lambda part, left: 0.0)  # walks every path, so it finds what is wrong on any of them

    @classmethod
    def load(cls, path_or_text: Path | str | None = None) -> Grammar:
        """Read a grammar from a file (a Path) or from TOML text (a str); by default the book's own.

        Raises:
            ValueError: the text is not TOML, or not a grammar.
        """
        if path_or_text is None:
            path_or_text = resources.files(__package__).joinpath("stories.toml").read_text(encoding="utf-8")
        elif isinstance(path_or_text, Path):
            path_or_text = path_or_text.read_text(encoding="utf-8")
        return cls(tomllib.loads(path_or_text))

    def sample(self, rng: random.Random) -> Story:
        """Draw one story. Only ``rng.random()`` is called, so the same seed gives the same story everywhere."""
        draft = _Draft(self, rng)
        draft.write("story")
        return Story("".join(draft.pieces), draft.log_prob, tuple(draft.recalls))

    def entropy(self) -> float:
        """Return the entropy of a story in nats: the mean of −log p over all stories."""
        return self._expect(lambda part, left: -part.log_prob if isinstance(part, Rule) else math.log(left or 1))

    def expected_length(self) -> float:
        """Return the mean number of characters in a story, its newline included."""
        return 1 + self._expect(self._mean(len))

    def expected_words(self) -> float:
        """Return the mean number of `words` in a story, its newline included."""
        return 1 + self._expect(self._mean(lambda text: len(words(text))))

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
        slots = [part for rules in self.rules.values() for rule in rules for part in rule.parts]
        kinds = {slot.kind for slot in slots if isinstance(slot, Slot) and not slot.draws}
        if kind not in kinds:
            raise ValueError(f"kind is {kind!r}; the stories recall {', '.join(sorted(kinds))}")

        def recalled(part: str | Slot | Rule, left: int) -> bool:
            return isinstance(part, Slot) and not part.draws and part.kind == kind

        def guessed(part: str | Slot | Rule, left: int) -> float:
            if not recalled(part, left):
                return 0.0
            values = self._values[part.symbol]
            first = Counter(self.written(part.form, value)[1][0] for value in values)
            return sum(count**2 for count in first.values()) / len(values) ** 2

        return self._expect(guessed) / self._expect(recalled)

    def written(self, form: str, value: str) -> tuple[str, str]:
        """Return a value in a form: the article with its space ("" for none), and the value or its pronoun."""
        if form in ARTICLES:
            return form + ("n " if value[0] in "aeiouAEIOU" else " "), value
        return "", PRONOUNS[form][self.gender[value]] if form else value

    def _parts(self, symbol: str, template: str) -> tuple[str | Slot, ...]:
        """Cut a template into its text and slots, and check each slot."""
        if re.search(r"[{}\n]", _SLOT.sub("", template)):
            raise _wrong(symbol, template, "braces must enclose {[form ]thing[=variable]}, and newlines end stories")
        if re.search(r"[\w'-]\{|\}[\w{-]", template) or not template:
            raise _wrong(symbol, template, "text must not be empty, and spaces or marks must part slots and words")
        parts: list[str | Slot] = []
        end = 0
        for match in _SLOT.finditer(template):
            form, thing, variable = (group or "" for group in match.groups())
            parts.append(template[end : match.start()])
            end = match.end()
            if thing not in self._choices and (variable or thing not in self.variables):
                raise _wrong(symbol, template, f"{thing!r} is neither a symbol nor a variable that is bound somewhere")
            if thing in self._choices:
                slot = Slot(form, thing, variable, draws=True)
            else:
                slot = Slot(form, self.variables[thing], variable=thing, draws=False)
            if form and form not in ARTICLES and form not in PRONOUNS:
                raise _wrong(symbol, template, f"{form!r} is no form; there are {', '.join((*ARTICLES, *PRONOUNS))}")
            if (form or variable) and slot.symbol not in self._values:
                raise _wrong(symbol, template, f"{slot.symbol!r} must be plain values of equal weight for {match[0]}")
            if form in PRONOUNS and slot.draws:
                raise _wrong(symbol, template, f"{match[0]} has no one to stand for; bind the name first")
            if form in PRONOUNS and not set(self._values[slot.symbol]) <= set(self.gender):
                raise _wrong(symbol, template, f"{slot.symbol!r} has no pronouns; give it two lists, she and he")
            parts.append(slot)
        return tuple(part for part in (*parts, template[end:]) if part)

    def _check_reach(self) -> None:
        """Follow every slot from ``story``: raise on a symbol inside itself, and on one that is never used."""
        reached: set[str] = set()

        def follow(symbol: str, above: tuple[str, ...]) -> None:
            if symbol in above:
                raise ValueError(
                    f"symbol {symbol!r} leads back to itself: {' > '.join((*above, symbol))}; cut the loop"
                )
            if symbol not in reached:
                reached.add(symbol)
                for below in {p.symbol for rule in self.rules[symbol] for p in rule.parts if isinstance(p, Slot)}:
                    follow(below, (*above, symbol))

        if "story" not in self.rules:
            raise ValueError("there is no symbol 'story'; every story is drawn from it")
        follow("story", ())
        if unused := sorted(set(self.rules) - reached):
            raise ValueError(
                f"symbol {unused[0]!r} is never used; put it into a template that 'story' leads to, or drop it"
            )

    def _expect(self, cost: Callable[[str | Slot | Rule, int], float]) -> float:
        """Return the mean over all stories of a cost that is summed over the texts, slots and rules of a story.

        What is drawn depends on which variables are bound, never on their values. So it is enough to carry the
        distribution over sets of bound variables from slot to slot, and with it the cost so far. `cost` is given a
        part and, where a value is drawn, how many there were to draw from (0 elsewhere).
        """

        def step(part: str | Slot, bound: frozenset[str], symbol: str, template: str) -> dict:
            if isinstance(part, str):
                return {bound: (1.0, cost(part, 0))}
            if not part.form and not part.variable:
                return walk(part.symbol, bound)
            if not part.draws:
                if part.variable not in bound:
                    raise _wrong(symbol, template, f"variable {part.variable!r} can be used before it is bound")
                return {bound: (1.0, cost(part, 0))}
            if not part.variable:
                return {bound: (1.0, cost(part, len(self._values[part.symbol])))}
            if part.variable in bound:
                raise _wrong(symbol, template, f"variable {part.variable!r} can be bound twice; rename one of the two")
            left = len(self._values[part.symbol]) - sum(self.variables[name] == part.symbol for name in bound)
            if not left:
                raise _wrong(symbol, template, f"no value of {part.symbol!r} is left for {part.variable!r}; add one")
            return {bound | {part.variable}: (1.0, cost(part, left))}

        @cache
        def walk(symbol: str, bound: frozenset[str]) -> dict:  # bound after -> (probability, its share of the cost)
            ends: dict = {}
            for rule in self.rules[symbol]:
                states = {bound: (math.exp(rule.log_prob), math.exp(rule.log_prob) * cost(rule, 0))}
                for part in rule.parts:
                    before, states = states, {}
                    for held, (p, c) in before.items():
                        for after, (q, d) in step(part, held, symbol, rule.template).items():
                            total, share = states.get(after, (0.0, 0.0))
                            states[after] = total + p * q, share + c * q + p * d
                for held, (p, c) in states.items():
                    total, share = ends.get(held, (0.0, 0.0))
                    ends[held] = total + p, share + c
            return ends

        return math.fsum(share for _, share in walk("story", frozenset()).values())

    def _mean(self, size: Callable[[str], int]) -> Callable[[str | Slot | Rule, int], float]:
        """Return the cost that gives a text its size, and a slot the mean size of its values as written."""

        def cost(part: str | Slot | Rule, left: int) -> float:
            if isinstance(part, Slot):
                values = self._values[part.symbol]
                return sum(size("".join(self.written(part.form, value))) for value in values) / len(values)
            return size(part) if isinstance(part, str) else 0

        return cost


class _Draft:
    """A story while it is written: its pieces, its log-probability, and where each variable was last mentioned."""

    def __init__(self, grammar: Grammar, rng: random.Random):
        self.grammar, self.rng = grammar, rng
        self.pieces: list[str] = []
        self.length = 0
        self.log_prob = 0.0
        self.recalls: list[Recall] = []
        self.bound: dict[str, str] = {}
        self.written_out: dict[str, int] = {}  # variable -> end of the last mention by its value
        self.mentioned: dict[str, int] = {}  # variable -> end of the last mention in any form

    def write(self, symbol: str) -> None:
        """Draw one of the symbol's alternatives and write its template."""
        choices = self.grammar._choices[symbol]
        rule = self.grammar.rules[symbol][bisect_right(choices, int(self.rng.random() * choices[-1]))]
        self.log_prob += rule.log_prob
        for part in rule.parts:
            if isinstance(part, str):
                self.pieces.append(part)
                self.length += len(part)
            elif part.form or part.variable:
                self.mention(part)
            else:
                self.write(part.symbol)

    def mention(self, slot: Slot) -> None:
        """Write the value of a slot, drawing it first where the slot says so."""
        name = slot.variable
        value = self.draw(slot) if slot.draws else self.bound[name]
        article, value = self.grammar.written(slot.form, value)
        start = self.length + len(article)
        self.length = start + len(value)
        self.pieces += article, value
        if not slot.draws:
            before = self.mentioned if slot.form in PRONOUNS else self.written_out
            self.recalls.append(Recall(name, slot.kind, value, start, start - before[name]))
        if name:
            self.mentioned[name] = self.length
            if slot.form not in PRONOUNS:
                self.written_out[name] = self.length

    def draw(self, slot: Slot) -> str:
        """Draw the value of a slot, and bind it where the slot names a variable."""
        values = self.grammar._values[slot.symbol]
        if slot.variable:
            variables = self.grammar.variables
            taken = [value for held, value in self.bound.items() if variables[held] == slot.symbol]
            values = [value for value in values if value not in taken] if taken else values
        value = values[int(self.rng.random() * len(values))]
        self.log_prob -= math.log(len(values))
        if slot.variable:
            self.bound[slot.variable] = value
        return value


def _alternatives(symbol: str, entry: list | dict) -> list[tuple[int, str]]:
    """Return a symbol's alternatives as (weight, template), checked one by one."""
    if isinstance(entry, dict):
        if set(entry) != {"she", "he"} or not all(isinstance(names, list) for names in entry.values()):
            raise ValueError(f"symbol {symbol!r} is {entry!r}; names come in two lists: she and he")
        entry = [*entry["she"], *entry["he"]]
    if not isinstance(entry, list) or not entry:
        raise ValueError(f"symbol {symbol!r} is {entry!r}; it must be a list of at least one alternative")
    weighted = []
    for alternative in entry:
        match [1, alternative] if isinstance(alternative, str) else alternative:
            case [int(weight), str(template)] if weight > 0 and not isinstance(weight, bool):
                weighted.append((weight, template))
            case _:
                raise ValueError(
                    f"symbol {symbol!r}: {alternative!r} is no alternative; write a template, or "
                    "[weight, template] with a positive whole weight"
                )
    if repeated := [template for template, count in Counter(t for _, t in weighted).items() if count > 1]:
        raise _wrong(symbol, repeated[0], "this alternative is there twice; keep one and give it the weight of both")
    return weighted


def _wrong(symbol: str, template: str, what: str) -> ValueError:
    return ValueError(f"symbol {symbol!r}, template {template!r}: {what}")


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
        starts = accumulate((len(story.text) + 1 for story in self.stories), initial=0)
        return tuple(
            recall._replace(position=start + recall.position)
            for start, story in zip(starts, self.stories, strict=False)  # the last start is the end of the text
            for recall in story.recalls
        )

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
def grammar() -> Grammar:
    """Return the book's grammar, read once."""
    return Grammar.load()


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
