"""Experiments on a little text, with three updates of tiny models."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import lab
from lab import texts
from lab.experiment import Config, Experiment

CHARACTERS, HELD_OUT = 60_000, 20_000  # of the text that is learned from; of the validation, and of the test
STEPS = {"updates": 3, "seq_len": 16}
SIZES = {"hidden_size": 16, "embedding_size": 16, "num_heads": 2}


def small(name: str, label: str, **changes: Any) -> Config:
    """Return a configuration with a short text of stories, three updates and a tiny model.

    Args:
        name: the experiment's.
        label: which of its runs, with the first of its trials.
        **changes: what takes the place of its own values, as far as it has them.
    """
    experiment = lab.find(name)
    return shrunk(experiment, config_of(experiment, label), **changes)


def config_of(experiment: Experiment, label: str) -> Config:
    """Return a configuration of an experiment, with the first setting that is tried, if any."""
    first, *_ = experiment.trials.get(label, [{}])
    return experiment.put(experiment.runs[label], first) if first else experiment.runs[label]


def shrunk(experiment: Experiment, config: Config, **changes: Any) -> Config:
    """Return a configuration with a short text, three updates and a tiny model."""
    config = dict(config)
    if "text" in config:
        config["text"] = config["text"] | {"corpus": "stories", "characters": CHARACTERS}
    if "recipe" in config:
        streams = {"symbols_per_update": 64} if "symbols_per_update" in config["recipe"] else {"batch": 4}
        precision = {"precision": "float32"} if "precision" in config["recipe"] else {}
        config["recipe"] = config["recipe"] | STEPS | streams | precision
    if "model" in config:
        config["model"] = config["model"] | {name: size for name, size in SIZES.items() if name in config["model"]}
    return config | {name: value for name, value in {**experiment.small, **changes}.items() if name in config}


@contextmanager
def little_held_out() -> Iterator[None]:
    """Let the stories of the validation and of the test be few for a while."""
    before, texts.HELD_OUT = texts.HELD_OUT, HELD_OUT
    texts._texts.cache_clear()
    try:
        yield
    finally:
        texts.HELD_OUT = before
        texts._texts.cache_clear()
