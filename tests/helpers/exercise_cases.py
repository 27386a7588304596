"""The exercises as the tests see them: each with the cells before it, and with each of its planted mistakes."""

import copy
import traceback
import warnings

import matplotlib
import nbformat
from matplotlib import pyplot as plt

import exercises
from places import ROOT

SOLUTIONS = {path.stem: nbformat.read(path, as_version=4) for path in sorted(ROOT.glob("solutions/*.ipynb"))}
PARTS = [exercises.split(notebook) for notebook in SOLUTIONS.values()]
CASES = {one.number: (before, one) for before, found in PARTS for one in found}


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


def mutants(exercise) -> list[tuple[str, list]]:
    """Return the name and the cells of each version of an exercise that has one of its mistakes in it."""
    found = []
    for at, cell in enumerate(exercise.cells):
        for name, source in exercises.mistakes(cell.source):
            cells = copy.deepcopy(exercise.cells)
            cells[at].source = source
            found.append((name, cells))
    return found
