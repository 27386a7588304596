"""Count every derivation of a text under a story grammar, and add up their probabilities.

Written apart from the generator: of a `Grammar` it reads only the rule table (`rules`) and who is she and who is he
(`gender`). What slots, forms and bindings mean is written here a second time, so that an error would have to be made
twice. It is a chart parser from the top down: a table entry is (symbol, start, bindings), and holds, for every place
where the symbol can end and all bindings it can end with, how many derivations lead there and their probability.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

FEMALE = {"they": "she", "them": "her", "their": "her", "They": "She", "Their": "Her"}
MALE = {"they": "he", "them": "him", "their": "his", "They": "He", "Their": "His"}


class Parse(NamedTuple):
    """How many derivations a text has, and the log of their summed probability (nats; −inf if there are none)."""

    derivations: int
    log_prob: float


def parse(grammar, text: str) -> Parse:
    """Parse a whole text as one story."""

    @cache
    def ends(symbol: str, start: int, bindings: tuple) -> dict:  # (end, bindings after) -> (derivations, probability)
        found: dict = {}
        for rule in grammar.rules[symbol]:
            chart = {(start, bindings): (1, math.exp(rule.log_prob))}
            for part in rule.parts:
                row: dict = {}
                for (position, held), (count, probability) in chart.items():
                    for after, (more, factor) in readings(part, position, held).items():
                        old_count, old_probability = row.get(after, (0, 0.0))
                        row[after] = old_count + count * more, old_probability + probability * factor
                chart = row
            for after, (count, probability) in chart.items():
                old_count, old_probability = found.get(after, (0, 0.0))
                found[after] = old_count + count, old_probability + probability
        return found

    def readings(part, position: int, held: tuple) -> dict:
        if isinstance(part, str):
            return {(position + len(part), held): (1, 1.0)} if text.startswith(part, position) else {}
        if not part.form and not part.variable:
            return ends(part.symbol, position, held)
        if part.draws:
            taken = {value for _, symbol, value in held if symbol == part.symbol} if part.variable else set()
            choices = [rule.template for rule in grammar.rules[part.symbol] if rule.template not in taken]
        else:
            choices = [value for variable, _, value in held if variable == part.variable]
        found: dict = {}
        for value in choices:
            written = inflect(part.form, value)
            if text.startswith(written, position):
                bind = ((part.variable, part.symbol, value),) if part.draws and part.variable else ()
                after = position + len(written), tuple(sorted(held + bind))
                count, probability = found.get(after, (0, 0.0))
                found[after] = count + 1, probability + 1 / len(choices)
        return found

    def inflect(form: str, value: str) -> str:
        if form in ("a", "A"):
            return f"{form}n {value}" if value[0].lower() in "aeiou" else f"{form} {value}"
        if form:
            return (FEMALE, MALE)[grammar.gender[value]][form]
        return value

    whole = [reading for (end, _), reading in ends("story", 0, ()).items() if end == len(text)]
    probability = math.fsum(probability for _, probability in whole)
    return Parse(sum(count for count, _ in whole), math.log(probability) if probability else -math.inf)
