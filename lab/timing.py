"""How long several works take, each in turn: whatever else the machine does slows all of them alike."""

import statistics
from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

from lab.experiment import Config
from unrolled.measure.hardware import seconds

Key = TypeVar("Key", bound=Hashable)


def rounds_of(works: Mapping[Key, Callable[[], object]], config: Config) -> dict[Key, list[float]]:
    """Return how long each work takes, seconds, in each of the ``rounds`` that follow ``warm_up`` others."""
    rounds = [{key: seconds(work) for key, work in works.items()} for _ in range(config["warm_up"] + config["rounds"])]
    return {key: [taken[key] for taken in rounds[config["warm_up"] :]] for key in works}


def medians(works: Mapping[Key, Callable[[], object]], config: Config) -> dict[Key, float]:
    """Return the median of how long each work takes, as `rounds_of` times it."""
    return {key: statistics.median(taken) for key, taken in rounds_of(works, config).items()}
