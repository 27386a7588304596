"""Units with a meaning are found, and where there is none, none is."""

import numpy as np
import pytest

from unrolled.measure import neurons
from unrolled.text import stories


def test_a_place_in_a_word_is_counted_from_its_first_letter():
    assert neurons.place_in_word("She\n").tolist() == [1, 2, 3, 0]


def test_correlations_are_those_of_numpy():
    rng = np.random.default_rng(0)
    values, meaning = rng.normal(size=(50, 3)), rng.normal(size=50)
    values[:, 1] = 7.0
    correlations = neurons.correlations(values, meaning)
    expected = [np.corrcoef(values[:, unit], meaning)[0, 1] for unit in (0, 2)]
    assert correlations[[0, 2]] == pytest.approx(expected) and correlations[1] == 0


def test_a_unit_that_stands_for_something_is_found_and_judged_on_the_other_half():
    text, rng = stories.corpus(8000, seed=3).text, np.random.default_rng(0)
    meaning = neurons.place_in_word(text)
    values, half = rng.normal(size=(len(text), 30)), len(text) // 2
    values[:, 17] = -meaning + 0.1 * rng.normal(size=len(text))
    match = neurons.search(values, meaning, rng)
    assert (match.unit, match.sign) == (17, -1) and match.correlation > 0.9 > 4 * match.chance
    values[half:, 17] = rng.normal(size=len(values) - half)
    match = neurons.search(values, meaning, rng)
    assert match.unit == 17 and match.correlation < 0.1


def test_by_chance_little_is_found():
    text = stories.corpus(20_000, seed=3).text
    rng = np.random.default_rng(0)
    match = neurons.search(rng.normal(size=(len(text), 30)), neurons.place_in_word(text), rng)
    assert match.correlation < match.chance < 0.1
