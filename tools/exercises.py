"""Generate exercises/ from solutions/, as nbgrader releases them, a table for each chapter, and two summaries of all.

Before that, the first code of every notebook becomes that of chapter 1, which on Colab installs the library, and the
formulas to which solutions/ refer are brought up to date: a course that has nothing but nbgrader releases the same.

An exercise begins with ``## Exercise 2.1: Count the parameters``, an empty line, and ``*Derive, easy, 10 minutes.*``;
what stands before the first one is the set-up. A notebook may end with one open task, which is marked by hand:
``## Open task 2: Overfit ten sentences``, an empty line, and ``*Open, 60 minutes.*``.
"""

import re
import shutil
from itertools import dropwhile
from pathlib import Path
from typing import NamedTuple

import nbformat
from nbgrader.preprocessors import SaveCells
from traitlets.config import PyFileConfigLoader

import formulas
from notebooks import ROOT, chapters

KINDS = ("Derive", "Build", "Measure")
LEVELS = ("easy", "medium", "hard")  # worth 1, 2 and 3 points
HEADING = re.compile(
    r"## Exercise (?P<number>\d+\.\d+): (?P<title>.+)\n\n"
    rf"\*(?P<kind>{'|'.join(KINDS)}), (?P<difficulty>{'|'.join(LEVELS)}), (?P<minutes>\d+) minutes\.\*\n"
)
OPEN = re.compile(r"## Open task (?P<number>\d+): (?P<title>.+)\n\n\*Open, (?P<minutes>\d+) minutes\.\*\n")


class Exercise(NamedTuple):
    """One exercise of a notebook: its number, as "2.1", what it is called, how long it takes, and its cells."""

    number: str
    title: str
    kind: str
    difficulty: str
    minutes: int
    cells: list[nbformat.NotebookNode]


def split(notebook: nbformat.NotebookNode) -> tuple[list[nbformat.NotebookNode], list[Exercise]]:
    """Return the cells before the first exercise, and the exercises; an open task is none."""
    before, parts = [], []
    for cell in notebook.cells[: len(notebook.cells) - len(open_task(notebook))]:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            if not (heading := HEADING.match(cell.source)):
                raise ValueError(f"{cell.source[:200]!r} does not begin as tools/exercises.py says that exercises do")
            parts.append(Exercise(**heading.groupdict() | {"minutes": int(heading["minutes"])}, cells=[]))
        (parts[-1].cells if parts else before).append(cell)
    return before, parts


def open_task(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Return the cells of the open task with which a notebook ends, or none."""
    return list(dropwhile(lambda cell: not OPEN.match(cell.source), notebook.cells))


def release(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Change a notebook of solutions to what nbgrader releases, without the step that writes to a gradebook."""
    config = PyFileConfigLoader("nbgrader_config.py", path=str(ROOT / "solutions")).load_config()
    for step in config.GenerateAssignment.preprocessors:
        if step is not SaveCells:
            notebook, _ = step().preprocess(notebook, {})
    return notebook


def bootstrap_cell() -> str:
    """Return the first code of every notebook, which installs the library on Colab and does nothing elsewhere."""
    return next(cell.source for cell in nbformat.read(chapters()[0], as_version=4).cells if cell.cell_type == "code")


def summary(notebooks: list[list[Exercise]]) -> str:
    """Return a table, in Markdown, of how much each chapter gives to do, with the sums in its last row."""
    by_chapter = {parts[0].number.split(".")[0]: parts for parts in notebooks}
    rows = ["| chapter | exercises | derive | build | measure | minutes | points |", "|---|" + "---:|" * 6]
    for name, parts in (by_chapter | {"all": sum(notebooks, [])}).items():
        kinds = [sum(part.kind == kind for part in parts) for kind in KINDS]
        sums = sum(part.minutes for part in parts), sum(1 + LEVELS.index(part.difficulty) for part in parts)
        rows.append(f"| {name} | " + " | ".join(map(str, [len(parts), *kinds, *sums])) + " |")
    return "\n".join(rows) + "\n"


def total(parts: list[Exercise]) -> str:
    """Return a sentence on how long the book takes, from what chapters and exercises say of themselves."""
    numbered = [nbformat.read(path, as_version=4) for path in chapters("[0-9]")]
    minutes = sum(map(announced, numbered)), sum(part.minutes for part in parts)
    read, solve = (f"{round(time / 30) / 2:g}".replace(".5", "½") for time in minutes)  # hours, to the next half
    about = f"About {read} hours to read {len(numbered)} chapters, and {solve} hours for all {len(parts)} exercises"
    return f"**How long it takes.** {about}.\n"


def announced(notebook: dict) -> int:
    """Return the minutes that a chapter says its reading takes."""
    said = (re.search(r"takes\**\s+about\s+(\d+)\s+minutes", "".join(cell["source"])) for cell in notebook["cells"])
    return int(next(filter(None, said))[1])


def write(into: Path) -> list[Path]:
    """Write the exercises and the table of every notebook of solutions, and the summaries; return the files."""
    tables, notebooks = {}, []
    for path in sorted(ROOT.glob("solutions/*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        notebooks.append(split(notebook)[1])
        rows = ["| | exercise | kind | difficulty | minutes |", "|---|---|---|---|---:|"]
        rows += [f"| {p.number} | {p.title} | {p.kind.lower()} | {p.difficulty} | {p.minutes} |" for p in notebooks[-1]]
        tables[f"{path.name[:2]}.md"] = "\n".join(rows) + "\n"
        nbformat.write(release(notebook), into / path.name)
    for name, text in {**tables, "summary.md": summary(notebooks), "total.md": total(sum(notebooks, []))}.items():
        (into / name).write_text(text, encoding="utf8")
    return sorted(into.iterdir())


def main() -> None:
    """Bring bootstrap cells and formulas up to date and make exercises/ anew."""
    for path in (*chapters(), *sorted(ROOT.glob("solutions/*.ipynb"))):
        notebook = nbformat.read(path, as_version=4)
        first = next(cell for cell in notebook.cells if cell.cell_type == "code")
        old, first.source = first.source, bootstrap_cell()
        if (path.parent.name == "solutions" and formulas.refresh(notebook)) or old != first.source:
            nbformat.write(notebook, path)
            print(f"{path.relative_to(ROOT)}: brought up to date")
    into = ROOT / "exercises"
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir()
    write(into)


if __name__ == "__main__":
    main()
