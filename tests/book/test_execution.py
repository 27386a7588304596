"""Notebooks are run, and kept until their code, the library, a record, a pin or a switch changes."""

import json
import os
from pathlib import Path

import nbformat
import pytest

import notebooks
from places import ROOT

pytestmark = pytest.mark.book
DRAW = """
import os, pathlib
from matplotlib import pyplot as plt
from unrolled.figures import explore
pathlib.Path(os.environ["UNROLLED_FIGURES"], "square.svg").write_text("<svg/>")
print(os.environ.get("UNROLLED_SEED"))
explore.slider({k: plt.figure() for k in (1, 2)}, label="k")"""


def write(path: Path, *cells: str) -> Path:
    """Write a notebook of a text and code cells and return its path."""
    made = [nbformat.v4.new_markdown_cell("text"), *map(nbformat.v4.new_code_cell, cells)]
    for number, cell in enumerate(made):
        cell.id = f"cell-{number}"
    nbformat.write(nbformat.v4.new_notebook(cells=made), path)
    return path


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A small project: a library, a record, pins, and a chapter that draws."""
    for name in ("lib/unrolled/rnn.py", "lib/unrolled/records/coin.jsonl", "requirements.txt", "constraints.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    for name in ("chapters", "figures"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    notebooks.library.cache_clear()
    yield tmp_path
    notebooks.library.cache_clear()


@pytest.fixture
def chapter(project) -> Path:
    return write(project / "chapters" / "01-one.ipynb", "x = 1", DRAW)


def test_what_is_stored_is_the_same_each_time_and_is_not_run_again(project, chapter, capsys):
    notebooks.store("01")
    first = chapter.read_bytes()
    notebooks.store("01")
    assert chapter.read_bytes() == first and capsys.readouterr().out.count("to execute: 1") == 2
    content = json.loads(first)
    assert set(content["metadata"]) == {"kernelspec", "language_info"}
    assert [cell["execution_count"] for cell in content["cells"][1:]] == [1, 2]
    assert (project / "figures/square.svg").is_file()
    assert (notebooks.figures_of(chapter) / "explorers/k/1.svg").is_file(), "its frames are kept, for the pages"
    write(chapter, "x = 1", DRAW).write_text(chapter.read_text().replace('"text"', '"today\'s"'))
    again = notebooks.executed([chapter])[chapter]
    assert capsys.readouterr().out == "" and again.cells[0].source == "today's"
    assert again.cells[2].outputs[0].text == "None\n"


@pytest.mark.parametrize(
    "change", ["lib/unrolled/rnn.py", "lib/unrolled/records/coin.jsonl", "constraints.txt", "code", "UNROLLED_SEED"]
)
def test_everything_that_decides_what_a_notebook_shows_counts(project, chapter, change, monkeypatch):
    before = notebooks.kept(chapter)
    if change == "code":
        write(chapter, "x = 2", DRAW)
    elif change == "UNROLLED_SEED":
        monkeypatch.setenv(change, "5")
    else:
        (project / change).write_text("2")
    notebooks.library.cache_clear()
    assert notebooks.kept(chapter) != before


def test_what_fails_is_named_with_its_cause_and_not_kept_and_the_others_run(project, chapter, monkeypatch):
    monkeypatch.setattr(notebooks, "TIMEOUT", 4)
    write(chapter, "x = 1", "assert x > 1, 'x is too small'")
    write(project / "chapters/02-two.ipynb", "import time; time.sleep(60)")
    write(project / "chapters/03-three.ipynb", "import os; os._exit(1)")
    good = write(project / "chapters/04-four.ipynb", "x = 1")
    with pytest.raises(notebooks.ChapterError, match="(?s)01-one: .*x is too small.*02-two: .*timed out.*03-three: "):
        notebooks.executed(notebooks.chapters())
    assert [path.name for path in (project / "_build/executed").iterdir()] == [notebooks.kept(good).name]


def test_claims_are_tried_under_each_seed(project, monkeypatch):
    write(project / "chapters/01-one.ipynb", "import os", "assert os.environ['UNROLLED_SEED'] != '2', 'not for two'")
    monkeypatch.setattr(notebooks, "SEEDS", (1, 2))
    with pytest.raises(notebooks.ChapterError, match="(?s)^Seed 2:\n01-one: .*not for two"):
        notebooks.claims()


def test_there_are_chapters_and_an_unknown_one_is_refused():
    assert [path.stem for path in notebooks.chapters("05")] == ["05-lstm"] and (ROOT / "chapters").is_dir()
    with pytest.raises(SystemExit, match="no chapter starts with '99'"):
        notebooks.chapters("99")


def test_on_a_gpu_chapters_run_at_full_size_and_solutions_as_they_are(project, chapter, monkeypatch):
    ran = []

    def told(paths, at_once):
        ran.append((len(paths), os.environ.get("UNROLLED_PROFILE"), os.environ.get("UNROLLED_DEVICE")))

    monkeypatch.setattr(notebooks, "executed", told)
    notebooks.gpu()
    assert ran == [(1, "full", "cuda"), (0, None, "cuda")]
