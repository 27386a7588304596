"""The exercises as the tests see them: run once, and from any of their solutions on with another answer in it.

The mistakes that an exercise's checks must catch stand in its solution, each as a comment before the line that it would
spoil; a long line may stand in a second comment, below the name:

    ### MISTAKE (no tanh) return a
    return torch.tanh(a)

Right answers in other clothes stand in tests/right_answers, each below its exercise, its cell and its name:

    # %% 2.3 rnn-step | stacked weights
"""

import contextlib
import copy
import io
import random
import re
import types
import warnings
from collections.abc import Iterator

import matplotlib
import nbformat
import numpy as np
import torch
from matplotlib import pyplot as plt

import exercises
from places import ROOT

SOLUTIONS = {path.stem: nbformat.read(path, as_version=4) for path in sorted(ROOT.glob("solutions/*.ipynb"))}
PARTS = [exercises.split(notebook) for notebook in SOLUTIONS.values()]
CASES = {exercise.number: (before, exercise) for before, parts in PARTS for exercise in parts}
MISTAKE = re.compile(r"^ *### MISTAKE \((?P<name>[^)]+)\)(?: (?P<code>.+))?$")
RIGHT = re.compile(r"^# %% (\S+) (\S+) \| (.+)$", re.MULTILINE)
GENERATORS = [
    (torch.get_rng_state, torch.set_rng_state),
    (np.random.get_state, np.random.set_state),
    (random.getstate, random.setstate),
]


def role(cell, name: str) -> bool:
    """Return whether nbgrader's metadata gives a cell this role: "grade", "solution" or "locked"."""
    return bool(cell.metadata.get("nbgrader", {}).get(name))


def mistakes(source: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each mistake that a solution's comments plant, and the solution with this mistake in it."""
    lines = source.split("\n")
    for at, line in enumerate(lines):
        if comment := MISTAKE.match(line):
            spoilt = next(n for n in range(at + 1, len(lines)) if not lines[n].lstrip().startswith("###"))
            indent = lines[spoilt][: len(lines[spoilt]) - len(lines[spoilt].lstrip())]
            code = comment["code"] or lines[at + 1].strip(" #")
            yield comment["name"], "\n".join([*lines[:spoilt], indent + code, *lines[spoilt + 1 :]])


def right_answers() -> list[tuple[str, str, str, str]]:
    """Return the exercise, the cell, the name and the code of each right answer in other clothes."""
    texts = [path.read_text(encoding="utf8") for path in sorted(ROOT.glob("tests/right_answers/*.py"))]
    parts = [part.strip() for text in texts for part in RIGHT.split(text)[1:]]
    return list(zip(*(parts[i::4] for i in range(4)), strict=True))


def run(cells, space: dict) -> Exception | None:
    """Run code cells in a namespace, and return the first error.

    A warning is an error, and so is what is written to stderr: nbgrader takes it for one.
    """
    said, quiet = io.StringIO(), contextlib.ExitStack()
    with quiet, matplotlib.rc_context({"backend": "agg"}), warnings.catch_warnings(action="error"):
        quiet.enter_context(contextlib.redirect_stdout(io.StringIO()))
        quiet.enter_context(contextlib.redirect_stderr(said))
        try:
            for cell in cells:
                if cell.cell_type == "code":
                    exec(compile(cell.source, f"<{cell.id}>", "exec"), space)
        except Exception as error:
            return error
        finally:
            plt.close("all")
    return RuntimeError(said.getvalue()) if said.getvalue() else None


class Kept:
    """The names of a notebook at one of its cells, with what they stand for, and the state of the generators."""

    def __init__(self, space: dict):
        self.values, self.states = self.copied(space), [get() for get, _ in GENERATORS]

    @staticmethod
    def copied(space: dict) -> dict:
        """Return copies. Modules and functions stay the same, and what cannot be copied, as a loss with its graph."""
        memo = {id(value): value for value in space.values() if isinstance(value, types.ModuleType)}
        copies = dict(space)
        for name, value in space.items():
            with warnings.catch_warnings(action="ignore"), contextlib.suppress(RuntimeError, TypeError):
                copies[name] = value if name == "__builtins__" else copy.deepcopy(value, memo)
        return copies

    def restore(self, space: dict) -> None:
        """Put all back as it was into the notebook's own namespace, where its functions look names up."""
        space.clear()
        space.update(self.copied(self.values))
        for (_, put), state in zip(GENERATORS, self.states, strict=True):
            put(state)


class Played:
    """An exercise whose solution has been run, with what was known before each cell that a student fills.

    Attributes:
        number: the exercise's number.
        cells: its cells.
        fillable: the places of the cells that a student fills.
        error: what the solution raised, None if it passes.
    """

    def __init__(self, number: str):
        before, exercise = CASES[number]
        self.number, self.cells, self.space = number, exercise.cells, {"__name__": "__main__"}
        self.fillable = [at for at, cell in enumerate(self.cells) if role(cell, "solution")]
        self._kept, self.error = {}, run(before, self.space)
        for at, cell in enumerate(self.cells):
            if at in self.fillable:
                self._kept[at] = Kept(self.space)
            self.error = self.error or run([cell], self.space)

    def answered(self, at: int, source: str) -> Exception | None:
        """Return the error of the exercise with this source in the cell at this place."""
        self._kept[at].restore(self.space)
        given = copy.deepcopy(self.cells[at])
        given.source = source
        return run([given, *self.cells[at + 1 :]], self.space)
