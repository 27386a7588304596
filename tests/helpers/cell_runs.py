"""Run code cells in order, and begin where the same cells were once before: what took them long is kept and copied.

An exercise and its mistakes share their first cells, of which some train a network. What such cells leave, names and
random generators, is copied for whoever runs them next, so each run finds it untouched. Functions are not copied: what
one holds in a closure is shared.
"""

import contextlib
import copy
import random
import time
import traceback
import types
import warnings

import matplotlib
import numpy as np
import torch
from matplotlib import pyplot as plt

from places import ROOT

ANSWERS = str(ROOT / "lib" / "unrolled" / "answers.py")
LONG = 0.5  # seconds; what cells that took longer leave is kept
MANY = 8  # so much is kept at a time, what was used last
GENERATORS = [
    (torch.get_rng_state, torch.set_rng_state),
    (torch.cuda.get_rng_state_all, torch.cuda.set_rng_state_all),
    (np.random.get_state, np.random.set_state),
    (random.getstate, random.setstate),
]
KEPT: dict[tuple, "Left"] = {}  # by the cells, (id, source) each


class Left:
    """What cells have left: a namespace, what its names stood for, and the state of the random generators.

    Raises:
        Exception: something in the namespace cannot be copied.
    """

    def __init__(self, space: dict):
        self.space, self.values = space, copied(space)
        self.generators = [(put, get()) for get, put in GENERATORS]

    def again(self) -> dict:
        """Return the namespace, in which all is again as it was; functions defined there look into the same one."""
        values = copied(self.values)
        self.space.clear()
        self.space.update(values)
        for put, state in self.generators:
            put(state)
        return self.space


def copied(space: dict) -> dict:
    """Return a copy of what names stand for, and of all that belongs to it; modules are the same."""
    values = {name: value for name, value in space.items() if name != "__builtins__"}
    return copy.deepcopy(values, {id(value): value for value in values.values() if isinstance(value, types.ModuleType)})


def keep(cells: tuple, space: dict) -> None:
    """Keep what cells have left, unless something of it cannot be copied, as a loss with its graph."""
    with warnings.catch_warnings(action="ignore"), contextlib.suppress(TypeError, RuntimeError):
        KEPT[cells] = Left(space)
    while len(KEPT) > MANY:
        del KEPT[next(iter(KEPT))]


def run(cells, anew: bool = False) -> tuple[Exception | None, str]:
    """Run code cells in order, and return the first error with the id of the cell whose own line raised it.

    What helps the checks, `answers`, counts as theirs. The id is empty where the line is not a notebook's but another
    library's. A warning is an error, as it is to nbgrader.

    Args:
        cells: the cells of a notebook; what is no code is passed over.
        anew: whether every cell is run, whatever is kept.
    """
    code = tuple((cell.id, cell.source) for cell in cells if cell.cell_type == "code")
    begun = 0 if anew else max((n for n in range(len(code) + 1) if code[:n] in KEPT), default=0)
    space = {"__name__": "__main__"}
    if begun:
        KEPT[code[:begun]] = left = KEPT.pop(code[:begun])  # the last that was used
        space = left.again()
    with matplotlib.rc_context({"backend": "agg"}), warnings.catch_warnings(action="error"):
        try:
            started = time.monotonic()
            for at, (name, source) in enumerate(code[begun:], start=begun + 1):
                exec(compile(source, f"<{name}>", "exec"), space)
                if time.monotonic() - started > LONG:
                    keep(code[:at], space)
                    started = time.monotonic()
        except Exception as error:
            files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
            where = [name for name in files if name != ANSWERS][-1]
            return error, where[1:-1] if where.startswith("<") else ""
        finally:
            plt.close("all")
    return None, ""
