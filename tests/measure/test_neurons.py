"""Units with a meaning are found, and where there is none, none is; tables are set."""

import numpy as np
import pytest

from unrolled.figures import table
from unrolled.measure import neurons
from unrolled.text import stories

TEXT = 'She sat. "He is he," said the cat.\nThe end.'


def test_meanings_are_what_their_names_say():
    found = neurons.meanings(TEXT)
    at = TEXT.index
    assert found["place in the word"][:5].tolist() == [1, 2, 3, 0, 1]
    assert found["place in the sentence"][7] == 0 and found["place in the sentence"][at("He")] == 3
    assert found["place in the story"][at("\n")] == 0 and found["place in the story"][at("The")] == 1
    quoted = [letter for letter, inside in zip(TEXT, found["inside a quotation"], strict=True) if inside]
    assert "".join(quoted) == '"He is he,'
    she = found["she, not he"]
    assert she[:3].tolist() == [0, 0, 0] and she[3 : at("He") + 2].all() and not she[at("He") + 2 :].any()


def test_correlations_are_those_of_numpy():
    rng = np.random.default_rng(0)
    values, meaning = rng.normal(size=(50, 3)), rng.normal(size=50)
    values[:, 1] = 7.0
    found = neurons.correlations(values, meaning)
    expected = [np.corrcoef(values[:, unit], meaning)[0, 1] for unit in (0, 2)]
    assert found[[0, 2]] == pytest.approx(expected) and found[1] == 0


def test_a_unit_that_stands_for_something_is_found_and_judged_on_the_other_half():
    text, rng = stories.corpus(8000, seed=3).text, np.random.default_rng(0)
    meaning = neurons.meanings(text)["inside a quotation"]
    values, half = rng.normal(size=(len(text), 30)), len(text) // 2
    values[:, 17] = -meaning + 0.1 * rng.normal(size=len(text))
    found = neurons.search(values, meaning, rng)
    assert (found.unit, found.sign) == (17, -1) and found.correlation > 0.9 > 4 * found.chance
    values[half:, 17] = rng.normal(size=len(values) - half)
    found = neurons.search(values, meaning, rng)
    assert found.unit == 17 and found.correlation < 0.1


def test_by_chance_little_is_found():
    text = stories.corpus(20_000, seed=3).text
    rng = np.random.default_rng(0)
    found = neurons.search(rng.normal(size=(len(text), 30)), neurons.meanings(text)["she, not he"], rng)
    assert found.correlation < found.chance < 0.1


@pytest.mark.parametrize("shape, other", [((50, 3), (49,)), ((50,), (50,))])
def test_shapes_that_do_not_agree_are_told(shape, other):
    with pytest.raises(ValueError, match="units have shape"):
        neurons.correlations(np.zeros(shape), np.zeros(other))
    with pytest.raises(ValueError, match="there are 3000 characters"):
        neurons.search(np.zeros((3000, 2)), np.zeros(3000), np.random.default_rng(0))


def test_a_table_has_its_columns_flush_right():
    text = table({"updates": ",.0f", "nats": ".2f"}, {"free": [567, 0.7249], "forget open": [1000, None]})
    assert text.split("\n") == [
        "              updates   nats",
        "free              567   0.72",
        "forget open     1,000",
    ]
    with pytest.raises(ValueError, match="row 'a' has 1 values, but there are 2 columns"):
        table({"x": "", "y": ""}, {"a": [1]})
