"""The edition for students: what it is made of, and what is made of it, hold no trace of a solution."""

import nbformat
import pytest

import book
import student
from notebooks import chapters
from places import ROOT

pytestmark = pytest.mark.book
ANY = sorted(ROOT.glob("solutions/*.ipynb"))[4]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """What the pages of both editions are made of, by whether it is the students'."""
    place = tmp_path_factory.mktemp("source")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(book, "lay_out_demonstrations", lambda site: None)
        for edition in (True, False):
            patch.setattr(book, "SOURCE", place / str(edition))
            notebooks = [*ROOT.glob("exercises/*.ipynb"), *ROOT.glob("solutions/*.ipynb"), *chapters()]
            book.assemble({f"{path.parent.name}/{path.stem}": None for path in notebooks}, None, student=edition)
    return {edition: place / str(edition) for edition in (True, False)}


def test_what_the_students_pages_are_made_of_has_no_trace_of_a_solution(source):
    assert student.traces(source[True]) == []


def test_every_solution_leaves_a_trace_in_the_full_edition(source):
    traces = student.traces(source[False])
    for path in ROOT.glob("solutions/*.ipynb"):
        name = f"solutions/{path.stem}.ipynb"
        assert f"{name}: a page of solutions" in traces
        assert sum(trace.startswith(f"{name}: ") for trace in traces) > 5


@pytest.mark.parametrize("place", ["page.html", "_sources/exercises/05.ipynb", "teaching.md"])
def test_a_line_of_a_solution_is_found_wherever_it_stands(tmp_path, place):
    solved = next(match for cell in student.sources(ANY) if (match := student.SOLUTION.search(cell)))
    line = next(line for line in solved[1].splitlines() if student.bare(line) in student.secrets())
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    if place.endswith(".ipynb"):
        cells = [nbformat.v4.new_code_cell(f"if True:\n{line}")]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / place)
    else:
        words = "</span> <span>".join(line.replace("&", "&amp;").replace("<", "&lt;").split(" "))
        (tmp_path / place).write_text(f"<pre><span>{words}</span>\n</pre>" if ".html" in place else line, "utf8")
    assert student.traces(tmp_path) == [f"{place}: {student.bare(line)}"]


def test_an_index_that_knows_a_page_of_solutions_is_found(tmp_path):
    (tmp_path / "searchindex.js").write_text('Search.setIndex({"docnames": ["intro", "exercises/05-lstm"]})', "utf8")
    assert student.traces(tmp_path) == []
    (tmp_path / "searchindex.js").write_text('Search.setIndex({"docnames": ["intro", "solutions/05-lstm"]})', "utf8")
    assert student.traces(tmp_path) == ["searchindex.js: solutions/05-lstm"]
