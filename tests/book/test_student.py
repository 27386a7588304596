"""The edition for students is made of pages in which no line of a solution stands; the full edition has them."""

import json
import re
from pathlib import Path

import pytest

import book
from notebooks import chapters
from places import ROOT

pytestmark = pytest.mark.book
SOLUTION = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.DOTALL)


def lines(text: str) -> set[str]:
    """Return the lines without blanks, but for those so short that anybody may write them, and our comments."""
    bare = {re.sub(r"\s", "", line) for line in text.splitlines()}
    return {line for line in bare if len(line) >= 20 and not line.startswith("###")}


def text(path: Path) -> str:
    """Return a page, or what stands in the cells of a notebook."""
    content = path.read_text(encoding="utf8")
    if path.suffix != ".ipynb":
        return content
    return "\n".join("".join(cell["source"]) for cell in json.loads(content)["cells"])


@pytest.fixture(scope="module")
def secrets() -> set[str]:
    """Return the lines that stand in solutions and nowhere else in what students are given."""
    given = ["chapters/*.ipynb", "exercises/*.ipynb", "lib/**/*.py", "*.md", "pages/**/*.md"]
    known = set().union(*(lines(text(path)) for pattern in given for path in ROOT.glob(pattern)))
    solved = [part for path in ROOT.glob("solutions/*.ipynb") for part in SOLUTION.findall(text(path))]
    return lines("\n".join(solved)) - known


@pytest.mark.parametrize("student", [True, False])
def test_lines_of_solutions_stand_in_the_full_edition_only(student, secrets, tmp_path, monkeypatch):
    monkeypatch.setattr(book, "SOURCE", tmp_path)
    monkeypatch.setattr(book, "lay_out_demonstrations", lambda site: None)
    notebooks = [*ROOT.glob("exercises/*.ipynb"), *ROOT.glob("solutions/*.ipynb"), *chapters()]
    book.assemble({f"{path.parent.name}/{path.stem}": None for path in notebooks}, None, student=student)
    pages = [path for path in tmp_path.rglob("*") if path.suffix in (".ipynb", ".md")]
    traces = {f"{path.parent.name}/{path.name}": lines(text(path)) & secrets for path in pages}
    solutions = {name for name in traces if name.startswith("solutions/")}
    assert {name for name, found in traces.items() if found} == solutions
    assert len(solutions) == (0 if student else len(list(ROOT.glob("solutions/*.ipynb"))))
