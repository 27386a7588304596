"""Units with a meaning are found, and where there is none, none is."""

import numpy as np
import pytest

from unrolled.measure import neurons
from unrolled.text import stories

TEXT = 'She sat. "He is he," said the cat.\nThe end.'


def test_meanings_are_what_their_names_say():
    meanings = neurons.meanings(TEXT)
    at = TEXT.index
    assert meanings["place in the word"][:5].tolist() == [1, 2, 3, 0, 1]
    assert meanings["place in the sentence"][7] == 0 and meanings["place in the sentence"][at("He")] == 3
    assert meanings["place in the story"][at("\n")] == 0 and meanings["place in the story"][at("The")] == 1
    quoted = [letter for letter, inside in zip(TEXT, meanings["inside a quotation"], strict=True) if inside]
    assert "".join(quoted) == '"He is he,'
    she = meanings["she, not he"]
    assert she[:3].tolist() == [0, 0, 0] and she[3 : at("He") + 2].all() and not she[at("He") + 2 :].any()


def test_correlations_are_those_of_numpy():
    rng = np.random.default_rng(0)
    values, meaning = rng.normal(size=(50, 3)), rng.normal(size=50)
    values[:, 1] = 7.0
    correlations = neurons.correlations(values, meaning)
    expected = [np.corrcoef(values[:, unit], meaning)[0, 1] for unit in (0, 2)]
    assert correlations[[0, 2]] == pytest.approx(expected) and correlations[1] == 0


def test_a_unit_that_stands_for_something_is_found_and_judged_on_the_other_half():
    text, rng = stories.corpus(8000, seed=3).text, np.random.default_rng(0)
    meaning = neurons.meanings(text)["inside a quotation"]
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
    match = neurons.search(rng.normal(size=(len(text), 30)), neurons.meanings(text)["she, not he"], rng)
    assert match.correlation < match.chance < 0.1
