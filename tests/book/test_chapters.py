"""What a chapter must have, so that its page is whole and nbval compares what it prints."""

import ast
import json
import subprocess
import sys

import nbformat
import pytest
from nbclient import NotebookClient

from pictures import named_in
from places import ROOT

pytestmark = pytest.mark.book
CHAPTERS = {path.stem: json.loads(path.read_text("utf8")) for path in sorted(ROOT.glob("chapters/*.ipynb"))}
TAGS = {"nbval-ignore-output", "hide-input", "hide-output", "figure-is-the-idea"}


def code(chapter: str) -> list[tuple[str, dict]]:
    """Return a chapter's code cells, each with its source as one text."""
    return [("".join(c["source"]), c) for c in CHAPTERS[chapter]["cells"] if c["cell_type"] == "code"]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_cells_are_python_whose_outputs_are_stored_and_compared(chapter):
    counts = [cell["execution_count"] for _, cell in code(chapter)]
    assert counts == list(range(1, len(counts) + 1)), "make chapters"
    assert "widgets" not in CHAPTERS[chapter]["metadata"], "the widgets' state is stored: make chapters drops it"
    for source, cell in code(chapter):
        ast.parse(source)  # no magics, no shell commands
        assert "get_ipython" not in source
        assert not [line for line in source.splitlines() if line.split("#")[0].rstrip().endswith(";")]
        shows = any(source.startswith(word) or f"\n{word}" in source for word in ("print(", "display(", "plt.show("))
        assert cell["outputs"] or not shows, f"no output is stored, make chapters: {source}"
        assert not [output for output in cell["outputs"] if output["output_type"] == "error"]
        assert set(cell["metadata"].get("tags", [])) <= TAGS
        folded = "hide-input" in cell["metadata"].get("tags", [])
        assert folded == ("code_prompt_show" in cell["metadata"].get("mystnb", {})), f"a fold has a summary: {source}"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_figures_and_explorers_have_a_number_a_caption_and_alternative_text(chapter):
    for source, cell in code(chapter):
        names, metadata = named_in(source, "charts.save"), cell["metadata"].get("mystnb", {})
        if names or "explore.slider(" in source:
            image, figure = metadata.get("image", {}), metadata.get("figure", {})
            assert len(image.get("alt", "")) > 40 and figure.get("caption", "").strip(), source
            assert figure["name"].startswith("fig-"), source
        if names:
            assert figure["name"] == f"fig-{names[0]}" and len(names) == 1
            assert sum("image/png" in output.get("data", {}) for output in cell["outputs"]) == 1, names


def test_every_figure_is_written_by_one_cell_and_no_other_is_kept():
    written = [name for chapter in CHAPTERS for source, _ in code(chapter) for name in named_in(source, "charts.save")]
    assert sorted(written) == sorted(path.stem for path in ROOT.glob("figures/*.svg")), "make chapters"


def test_nbval_passes_what_is_stored_and_fails_a_drift(tmp_path):
    sources = ["half = 0.5", "print(f'{half ** 10:.4f}')", "half < 1"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    NotebookClient(notebook, kernel_name="python3", timeout=120).execute()
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--nbval", "--nbval-current-env", "tiny.ipynb"]
    for half, summary in (("0.5", "3 passed"), ("0.51", "1 failed, 2 passed")):
        notebook.cells[0].source = f"half = {half}"
        nbformat.write(notebook, tmp_path / "tiny.ipynb")
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert summary in done.stdout, done.stdout
