"""Put the chapters' formulas, with number and link, where solutions/ refer to them, since Colab shows a role as text.

A role such as ``{eq}`eq-rnn` `` becomes the formula's number, which leads to its place on the page, and the formula
itself is put at the end of the cell, before its hints. What is already there is brought up to date.
"""

import re
from functools import cache
from typing import NamedTuple

import yaml
from pybtex.database import parse_file

from extensions import cells
from extensions.gallery import title
from notebooks import ROOT, chapters

NUMBERED = re.compile(r"\$\$((?:(?!\$\$).)+)\$\$[ \t]*\((eq-[\w-]+)\)", re.DOTALL)
REFERENCE = re.compile(r"\{eq\}`(eq-[\w-]+)`|\[\(\d+\.\d+\)\]\(\S+?#equation-(eq-[\w-]+)\)")
PAGE = re.compile(r"\{doc\}`\.\./chapters/([\w-]+)`|\[[^\]]+\]\(\S+?/chapters/([\w-]+)\.html\)")
WORK = re.compile(r"\{cite\}`([\w.-]+)`|\(\[[^\]]+\]\(\S+?/pages/bibliography\.html \"([\w.-]+)\"\)\)")
FROM, TO = "<!-- formulas -->", "<!-- end of formulas -->"
SITE = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf8"))["html"]["baseurl"].rstrip("/")
BLOCK = re.compile(rf"\n*{FROM}.*?{TO}", re.DOTALL)


class Equation(NamedTuple):
    """A numbered equation of a chapter: its number, as ``"2.1"``, the address of its place, and its LaTeX."""

    number: str
    address: str
    latex: str


@cache
def equations() -> dict[str, Equation]:
    """Return the chapters' numbered equations by the ends of their addresses, counted as Sphinx does."""
    numbered = {}
    for path in chapters():
        text = "\n".join(cell["source"] for cell in cells(path) if cell["cell_type"] == "markdown")
        for count, (latex, label) in enumerate(NUMBERED.findall(text), start=1):
            address = f"{SITE}/chapters/{path.stem}.html#equation-{label.lower()}"  # as docutils makes it
            number = f"{path.stem[:2]}.{count}".removeprefix("a1.").lstrip("0")  # the appendix has no number itself
            numbered[label.lower()] = Equation(number, address, latex.strip())
    return numbered


@cache
def cited(key: str) -> str:
    """Return how a work of the bibliography is cited: its authors and its year."""
    work = parse_file(ROOT / "data" / "references.bib").entries[key]
    names = [" ".join(person.last_names).strip("{}") for person in work.persons["author"]]
    authors = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
    return f"{authors}, {work.fields['year']}"


def equation(label: str) -> Equation:
    """Return the equation of a label, or of the end of an address; a KeyError names what no chapter has."""
    return equations()[label.lower()]


def refreshed(text: str) -> str:
    """Return a Markdown cell with numbers, links and formulas as they are in the chapters now."""
    text = BLOCK.sub("", text)
    labels = list(dict.fromkeys((role or anchor).lower() for role, anchor in REFERENCE.findall(text)))
    links = {
        REFERENCE: lambda label: f"[({equation(label).number})]({equation(label).address})",
        PAGE: lambda name: f"[{title(ROOT / 'chapters' / f'{name}.ipynb')}]({SITE}/chapters/{name}.html)",
        WORK: lambda key: f'([{cited(key)}]({SITE}/pages/bibliography.html "{key}"))',
    }
    for pattern, link in links.items():
        text = pattern.sub(lambda found, link=link: link(found[1] or found[2]), text)
    if not labels:
        return text
    shown = [f"$$\n{equation(label).latex} \\qquad ({equation(label).number})\n$$" for label in labels]
    body, hints, rest = text.partition("\n\n<details>")
    return "\n\n".join([body.rstrip("\n"), FROM, *shown, TO]) + hints + rest


def refresh(notebook) -> bool:
    """Bring the references in all Markdown cells of a notebook up to date; return whether any was not."""
    changed = False
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (text := refreshed(cell.source)) != cell.source:
            cell.source, changed = text, True
    return changed
