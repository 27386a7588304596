"""Every experiment of the book by its name, in the order of the chapters."""

from __future__ import annotations

import difflib

from unrolled.experiments import (
    counting_task,
    gated_stories,
    gradients,
    memory_tasks,
    ngram_words,
    ngrams,
    stuck_gates,
    timing,
    truncation,
    window_networks,
)
from unrolled.experiments.base import Experiment

QUESTIONS = (  # in the order of the chapters
    ngrams,
    ngram_words,
    window_networks,
    truncation,
    gradients,
    memory_tasks,
    gated_stories,
    stuck_gates,
    counting_task,
    timing,
)
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
