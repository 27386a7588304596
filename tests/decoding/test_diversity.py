"""Diversity is what can be counted by hand."""

import pytest

from unrolled.decoding import diversity


def test_distinct_counts_over_all_texts_and_repetition_within_each():
    texts = [["a", "b", "a", "b"], ["a", "b", "c", "c"]]
    assert diversity.distinct(texts, 1) == 3 / 8
    assert diversity.distinct(texts, 2) == 4 / 6  # ab ba bc cc of ab ba ab, ab bc cc
    assert diversity.repetition(texts, 1) == pytest.approx(1 - 5 / 8)
    assert diversity.repetition(texts, 2) == pytest.approx(1 - 5 / 6)
    assert diversity.repetition([["x"], texts[0]], 4) == 0  # a text that is too short has no part in it


@pytest.mark.parametrize("measure", [diversity.distinct, diversity.repetition])
def test_n_grams_must_be_there(measure):
    with pytest.raises(ValueError, match="n is 0; it must be 1 or more"):
        measure([["a"]], 0)
    with pytest.raises(ValueError, match="no text has 3 symbols"):
        measure([["a", "b"], []], 3)
