"""What the exercises refer to stands in them: formula, number and link, as in the chapters, and nothing literal."""

import re

import nbformat
import pytest

import formulas
from places import ROOT

pytestmark = pytest.mark.book
ROLE = re.compile(r"\{[a-z]+(?::\w+)?\}`[^`\n]+`")
ROLES = (
    "## Exercise 2.3: A step\n\nWrite {eq}`eq-rnn` of {doc}`../chapters/02-vanilla-rnn`, as in {cite}`Elman1990`.\n\n"
    "<details><summary>Hint 1</summary>\n\nA hint.\n\n</details>"
)


@pytest.mark.parametrize("path", sorted(ROOT.glob("solutions/*.ipynb")), ids=lambda path: path.stem)
def test_references_are_those_of_the_chapters_and_no_role_is_left(path):
    notebook = nbformat.read(path, as_version=4)
    assert not formulas.refresh(notebook), "a chapter's formula, number or title has changed; run: make exercises"
    for cell in notebook.cells:
        assert cell.cell_type == "code" or not ROLE.search(cell.source), f"{cell.id}; run: make exercises"


def test_numbers_and_places_are_those_of_the_built_pages(html):
    for page in sorted((html / "chapters").glob("*.html")):
        there = re.findall(r'id="equation-([\w-]+)">\s*<span class="eqno">\(([\d.]+)\)', page.read_text("utf8"))
        ours = {end: e.number for end, e in formulas.equations().items() if f"/{page.name}#" in e.address}
        assert dict(there) == ours, page.name


def test_a_role_becomes_number_link_and_formula_before_the_hints_and_what_has_changed_is_set_right():
    text, there = formulas.refreshed(ROLES), formulas.equation("eq-rnn")
    assert f"Write [({there.number})]({there.address}) of [" in text and "([Elman, 1990](http" in text
    assert f"$$\n{there.latex} \\qquad ({there.number})\n$$\n\n{formulas.TO}\n\n<details>" in text
    assert len(ROLE.findall(ROLES)) == 3 and not ROLE.search(text)
    old = text.replace(f"[({there.number})]", "[(9.9)]").replace(r"\tanh", r"\sin").replace("Elman, 1990", "Ellman")
    assert old != text and formulas.refreshed(old) == text == formulas.refreshed(text)
    with pytest.raises(KeyError, match="eq-nowhere"):
        formulas.refreshed("As in {eq}`eq-nowhere`.")
