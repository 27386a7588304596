"""Which of two models is better: would the difference come out the same from other seeds, and on other stories?

Over seeds, which are independent, the interval is Welch's; over stories, the same for both, a bootstrap draws pairs.
"""

from typing import NamedTuple

import numpy as np
import scipy  # loads scipy.stats where it is first used, and not before
from numpy.typing import ArrayLike

CONFIDENCE = 0.95  # of every interval
DRAWS = 2000  # of the bootstrap


class Difference(NamedTuple):
    """The difference of two means, the first minus the second, with the limits of a 95 % confidence interval.

    Example:
        >>> Difference(mean=-0.2, low=-0.3, high=-0.1).clear
        True
    """

    mean: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0


def t_quantile(confidence: float, freedom: float) -> float:
    """Return the limit that Student's t stays within, in absolute value, with a probability, such as 0.95.

    Args:
        confidence: the probability.
        freedom: the degrees of freedom, 1 or more; by Welch's formula not always a whole number.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; it must be between 0 and 1, such as 0.95")
    return float(scipy.stats.t.isf((1 - confidence) / 2, freedom))


def over_seeds(first: ArrayLike, second: ArrayLike) -> Difference:
    """Compare two models, each trained from several seeds, which are not pairs: Welch's interval.

    Args:
        first, second: what each training of the first and of the second came to, (seeds,); the numbers may differ.
    """
    first, second = _finite(first), _finite(second)
    if first.ndim != 1 or second.ndim != 1 or min(len(first), len(second)) < 2:
        raise ValueError(f"shapes are {first.shape} and {second.shape}; both should be (seeds,), with 2 seeds or more")
    parts, free = np.array([(of.var(ddof=1) / len(of), len(of) - 1) for of in (first, second)]).T
    freedom = parts.sum() ** 2 / (parts**2 / free).sum() if parts.any() else free.sum()
    mean, reach = first.mean() - second.mean(), t_quantile(CONFIDENCE, freedom) * np.sqrt(parts.sum())
    return Difference(float(mean), float(mean - reach), float(mean + reach))


def over_stories(first: ArrayLike, second: ArrayLike, lengths: ArrayLike, *, seed: int = 0) -> Difference:
    """Compare two models on the same stories: the bootstrap (Efron & Tibshirani 1993).

    The stories are drawn again and again with replacement, the same for both, so that a story that is hard for both
    does not count as noise. The limits are percentiles of the differences.

    Args:
        first: what each story cost the first model, nats, (stories,) or (seeds, stories); seeds are averaged.
        second: the same of the second model.
        lengths: the tokens of each story, (stories,).
        seed: of the draws.

    Returns:
        The difference in nats per token, first minus second.
    """
    (first, second), lengths = (np.atleast_2d(_finite(nats)) for nats in (first, second)), _finite(lengths)
    if first.shape[1:] != lengths.shape or second.shape[1:] != lengths.shape:
        shapes = f"shapes are {first.shape}, {second.shape} and {lengths.shape} for the lengths"
        raise ValueError(f"{shapes}; the last axis of all is the stories")
    differences = first.mean(axis=0) - second.mean(axis=0)

    def mean(nats: np.ndarray, tokens: np.ndarray, axis: int = -1) -> np.ndarray:
        return nats.sum(axis=axis) / tokens.sum(axis=axis)

    options = {"n_resamples": DRAWS, "confidence_level": CONFIDENCE, "method": "percentile", "rng": seed}
    drawn = scipy.stats.bootstrap((differences, lengths), mean, paired=True, **options).confidence_interval
    return Difference(float(mean(differences, lengths)), float(drawn.low), float(drawn.high))


def _finite(scores: ArrayLike) -> np.ndarray:
    """Return scores as an array; one that is not finite would make a difference that is never clear."""
    scores = np.asarray(scores, dtype=float)
    if not np.isfinite(scores).all():
        raise ValueError(
            f"a score is {scores[~np.isfinite(scores)][0]}; leave a training that diverged out, and say so"
        )
    return scores
