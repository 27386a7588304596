"""What the exercises refer to stands in them: formula, number and link, as in the chapters, and nothing literal."""

import re

import nbformat
import pytest

import formulas
from places import ROOT

pytestmark = pytest.mark.book
NOTEBOOKS = sorted(path for folder in ("solutions", "exercises") for path in ROOT.glob(f"{folder}/*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def notebook(request):
    return nbformat.read(request.param, as_version=4)


def marked(cell) -> str:
    """Return the source of a cell of Markdown, and nothing of another."""
    return cell.source if cell.cell_type == "markdown" else ""


def test_no_role_is_left_that_a_notebook_shows_as_it_is_typed(notebook):
    assert not [cell.id for cell in notebook.cells if formulas.ROLE.search(marked(cell))], "run: make exercises"


def test_formulas_numbers_and_links_are_those_of_the_chapters(notebook):
    assert not formulas.refresh(notebook), "a chapter's formula, number or title has changed; run: make exercises"


def test_every_formula_is_referred_to_and_every_reference_has_its_formula(notebook):
    for cell in notebook.cells:
        named = re.findall(r"\[\((\d+\.\d+)\)\]\(\S+#equation-", cell.source)
        shown = re.findall(r"\\qquad \((\d+\.\d+)\)\n\$\$", cell.source)
        assert list(dict.fromkeys(named)) == shown, cell.id


def test_numbers_and_places_are_those_of_the_built_pages(html):
    for page in sorted((html / "chapters").glob("*.html")):
        there = re.findall(r'id="equation-([\w-]+)">\s*<span class="eqno">\(([\d.]+)\)', page.read_text("utf8"))
        ours = {end: e.number for end, e in formulas.equations().items() if f"/{page.name}#" in e.address}
        assert dict(there) == ours, page.name


# Proof that the rules can fail

ROLES = (
    "## Exercise 2.3: A step\n\nWrite {eq}`eq-rnn` of {doc}`../chapters/02-vanilla-rnn`, as in {cite}`Elman1990`.\n\n"
    "<details><summary>Hint 1</summary>\n\nA hint.\n\n</details>"
)


def test_a_role_becomes_number_link_and_formula_before_the_hints():
    text = formulas.refreshed(ROLES)
    there = formulas.equation("eq-rnn")
    assert f"Write [({there.number})]({there.address}) of [" in text and "([Elman, 1990](http" in text
    assert f"$$\n{there.latex} \\qquad ({there.number})\n$$" in text
    assert text.index(formulas.TO) < text.index("<details>")
    assert len(formulas.ROLE.findall(ROLES)) == 3 and not formulas.ROLE.search(text)


def test_what_has_become_wrong_is_set_right_and_what_is_right_stays():
    text = formulas.refreshed(ROLES)
    number = formulas.equation("eq-rnn").number
    old = text.replace(f"[({number})]", "[(9.9)]").replace(r"\tanh", r"\sin").replace("Elman, 1990", "Ellman, 1991")
    assert old != text and formulas.refreshed(old) == text == formulas.refreshed(text)


def test_an_equation_that_is_nowhere_is_named():
    with pytest.raises(ValueError, match="no chapter has an equation 'eq-nowhere'"):
        formulas.refreshed("As in {eq}`eq-nowhere`.")
