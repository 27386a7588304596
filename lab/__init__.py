"""The laboratory: what measures the records that the chapters show.

It is never installed, and no chapter and nothing in the library imports it. `experiment` says what an experiment is and
writes its record; `recipe` is how the book trains; `training`, `tasks` and `texts` do it. Each further file holds
experiments, most of them those of one chapter. A record without an experiment was measured by code that has gone: each
of its runs names the commit.
"""

import difflib
import importlib
import pkgutil

from lab.experiment import Experiment


def experiments() -> dict[str, Experiment]:
    """Return every experiment by its name."""
    names = (module.name for module in pkgutil.iter_modules(__path__, "lab.") if module.name != "lab.__main__")
    rows = (getattr(importlib.import_module(name), "EXPERIMENTS", ()) for name in names)
    return {experiment.name: experiment for row in rows for experiment in row}


def find(name: str) -> Experiment:
    """Return the experiment of that name; ValueError suggests the nearest where there is none."""
    known = experiments()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.3)
        raise ValueError(f"there is no experiment {name!r}; {f'did you mean {near[0]!r}?' if near else 'see `list`'}")
    return known[name]
