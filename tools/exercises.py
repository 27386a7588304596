"""Generate exercises/ from solutions/, as nbgrader releases them, a table for each chapter, and a summary of all.

An exercise is a run of cells that begins with a heading of its own; what stands before the first is the set-up:

    ## Exercise 2.1: Count the parameters

    *Derive, easy, 10 minutes.*

The mistakes that its checks must catch stand in its solution, each as a comment before the line that it would spoil:

    ### MISTAKE (no tanh) return a
    return torch.tanh(a)

A long line may stand in a second comment, below the name.
"""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbgrader.preprocessors import SaveCells
from traitlets.config import PyFileConfigLoader

from execute import ROOT

KINDS = ("Derive", "Build", "Measure")
LEVELS = ("easy", "medium", "hard")
HEADING = re.compile(
    r"## Exercise (?P<number>\d+\.\d+): (?P<title>.+)\n\n"
    rf"\*(?P<kind>{'|'.join(KINDS)}), (?P<difficulty>{'|'.join(LEVELS)}), (?P<minutes>\d+) minutes\.\*\n"
)
MISTAKE = re.compile(r"^ *### MISTAKE \((?P<name>[^)]+)\)(?: (?P<code>.+))?$")


@dataclass(frozen=True)
class Exercise:
    """One exercise of a notebook.

    Attributes:
        number: chapter and place, as ``"2.1"``.
        title: what it is called.
        kind: one of `KINDS`.
        difficulty: one of `LEVELS`.
        minutes: how long it takes.
        cells: its cells, the heading's first.
    """

    number: str
    title: str
    kind: str
    difficulty: str
    minutes: int
    cells: list[nbformat.NotebookNode]

    @property
    def points(self) -> int:
        """What it is worth: 1 if it is easy, 2 if medium, 3 if hard."""
        return 1 + LEVELS.index(self.difficulty)


def split(notebook: nbformat.NotebookNode) -> tuple[list[nbformat.NotebookNode], list[Exercise]]:
    """Return the cells before the first exercise, and the exercises.

    Raises:
        ValueError: a heading of an exercise does not say what it should.
    """
    before, found = [], []
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            heading = HEADING.match(cell.source)
            if not heading:
                raise ValueError(
                    f"{cell.source.splitlines()[0]!r} begins no exercise; right are a line '## Exercise 2.1: Title', "
                    "an empty one, and '*Derive, easy, 10 minutes.*', or another kind and difficulty"
                )
            told = heading.groupdict() | {"minutes": int(heading["minutes"])}
            found.append(Exercise(**told, cells=[]))
        (found[-1].cells if found else before).append(cell)
    return before, found


def mistakes(source: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each mistake that a solution tells of, and the solution with this mistake in it."""
    lines = source.split("\n")
    for at, line in enumerate(lines):
        if told := MISTAKE.match(line):
            spoilt = next(n for n in range(at + 1, len(lines)) if not lines[n].lstrip().startswith("###"))
            indent = lines[spoilt][: len(lines[spoilt]) - len(lines[spoilt].lstrip())]
            code = told["code"] or lines[at + 1].strip(" #")
            yield told["name"], "\n".join([*lines[:spoilt], indent + code, *lines[spoilt + 1 :]])


def release(notebook: nbformat.NotebookNode, folder: Path = ROOT / "solutions") -> nbformat.NotebookNode:
    """Return a notebook of solutions as nbgrader releases it, by the steps of the folder's configuration.

    The notebook given is changed. Only the step that writes to a gradebook is left out.
    """
    config = PyFileConfigLoader("nbgrader_config.py", path=str(folder)).load_config()
    for step in config.GenerateAssignment.preprocessors:
        if step is not SaveCells:
            notebook, _ = step().preprocess(notebook, {})
    return notebook


def table(notebook: nbformat.NotebookNode) -> str:
    """Return the list of a notebook's exercises, in Markdown."""
    rows = ["| | exercise | kind | difficulty | minutes |", "|---|---|---|---|---:|"]
    for one in split(notebook)[1]:
        rows.append(f"| {one.number} | {one.title} | {one.kind.lower()} | {one.difficulty} | {one.minutes} |")
    return "\n".join(rows) + "\n"


def summary(notebooks: list[nbformat.NotebookNode]) -> str:
    """Return a table, in Markdown, of how much each chapter gives to do, with the sums in its last row."""
    chapters = {found[0].number.split(".")[0]: found for found in (split(notebook)[1] for notebook in notebooks)}
    rows = ["| chapter | exercises | derive | build | measure | minutes | points |", "|---|" + "---:|" * 6]
    for name, found in (chapters | {"all": sum(chapters.values(), [])}).items():
        kinds = [sum(one.kind == kind for one in found) for kind in KINDS]
        sums = sum(one.minutes for one in found), sum(one.points for one in found)
        rows.append(f"| {name} | " + " | ".join(map(str, [len(found), *kinds, *sums])) + " |")
    return "\n".join(rows) + "\n"


def write(into: Path, root: Path = ROOT) -> list[Path]:
    """Write the exercises and the table of every notebook of solutions, and the summary; return the files."""
    written, notebooks = [], []
    for path in sorted(root.glob("solutions/*.ipynb")):
        notebooks.append(nbformat.read(path, as_version=4))
        notebook, listed = into / path.name, into / f"{path.name[:2]}.md"
        nbformat.write(release(nbformat.read(path, as_version=4)), notebook)
        listed.write_text(table(notebooks[-1]), encoding="utf8")
        written += [notebook, listed]
    (into / "summary.md").write_text(summary(notebooks), encoding="utf8")
    return [*written, into / "summary.md"]


def main() -> None:
    """Make exercises/ anew."""
    into = ROOT / "exercises"
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir()
    for path in write(into):
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
