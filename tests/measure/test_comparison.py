"""Comparisons: intervals that cover as often as they say, and zeros that are not told apart."""

import numpy as np
import pytest
from scipy import stats

from unrolled.measure import comparison

TABLE = {(0.95, 1): 12.706, (0.95, 2): 4.303, (0.95, 4): 2.776, (0.95, 30): 2.042, (0.99, 4): 4.604}  # of textbooks


@pytest.mark.parametrize("confidence, freedom", TABLE)
def test_quantiles_are_those_of_the_tables(confidence, freedom):
    assert comparison.t_quantile(confidence, freedom) == pytest.approx(TABLE[confidence, freedom], abs=6e-4)


def test_seeds_are_not_paired():
    """In another order the interval is the same, and a lead that is constant seed by seed is not sure."""
    first, second = np.array([0.27, 0.30, 0.33]), np.array([0.31, 0.34, 0.37])
    difference = comparison.over_seeds(second, first)
    assert not difference.clear and difference == comparison.over_seeds(second[::-1], first)
    turned = comparison.over_seeds(first, second)
    assert difference == pytest.approx((-turned.mean, -turned.high, -turned.low))
    assert comparison.over_seeds([0.5, 0.5], [0.4, 0.4]) == pytest.approx((0.1, 0.1, 0.1))


def test_the_interval_over_seeds_is_that_of_scipys_welch_test():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=5), rng.normal(scale=3, size=4)
    expected = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    assert comparison.over_seeds(first, second) == pytest.approx((first.mean() - second.mean(), *expected), rel=1e-12)


def test_the_interval_over_seeds_covers_the_truth_as_often_as_it_says():
    rng, covered = np.random.default_rng(0), 0
    for _ in range(400):
        difference = comparison.over_seeds(rng.normal(0.3, 1, 5), rng.normal(0, 1, 5))
        covered += difference.low < 0.3 < difference.high
    assert 0.92 < covered / 400 < 0.98


def test_a_draw_is_divided_by_its_own_symbols():
    """Where every symbol of every story costs half a nat more, every draw says so, however long its stories."""
    lengths = np.array([1, 10, 100, 1000])
    difference = comparison.over_stories(lengths * 1.0, lengths * 0.5, lengths)
    assert difference == pytest.approx((0.5, 0.5, 0.5))


def test_the_draws_are_those_of_the_seed():
    """A bootstrap by hand, with the same random numbers: the intervals that the chapters print rest on them."""
    lengths, costs = np.array([30, 50, 40, 90, 60]), np.array([12.0, 31.0, 8.0, 40.0, 33.0])
    drawn = np.random.default_rng(3).integers(5, size=(2000, 5))
    low, high = np.quantile(costs[drawn].sum(axis=1) / lengths[drawn].sum(axis=1), [0.025, 0.975])
    expected = pytest.approx((costs.sum() / lengths.sum(), low, high), rel=1e-12)
    assert comparison.over_stories(costs, np.zeros(5), lengths, seed=3) == expected


def test_the_interval_over_stories_covers_the_truth_as_often_as_it_says(monkeypatch):
    monkeypatch.setattr(comparison, "DRAWS", 400)
    rng, covered = np.random.default_rng(1), 0
    for _ in range(300):
        lengths = rng.integers(50, 150, size=200)
        hard = rng.normal(1, 0.5, 200)  # for both
        first, second = (lengths * (hard + better + rng.normal(0, 0.2, 200)) for better in (0.02, 0.0))
        difference = comparison.over_stories(first, second, lengths)
        covered += difference.low < 0.02 < difference.high
        assert difference.high - difference.low < 0.12  # what is hard for both is no noise
    assert 0.90 < covered / 300 < 0.98


def test_seeds_are_averaged_before_stories_are_drawn():
    averaged = comparison.over_stories([[1.0, 2.0], [3.0, 4.0]], [0.0, 0.0], [1, 1])
    assert averaged == comparison.over_stories([2.0, 3.0], [0.0, 0.0], [1, 1]) and averaged.mean == 2.5
