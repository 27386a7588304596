"""The audit: what ``data/audit.toml`` says that sources claim, and what came out here.

The directives ``{audit-counts}``, ``{audit-claims}`` and ``{audit-exam}`` stand for its tables.
"""

import ast
import re
import tomllib
from collections import Counter
from pathlib import Path

from myst_parser.mdit_to_docutils.base import default_slugify
from sphinx.application import Sphinx

from extensions import cells, fill
from unrolled import records

HEADING = re.compile(r"^#{1,3} (.+)$", re.MULTILINE)
UNTESTED = "could not be tested here"
VERDICTS = {
    "right": "It holds as it stands.",
    "wrong": "It does not hold, or a number is another.",
    "imprecise": "It holds for something else, or with a condition that is missing.",
    "depends": "It holds for some texts, models or budgets, and not for others.",
    UNTESTED: "It takes a machine that we did not have.",
}


def counts(root: Path) -> str:
    """Return the table of the verdicts, each with the number of claims that have it and with what it means."""
    by = Counter(claim["verdict"] for claim in read(root)["claim"])
    rows = [[f"*{verdict}*", str(by[verdict]), about] for verdict, about in VERDICTS.items()]
    return table(["verdict", "claims", "meaning"], rows)


def claims(root: Path) -> str:
    """Return the claims of every source, a section each."""
    audit = read(root)
    return "\n\n".join(claims_of(root, audit, source) for source in audit["sources"])


def read(root: Path) -> dict:
    """Return the audit as it is written down."""
    return tomllib.loads((root / "data" / "audit.toml").read_text(encoding="utf8"))


def claims_of(root: Path, audit: dict, source: str) -> str:
    """Return the part of the page with the claims of one source."""
    own, about = [claim for claim in audit["claim"] if claim["source"] == source], audit["sources"][source]
    by = Counter(claim["verdict"] for claim in own)
    shares = ", ".join(f"{verdict} {by[verdict]}" for verdict in VERDICTS if by[verdict])
    rows = [
        [f"{claim['says']} *({claim['section']})*", f"[{claim['verdict']}]{{.verdict}}", outcome(root, claim)]
        for claim in own
    ]
    lines = table(["The source says", "Verdict", "Here"], rows)
    return f"### The {about['name']}\n\n{about['about']}. {len(own)} claims: {shares}.\n\n{lines}"


def exam(root: Path) -> str:
    """Return the table of the sources' questions."""
    audit = read(root)
    rows = []
    for question in audit["question"]:
        where = f"the {audit['sources'][question['source']]['name']}, {question['section']}"
        links = dict.fromkeys(link(*find(root, reference)) for reference in question["answers"])
        rows.append([f"[{question['asks']}]{{.question}} *({where})*", "<br>".join(links)])
    return table(["Question", "Answer"], rows)


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(' '.join(cell.split()) for cell in line)} |" for line in lines)


def outcome(root: Path, claim: dict) -> str:
    """Return what came out, with its numbers and its links.

    Raises:
        ValueError: the verdict is none of the five, or has no cell although it can; a cell is not there, asserts
            nothing or did not print the numbers; or there are more or fewer numbers than places for them.
    """
    named = claim.get("cell", [])
    if claim["verdict"] not in VERDICTS or bool(named) == (claim["verdict"] == UNTESTED):
        raise ValueError(
            f"audit.toml: {claim['says']!r} is {claim['verdict']!r} by the cells {named}: one of {list(VERDICTS)}"
        )
    places = [find(root, reference) for reference in named]
    for reference, (_, to_cell) in zip(named, places, strict=True):
        if not asserts(to_cell[-1]):
            raise ValueError(f"audit.toml: {reference} asserts nothing; name the cell that does")
    numbers = shown(root, claim) + [recorded(each, claim.get("digits", 2)) for each in claim.get("record", [])]
    if claim["here"].count("{}") != len(numbers):
        raise ValueError(f"audit.toml: {claim['here']!r} has not the places for {numbers}")
    return "<br>".join([claim["here"].format(*numbers), *dict.fromkeys(link(*place) for place in places)])


def find(root: Path, reference: str) -> tuple[str, list[dict]]:
    """Return the notebook that a reference such as ``"12-cost#bert"`` leads to, and its cells up to the one meant.

    Raises:
        ValueError: there is no such notebook, or it has no such cell.
    """
    name, _, label = reference.partition("#")
    notebook = name if "/" in name else f"chapters/{name}"
    path = root / f"{notebook}.ipynb"
    every = cells(path) if path.is_file() else []
    labels = [cell.get("id") for cell in every]
    if label not in labels:
        raise ValueError(f"audit.toml names {reference!r}: {notebook}.ipynb has no such cell, or is not there")
    return notebook, every[: labels.index(label) + 1]


def asserts(cell: dict) -> bool:
    """Tell whether a cell of code asserts something."""
    nodes = ast.walk(ast.parse(cell["source"])) if cell["cell_type"] == "code" else ()
    return any(isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant) for node in nodes)


def heading(to_cell: list[dict]) -> str:
    """Return the heading of the section in which some cells end; of a cell that begins several, the first."""
    headings = [HEADING.findall(cell["source"]) for cell in to_cell if cell["cell_type"] == "markdown"]
    own = headings.pop() if to_cell[-1]["cell_type"] == "markdown" else []
    return (own[0] if own else sum(headings, [])[-1]).strip()


def link(notebook: str, to_cell: list[dict]) -> str:
    """Return a link to the section in which some cells of a notebook end, in Markdown."""
    title = heading(to_cell)
    chapter = "" if notebook.startswith("exercises/") else f"Chapter {int(Path(notebook).name[:2])}: "
    return f"[{chapter}{title}](../{notebook}.ipynb#{default_slugify(title)})"


def shown(root: Path, claim: dict) -> list[str]:
    """Return the groups of a claim's expressions in what its cells printed: named ones by their names, others in order.

    Raises:
        ValueError: a cell is not there, or printed nothing that fits.
    """
    expressions, numbers = claim.get("shows", {}), []
    notebook, _, first = claim["cell"][0].partition("#") if expressions else ("", "", "")
    for label, expression in ({first: expressions} if isinstance(expressions, str) else expressions).items():
        place, _ = find(root, f"{notebook}#{label}")
        here = [cell for cell in cells(root / f"{place}.ipynb") if cell.get("id") in (label, f"{label}-beside")]
        every = [output for cell in here for output in cell.get("outputs", [])]  # book.py puts tables beside a figure
        outputs = [(each, each.get("data", {}).get("text/plain", "")) for each in every]  # of tables
        printed = "".join("".join(each.get("text", table)) for each, table in outputs)
        if not (groups := re.search(expression, printed, re.MULTILINE)):
            raise ValueError(f"audit.toml: {expression!r} is not in what {notebook}#{label} prints")
        named = groups.groupdict()
        numbers += [legible(each) for each in ([named[name] for name in sorted(named)] or groups.groups())]
    return numbers


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
    values = records.load(record)[contender][metric]  # (seeds, ...)
    for number in re.findall(r"\d+", at):
        values = values[:, int(number)]
    if values.ndim != 1 or len(values) < 2:
        raise ValueError(f"audit.toml: {reference} has the shape {values.shape}; a number for each seed is asked for")
    return f"{values.mean():.{digits}f} ± {values.std(ddof=1):.{digits}f}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    fill(app, "audit-counts", counts)
    fill(app, "audit-claims", claims)
    return fill(app, "audit-exam", exam)
