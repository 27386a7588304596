"""Notebooks are run, and the copies of chapters kept, until something changes that a chapter depends on."""

import ast
import base64
import io
import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from PIL import Image, ImageChops

from notebooks import ChapterError, commands, copies, dependencies, execute, running
from places import ROOT

pytestmark = pytest.mark.book


def notebook(folder: Path, *cells: str) -> Path:
    """Write a notebook of code cells and return its path."""
    path = folder / "99-scratch.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells]), path)
    return path


# One notebook

FAILURES = {
    "def shallow():\n    assert x > 1, 'x is too small'\nshallow()": "AssertionError: x is too small",
    "import time; time.sleep(60)": r"longer than 3 s; .* load was \d",
    "import os; os._exit(1)": "kernel died",
}


@pytest.mark.parametrize("cell", FAILURES)
def test_a_failing_cell_is_reported_with_chapter_number_and_cause(tmp_path, cell):
    path = notebook(tmp_path, "x = 1", cell, "print('never')")
    with pytest.raises(ChapterError, match=rf"(?s)99-scratch, cell 2 \(code cell 2\):\n.*{FAILURES[cell]}") as caught:
        execute(path, tmp_path, timeout=3)
    assert "\x1b" not in str(caught.value)


def test_the_kernel_is_told_its_switches_and_where_figures_go(tmp_path):
    path = notebook(tmp_path, "import os; print(os.environ['UNROLLED_FIGURES'], os.environ['UNROLLED_SEED'])")
    done = execute(path, tmp_path, UNROLLED_SEED="4")
    assert done.cells[0].outputs[0].text == f"{tmp_path} 4\n"


def test_a_picture_has_few_colours_and_looks_the_same(tmp_path):
    draw = "from PIL import Image\nimage = Image.radial_gradient('L')\nImage.merge('RGB', [image, image, image])"
    picture = execute(notebook(tmp_path, draw), tmp_path).cells[0].outputs[0].data["image/png"]
    shown, drawn = Image.open(io.BytesIO(base64.b64decode(picture))), Image.radial_gradient("L")
    assert shown.mode == "P" and shown.size == drawn.size
    assert ImageChops.difference(shown.convert("L"), drawn).getextrema()[1] <= 2


# What a chapter depends on

DRAW = """
import os, pathlib
if __name__ != "__main__":
    from unrolled import figures
    from unrolled.cells import RNN
    for kind in ("", "-long"):
        print(records.load("coin"), records.load(f"dice{kind}"), 1.5)
print(1)
pathlib.Path(os.environ["UNROLLED_FIGURES"], "square.svg").write_text("<svg/>")
"""
LIBRARY = {
    "__init__.py": '"""A library."""',
    "cells/__init__.py": "from unrolled.cells.rnn import RNN",
    "cells/rnn.py": 'import unrolled.text.streams\n\n\ndef RNN():\n    """Be a cell."""\n    return 1  # step',
    "text/__init__.py": "",
    "text/streams.py": "",
    "text/registry.txt": "ada",
    "figures/__init__.py": "",
    "figures/browser/page.css": "p {}",
    "measure/__init__.py": '"""Measure."""\nlength = 5',
    "records/coin.json": "{}",
    "records/dice-long.json": "{}",
    "records/cards.json": "{}",
}
COUNTS = {
    "a function that is imported": ("lib/unrolled/cells/rnn.py", "return 1", "return 2"),
    "a module behind it": ("lib/unrolled/text/streams.py", "", "size = 3"),
    "data of a room that is imported": ("lib/unrolled/text/registry.txt", "ada", "ben"),
    "a record": ("lib/unrolled/records/coin.json", "{}", "[]"),
    "a record named by an f-string": ("lib/unrolled/records/dice-long.json", "{}", "[]"),
    "a pin": ("constraints.txt", "torch==1", "torch==2"),
}
COUNTS_NOT = {
    "a docstring that is imported": ("lib/unrolled/cells/rnn.py", "Be a cell", "Be an Elman cell"),
    "a comment": ("lib/unrolled/cells/rnn.py", "# step", "# a step"),
    "a docstring of the laboratory": ("lab/run.py", "Measure", "Measure it"),
    "what no chapter imports": ("lib/unrolled/measure/__init__.py", "5", "6"),
    "the playground's style sheet": ("lib/unrolled/figures/browser/page.css", "{}", "{margin: 0}"),
    "another record": ("lib/unrolled/records/cards.json", "{}", "[]"),
}


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A small project: one chapter, a library, records and pins."""
    notebook(tmp_path / "chapters", DRAW)
    files = {f"lib/unrolled/{name}": text for name, text in LIBRARY.items()}
    others = {"lab/run.py": '"""Measure."""', "requirements.txt": "torch", "constraints.txt": "torch==1"}
    for name, text in {**files, **others}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "tools").symlink_to(ROOT / "tools")
    for module in (running, dependencies, copies, commands):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    return tmp_path


@pytest.fixture
def chapter(project) -> Path:
    return project / "chapters" / "99-scratch.ipynb"


@pytest.mark.parametrize("change", COUNTS | COUNTS_NOT)
def test_a_chapter_is_stale_when_what_it_imports_or_reads_has_changed_and_not_otherwise(project, chapter, change):
    name, old, new = (COUNTS | COUNTS_NOT)[change]
    before, text = dependencies.key(chapter), (project / name).read_text()
    assert old in text
    (project / name).write_text(text.replace(old, new) if old else new)
    assert (dependencies.key(chapter) != before) == (change in COUNTS)


def test_changed_code_or_profile_makes_a_chapter_stale_but_prose_does_not(chapter, monkeypatch):
    before = dependencies.key(chapter)
    content = nbformat.read(chapter, as_version=4)
    content.cells.append(nbformat.v4.new_markdown_cell("more prose"))
    nbformat.write(content, chapter)
    assert dependencies.key(chapter) == before
    monkeypatch.setenv("UNROLLED_PROFILE", "full")
    assert dependencies.key(chapter) != before
    monkeypatch.delenv("UNROLLED_PROFILE")
    content.cells[0].source += "print(2)"
    nbformat.write(content, chapter)
    assert dependencies.key(chapter) != before


def test_all_that_a_chapter_loads_of_the_library_is_among_what_it_depends_on():
    cells = nbformat.read(ROOT / "chapters" / "11-attention.ipynb", as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    imports = [ast.unparse(node) for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    ask = "import sys\nprint(*(of.__file__ for name, of in sys.modules.items() if name.startswith('unrolled')))"
    ran = subprocess.run([sys.executable, "-c", "\n".join([*imports, ask])], capture_output=True, text=True, check=True)
    loaded = {Path(file) for file in ran.stdout.split()}
    assert len(loaded) > 20 and loaded <= set(dependencies.modules(compile(code, "chapter", "exec")))


# The executed copies


def executed_here(project, monkeypatch, chapter):
    """Execute a chapter in this process, where the project is the small one."""
    monkeypatch.setattr(copies, "run", lambda paths: [copies.keep(path) for path in paths])
    return copies.executed([chapter])[chapter]


def test_a_cached_chapter_keeps_its_outputs_and_takes_todays_prose(project, chapter, monkeypatch, capsys):
    executed_here(project, monkeypatch, chapter)
    content = nbformat.read(chapter, as_version=4)
    content.cells.insert(0, nbformat.v4.new_markdown_cell("today's prose"))
    nbformat.write(content, chapter)
    again = nbformat.read(executed_here(project, monkeypatch, chapter), as_version=4)
    assert "cached" in capsys.readouterr().out
    assert [cell.cell_type for cell in again.cells] == ["markdown", "code"]
    assert again.cells[1].outputs[0].text == "1\n"
    (project / "constraints.txt").write_text("torch==2")
    executed_here(project, monkeypatch, chapter)
    assert "cached" not in capsys.readouterr().out


def test_what_make_chapters_has_run_make_book_does_not_run_again(project, chapter, monkeypatch, capsys):
    copies.keep(chapter)
    assert commands.store_one(chapter, project) == ["square.svg"] and (project / "square.svg").is_file()
    copy = nbformat.read(executed_here(project, monkeypatch, chapter), as_version=4)
    assert "cached" in capsys.readouterr().out
    assert copy.cells[0].outputs == nbformat.read(chapter, as_version=4).cells[0].outputs
    assert [figure.name for figure in copies.figures_of(chapter).iterdir()] == ["square.svg"]


def test_of_a_chapter_that_fails_nothing_is_kept_and_nothing_is_changed(project, chapter, monkeypatch):
    executed_here(project, monkeypatch, chapter)
    before = notebook(project / "chapters", DRAW + "\nassert False").read_bytes()
    for fail in (commands.execute_one, copies.keep):
        with pytest.raises(ChapterError, match=r"99-scratch, cell 1 .*\n[^$]*AssertionError"):
            fail(chapter)
        assert chapter.read_bytes() == before and not copies.is_fresh(chapter)


EXPLORER = """from matplotlib import pyplot as plt
from unrolled.figures import explore
explore.slider({k: plt.figure() for k in (1, 2)}, label="k")"""


def test_what_is_stored_holds_nothing_that_changes_from_run_to_run(project):
    path, stored = notebook(project / "chapters", "print(1)", EXPLORER), []
    for _ in range(2):
        copies.keep(path)
        commands.store_one(path, project)
        stored.append(path.read_bytes())
    assert stored[0] == stored[1]
    content = json.loads(stored[0])
    assert set(content["metadata"]) == {"kernelspec", "language_info"}
    assert [cell["execution_count"] for cell in content["cells"]] == [1, 2]
    assert (copies.figures_of(path) / "explorers/k/1.svg").is_file(), "its frames are kept, for the pages"
