"""A decimal number in a chapter's prose is one that the code of the same section computes or is given.

The rules, all of them:

- Prose is the text of a chapter with its formulas and captions; not so are code, roles and addresses.
- A decimal number has a point, as 0.23; 1,000, 2026, 2.13.0, exercise 3.2 and a heading's number have none or are none.
- It must be, rounded to the digits that it has, a decimal number that a cell of its section prints, or one that stands
  in the section's code. One of a single digit, as 0.2, must stand there as it is. Signs do not count.
- A section goes from one ``##`` to the next.
- Or its sentence cites a source, which then answers for it.
"""

import ast
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from places import ROOT

pytestmark = pytest.mark.book
CHAPTERS = {path.stem: json.loads(path.read_text("utf8")) for path in sorted(ROOT.glob("chapters/*.ipynb"))}
DECIMAL = re.compile(r"(?<![\d.])\d+(?:,\d{3})*\.\d+(?!\.?\d)")
PRINTED = re.compile(DECIMAL.pattern + r"(?:e[-+]\d+)?")
BLOCK = re.compile(r"^(```+)(?!\{).*?^\1", re.MULTILINE | re.DOTALL)
NO_PROSE = re.compile(r"`[^`]*`|\]\(\S*\)|https?://\S+|[Ee]xercises? \d+\.\d+|^\s*#+ \d+\.\d+")


class Section(NamedTuple):
    """A part of a chapter, from a heading of the first or second rank to the next."""

    heading: str
    prose: list[str]
    code: list[dict]


def sections(notebook: dict) -> list[Section]:
    """Return the sections of a chapter in order; what stands before the first ``##`` belongs to the title."""
    parts = [Section("", [], [])]
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            parts[-1].code.append(cell)
            continue
        before, *rest = re.split(r"^##? (.+)\n?", "".join(cell["source"]), flags=re.MULTILINE)
        parts[-1].prose.append(before)
        for heading, below in zip(rest[::2], rest[1::2], strict=True):
            parts.append(Section(heading.strip(), [below], []))
    return parts


def sentences(text: str) -> list[str]:
    """Return the sentences of a text without its blocks of code; paragraphs and list items end one as well."""
    return re.split(r"(?<=[.!?])[)*\"”]*\s+|\n\s*\n|\n\s*[-*] ", BLOCK.sub("", text))


def quoted(section: Section) -> Iterator[str]:
    """Yield the decimal numbers in a section's prose for which no cited source answers."""
    figures = [cell["metadata"].get("mystnb", {}).get("figure", {}) for cell in section.code]
    for text in [*section.prose, *(figure.get("caption", "") for figure in figures)]:
        for sentence in sentences(text):
            if "{cite" not in sentence:
                yield from DECIMAL.findall(NO_PROSE.sub(" ", sentence))


def computed(section: Section) -> list[float]:
    """Return the numbers that a section's cells print or that stand in their code."""
    numbers = []
    for cell in section.code:
        nodes = ast.walk(ast.parse("".join(cell["source"])))
        numbers += [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, float)]
        for output in cell["outputs"]:
            table = output.get("data", {}).get("text/plain", "")
            printed = PRINTED.findall("".join(output.get("text", table)))
            numbers += [float(number.replace(",", "")) for number in printed]
    return numbers


def known(number: str, numbers: list[float]) -> bool:
    """Tell whether a decimal number, as it is written, is one of these rounded, or exactly one if it has one digit."""
    digits = number.replace(",", "")
    error = 0.5 * 10.0 ** -len(digits.partition(".")[2]) if len(digits.replace(".", "").lstrip("0")) > 1 else 0.0
    return any(abs(float(digits) - other) <= 1.001 * error + 1e-12 for other in numbers)


def unfounded(section: Section) -> list[str]:
    """Return the decimal numbers in a section's prose that its code does not know, each with the section's heading."""
    numbers = computed(section)
    return [f"{section.heading!r}: {number}" for number in quoted(section) if not known(number, numbers)]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_number_in_prose_comes_from_the_code_beside_it(chapter):
    numbers = [number for section in sections(CHAPTERS[chapter]) for number in unfounded(section)]
    assert not numbers, "print it in a cell of its section, round it, or cite a source for it"


@pytest.mark.parametrize(
    ("prose", "found"),
    [
        ("It costs 0.27 nats, or 0.28 {cite}`Davis2026`. It is 0.5. Python 3.11.7, `0.99`, 1,234.5.", []),
        ("It costs 0.28 nats.", ["0.28"]),
        ("It costs 0.3 nats.", ["0.3"]),  # one digit is not rounded
        ("It costs 4.53. So does that {cite}`Davis2026`.", ["4.53"]),
    ],
)
def test_a_number_that_nothing_computes_is_found(prose, found):
    outputs = [{"output_type": "stream", "name": "stdout", "text": "0.272 nats, 1,234.5"}]
    section = Section("Part", [prose], [{"source": "rate = 0.5", "metadata": {}, "outputs": outputs}])
    assert unfounded(section) == [f"'Part': {number}" for number in found]
