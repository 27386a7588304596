"""No assert is lost without a word: every section has as many as `chapters/asserts.json` says."""

import ast
import copy
import json

import pytest

import asserts
from places import ROOT

pytestmark = pytest.mark.book
CHAPTERS = {path.stem: json.loads(path.read_text("utf8")) for path in sorted(ROOT.glob("chapters/*.ipynb"))}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_section_has_the_asserts_that_were_accepted(chapter):
    found = asserts.differences(asserts.accepted().get(chapter, {}), asserts.counted(CHAPTERS[chapter]))
    assert not found, "\n".join(found)


def test_only_chapters_are_accepted():
    assert set(asserts.accepted()) == set(CHAPTERS)


class Delete(ast.NodeTransformer):
    """Replace the first asserts that are met by nothing."""

    def __init__(self, number: int):
        self.left = number

    def visit_Assert(self, node):
        self.left -= 1
        return ast.Pass() if self.left >= 0 else node


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_twenty_deleted_asserts_are_missed(chapter):
    notebook, delete = copy.deepcopy(CHAPTERS[chapter]), Delete(20)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["source"] = ast.unparse(delete.visit(ast.parse("".join(cell["source"]))))
    before, now = asserts.counted(CHAPTERS[chapter]), asserts.counted(notebook)
    assert sum(before.values()) - sum(now.values()) == min(20, sum(before.values()))
    found = asserts.differences(before, now)
    assert found and all("put them back" in line for line in found)


def cells(*sources: str) -> dict:
    """Return a notebook of two sections, each with a cell of code."""
    made = []
    for number, source in enumerate(sources, start=1):
        made.append({"cell_type": "markdown", "source": f"Text.\n\n## Part {number}\n\nText."})
        made.append({"cell_type": "code", "source": source})
    return {"cells": made}


def test_sections_and_both_numbers_are_named():
    before = asserts.counted(cells("assert a\nassert b", "assert c"))
    assert before == {"Part 1": 2, "Part 2": 1}
    fewer = asserts.differences(before, asserts.counted(cells("assert a\nassert True", "assert c")))
    assert fewer == [f"'Part 1' has 1 asserts and had 2: put them back; if they may go, {asserts.ACCEPT}"]
    more = asserts.differences(before, asserts.counted(cells("assert a\nassert b", "if c:\n    assert c\nassert d")))
    assert more == [f"'Part 2' has 2 asserts and had 1: to keep them, {asserts.ACCEPT}"]


def test_only_the_deliberate_command_writes_the_manifest(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(asserts, "MANIFEST", tmp_path / "asserts.json")
    monkeypatch.setattr("sys.argv", ["asserts.py"])
    asserts.main()
    assert "has" in capsys.readouterr().out and not asserts.MANIFEST.exists()
    monkeypatch.setattr("sys.argv", ["asserts.py", "--accept"])
    asserts.main()
    capsys.readouterr()
    assert asserts.MANIFEST.read_text("utf8") == (ROOT / "chapters" / "asserts.json").read_text("utf8")
    monkeypatch.setattr("sys.argv", ["asserts.py"])
    asserts.main()
    assert capsys.readouterr().out == ""
