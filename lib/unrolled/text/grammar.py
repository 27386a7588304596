"""A probabilistic grammar with variables, checked for consistency, with exact means over all its texts.

**The table.** Each symbol has alternatives, and each alternative has a weight and a template. To draw a text from the
symbol ``story``, draw one of its alternatives with probability weight / (sum of the weights) and fill the slots of its
template from left to right. A slot reads ``{[form ]thing[=variable]}``:

    {symbol}            draw a new alternative of the symbol
    {symbol=variable}   draw one of the symbol's values and bind it to the variable for the rest of the story;
                        uniform over the values that no other variable of this story holds, so friend ≠ hero
    {variable}          repeat the bound value
    {a …} {A …}         the value with its article: "an" before a, e, i, o and u, otherwise "a"
    {they …} {them …} {their …} {They …} {Them …} {Their …}
                        the pronoun for a bound name instead of the name

A value list is a symbol whose alternatives are plain text of equal weight; only value lists can be bound or take a
form. Two lists, ``symbol.she`` and ``symbol.he``, make up a value list of names. No symbol may lead back to itself,
and on every path each variable must be bound once, before it is used; `Grammar` rejects anything else.

**The file** is TOML: ``symbol = ["template", [weight, "template"], …]`` with positive integers as weights and no
newlines in templates.
"""

import math
import re
from collections.abc import Callable
from functools import cache
from itertools import accumulate
from typing import NamedTuple

ARTICLES = ("a", "A")
PRONOUNS = {"they": ("she", "he"), "them": ("her", "him"), "their": ("her", "his")}
PRONOUNS |= {form.title(): (she.title(), he.title()) for form, (she, he) in PRONOUNS.items()}

_SLOT = re.compile(r"\{(?:(\w+) )?(\w+)(?:=(\w+))?\}")


class Slot(NamedTuple):
    """A slot of a template.

    Attributes:
        form: the article or pronoun, as it is written in the slot; "" for none.
        symbol: the symbol drawn from, or that the variable is bound to.
        variable: the variable that is bound or repeated; "" for none.
        draws: True if the slot draws, False if it repeats a bound value.
    """

    form: str
    symbol: str
    variable: str
    draws: bool

    @property
    def kind(self) -> str:
        """What the slot requires a reader to recall: "pronoun", or the symbol."""
        return "pronoun" if self.form in PRONOUNS else self.symbol


class Rule(NamedTuple):
    """An alternative of a symbol.

    Attributes:
        log_prob: its log-probability in nats.
        template: as in the table.
        parts: the template cut into texts and slots.
    """

    log_prob: float
    template: str
    parts: tuple[str | Slot, ...]


class Grammar:
    """A grammar, checked when it is created.

    Args:
        table: symbol -> list of alternatives, each of them a template or a pair [weight, template]; for names,
            symbol -> {"she": list of names, "he": list of names}.

    Attributes:
        rules: symbol -> its alternatives as `Rule`s.
        choices: symbol -> the cumulative weights of its alternatives.
        values: value list -> its values.
        variables: variable -> the symbol whose values it takes.
        gender: name -> 0 for she, 1 for he.

    Raises:
        ValueError: the table breaks one of the rules above; the message names the symbol and the template.

    >>> grammar = Grammar({"story": ["Ann met {a animal=pet}.", "Bo met no one."], "animal": ["owl", "cat"]})
    >>> grammar.values["animal"]
    ('owl', 'cat')
    >>> round(grammar.entropy() / math.log(2), 6)  # bits: one to choose the template, half the time one for the animal
    1.5
    """

    def __init__(self, table: dict):
        alternatives = {symbol: _alternatives(symbol, entry) for symbol, entry in table.items()}
        names = [entry for entry in table.values() if isinstance(entry, dict)]
        self.gender = {name: sex for entry in names for sex, key in enumerate(("she", "he")) for name in entry[key]}
        self.variables: dict[str, str] = {}
        for symbol, weights in alternatives.items():
            for template in weights:
                for _, thing, variable in _SLOT.findall(template):
                    if variable in table or (variable and self.variables.setdefault(variable, thing) != thing):
                        taken = "a symbol" if variable in table else f"bound from {self.variables[variable]!r}"
                        raise _wrong(symbol, template, f"variable {variable!r} is already {taken}; rename it")
        self.choices = {symbol: tuple(accumulate(weights.values())) for symbol, weights in alternatives.items()}
        self.values = {
            symbol: tuple(weights)
            for symbol, weights in alternatives.items()
            if len(set(weights.values())) == 1 and "{" not in "".join(weights)
        }
        self.rules = {
            symbol: tuple(
                Rule(math.log(weight / self.choices[symbol][-1]), template, self._parts(symbol, template))
                for template, weight in weights.items()
            )
            for symbol, weights in alternatives.items()
        }
        self._check_reach()
        self.expect(lambda part, left: 0.0)  # walks every path, and so finds what is wrong on any of them

    def slots(self, symbol: str) -> list[Slot]:
        """Return the slots in all alternatives of a symbol, in order."""
        return [part for rule in self.rules[symbol] for part in rule.parts if isinstance(part, Slot)]

    def written(self, form: str, value: str) -> tuple[str, str]:
        """Return a value as a form writes it: the article with a space ("" for none), and the value or its pronoun."""
        if form in ARTICLES:
            return form + ("n " if value[0] in "aeiouAEIOU" else " "), value
        return "", PRONOUNS[form][self.gender[value]] if form else value

    def entropy(self) -> float:
        """Return the entropy of a derivation in nats: the mean of −log p over all derivations."""
        return self.expect(lambda part, left: -part.log_prob if isinstance(part, Rule) else math.log(left or 1))

    def expect(self, cost: Callable[[str | Slot | Rule, int], float]) -> float:
        """Return the exact mean, over all derivations, of a cost summed over the texts, slots and rules of each.

        The draws depend on which variables are bound, never on their values. It is therefore enough to carry the
        distribution over sets of bound variables from slot to slot, together with the cost so far.

        Args:
            cost: maps a part to its cost; its second argument is the number of values to draw from where a value is
                drawn, otherwise 0. Slots that lead to a symbol's alternatives have no cost of their own.
        """

        def bind(slot: Slot, bound: frozenset[str], symbol: str, template: str) -> tuple[frozenset[str], int]:
            name, left = slot.variable, len(self.values[slot.symbol])  # left: the number of values to draw from
            if not slot.draws:
                if name not in bound:
                    raise _wrong(symbol, template, f"variable {name!r} can be used before it is bound")
                return bound, 0
            if not name:
                return bound, left
            if name in bound:
                raise _wrong(symbol, template, f"variable {name!r} can be bound twice; rename one of the two")
            left -= sum(self.variables[other] == slot.symbol for other in bound)
            if not left:
                raise _wrong(symbol, template, f"no value of {slot.symbol!r} is left for {name!r}; add one")
            return bound | {name}, left

        @cache
        def walk(symbol: str, bound: frozenset[str]) -> dict:  # bound afterwards -> (probability, share of the cost)
            ends: dict = {}
            for rule in self.rules[symbol]:
                states = {bound: (math.exp(rule.log_prob), math.exp(rule.log_prob) * cost(rule, 0))}
                for part in rule.parts:
                    before, states = states, {}
                    for held, (p, c) in before.items():
                        if isinstance(part, str):
                            steps = {held: (1.0, cost(part, 0))}
                        elif part.form or part.variable:
                            after, left = bind(part, held, symbol, rule.template)
                            steps = {after: (1.0, cost(part, left))}
                        else:
                            steps = walk(part.symbol, held)
                        for after, (q, d) in steps.items():
                            total, share = states.get(after, (0.0, 0.0))
                            states[after] = total + p * q, share + c * q + p * d
                for held, (p, c) in states.items():
                    total, share = ends.get(held, (0.0, 0.0))
                    ends[held] = total + p, share + c
            return ends

        return math.fsum(share for _, share in walk("story", frozenset()).values())

    def _parts(self, symbol: str, template: str) -> tuple[str | Slot, ...]:
        """Cut a template into its text and slots, and check each slot."""
        if re.search(r"[{}\n]", _SLOT.sub("", template)):
            raise _wrong(symbol, template, "braces must enclose {[form ]thing[=variable]}, and newlines end stories")
        if re.search(r"[\w'-]\{|\}[\w{-]", template) or not template:
            raise _wrong(symbol, template, "text must not be empty, and spaces or marks must separate slots from words")
        parts: list[str | Slot] = []
        end = 0
        for match in _SLOT.finditer(template):
            form, thing, variable = match.groups(default="")
            parts.append(template[end : match.start()])
            end = match.end()
            if thing in self.choices:
                slot = Slot(form, thing, variable, draws=True)
            elif thing in self.variables and not variable:
                slot = Slot(form, self.variables[thing], variable=thing, draws=False)
            else:
                raise _wrong(symbol, template, f"{thing!r} is neither a symbol nor a variable that is bound somewhere")
            if form and form not in ARTICLES and form not in PRONOUNS:
                raise _wrong(
                    symbol, template, f"{form!r} is not a form; the forms are {', '.join((*ARTICLES, *PRONOUNS))}"
                )
            if (form or variable) and slot.symbol not in self.values:
                raise _wrong(symbol, template, f"{slot.symbol!r} must be plain values of equal weight for {match[0]}")
            if form in PRONOUNS and slot.draws:
                raise _wrong(symbol, template, f"{match[0]} has no name to stand for; bind one first")
            if form in PRONOUNS and not set(self.values[slot.symbol]) <= set(self.gender):
                raise _wrong(symbol, template, f"{slot.symbol!r} has no pronouns; give it two lists, she and he")
            parts.append(slot)
        return tuple(part for part in (*parts, template[end:]) if part)

    def _check_reach(self) -> None:
        """Follow every slot from ``story``, and raise if a symbol contains itself or is never used."""
        reached: set[str] = set()

        def follow(symbol: str, above: tuple[str, ...]) -> None:
            path = (*above, symbol)
            if symbol in above:
                raise ValueError(f"symbol {symbol!r} leads back to itself: {' > '.join(path)}; break the loop")
            if symbol not in reached:
                reached.add(symbol)
                for slot in self.slots(symbol):
                    follow(slot.symbol, path)

        if "story" not in self.rules:
            raise ValueError("there is no symbol 'story'; every story is drawn from it")
        follow("story", ())
        if unused := sorted(set(self.rules) - reached):
            remedy = "use it in a template that 'story' leads to, or remove it"
            raise ValueError(f"symbol {unused[0]!r} is never used; {remedy}")


def _alternatives(symbol: str, entry: list | dict) -> dict[str, int]:
    """Return the alternatives of a symbol as template -> weight, checked one by one."""
    if isinstance(entry, dict):
        if set(entry) != {"she", "he"} or not all(isinstance(names, list) for names in entry.values()):
            raise ValueError(f"symbol {symbol!r} is {entry!r}; names come in two lists: she and he")
        entry = [*entry["she"], *entry["he"]]
    if not isinstance(entry, list) or not entry:
        raise ValueError(f"symbol {symbol!r} is {entry!r}; it must be a list of at least one alternative")
    weights: dict[str, int] = {}
    for alternative in entry:
        match [1, alternative] if isinstance(alternative, str) else alternative:
            case [_, str(template)] if template in weights:
                raise _wrong(symbol, template, "this alternative occurs twice; keep one and give it the weight of both")
            case [int(weight), str(template)] if weight > 0 and not isinstance(weight, bool):
                weights[template] = weight
            case _:
                remedy = "write a template, or [weight, template] with a positive whole weight"
                raise ValueError(f"symbol {symbol!r}: {alternative!r} is not an alternative; {remedy}")
    return weights


def _wrong(symbol: str, template: str, problem: str) -> ValueError:
    return ValueError(f"symbol {symbol!r}, template {template!r}: {problem}")
