"""What an experiment is: contenders with their config, a measurement, and what it declares of its numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unrolled.records import Metric

Config = dict[str, Any]
"""What one contender of an experiment is, as its author writes it: anything that JSON can hold, and no default."""


def at(**axes: Sequence | str) -> Callable[[Config], dict[str, Sequence]]:
    """Return the `Experiment.axes` of coordinates that are the same for all contenders, or stand in a configuration.

    Args:
        **axes: for each axis its coordinates, or the key under which a configuration has them.

    Example:
        >>> at(lag=[1, 2], length="lengths")({"lengths": [10, 20]})
        {'lag': [1, 2], 'length': [10, 20]}
    """
    return lambda config: {name: config[each] if isinstance(each, str) else each for name, each in axes.items()}


class NotChosen(RuntimeError):
    """A search that decides a configuration has not been recorded yet; the message names the command that does it."""


@dataclass(frozen=True)
class Experiment:
    """A question that takes an hour or a GPU, with all that is needed to measure the answer.

    Attributes:
        name: what ``python -m lab run`` calls it.
        title: what it measures, in a line.
        metrics: what is measured of a contender, by name. A contender may lack some.
        contenders: by label the configuration of each, or a function that returns it: where a search chooses some of
            it, it is there as soon as that search has been recorded.
        measure: maps (configuration, seed, folder to work in) to the metrics of one contender: numbers, texts, or lists
            of them. Where `together` is set, the configurations of all contenders, by label, to the metrics of each.
        axes: maps a configuration to the coordinates along the metrics' axes, as far as it decides them.
        seeds: how many seeds a complete record has. Of counting, nothing depends on the seed, and one is enough.
        together: measure all contenders in one go, as timings must be that are compared with each other.
        on_gpu: its record is measured on a GPU, and on nothing else.
        small: what makes a contender a matter of seconds, in place of its own: for `golden` and the tests.

    Example:
        >>> heads = {"heads": Metric("throws", "how often it fell")}
        >>> coin = Experiment("coin", "Toss a coin", heads, {"fair": {"sides": 2}}, lambda *_: {"heads": 1})
        >>> coin.config("fair")
        {'sides': 2}
        >>> coin.check("fair", {"tails": 1})
        Traceback (most recent call last):
        ValueError: coin measures no 'tails'; it declares heads
    """

    name: str
    title: str
    metrics: Mapping[str, Metric]
    contenders: Mapping[str, Config | Callable[[], Config]]
    measure: Callable[[Any, int, Path], dict]
    axes: Callable[[Config], Mapping[str, Sequence]] = at()
    seeds: int = 3
    together: bool = False
    on_gpu: bool = False
    small: Config = field(default_factory=dict)

    def config(self, label: str) -> Config:
        """Return the configuration of a contender.

        Raises:
            ValueError: there is no such contender.
            NotChosen: it waits for a search; the message says which.
        """
        if label not in self.contenders:
            raise ValueError(f"{self.name} has no contender {label!r}; it has {', '.join(self.contenders)}")
        config = self.contenders[label]
        return config() if callable(config) else config

    def check(self, label: str, metrics: Mapping[str, Any], config: Config | None = None) -> None:
        """Raise ValueError, naming the metric and its axis, where what was measured is not what is declared here.

        Args:
            label: the contender's.
            metrics: what was measured of it with one seed.
            config: its configuration, where it is another than the experiment's.
        """
        axes = self.axes(self.config(label) if config is None else config)
        for name, values in metrics.items():
            if name not in self.metrics:
                raise ValueError(f"{self.name} measures no {name!r}; it declares {', '.join(self.metrics)}")
            shape, declared = np.shape(values), self.metrics[name].axes
            if len(shape) < len(declared):
                raise ValueError(
                    f"{name} has shape {shape}; {len(declared)} axes are declared: {', '.join(declared) or 'none'}"
                )
            for place, axis in enumerate(declared):
                if axis in axes and shape[place] != len(axes[axis]):
                    raise ValueError(
                        f"{name} has shape {shape}: axis {place} ({axis}) is {shape[place]} "
                        f"and should be {len(axes[axis])}"
                    )


# What a configuration is made of: keywords of the library's own classes, and only those that its author gives


def text(corpus: str, characters: int | None = None, **more: Any) -> Config:
    """Return the configuration of a text, as `texts.texts` and `texts.encoded` describe it."""
    return {"corpus": corpus} | ({"characters": characters} if characters else {}) | more


def model(kind: str, **keywords: Any) -> Config:
    """Return the configuration of a model: its kind, one of `models.KINDS`, and its keywords."""
    return {"kind": kind} | keywords


def cell(kind: str, **keywords: Any) -> Config:
    """Return the configuration of a recurrent cell: its kind, one of `cells.CELLS`, and its keywords."""
    return {"kind": kind} | keywords


def recipe(**fields: Any) -> Config:
    """Return the configuration of a recipe, as `training.recipe_of` describes it."""
    return fields
