"""Every experiment of the book by its name, in the order of the chapters."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from unrolled.experiments import (
    bottleneck,
    cells_over_budget,
    copy_adding,
    corpus_size,
    counting_task,
    decoding_ways,
    depth_width,
    exposure,
    gradients,
    induction,
    input_gradient,
    launches,
    learning_rates,
    lengths,
    memory,
    model_kinds,
    ngram_words,
    ngrams,
    phonemes,
    playground,
    pretraining,
    real_texts,
    recall,
    regularisers,
    scanned_memory,
    state_tracking,
    stuck_gates,
    tagging,
    timing,
    truncation,
    window_networks,
)
from unrolled.experiments.base import Experiment

QUESTIONS = (  # in the order of the chapters
    ngrams,
    ngram_words,
    window_networks,
    recall,
    truncation,
    gradients,
    input_gradient,
    copy_adding,
    stuck_gates,
    memory,
    cells_over_budget,
    counting_task,
    timing,
    model_kinds,
    learning_rates,
    corpus_size,
    regularisers,
    real_texts,
    exposure,
    decoding_ways,
    depth_width,
    tagging,
    pretraining,
    bottleneck,
    phonemes,
    induction,
    scanned_memory,
    state_tracking,
    lengths,
    launches,
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
