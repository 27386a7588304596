"""Count how long a chapter takes to read, from its words, the code that it shows, its figures and its equations.

A minute is 180 words of prose; a line of code takes 6 seconds, and a figure or a numbered equation 45.
"""

import re
from typing import NamedTuple

WORDS_A_MINUTE, SECONDS_A_LINE, SECONDS_A_PICTURE = 180, 6, 45
WORDS = 3000  # what the prose of a chapter is held to
FENCE = re.compile(r"^(`{3,}|:{3,})(\{[^\n]*|[\w-]*)[^\n]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
DISPLAYED = re.compile(r"\$\$.+?\$\$(?:[ \t]*\((eq-[\w-]+)\))?", re.DOTALL)
INLINE = re.compile(r"\$[^$\n]+(?:\n[^$\n]+)?\$")


class Reading(NamedTuple):
    """What there is to read in a chapter.

    Attributes:
        words: words of prose; a formula within a sentence is one word, a displayed one none.
        lines: lines of code that the page shows, empty ones not counted.
        figures: figures, those that move included.
        equations: numbered equations.
    """

    words: int
    lines: int
    figures: int
    equations: int

    @property
    def minutes(self) -> float:
        """How long all of it takes to read."""
        seconds = SECONDS_A_LINE * self.lines + SECONDS_A_PICTURE * (self.figures + self.equations)
        return self.words / WORDS_A_MINUTE + seconds / 60


def prose(markdown: str) -> str:
    """Return the text of a cell that is read as prose: no displayed formulas, no code, of directives what they hold."""

    def held(block: re.Match) -> str:
        directive, inside = block[2], block[3]
        if not directive.startswith("{") or directive.startswith(("{include}", "{code", "{image}", "{math}")):
            return ""
        return prose(re.sub(r"^:[\w-]+:.*\n?", "", inside, flags=re.MULTILINE))

    text = FENCE.sub(held, markdown)
    return INLINE.sub(" formula ", DISPLAYED.sub(" ", text))


def words(markdown: str) -> int:
    """Return the number of words of prose in a cell."""
    return sum(bool(re.search(r"\w", word)) for word in prose(markdown).split())


def shown_lines(notebook: dict) -> int:
    """Return how many lines of code a page shows, empty ones not counted: of a folded cell, none."""
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    shown = [cell for cell in code if "hide-input" not in cell["metadata"].get("tags", [])]
    return sum(bool(line.strip()) for cell in shown for line in "".join(cell["source"]).split("\n"))


def reading(notebook: dict) -> Reading:
    """Return what there is to read in a chapter."""
    text = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    moving = ["explore.slider(" in "".join(cell["source"]) for cell in code]
    named = ["figure" in cell["metadata"].get("mystnb", {}) for cell in code]
    figures = sum(either or other for either, other in zip(moving, named, strict=True))
    equations = sum(bool(label) for cell in text for label in DISPLAYED.findall(cell))
    return Reading(sum(map(words, text)), shown_lines(notebook), figures, equations)
