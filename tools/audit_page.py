"""Write the page of the audit, `audit.md`, from `audit.toml`: what five sources claim, and what came out here.

``make chapters`` calls it when it has run the chapters; nothing else changes the page.
"""

import ast
import json
import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

from unrolled import experiments

ROOT = Path(__file__).resolve().parent.parent
HEADING = re.compile(r"^#{1,3} (.+)$", re.MULTILINE)
UNTESTED = "could not be tested here"
VERDICTS = {
    "right": "It holds as it stands.",
    "wrong": "It does not hold, or a number is another.",
    "imprecise": "It holds for something else, or with a condition that is missing.",
    "depends": "It holds for some texts, models or budgets, and not for others.",
    UNTESTED: "It takes a machine that we did not have.",
}
HEAD = """\
<!-- Written by `make chapters` from `audit.toml`; edits made here are lost. -->

# Audit

Five texts on recurrent networks stood at the beginning of this book. They explain well, and they say much that can be
checked: {right} of {all} claims are right as they stand. Here is each of them, in our words, with what came out when it
was computed, and a link to the section whose code computes and asserts it. A spread after ± is a standard deviation
over seeds. The [exam](#the-exam) below collects what the sources ask of their readers.

{counts}
"""
FILTER = """
<form class="audit-filter" hidden>
<label>Verdict <select><option value="">all</option>
{options}
</select></label>
<label>Words <input type="search"></label>
<output aria-live="polite"></output>
</form>

## The claims
"""
EXAM = """
## The exam

The sources set objectives and exercises, and name what a reader should come to understand. Each is a question here,
and its answer a section or an exercise.
"""


class Place(NamedTuple):
    """A cell of the book: the notebook's name, as ``"chapters/12-cost"``, and the cell's place in it."""

    notebook: str
    number: int


@cache
def cells(path: Path) -> list[dict]:
    """Return a notebook's cells."""
    return json.loads(path.read_text(encoding="utf8"))["cells"]


def source(cell: dict) -> str:
    """Return a cell's text."""
    return "".join(cell["source"])


def find(root: Path, reference: str) -> Place:
    """Return the place that ``"12-cost#bert"`` or ``"exercises/12-cost#exercise-12-1"`` names.

    Raises:
        ValueError: there is no such notebook, or it has no such cell.
    """
    name, _, label = reference.partition("#")
    notebook = name if "/" in name else f"chapters/{name}"
    path = root / f"{notebook}.ipynb"
    labels = [cell.get("id") for cell in cells(path)] if path.is_file() else []
    if label not in labels:
        raise ValueError(f"audit.toml names {reference!r}: {notebook}.ipynb has no such cell, or is not there")
    return Place(notebook, labels.index(label))


def asserts(cell: dict) -> bool:
    """Tell whether a cell of code asserts something."""
    nodes = ast.walk(ast.parse(source(cell))) if cell["cell_type"] == "code" else ()
    return any(isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant) for node in nodes)


def heading(root: Path, place: Place) -> str:
    """Return the heading of the section that a cell stands in; of a cell that begins several, the first."""
    *above, here = cells(root / f"{place.notebook}.ipynb")[: place.number + 1]
    own, before = (
        [title for cell in part if cell["cell_type"] == "markdown" for title in HEADING.findall(source(cell))]
        for part in ([here], above)
    )
    return (own[0] if own else before[-1]).strip()


def link(root: Path, place: Place) -> str:
    """Return a link to the section that a cell stands in, in Markdown."""
    title = heading(root, place)
    anchor = re.sub(r"[^\w\u4e00-\u9fff\- ]", "", title.lower()).replace(" ", "-")  # as MyST makes them
    chapter = int(Path(place.notebook).name[:2])
    text = title if place.notebook.startswith("exercises/") else f"Chapter {chapter}: {title}"
    return f"[{text}]({place.notebook}.ipynb#{anchor})"


def printed(cell: dict) -> str:
    """Return what a cell printed, as it is stored."""
    return "".join("".join(output.get("text", "")) for output in cell.get("outputs", []))


def shown(root: Path, place: Place, expression: str) -> list[str]:
    """Return the groups of an expression in what a cell printed: named ones by their names, others in order.

    Raises:
        ValueError: the cell printed nothing that fits.
    """
    cell = cells(root / f"{place.notebook}.ipynb")[place.number]
    found = re.search(expression, printed(cell), re.MULTILINE)
    if not found:
        raise ValueError(f"audit.toml: {expression!r} is not in what {place.notebook}#{cell['id']} prints")
    named = found.groupdict()
    return [legible(each) for each in ([named[name] for name in sorted(named)] if named else found.groups())]


def legible(number: str) -> str:
    """Return a printed number with a true minus, with commas where it is long, and with its power of ten as one."""
    if power := re.fullmatch(r"(?:([\d.]+)e|10\^)([+-]?\d+)", number):
        factor = f"{power[1]} \\cdot " if power[1] else ""
        return f"${factor}10^{{{int(power[2])}}}$"
    return f"{int(number):,}" if re.fullmatch(r"\d{5,}", number) else re.sub(r"^-", "−", number)


def recorded(reference: str, digits: int) -> str:
    """Return mean and standard deviation over the seeds of ``"record/contender/metric[place]"``.

    Raises:
        ValueError: it is a single number or another table: a place is missing, or there are too many.
    """
    record, contender, metric, at = re.fullmatch(r"([^/]+)/(.+)/(\w+)((?:\[\d+\])*)", reference).groups()
    values = experiments.recorded(record)[contender][metric]  # (seeds, ...)
    for number in re.findall(r"\d+", at):
        values = values[:, int(number)]
    if values.ndim != 1 or len(values) < 2:
        raise ValueError(f"audit.toml: {reference} has the shape {values.shape}; a number for each seed is asked for")
    return f"{values.mean():.{digits}f} ± {values.std(ddof=1):.{digits}f}"


def references(claim: dict) -> list[str]:
    """Return the cells that a claim names."""
    named = claim.get("cell", [])
    return [named] if isinstance(named, str) else named


def numbers(root: Path, claim: dict) -> list[str]:
    """Return the numbers that fill what a claim says was found here."""
    expressions = claim.get("shows", {})
    named = references(claim)
    if isinstance(expressions, str):
        expressions = {named[0].partition("#")[2]: expressions}
    found = []
    for label, expression in expressions.items():
        found += shown(root, find(root, f"{named[0].partition('#')[0]}#{label}"), expression)
    return found + [recorded(reference, claim.get("digits", 2)) for reference in claim.get("record", [])]


def found_here(root: Path, claim: dict) -> str:
    """Return what came out, with its numbers and its links.

    Raises:
        ValueError: the verdict is none of the five, or has no cell although it can; a cell asserts nothing; or there
            are more or fewer numbers than places for them.
    """
    says, named = claim["says"], references(claim)
    if claim["verdict"] not in VERDICTS or bool(named) == (claim["verdict"] == UNTESTED):
        raise ValueError(f"audit.toml: {says!r} is {claim['verdict']!r} by the cells {named}: one of {list(VERDICTS)}")
    places = [find(root, reference) for reference in named]
    for reference, (notebook, number) in zip(named, places, strict=True):
        if not asserts(cells(root / f"{notebook}.ipynb")[number]):
            raise ValueError(f"audit.toml: {reference} asserts nothing; name the cell that does")
    values = numbers(root, claim)
    if claim["here"].count("{}") != len(values):
        raise ValueError(f"audit.toml: {claim['here']!r} has not the places for {values}")
    return "<br>".join([claim["here"].format(*values), *dict.fromkeys(link(root, place) for place in places)])


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(' '.join(cell.split()) for cell in line)} |" for line in lines)


def claims_of(root: Path, audit: dict, name: str) -> str:
    """Return the part of the page with the claims of one source."""
    claims, told = [claim for claim in audit["claim"] if claim["source"] == name], audit["sources"][name]
    by = Counter(claim["verdict"] for claim in claims)
    shares = ", ".join(f"{verdict} {by[verdict]}" for verdict in VERDICTS if by[verdict])
    rows = [
        [f"{claim['says']} *({claim['section']})*", f"[{claim['verdict']}]{{.verdict}}", found_here(root, claim)]
        for claim in claims
    ]
    lines = table(["The source says", "Verdict", "Here"], rows)
    return f"\n### The {told['name']}\n\n{told['about']}. {len(claims)} claims: {shares}.\n\n{lines}\n"


def exam(root: Path, audit: dict) -> str:
    """Return the table of the sources' questions."""
    rows = []
    for question in audit["question"]:
        where = f"the {audit['sources'][question['source']]['name']}, {question['section']}"
        links = dict.fromkeys(link(root, find(root, reference)) for reference in question["answers"])
        rows.append([f"[{question['asks']}]{{.question}} *({where})*", "<br>".join(links)])
    return table(["Question", "Answer"], rows)


def counts(audit: dict) -> str:
    """Return the table of the verdicts: what each means, and how many claims have it."""
    by = Counter(claim["verdict"] for claim in audit["claim"])
    rows = [[f"*{verdict}*", str(by[verdict]), about] for verdict, about in VERDICTS.items()]
    return table(["verdict", "claims", "meaning"], rows)


def read(root: Path) -> dict:
    """Return the audit as it is written down."""
    return tomllib.loads((root / "audit.toml").read_text(encoding="utf8"))


def page(root: Path) -> str:
    """Return the page."""
    cells.cache_clear()
    audit = read(root)
    right = sum(claim["verdict"] == "right" for claim in audit["claim"])
    parts = [HEAD.format(right=right, all=len(audit["claim"]), counts=counts(audit))]
    parts.append(FILTER.format(options="\n".join(f"<option>{verdict}</option>" for verdict in VERDICTS)))
    parts += [claims_of(root, audit, name) for name in audit["sources"]]
    return "".join([*parts, EXAM, "\n", exam(root, audit), "\n"])


def write(root: Path) -> Path:
    """Write the page, and return its path."""
    path = root / "audit.md"
    path.write_text(page(root), encoding="utf8")
    return path


if __name__ == "__main__":
    write(ROOT)
