"""Tell which sentences a story grammar can write, whoever and whatever they speak of."""

import re

from unrolled.text.grammar import Grammar, Slot

_END = re.compile(r"(?<=[.!?]) |(?<=[.!?]\") |\n")
_FIRST = 0xE000  # part n of a template, if a slot, is written as the character _FIRST + n, which no text has


def split_sentences(text: str) -> list[str]:
    r"""Return the sentences of a text without the spaces and newlines between them; a quoted one ends at its mark.

    >>> split_sentences('"Lost?" asked Ivy. It was.\nThe end')
    ['"Lost?"', 'asked Ivy.', 'It was.', 'The end']
    """
    return [sentence for sentence in _END.split(text) if sentence]


class SentenceForms:
    """The sentences of a grammar's stories, with any value of a list where a story repeats one of it.

    A sentence does not say which hero its story is about. One that is found here has the form of a sentence of the
    grammar, and need not fit the story in which it stands.

    Args:
        grammar: the grammar of the stories.

    Example:
        >>> pets = Grammar({"story": ["Ann met {a animal=pet}. The {pet} ran."], "animal": ["owl", "cat"]})
        >>> forms = SentenceForms(pets)
        >>> [sentence in forms for sentence in ("Ann met an owl.", "Ann met a owl.", "The cat ran.", "The cat.")]
        [True, False, True, False]
    """

    def __init__(self, grammar: Grammar):
        self.grammar = grammar
        slots = {slot for symbol in grammar.rules for slot in grammar.slots(symbol) if slot.symbol in grammar.values}
        self.written = {
            slot: {"".join(grammar.written(slot.form, value)) for value in grammar.values[slot.symbol]}
            for slot in slots
        }
        self.forms = [form for symbol in grammar.rules if self._is_whole(symbol) for form in self._own_forms(symbol)]

    def __contains__(self, sentence: str) -> bool:
        return any(len(sentence) in self._ends(form, sentence, 0) for form in self.forms)

    def _is_whole(self, symbol: str) -> bool:
        """Tell whether a symbol is written as whole sentences: its alternatives end with one."""
        last = self.grammar.rules[symbol][0].parts[-1]
        if isinstance(last, str):
            return last.endswith((".", "!", "?", '"'))
        return not (last.form or last.variable) and self._is_whole(last.symbol)

    def _own_forms(self, symbol: str) -> list[tuple[str | Slot, ...]]:
        """Return the sentences of a symbol's templates as parts; a slot for whole sentences is left to its symbol."""
        forms = []
        for rule in self.grammar.rules[symbol]:
            slots = {chr(_FIRST + number): part for number, part in enumerate(rule.parts) if isinstance(part, Slot)}
            names = {slot: name for name, slot in slots.items()}
            template = ""
            for part in rule.parts:
                ends_one = isinstance(part, Slot) and not (part.form or part.variable) and self._is_whole(part.symbol)
                template += "\n" if ends_one else names.get(part, part)
            for sentence in split_sentences(template):
                parts = re.split("([\ue000-\uf8ff])", sentence.strip())
                forms.append(tuple(slots.get(part, part) for part in parts if part))
        return [form for form in forms if form]

    def _ends(self, parts: tuple[str | Slot, ...], text: str, start: int) -> set[int]:
        """Return every place where these parts, written from `start` on in a text, can end."""
        places = {start}
        for part in parts:
            before, places = places, set()
            for place in before:
                if isinstance(part, str):
                    places |= {place + len(part)} if text.startswith(part, place) else set()
                elif part in self.written:
                    places |= {place + len(value) for value in self.written[part] if text.startswith(value, place)}
                else:
                    for rule in self.grammar.rules[part.symbol]:
                        places |= self._ends(rule.parts, text, place)
        return places
