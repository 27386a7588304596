"""The audit: what ``data/audit.toml`` says that sources claim, and what came out here, as two tables."""

import re
import tomllib
from collections import Counter
from pathlib import Path

from myst_parser.mdit_to_docutils.base import default_slugify

from extensions import cells
from unrolled import records

VERDICTS = ("right", "wrong", "imprecise", "depends", "could not be tested here")


def read(root: Path) -> dict:
    """Return the audit as it is written down."""
    return tomllib.loads((root / "data" / "audit.toml").read_text(encoding="utf8"))


def claims(root: Path) -> str:
    """Return the claims of every source, a section each."""
    audit, text = read(root), ""
    for source, about in audit["sources"].items():
        own = [claim for claim in audit["claim"] if claim["source"] == source]
        by = Counter(claim["verdict"] for claim in own)
        shares = ", ".join(f"{verdict} {by[verdict]}" for verdict in VERDICTS if by[verdict])
        rows = [[f"{c['says']} *({c['section']})*", f"[{c['verdict']}]{{.verdict}}", outcome(root, c)] for c in own]
        text += f"### The {about['name']}\n\n{about['about']}. {len(own)} claims: {shares}.\n\n"
        text += table(["The source says", "Verdict", "Here"], rows)
    return text


def exam(root: Path) -> str:
    """Return the table of the sources' questions."""
    audit, rows = read(root), []
    for asked in audit["question"]:
        where = f"the {audit['sources'][asked['source']]['name']}, {asked['section']}"
        rows.append([f"[{asked['asks']}]{{.question}} *({where})*", links(root, asked["answers"])])
    return table(["Question", "Answer"], rows)


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [" | ".join(" ".join(cell.split()) for cell in line) for line in (head, ["---"] * len(head), *rows)]
    return "\n".join(f"| {line} |" for line in lines) + "\n\n"


def outcome(root: Path, claim: dict) -> str:
    """Return what came out, with its numbers and its links; a ValueError names a claim that lacks its ground."""
    named = claim.get("cell", [])
    if claim["verdict"] not in VERDICTS or bool(named) == (claim["verdict"] == VERDICTS[-1]):
        raise ValueError(f"audit.toml: {claim['says']!r} has the verdict {claim['verdict']!r} by the cells {named}")
    for reference in named:
        if not re.search(r"^ *assert (?!True)", find(root, reference)[1][-1]["source"], re.MULTILINE):
            raise ValueError(f"audit.toml: {reference} asserts nothing; name the cell that does")
    numbers = shown(root, claim) + [recorded(each, claim.get("digits", 2)) for each in claim.get("record", [])]
    if claim["here"].count("{}") != len(numbers):
        raise ValueError(f"audit.toml: {claim['here']!r} has not the places for {numbers}")
    return "<br>".join(filter(None, [claim["here"].format(*numbers), links(root, named)]))


def find(root: Path, reference: str) -> tuple[str, list[dict]]:
    """Return the notebook that a reference such as ``"12-cost#bert"`` leads to, and its cells up to the one meant."""
    name, _, label = reference.partition("#")
    page = name if "/" in name else f"chapters/{name}"
    every = cells(root / f"{page}.ipynb") if (root / f"{page}.ipynb").is_file() else []
    if label not in (labels := [cell.get("id") for cell in every]):
        raise ValueError(f"audit.toml names {reference!r}: there is no such notebook, or it has no such cell")
    return page, every[: labels.index(label) + 1]


def links(root: Path, references: list[str]) -> str:
    """Return links to the sections in which cells stand; one of text may begin its own."""
    made = []
    for page, to_cell in (find(root, reference) for reference in references):
        headings = [re.findall("^#{1,3} (.+)$", c["source"], re.M) for c in to_cell if c["cell_type"] == "markdown"]
        own = headings[-1] if to_cell[-1]["cell_type"] == "markdown" else []
        title = (own[0] if own else sum(headings, [])[-1]).strip()
        chapter = "" if page.startswith(("exercises/", "chapters/a")) else f"Chapter {int(Path(page).name[:2])}: "
        made.append(f"[{chapter}{title}](../{page}.ipynb#{default_slugify(title)})")
    return "<br>".join(dict.fromkeys(made))


def shown(root: Path, claim: dict) -> list[str]:
    """Return the groups of a claim's expressions in what its cells printed: named ones by name, others in order."""
    expressions, numbers = claim.get("shows", {}), []
    name, _, first = claim.get("cell", [""])[0].partition("#")
    for label, expression in ({first: expressions} if isinstance(expressions, str) else expressions).items():
        both = (label, f"{label}-beside")  # an explorer's cell is made two for the page
        every = cells(root / f"{find(root, f'{name}#{label}')[0]}.ipynb")
        outputs = [output for cell in every if cell.get("id") in both for output in cell.get("outputs", [])]
        printed = "".join("".join(each.get("text", each.get("data", {}).get("text/plain", ""))) for each in outputs)
        if not (groups := re.search(expression, printed, re.MULTILINE)):
            raise ValueError(f"audit.toml: {expression!r} is not in what {name}#{label} prints")
        numbers += map(legible, [groups[name] for name in sorted(groups.groupdict())] or groups.groups())
    return numbers


def legible(number: str) -> str:
    """Return a printed number with a true minus, with commas where it is long, and with its power of ten as one."""
    if power := re.fullmatch(r"(?:([\d.]+)e|10\^)([+-]?\d+)", number):
        return f"${power[1]} \\cdot 10^{{{int(power[2])}}}$" if power[1] else f"$10^{{{int(power[2])}}}$"
    return f"{int(number):,}" if re.fullmatch(r"\d{5,}", number) else re.sub(r"^-", "−", number)


def recorded(reference: str, digits: int) -> str:
    """Return mean and standard deviation over the seeds of ``"record/contender/metric[place]"``."""
    record, label, metric, at = re.fullmatch(r"([^/]+)/(.+)/(\w+)((?:\[\d+\])*)", reference).groups()
    values = records.load(record)[label][metric][:, *map(int, re.findall(r"\d+", at))]  # (seeds,)
    return f"{values.mean():.{digits}f} ± {values.std(ddof=1):.{digits}f}"
