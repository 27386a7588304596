"""Which of two models is better: would the difference come out the same from other seeds, and on other stories?

The protocol of the book asks both of every comparison: Student's t over the seeds, and a bootstrap over the stories.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy  # loads scipy.stats where it is first used, and not before
from numpy.typing import ArrayLike

CONFIDENCE = 0.95  # of every interval
DRAWS = 2000  # of the bootstrap


class Difference(NamedTuple):
    """The difference of two means, with a 95 % confidence interval.

    Attributes:
        mean: the first minus the second.
        low: the lower limit.
        high: the upper limit.

    Example:
        >>> Difference(-0.2, -0.3, -0.1).clear
        True
    """

    mean: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0


def t_quantile(confidence: float, freedom: int) -> float:
    """Return the limit that Student's t stays within, in absolute value, with a probability.

    Args:
        confidence: the probability, between 0 and 1.
        freedom: the degrees of freedom, 1 or more.

    Raises:
        ValueError: an argument is out of range.

    Example:
        >>> round(t_quantile(0.95, 4), 3)
        2.776
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; it must be between 0 and 1, such as 0.95")
    if not 1 <= freedom < math.inf:
        raise ValueError(f"freedom is {freedom}; it must be 1 or more")
    return float(scipy.stats.t.isf((1 - confidence) / 2, freedom))


def over_seeds(first: ArrayLike, second: ArrayLike) -> Difference:
    """Compare two models that were each trained from several seeds: Student's t of the paired differences.

    Args:
        first: what each seed of the first came to, (seeds,).
        second: the same of the second, seed by seed.

    Returns:
        The difference, first minus second.

    Raises:
        ValueError: the shapes differ, there are fewer than two seeds, or a score is not finite.

    Example:
        >>> over_seeds([0.50, 0.52, 0.51], [0.60, 0.63, 0.60]).clear
        True
    """
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if first.shape != second.shape or first.ndim != 1 or len(first) < 2:
        raise ValueError(f"shapes are {first.shape} and {second.shape}; both should be (seeds,), with 2 seeds or more")
    differences = first - second
    _refuse_infinite("seed", first=first, second=second)
    mean, reach = differences.mean(), t_quantile(CONFIDENCE, len(differences) - 1) * scipy.stats.sem(differences)
    return Difference(float(mean), float(mean - reach), float(mean + reach))


def over_stories(first: ArrayLike, second: ArrayLike, lengths: ArrayLike, *, seed: int = 0) -> Difference:
    """Compare two models on the same stories: the bootstrap (Efron & Tibshirani 1993).

    The stories are drawn again and again with replacement, the same for both, so that a story that is hard for both
    does not count as noise. The limits are percentiles of the differences.

    Args:
        first: what each story cost the first model, nats, (stories,) or (seeds, stories); seeds are averaged.
        second: the same of the second model.
        lengths: the symbols of each story, (stories,).
        seed: of the draws.

    Returns:
        The difference in nats per symbol, first minus second.

    Raises:
        ValueError: the shapes do not fit, there are no seeds or fewer than two stories, a cost is not finite, or a
            length is not above 0.

    Example:
        >>> over_stories([1.0, 2.0, 3.0], [2.0, 4.0, 6.0], lengths=[10, 10, 10]).clear
        True
    """
    lengths = np.asarray(lengths, dtype=float)
    rows = [np.atleast_2d(np.asarray(costs, dtype=float)) for costs in (first, second)]
    for name, row in zip(("first", "second"), rows, strict=True):
        if row.ndim != 2 or not len(row) or row.shape[1:] != lengths.shape or len(lengths) < 2:
            raise ValueError(
                f"{name} has shape {row.shape}, and lengths {lengths.shape}; the last axis is the stories, 2 or more"
            )
    _refuse_infinite("story", first=rows[0], second=rows[1])
    if not (lengths > 0).all():
        at = int(np.argmin(lengths > 0))
        raise ValueError(f"lengths[{at}] is {lengths[at]:g}; a story has 1 symbol or more: leave out those without any")
    differences = rows[0].mean(axis=0) - rows[1].mean(axis=0)

    def mean(costs: np.ndarray, symbols: np.ndarray, axis: int = -1) -> np.ndarray:
        return costs.sum(axis=axis) / symbols.sum(axis=axis)

    options = {"n_resamples": DRAWS, "confidence_level": CONFIDENCE, "method": "percentile", "rng": seed}
    drawn = scipy.stats.bootstrap((differences, lengths), mean, paired=True, **options).confidence_interval
    return Difference(float(mean(differences, lengths)), float(drawn.low), float(drawn.high))


def _refuse_infinite(axis: str, **scores: np.ndarray) -> None:
    """Raise ValueError where a score is infinite or NaN."""
    for name, numbers in scores.items():
        if len(places := np.argwhere(~np.isfinite(numbers))):
            at = tuple(map(int, places[0]))
            raise ValueError(
                f"{name} is {numbers[at]} for {axis} {at[-1]}, counted from 0; a training that diverged has no score: "
                f"say so, and leave the {axis} out of both"
            )
