"""The laboratory: what runs experiments, searches their settings, and writes the records that the chapters show.

It is never installed, and no chapter and nothing in the library imports it. The folders follow the table of contents:
``lab/ch04_vanishing_gradients/`` holds the experiments of chapter 4. `lab.engine` is what they share: what an
experiment is, how settings are searched, and where results are stored. ``python -m lab`` lists, shows and runs them.

`chosen.toml` holds what the searches chose, and `golden.json` what a few updates of each training come to: a test that
takes them again notices a default, a text or a metric that has changed.
"""

import difflib
import importlib
import pkgutil

from lab.engine.experiment import Experiment


def experiments() -> dict[str, Experiment]:
    """Return every experiment of the book by its name, in the order of the chapters."""
    names = (module.name for module in pkgutil.walk_packages(__path__, "lab.") if not module.ispkg)
    chapters = (name for name in names if not name.startswith(("lab.engine", "lab.__main__")))
    rows = (getattr(importlib.import_module(name), "EXPERIMENTS", ()) for name in sorted(chapters))
    return {experiment.name: experiment for row in rows for experiment in row}


def find(name: str) -> Experiment:
    """Return the experiment of that name.

    Raises:
        ValueError: there is none; the message suggests the nearest.
    """
    known = experiments()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.3)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
        raise ValueError(f"there is no experiment {name!r}; {hint}")
    return known[name]
