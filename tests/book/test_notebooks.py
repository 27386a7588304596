"""The rules of a chapter, each proved to catch its breach, and the chapters held to them."""

import ast
import copy
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bootstrap_cell
from extensions import gallery
from places import ROOT

pytestmark = pytest.mark.book

CHAPTERS = sorted(ROOT.glob("chapters/*.ipynb"))
TAGS = {"nbval-ignore-output", "hide-input", "hide-output", "figure-is-the-idea"}
BEFORE, AFTER = "**By the end you can**", "## What you can now do"


def text(cell: dict) -> str:
    return "".join(cell["source"])


def code(notebook: dict) -> list[dict]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def prose(notebook: dict) -> str:
    return "\n\n".join(text(cell) for cell in notebook["cells"] if cell["cell_type"] == "markdown")


def saving(notebook: dict) -> list[tuple[dict, list[str]]]:
    """Return the cells that save figures, each with the figures' names."""
    return [(cell, names) for cell in code(notebook) if (names := gallery.saved_names(text(cell)))]


def calls(notebook: dict) -> list[str]:
    """Return all that a notebook's code calls, as it is written there."""
    nodes = [node for cell in code(notebook) for node in ast.walk(ast.parse(text(cell)))]
    return [ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)]


# Each rule yields what is wrong with a notebook, and nothing where all is well.


def python_only(notebook):
    for number, cell in enumerate(code(notebook), start=1):
        try:
            ast.parse(text(cell))
        except SyntaxError as error:
            yield f"code cell {number} is no Python (a magic? a shell command?): {error}"
        if "get_ipython" in text(cell):
            yield f"code cell {number} asks for IPython"
        if any(line.split("#")[0].rstrip().endswith(";") for line in text(cell).splitlines()):
            yield f"code cell {number} has a line that ends with a semicolon"


def cells_are_short(notebook):
    lengths = [sum(bool(line.strip()) for line in text(cell).splitlines()) for cell in code(notebook)]
    folded = ["hide-input" in cell["metadata"].get("tags", []) for cell in code(notebook)]
    shown = [length for length, hidden in zip(lengths, folded, strict=True) if not hidden]
    if not 20 <= len(lengths) <= 45:
        yield f"{len(lengths)} code cells, folded ones included; right are 20 to 45"
    if sum(1 <= length <= 8 for length in shown) <= 0.5 * len(shown):
        yield f"most shown code cells should have 1 to 8 lines: {shown}"
    yield from (f"code cell {n} has {length} lines; at most 25" for n, length in enumerate(lengths, 1) if length > 25)


def outputs_are_stored(notebook):
    counts = [cell["execution_count"] for cell in code(notebook)]
    if counts != list(range(1, len(counts) + 1)):
        yield f"execution counts are {counts}, not 1 to {len(counts)}: make chapters"
    for number, cell in enumerate(code(notebook), start=1):
        if re.search(r"^(print|display|plt\.show|explore\.slider)\(", text(cell), re.MULTILINE) and not cell["outputs"]:
            yield f"code cell {number} shows something, but no output is stored: make chapters"
        if any(output["output_type"] == "error" for output in cell["outputs"]):
            yield f"code cell {number} has stored an error"
    if "widgets" in notebook["metadata"]:
        yield "the widgets' state is stored: make chapters drops it"


def claims_are_asserted(notebook):
    count = sum(isinstance(node, ast.Assert) for c in code(notebook)[1:] for node in ast.walk(ast.parse(text(c))))
    if count < 8:
        yield f"{count} asserts beside the bootstrap cell's; at least 8"


def figures_are_named_and_described(notebook):
    if len(saving(notebook)) < 5:
        yield f"{len(saving(notebook))} figures; at least 5"
    for cell, names in saving(notebook):
        metadata = cell["metadata"].get("mystnb", {})
        image, figure = metadata.get("image", {}), metadata.get("figure", {})
        if len(names) > 1:
            yield f"one cell saves {', '.join(names)}; one figure a cell"
        if len(image.get("alt", "")) <= 40:
            yield f"{names[0]}: mystnb.image.alt is missing or says too little"
        if not figure.get("caption", "").strip():
            yield f"{names[0]}: mystnb.figure.caption is missing"
        if figure.get("name") != f"fig-{names[0]}":
            yield f"{names[0]}: mystnb.figure.name is {figure.get('name')!r}; right is 'fig-{names[0]}'"
        pictures = sum("image/png" in output.get("data", {}) for output in cell["outputs"])
        if pictures != 1:
            yield f"{names[0]}: its cell shows {pictures} pictures; right is one"


def something_can_be_explored(notebook):
    if "explore.slider" not in calls(notebook):
        yield "nothing to explore: no call of explore.slider"


def outputs_are_compared(notebook):
    tags = [set(cell["metadata"].get("tags", [])) for cell in code(notebook)]
    for number, strange in ((n, tag - TAGS) for n, tag in enumerate(tags, start=1) if tag - TAGS):
        yield f"code cell {number} has the tags {sorted(strange)}; allowed are {sorted(TAGS)}"
    ignored = sum("nbval-ignore-output" in tag for tag in tags)
    if 3 * ignored > len(tags):
        yield f"{ignored} of {len(tags)} code cells are not compared; at most a third"


def the_end_mirrors_the_beginning(notebook):
    def bullets(part: str) -> int:
        following = re.search(r"\s*((?:^[-*] .*\n(?:^ +.*\n)*)*)", part + "\n", re.MULTILINE)
        return len(re.findall(r"^[-*] ", following[1], re.MULTILINE))

    before, after = prose(notebook).partition(BEFORE)[2], prose(notebook).partition(AFTER)[2]
    promised, kept = bullets(before), bullets(after)
    if not 3 <= promised <= 6:
        yield f"{promised} bullets after {BEFORE!r}; right are 3 to 6"
    if promised != kept:
        yield f"{promised} bullets after {BEFORE!r}, but {kept} after {AFTER!r}"


def the_opening_asks_a_question(notebook):
    opening = text(notebook["cells"][0])
    if not opening.startswith("# ") or "?" not in opening.partition(BEFORE)[0]:
        yield "the first cell must begin with the title, '# …', and ask the chapter's question"


RULES = (
    python_only,
    cells_are_short,
    outputs_are_stored,
    claims_are_asserted,
    figures_are_named_and_described,
    something_can_be_explored,
    outputs_are_compared,
    the_end_mirrors_the_beginning,
    the_opening_asks_a_question,
)


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


def cell(source: str, **metadata) -> dict:
    return {"cell_type": "code", "source": source, "metadata": metadata, "outputs": [], "execution_count": None}


def shows(name: str) -> dict:
    """Return a cell that saves and shows a figure."""
    image = {"alt": "Line chart of one thing against another, showing that it falls."}
    figure = {"caption": "It falls.", "name": f"fig-{name}"}
    figure_cell = cell(f'plots.save(fig, "{name}")\nplt.show()', mystnb={"image": image, "figure": figure})
    figure_cell["outputs"] = [{"output_type": "display_data", "data": {"image/png": ""}, "metadata": {}}]
    return figure_cell


def specimen() -> dict:
    """Return a notebook that keeps every rule."""
    bullets = "- one\n- two\n  and a half\n- three\n"
    cells = [
        cell(bootstrap_cell.text()),
        *(shows(f"figure-{n}") for n in range(5)),
        cell("explore.slider(frames, 'w')"),
    ]
    cells += [cell(f"assert {n} < 100") for n in range(8)] + [cell("print(1)") for _ in range(6)]
    for number, each in enumerate(cells, start=1):
        each["execution_count"] = number
        each["outputs"] = each["outputs"] or [{"output_type": "stream", "name": "stdout", "text": "1\n"}]
    first = {"cell_type": "markdown", "source": f"# Title\n\nWhy?\n\n{BEFORE}\n\n{bullets}\nText.", "metadata": {}}
    last = {"cell_type": "markdown", "source": f"{AFTER}\n\n{bullets}\n- - -", "metadata": {}}
    return {"cells": [first, *cells, last], "metadata": {}}


BREACHES = {
    "a magic": (python_only, lambda cells, _: cells[-1].update(source="%timeit 1")),
    "a command": (python_only, lambda cells, _: cells[-1].update(source="!pip install torch")),
    "a semicolon": (python_only, lambda cells, _: cells[-1].update(source="print(1);")),
    "few cells": (cells_are_short, lambda cells, note: note["cells"].__delitem__(slice(15, 21))),
    "many cells": (cells_are_short, lambda cells, note: note["cells"].extend(cells[-1:] * 25)),
    "a long cell": (cells_are_short, lambda cells, _: cells[-1].update(source="x = 1\n" * 26)),
    "longish cells": (cells_are_short, lambda cells, _: [c.update(source="x = 1\n" * 9) for c in cells[-12:]]),
    "not executed": (outputs_are_stored, lambda cells, _: cells[3].update(execution_count=None)),
    "out of order": (outputs_are_stored, lambda cells, _: cells[3].update(execution_count=9)),
    "no output": (outputs_are_stored, lambda cells, _: cells[-1].update(outputs=[])),
    "an error": (outputs_are_stored, lambda cells, _: cells[-1].update(outputs=[{"output_type": "error"}])),
    "widget state": (outputs_are_stored, lambda _, note: note["metadata"].update(widgets={})),
    "seven asserts": (claims_are_asserted, lambda cells, _: cells[7].update(source="0")),
    "four figures": (figures_are_named_and_described, lambda cells, _: cells[1].update(source="0")),
    "two in a cell": (figures_are_named_and_described, lambda c, _: c[1].update(source=text(c[1]) + "\n" + text(c[2]))),
    "no alt": (figures_are_named_and_described, lambda c, _: c[1]["metadata"]["mystnb"]["image"].update(alt="Chart")),
    "no caption": (figures_are_named_and_described, lambda c, _: c[1]["metadata"]["mystnb"]["figure"].pop("caption")),
    "other name": (figures_are_named_and_described, lambda c, _: c[1]["metadata"]["mystnb"]["figure"].update(name="f")),
    "not shown": (figures_are_named_and_described, lambda cells, _: cells[1].update(outputs=[])),
    "no explorer": (something_can_be_explored, lambda cells, _: cells[6].update(source="explore")),
    "skipped": (outputs_are_compared, lambda cells, _: cells[3]["metadata"].update(tags=["nbval-skip"])),
    "ignored": (
        outputs_are_compared,
        lambda cells, _: [c["metadata"].update(tags=["nbval-ignore-output"]) for c in cells[-8:]],
    ),
    "a bullet short": (
        the_end_mirrors_the_beginning,
        lambda _, note: note["cells"][-1].update(source=f"{AFTER}\n\n- one\n- two\n"),
    ),
    "no question": (the_opening_asks_a_question, lambda _, note: note["cells"][0].update(source="# Title\n\nSo.")),
}


def test_a_notebook_that_keeps_every_rule_passes():
    assert [problem for rule in RULES for problem in rule(specimen())] == []
    assert {rule for rule, _ in BREACHES.values()} == set(RULES)


@pytest.mark.parametrize("breach", BREACHES)
def test_a_breach_is_caught(breach):
    rule, plant = BREACHES[breach]
    notebook = copy.deepcopy(specimen())
    plant(code(notebook), notebook)
    assert list(rule(notebook)), f"{rule.__name__} does not notice: {breach}"


def nbval(path: Path) -> subprocess.CompletedProcess:
    """Validate one notebook as `make test` does, apart from this project's own settings."""
    (path.parent / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--nbval", "--nbval-current-env", path.name]
    return subprocess.run(command, cwd=path.parent, capture_output=True, text=True)


def test_nbval_passes_what_is_stored_and_fails_a_drift(tmp_path):
    import nbformat
    from nbclient import NotebookClient

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
