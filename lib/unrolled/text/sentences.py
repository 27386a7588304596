"""Tell which sentences a story grammar can write, whoever and whatever they speak of."""

import re

from unrolled.text.grammar import Grammar, Slot

_END = re.compile(r"(?<=[.!?]) |(?<=[.!?]\") |\n")
_FIRST = 0xE000  # the slots of a template are written as the characters from here on, which no text has


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

    >>> pets = Grammar({"story": ["Ann met {a animal=pet}. The {pet} ran."], "animal": ["owl", "cat"]})
    >>> forms = SentenceForms(pets)
    >>> [sentence in forms for sentence in ("Ann met an owl.", "Ann met a owl.", "The cat ran.", "The cat.")]
    [True, False, True, False]
    """

    def __init__(self, grammar: Grammar):
        self.grammar = grammar
        patterns = {pattern for symbol in grammar.rules if self._is_whole(symbol) for pattern in self._patterns(symbol)}
        self._forms = [re.compile(pattern) for pattern in sorted(patterns)]

    def __contains__(self, sentence: str) -> bool:
        return any(form.fullmatch(sentence) for form in self._forms)

    def _is_whole(self, symbol: str) -> bool:
        """Tell whether a symbol is written as whole sentences: its alternatives end with one."""
        last = self.grammar.rules[symbol][0].parts[-1]
        if isinstance(last, str):
            return last.endswith((".", "!", "?", '"'))
        return not (last.form or last.variable) and self._is_whole(last.symbol)

    def _patterns(self, symbol: str) -> list[str]:
        """Return a pattern for each sentence of a symbol's templates; a slot for whole ones is left to its symbol."""
        patterns = []
        for rule in self.grammar.rules[symbol]:
            template, slots = "", {}
            for part in rule.parts:
                if isinstance(part, str):
                    template += part
                elif not (part.form or part.variable) and self._is_whole(part.symbol):
                    template += "\n"
                else:
                    slots[mark := chr(_FIRST + len(slots))] = part
                    template += mark
            for sentence in map(str.strip, split_sentences(template)):
                marks = (self._pattern(slots[each]) if each in slots else re.escape(each) for each in sentence)
                patterns.append("".join(marks))
        return [pattern for pattern in patterns if pattern]

    def _pattern(self, slot: Slot) -> str:
        """Return a pattern for all that a slot can be filled with."""
        if values := self.grammar.values.get(slot.symbol):
            ways = [re.escape("".join(self.grammar.written(slot.form, value))) for value in values]
        else:
            parts = [rule.parts for rule in self.grammar.rules[slot.symbol]]
            ways = ["".join(re.escape(p) if isinstance(p, str) else self._pattern(p) for p in each) for each in parts]
        return f"(?:{'|'.join(dict.fromkeys(ways))})"
