"""Which of two models is better: would the difference come out the same from other seeds, and on other stories?

The protocol of the book asks both of every comparison: Student's t over the seeds, and a bootstrap over the stories.
`mcnemar` is the test that the literature on tagging often gives beside them.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from mpmath import betainc, findroot
from numpy.typing import ArrayLike


class Difference(NamedTuple):
    """The difference of two means, with a confidence interval.

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


def _check(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; it must be between 0 and 1, such as 0.95")


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
    _check(confidence)
    if freedom < 1:
        raise ValueError(f"freedom is {freedom}; it must be 1 or more")

    def beyond(x: float) -> float:  # the two tails together, less what they should be; x = ν / (ν + t²)
        return betainc(freedom / 2, 0.5, 0, x, regularized=True) - (1 - confidence)

    x = float(findroot(beyond, (0, 1), solver="bisect"))
    return math.sqrt(freedom / x - freedom)


def over_seeds(first: ArrayLike, second: ArrayLike, confidence: float = 0.95) -> Difference:
    """Compare two models that were each trained from several seeds: Student's t of the paired differences.

    Args:
        first: what each seed of the first came to, (seeds,).
        second: the same of the second, seed by seed.
        confidence: of the interval.

    Returns:
        The difference, first minus second.

    Raises:
        ValueError: the shapes differ, there are fewer than two seeds, or the confidence is out of range.

    Example:
        >>> over_seeds([0.50, 0.52, 0.51], [0.60, 0.63, 0.60]).clear
        True
    """
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if first.shape != second.shape or first.ndim != 1 or len(first) < 2:
        raise ValueError(f"shapes are {first.shape} and {second.shape}; both should be (seeds,), with 2 seeds or more")
    differences = first - second
    mean, error = differences.mean(), differences.std(ddof=1) / math.sqrt(len(differences))
    reach = t_quantile(confidence, len(differences) - 1) * error
    return Difference(float(mean), float(mean - reach), float(mean + reach))


def over_stories(
    first: ArrayLike,
    second: ArrayLike,
    lengths: ArrayLike,
    *,
    seed: int = 0,
    draws: int = 2000,
    confidence: float = 0.95,
) -> Difference:
    """Compare two models on the same stories: the bootstrap (Efron & Tibshirani 1993).

    The stories are drawn again and again with replacement, the same for both, so that a story that is hard for both
    does not count as noise. The limits are percentiles of the differences.

    Args:
        first: what each story cost the first model, nats, (stories,) or (seeds, stories); seeds are averaged.
        second: the same of the second model.
        lengths: the symbols of each story, (stories,).
        seed: of the draws.
        draws: how many there are.
        confidence: of the interval.

    Returns:
        The difference in nats per symbol, first minus second.

    Raises:
        ValueError: the shapes do not fit, or the confidence is out of range.

    Example:
        >>> over_stories([1.0, 2.0, 3.0], [2.0, 4.0, 6.0], lengths=[10, 10, 10]).clear
        True
    """
    _check(confidence)
    lengths = np.asarray(lengths, dtype=float)
    rows = [np.atleast_2d(np.asarray(costs, dtype=float)) for costs in (first, second)]
    for name, row in zip(("first", "second"), rows, strict=True):
        if row.ndim != 2 or row.shape[1:] != lengths.shape:
            raise ValueError(f"{name} has shape {row.shape}, and lengths {lengths.shape}; the last axis is the stories")
    differences = rows[0].mean(axis=0) - rows[1].mean(axis=0)
    drawn = np.random.default_rng(seed).integers(len(lengths), size=(draws, len(lengths)))
    means = differences[drawn].sum(axis=1) / lengths[drawn].sum(axis=1)
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Difference(float(differences.sum() / lengths.sum()), float(low), float(high))


class Discordance(NamedTuple):
    """Where one of two models is right and the other wrong.

    Attributes:
        first: the number of answers that only the first model has right.
        second: the number that only the second has right.
        p: the probability of so uneven a split, or a more uneven one, if both were equally good.

    Example:
        >>> Discordance(first=8, second=2, p=0.109).first
        8
    """

    first: int
    second: int
    p: float


def mcnemar(first: ArrayLike, second: ArrayLike) -> Discordance:
    """Compare two models answer by answer: McNemar's exact test (McNemar 1947).

    Of n answers that only one model has right, as many are the first one's as heads fall in n throws of a coin, if the
    models are equally good and the answers independent of each other:

        p = min(1, 2 Σ_{k ≤ m} C(n, k) / 2^n)           m: the smaller of the two numbers

    The words of a sentence are not independent, so that p is too small for taggers: see `over_stories`, which draws
    whole sentences, and takes their errors as costs and their words as lengths.

    Args:
        first: whether the first model is right, (answers,), booleans.
        second: the same of the second.

    Raises:
        ValueError: the shapes differ, there are no answers, or they are not booleans.

    Example:
        >>> mcnemar([True] * 8 + [False] * 2, [False] * 8 + [True] * 2)
        Discordance(first=8, second=2, p=0.109375)
    """
    first, second = np.asarray(first), np.asarray(second)
    if first.shape != second.shape or first.ndim != 1 or not len(first) or first.dtype != bool or second.dtype != bool:
        raise ValueError(
            f"first is {first.dtype} and has shape {first.shape}, second {second.dtype} and {second.shape}; both "
            "should be booleans, (answers,), with one answer or more"
        )
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    n = only_first + only_second
    tail = sum(math.comb(n, k) for k in range(min(only_first, only_second) + 1))
    return Discordance(only_first, only_second, min(1.0, float(Fraction(2 * tail, 2**n))))
