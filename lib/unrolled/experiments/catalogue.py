"""Every experiment of the book by its name, in the order of the chapters."""

from __future__ import annotations

import difflib

from unrolled.experiments import gated_stories, gradients
from unrolled.experiments.base import Experiment

QUESTIONS = (gradients, gated_stories)  # in the order of the chapters
EXPERIMENTS = {experiment.name: experiment for module in QUESTIONS for experiment in module.EXPERIMENTS}


def find(name: str) -> Experiment:
    """Return the experiment of that name.

    Raises:
        ValueError: there is none; the message suggests the nearest.
    """
    if name not in EXPERIMENTS:
        near = difflib.get_close_matches(name, EXPERIMENTS, n=1, cutoff=0.3)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(EXPERIMENTS)}"
        raise ValueError(f"there is no experiment {name!r}; {hint}")
    return EXPERIMENTS[name]
