"""The chapters keep the rules of a chapter, and each rule is proved to catch its breach."""

import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import bootstrap_cell
import chapter_rules as rules
from chapter_rules import AFTER, BEFORE, FOLDED, RULES, code, saving
from places import ROOT

pytestmark = pytest.mark.book
CHAPTERS = sorted(ROOT.glob("chapters/*.ipynb"))


# The chapters


def test_there_are_chapters():
    assert CHAPTERS, "chapters/ holds no notebook"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_keeps_the_rule(chapter, rule):
    problems = list(rule(json.loads(chapter.read_text(encoding="utf8"))))
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_is_small(chapter):
    assert chapter.stat().st_size < 1_500_000, f"{chapter.stat().st_size:,} bytes"


def test_every_figure_is_written_by_one_cell_and_no_other_is_kept():
    written = [
        name
        for path in CHAPTERS
        for _, names in saving(json.loads(path.read_text(encoding="utf8")))
        for name in names
    ]  # fmt: skip
    assert len(written) == len(set(written)), f"written twice: {sorted({n for n in written if written.count(n) > 1})}"
    kept = {path.stem for path in ROOT.glob("figures/*.svg")}
    assert not set(written) - kept, f"not in figures/: {sorted(set(written) - kept)}: make chapters"
    assert not kept - set(written), f"in figures/, but no chapter writes it: {sorted(kept - set(written))}"


# Proof that the rules can fail


def cell(source: str, summary: str | None = None, **mystnb) -> dict:
    """Return a code cell, folded where it has a summary."""
    metadata = {
        "tags": [FOLDED] if summary else [],
        "mystnb": mystnb | ({"code_prompt_show": summary} if summary else {}),
    }
    outputs = [{"output_type": "stream", "name": "stdout", "text": "1\n"}]
    return {"cell_type": "code", "source": source, "metadata": metadata, "outputs": outputs, "execution_count": None}


def shows(name: str) -> dict:
    """Return a folded cell that saves and shows a figure."""
    image = {"alt": "Line chart of one thing against another, showing that it falls."}
    figure = {"caption": "It falls. One thing against another.", "name": f"fig-{name}"}
    made = cell(f'charts.save(fig, "{name}")\nplt.show()', "How this figure is made", image=image, figure=figure)
    made["outputs"] = [{"output_type": "display_data", "data": {"image/png": ""}, "metadata": {}}]
    return made


def figure(cell: dict) -> dict:
    """Return what a figure's cell says of it."""
    return cell["metadata"]["mystnb"]


def specimen() -> dict:
    """Return a notebook that keeps every rule."""
    bullets = "- one\n- two\n  and a half\n- three\n"
    cells = [cell(bootstrap_cell.text(), "Install the library"), *(shows(f"figure-{n}") for n in range(5))]
    described = {key: figure(shows("w"))[key] for key in ("image", "figure")}
    cells += [cell("explore.slider(frames, 'w')", **described), *(cell(f"assert {n} < 100") for n in range(8))]
    cells += [cell("print(1)") for _ in range(6)]
    for number, each in enumerate(cells, start=1):
        each["execution_count"] = number
    first = {"cell_type": "markdown", "source": f"# Title\n\nWhy?\n\n{BEFORE}\n\n{bullets}\nText.", "metadata": {}}
    last = {"cell_type": "markdown", "source": f"{AFTER}\n\n{bullets}\n- - -", "metadata": {}}
    return {"cells": [first, *cells, last], "metadata": {}}


BREACHES = {  # of each rule, the breach that it catches, planted in the code cells or in the notebook
    rules.python_only: lambda cells, _: cells[-1].update(source="!pip install torch"),
    rules.cells_are_short: lambda cells, _: [each.update(source="x = 1\n" * 12) for each in cells[6:]],
    rules.outputs_are_stored: lambda cells, _: cells[3].update(execution_count=9),
    rules.claims_are_asserted: lambda cells, _: cells[7].update(source="0"),
    rules.figures_are_named_and_described: lambda cells, _: figure(cells[1])["image"].update(alt="Chart"),
    rules.something_can_be_explored: lambda cells, _: cells[6].update(source="explore"),
    rules.explorers_are_described: lambda cells, _: figure(cells[6])["figure"].update(caption=" "),
    rules.outputs_are_compared: lambda cells, _: cells[3]["metadata"]["tags"].append("nbval-skip"),
    rules.the_end_ties_or_mirrors_the_beginning: lambda _, note: note["cells"][-1].update(source=f"{AFTER}\n\n- one\n"),
    rules.the_opening_asks_a_question: lambda _, note: note["cells"][0].update(source="# Title\n\nSo."),
    rules.reading_and_drawing_are_folded: lambda cells, _: cells[-1].update(source='records.load("coin")'),
    rules.preparations_are_folded: lambda cells, _: cells[-1].update(source="import torch"),
    rules.little_code_is_shown: lambda cells, _: [each.update(source="x = 1\n" * 12) for each in cells[6:]],
    rules.folds_say_what_they_hold: lambda cells, _: figure(cells[1]).update(
        code_prompt_show="How this figure\nis made"
    ),
    rules.captions_begin_with_the_message: lambda cells, _: figure(cells[1])["figure"].update(
        caption="Line chart. It falls."
    ),
}


def test_a_notebook_that_keeps_every_rule_passes():
    assert [problem for rule in RULES for problem in rule(specimen())] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_breach_is_caught(rule):
    notebook = specimen()
    BREACHES[rule](code(notebook), notebook)
    assert list(rule(notebook)), "it is not noticed"


def test_an_end_that_ties_has_a_table_and_repeats_no_objectives():
    notebook, rule = specimen(), rules.the_end_ties_or_mirrors_the_beginning
    notebook["cells"][-1]["source"] = rules.CLOSING
    assert list(rule(notebook))
    notebook["cells"].append(cell("display(table(columns, rows))"))
    assert not list(rule(notebook))


def nbval(path: Path) -> subprocess.CompletedProcess:
    """Validate one notebook as `make test` does, apart from this project's own settings."""
    (path.parent / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--nbval", "--nbval-current-env", path.name]
    return subprocess.run(command, cwd=path.parent, capture_output=True, text=True)


def test_nbval_passes_what_is_stored_and_fails_a_drift(tmp_path):
    sources = ["half = 0.5", "print(f'{half ** 10:.4f}')", "half < 1"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    NotebookClient(notebook, kernel_name="python3", timeout=120).execute()
    path = tmp_path / "tiny.ipynb"
    nbformat.write(notebook, path)
    done = nbval(path)
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout
    notebook.cells[0].source = "half = 0.51"
    nbformat.write(notebook, path)
    done = nbval(path)
    assert done.returncode == 1 and "1 failed, 2 passed" in done.stdout, done.stdout
    assert "0.0010" in done.stdout and "0.0012" in done.stdout
