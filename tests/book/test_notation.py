"""The page of notation has every symbol of the chapters' numbered equations, and leads to where each comes first."""

import re

import pytest

import symbols
from places import ROOT

pytestmark = pytest.mark.book
CHAPTERS = {path.stem: symbols.numbered(path) for path in sorted(ROOT.glob("chapters/*.ipynb"))}
EQUATIONS = {label: formula for chapter in CHAPTERS.values() for label, formula in chapter.items()}
PAGE = (ROOT / "pages" / "notation.md").read_text(encoding="utf8")


def rows(page: str) -> list[list[str]]:
    """Return the cells of all tables that say where a symbol comes from."""
    tables = re.findall(r"^\| .*\| from \|\n\|[-|]*\n((?:\|.*\n)+)", page, re.MULTILINE)
    lines = [line.replace(r"\mid", "MID") for table in tables for line in table.splitlines()]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def explained(row: list[str]) -> set[str]:
    """Return the symbols that a row explains: those of the formulas in its first cell."""
    formulas = re.findall(r"\$([^$]+)\$", row[0])
    return set().union(*map(symbols.symbols, formulas))


def missing(equations: dict[str, str], page: str) -> list[str]:
    """Return the symbols of some equations that a page does not explain, each with the equations that have it."""
    known, unknown = set().union(*map(explained, rows(page))), {}
    for label, formula in equations.items():
        for symbol in symbols.symbols(formula) - known:
            unknown.setdefault(symbol, []).append(label)
    return [f"{symbol} of {', '.join(labels)}" for symbol, labels in sorted(unknown.items())]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_symbol_of_a_numbered_equation_is_explained(chapter):
    assert CHAPTERS[chapter] or chapter.startswith("a")
    lacking = missing(CHAPTERS[chapter], PAGE)
    assert not lacking, "explain in pages/notation.md:\n" + "\n".join(lacking)


def test_every_symbol_leads_to_an_equation_that_has_it_or_to_a_chapter():
    for row in rows(PAGE):
        labels, pages = (re.findall(rf"\{{{role}\}}`([^`]+)`", row[-1]) for role in ("eq", "doc"))
        assert labels or pages, f"{row[0]} does not say where it comes first"
        for label in labels:
            assert label in EQUATIONS, f"{row[0]}: there is no equation {label}"
            assert explained(row) & symbols.symbols(EQUATIONS[label]), f"{label} has no {row[0]}"
        assert all((ROOT / "pages" / f"{page}.ipynb").is_file() for page in pages)


@pytest.mark.parametrize(
    "formula, found",
    [
        (
            r"\mathbf{W}_{hh}^{\,t-s} \mathbf{W}_i \mathbf{h}_{t-1}^2",
            {r"\mathbf{W}_{hh}", r"\mathbf{W}_{i}", r"\mathbf{h}", "t"},
        ),
        (
            r"\boldsymbol{\delta}^f_t \odot \tilde{\mathbf{c}}_{t}",
            {r"\boldsymbol{\delta}", r"\odot", r"\tilde{\mathbf{c}}", "t"},
        ),
    ],
)
def test_the_symbols_of_a_formula_are_found(formula, found):
    assert symbols.symbols(formula) >= found - {"t"}
    assert missing({"eq-a": "x = y"}, "| symbol | from |\n|---|---|\n| $x$ | {eq}`eq-a` |\n") == ["y of eq-a"]
