"""Comparisons: intervals that cover as often as they say, and zeros that are not told apart."""

import mpmath
import numpy as np
import pytest

from unrolled.measure import comparison

TABLE = {1: 12.706, 2: 4.303, 4: 2.776, 9: 2.262, 30: 2.042}  # of every statistics book, for 95 %


@pytest.mark.parametrize("freedom", TABLE)
def test_quantiles_are_those_of_the_tables(freedom):
    assert comparison.t_quantile(0.95, freedom) == pytest.approx(TABLE[freedom], abs=6e-4)


def test_a_higher_confidence_reaches_further():
    assert comparison.t_quantile(0.99, 4) == pytest.approx(4.604, abs=6e-4)


def test_seeds_are_paired():
    base = np.array([0.1, 0.9, 0.5, 0.3])
    difference = comparison.over_seeds(base + 0.01, base)
    assert difference.clear and difference.mean == pytest.approx(0.01) and difference.low == pytest.approx(0.01)
    assert not comparison.over_seeds(base[::-1] + 0.01, base).clear
    turned = comparison.over_seeds(base, base[::-1] + 0.01)
    assert turned.low == pytest.approx(-comparison.over_seeds(base[::-1] + 0.01, base).high)


def test_the_interval_over_seeds_is_that_of_the_textbook():
    difference = comparison.over_seeds([1.0, 2.0, 3.0], [0.0, 0.0, 0.0])
    reach = TABLE[2] / 3**0.5  # two degrees of freedom, and a standard deviation of 1
    assert difference == pytest.approx((2.0, 2.0 - reach, 2.0 + reach), abs=1e-3)


def test_a_draw_is_divided_by_its_own_symbols():
    """Where every symbol of every story costs half a nat more, every draw says so, however long its stories."""
    lengths = np.array([1, 10, 100, 1000])
    difference = comparison.over_stories(lengths * 1.0, lengths * 0.5, lengths)
    assert difference == pytest.approx((0.5, 0.5, 0.5))


def test_three_seeds_are_enough_only_where_they_agree():
    assert not comparison.over_seeds([0.0, 0.1, 0.2], [0.11, 0.2, 0.21]).clear
    assert comparison.over_seeds([0.0, 0.1, 0.2], [0.11, 0.2, 0.31]).clear


def test_the_interval_over_seeds_covers_the_truth_as_often_as_it_says():
    rng, covered = np.random.default_rng(0), 0
    for _ in range(400):
        difference = comparison.over_seeds(rng.normal(0.3, 1, 5), rng.normal(0, 1, 5))
        covered += difference.low < 0.3 < difference.high
    assert 0.92 < covered / 400 < 0.98


def test_the_interval_over_stories_covers_the_truth_as_often_as_it_says():
    rng, covered = np.random.default_rng(1), 0
    for _ in range(300):
        lengths = rng.integers(50, 150, size=200)
        hard = rng.normal(1, 0.5, 200)  # for both
        first, second = (lengths * (hard + better + rng.normal(0, 0.2, 200)) for better in (0.02, 0.0))
        difference = comparison.over_stories(first, second, lengths, draws=400)
        covered += difference.low < 0.02 < difference.high
        assert difference.high - difference.low < 0.12  # what is hard for both is no noise
    assert 0.90 < covered / 300 < 0.98


def test_seeds_are_averaged_before_stories_are_drawn():
    first = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert comparison.over_stories(first, [0.0, 0.0], [1, 1]) == comparison.over_stories([2.0, 3.0], [0.0, 0.0], [1, 1])
    assert comparison.over_stories(first, [0.0, 0.0], [1, 1]).mean == 2.5


def test_what_straddles_zero_is_not_clear():
    assert not comparison.Difference(0.1, -0.1, 0.3).clear and comparison.Difference(-0.2, -0.3, -0.1).clear


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(
        ValueError, match=r"shapes are \(1,\) and \(1,\); both should be \(seeds,\), with 2 seeds or more"
    ):
        comparison.over_seeds([1.0], [2.0])
    with pytest.raises(ValueError, match=r"shapes are \(2,\) and \(3,\)"):
        comparison.over_seeds([1.0, 2.0], [2.0, 2.0, 2.0])
    with pytest.raises(
        ValueError, match=r"second has shape \(1, 2\), and lengths \(3,\); the last axis is the stories"
    ):
        comparison.over_stories([1.0, 2.0, 3.0], [2.0, 1.0], [1, 1, 1])


@pytest.mark.parametrize("confidence", [0, 1, 95, float("nan")])
def test_a_confidence_that_is_no_probability_is_refused(confidence):
    for compare in (
        lambda: comparison.t_quantile(confidence, 4),
        lambda: comparison.over_seeds([1.0, 2.0], [3.0, 4.0], confidence),
        lambda: comparison.over_stories([1.0], [2.0], [1], confidence=confidence),
    ):
        with pytest.raises(ValueError, match=f"confidence is {confidence}; it must be between 0 and 1, such as 0.95"):
            compare()


def test_no_freedom_is_refused():
    with pytest.raises(ValueError, match="freedom is 0; it must be 1 or more"):
        comparison.t_quantile(0.95, 0)


# McNemar


@pytest.mark.parametrize("first, second", [(0, 0), (1, 0), (5, 5), (8, 2), (2, 8), (30, 12), (400, 330)])
def test_mcnemar_is_a_coin_thrown_for_each_disagreement(first, second):
    right = np.array([True] * first + [False] * second + [True, False] * 7)
    other = np.array([False] * first + [True] * second + [True, False] * 7)
    found = comparison.mcnemar(right, other)
    assert (found.first, found.second) == (first, second)
    n, m = first + second, min(first, second)
    tail = mpmath.fsum(mpmath.binomial(n, k) for k in range(m + 1)) / mpmath.mpf(2) ** n
    assert found.p == pytest.approx(float(min(1, 2 * tail)), rel=1e-12)


def test_mcnemar_rejects_as_often_as_it_says_where_answers_are_independent():
    rng = np.random.default_rng(0)
    p = [comparison.mcnemar(*(rng.random((2, 400)) < 0.9)).p for _ in range(1000)]
    assert 0.01 < np.mean(np.array(p) < 0.05) <= 0.06  # an exact test rejects no more often than that


@pytest.mark.parametrize("first, second", [([True], [True, False]), ([], []), ([1, 0], [0, 1]), ([[True]], [[True]])])
def test_mcnemar_needs_answers_that_are_right_or_wrong(first, second):
    with pytest.raises(ValueError, match="both should be booleans, "):
        comparison.mcnemar(first, second)
