"""Comparisons: intervals that cover as often as they say, and zeros that are not told apart."""

import numpy as np
import pytest
from scipy import stats

from unrolled.measure import comparison

TABLE = {(0.95, 1): 12.706, (0.95, 2): 4.303, (0.95, 4): 2.776, (0.95, 30): 2.042, (0.99, 4): 4.604}  # of textbooks


@pytest.mark.parametrize("confidence, freedom", TABLE)
def test_quantiles_are_those_of_the_tables(confidence, freedom):
    assert comparison.t_quantile(confidence, freedom) == pytest.approx(TABLE[confidence, freedom], abs=6e-4)


def test_seeds_are_paired():
    base = np.array([0.1, 0.9, 0.5, 0.3])
    difference = comparison.over_seeds(base + 0.01, base)
    assert difference.clear and difference == pytest.approx((0.01, 0.01, 0.01))
    turned = comparison.over_seeds(base[::-1] + 0.01, base)
    assert not turned.clear and turned.high == pytest.approx(-comparison.over_seeds(base, base[::-1] + 0.01).low)


def test_the_interval_over_seeds_is_that_of_scipys_paired_test():
    first, second = np.random.default_rng(0).normal(size=(2, 5))
    expected = stats.ttest_rel(first, second).confidence_interval(0.95)
    assert comparison.over_seeds(first, second) == pytest.approx((np.mean(first - second), *expected), rel=1e-12)


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
