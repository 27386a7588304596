"""Every experiment of the book by its name, in the order of the chapters."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from unrolled.experiments import (
    cells_over_budget,
    copy_adding,
    corpus_size,
    counting_task,
    decoding_ways,
    exposure,
    gated_stories,
    gradients,
    input_gradient,
    learning_rates,
    lengths,
    memory,
    memory_tasks,
    model_kinds,
    ngram_words,
    ngrams,
    playground,
    real_texts,
    regularisers,
    state_tracking,
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
    copy_adding,
    gated_stories,
    stuck_gates,
    counting_task,
    timing,
    model_kinds,
    memory,
    cells_over_budget,
    input_gradient,
    learning_rates,
    corpus_size,
    regularisers,
    real_texts,
    exposure,
    decoding_ways,
    state_tracking,
    lengths,
    playground,
)
EXPERIMENTS = {experiment.name: experiment for module in QUESTIONS for experiment in module.EXPERIMENTS}


def find(name: str, suggested: Collection[str] = EXPERIMENTS) -> Experiment:
    """Return the experiment of that name.

    Args:
        name: the name.
        suggested: the names that may be suggested in its place.

    Raises:
        ValueError: there is none; the message suggests the nearest.
    """
    if name not in EXPERIMENTS:
        near = difflib.get_close_matches(name, suggested, n=1, cutoff=0.3)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(suggested)}"
        raise ValueError(f"there is no experiment {name!r}; {hint}")
    return EXPERIMENTS[name]
