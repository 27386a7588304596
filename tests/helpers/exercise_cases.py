"""The exercises as the tests see them: each with the cells before it, and with each of its planted mistakes.

The mistakes that an exercise's checks must catch stand in its solution, each as a comment before the line that it would
spoil:

    ### MISTAKE (no tanh) return a
    return torch.tanh(a)

A long line may stand in a second comment, below the name.
"""

import copy
import re
import traceback
import warnings
from collections.abc import Iterator

import matplotlib
import nbformat
from matplotlib import pyplot as plt

import exercises
from places import ROOT

SOLUTIONS = {path.stem: nbformat.read(path, as_version=4) for path in sorted(ROOT.glob("solutions/*.ipynb"))}
PARTS = [exercises.split(notebook) for notebook in SOLUTIONS.values()]
CASES = {exercise.number: (before, exercise) for before, parts in PARTS for exercise in parts}
MISTAKE = re.compile(r"^ *### MISTAKE \((?P<name>[^)]+)\)(?: (?P<code>.+))?$")


def role(cell, name: str) -> bool:
    """Return whether nbgrader's metadata gives a cell this role: "grade", "solution" or "locked"."""
    return bool(cell.metadata.get("nbgrader", {}).get(name))


def run(cells) -> tuple[Exception | None, str]:
    """Run code cells in order, and return the first error with the id of the cell whose own line raised it.

    The id is empty where the line is not a notebook's but a library's. A warning is an error, as it is to nbgrader.
    """
    space = {"__name__": "__main__"}
    with matplotlib.rc_context({"backend": "agg"}), warnings.catch_warnings(action="error"):
        try:
            for cell in cells:
                if cell.cell_type == "code":
                    exec(compile(cell.source, f"<{cell.id}>", "exec"), space)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1].filename
            return error, where[1:-1] if where.startswith("<") else ""
        finally:
            plt.close("all")
    return None, ""


def mistakes(source: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each mistake that a solution's comments plant, and the solution with this mistake in it."""
    lines = source.split("\n")
    for at, line in enumerate(lines):
        if comment := MISTAKE.match(line):
            spoilt = next(n for n in range(at + 1, len(lines)) if not lines[n].lstrip().startswith("###"))
            indent = lines[spoilt][: len(lines[spoilt]) - len(lines[spoilt].lstrip())]
            code = comment["code"] or lines[at + 1].strip(" #")
            yield comment["name"], "\n".join([*lines[:spoilt], indent + code, *lines[spoilt + 1 :]])


def mutants(exercise) -> list[tuple[str, list]]:
    """Return the name and the cells of each version of an exercise that has one of its mistakes in it."""
    versions = []
    for at, cell in enumerate(exercise.cells):
        for name, source in mistakes(cell.source):
            cells = copy.deepcopy(exercise.cells)
            cells[at].source = source
            versions.append((name, cells))
    return versions
