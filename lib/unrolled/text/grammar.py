"""A probabilistic grammar with variables, with exact means over all its texts; ``stories.toml`` says how to read it."""

import math
import re
from collections.abc import Callable
from functools import cache
from itertools import accumulate
from statistics import fmean
from typing import NamedTuple

ARTICLES = ("a", "A")
PRONOUNS = {"they": ("she", "he"), "them": ("her", "him"), "their": ("her", "his")}
PRONOUNS |= {form.title(): (she.title(), he.title()) for form, (she, he) in PRONOUNS.items()}

_SLOT = re.compile(r"\{(?:(\w+) )?(\w+)(?:=(\w+))?\}")


class Slot(NamedTuple):
    """A slot of a template."""

    form: str  # the article or pronoun, as it is written in the slot; "" for none
    symbol: str  # what is drawn from, or what the variable is bound to
    variable: str  # what is bound or repeated; "" for none
    draws: bool  # or else it repeats a bound value


class Rule(NamedTuple):
    """An alternative of a symbol: its log-probability in nats, its template, and the template's texts and slots."""

    log_prob: float
    template: str
    parts: tuple[str | Slot, ...]


class Grammar:
    """A grammar whose texts are stories.

    Args:
        table: symbol -> its alternatives, as the file has them.

    Attributes:
        rules: symbol -> its alternatives as `Rule`s.
        choices: symbol -> the cumulative weights of its alternatives.
        values: value list -> its values.
        variables: variable -> the symbol whose values it takes.
        gender: name -> 0 for she, 1 for he.

    >>> grammar = Grammar({"story": ["Ann met {a animal=pet}.", "Bo met no one."], "animal": ["owl", "cat"]})
    >>> round(grammar.entropy() / math.log(2), 6)  # bits: one to choose the template, half the time one for the animal
    1.5
    """

    def __init__(self, table: dict):
        names = [entry for entry in table.values() if isinstance(entry, dict)]
        self.gender = {name: sex for entry in names for sex, key in enumerate(("she", "he")) for name in entry[key]}
        weights = {symbol: _weights(entry) for symbol, entry in table.items()}
        slots = [slot for templates in weights.values() for template in templates for slot in _SLOT.findall(template)]
        self.variables = {variable: symbol for _, symbol, variable in slots if variable}
        self.choices = {symbol: tuple(accumulate(each.values())) for symbol, each in weights.items()}
        self.values = {
            symbol: tuple(each)
            for symbol, each in weights.items()
            if len(set(each.values())) == 1 and "{" not in "".join(each)
        }
        self.rules = {
            symbol: tuple(
                Rule(math.log(weight / self.choices[symbol][-1]), template, self._parts(symbol, template))
                for template, weight in each.items()
            )
            for symbol, each in weights.items()
        }
        self.entropy()  # walks every path, and so finds a variable that is bound twice or too early on any of them

    def written(self, form: str, value: str) -> tuple[str, str]:
        """Return a value as a form writes it: the article with a space ("" for none), and the value or its pronoun."""
        if form in ARTICLES:
            return form + ("n " if value[0] in "aeiouAEIOU" else " "), value
        return "", PRONOUNS[form][self.gender[value]] if form else value

    def entropy(self) -> float:
        """Return the entropy of a derivation in nats: the mean of −log p over all derivations."""
        return self.expect(lambda part, left: -part.log_prob if isinstance(part, Rule) else math.log(left or 1))

    def expected_length(self) -> float:
        """Return the mean number of characters of a story, its newline included."""

        def cost(part: str | Slot | Rule, left: int) -> float:
            if isinstance(part, Slot):
                return fmean(len("".join(self.written(part.form, value))) for value in self.values[part.symbol])
            return len(part) if isinstance(part, str) else 0

        return 1 + self.expect(cost)

    def entropy_per_character(self) -> float:
        """Return the floor in nats per character, newlines included."""
        return self.entropy() / self.expected_length()

    def expect(self, cost: Callable[[str | Slot | Rule, int], float]) -> float:
        """Return the exact mean, over all derivations, of a cost summed over the texts, slots and rules of each.

        The draws depend on which variables are bound, never on their values. It is therefore enough to carry the
        distribution over sets of bound variables from slot to slot, together with the cost so far. The second argument
        of `cost` is the number of values that a slot draws from, or 0.
        """

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
                            after, left = self._bind(part, held)
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

    def _bind(self, slot: Slot, bound: frozenset[str]) -> tuple[frozenset[str], int]:
        """Return the variables that are bound after a slot, and the number of values that it draws from."""
        if slot.draws == (slot.variable in bound):
            raise ValueError(f"variable {slot.variable!r} can be used before it is bound, or be bound twice, in {slot}")
        if not slot.draws:
            return bound, 0
        others = sum(self.variables[other] == slot.symbol for other in bound) if slot.variable else 0
        return bound | ({slot.variable} - {""}), len(self.values[slot.symbol]) - others

    def _parts(self, symbol: str, template: str) -> tuple[str | Slot, ...]:
        """Cut a template into its texts and slots."""
        parts, end = [], 0
        for match in _SLOT.finditer(template):
            form, thing, variable = match.groups(default="")
            draws = thing in self.choices
            if not draws and thing not in self.variables:
                raise ValueError(f"{thing!r} in {template!r} of {symbol!r} is neither a symbol nor a bound variable")
            slot = Slot(form, thing, variable, True) if draws else Slot(form, self.variables[thing], thing, False)
            parts += [template[end : match.start()], slot]
            end = match.end()
        return tuple(part for part in (*parts, template[end:]) if part)


def _weights(entry: list | dict) -> dict[str, int]:
    """Return the alternatives of a symbol as template -> weight."""
    if isinstance(entry, dict):
        entry = [*entry["she"], *entry["he"]]
    pairs = ((1, alternative) if isinstance(alternative, str) else alternative for alternative in entry)
    return {template: weight for weight, template in pairs}
