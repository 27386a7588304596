"""Diversity is what can be counted by hand."""

import pytest

from unrolled.decoding import distinct, repetition


def test_distinct_counts_over_all_texts_and_repetition_within_each():
    texts = [["a", "b", "a", "b"], ["a", "b", "c", "c"]]
    assert distinct(texts, 1) == 3 / 8
    assert distinct(texts, 2) == 4 / 6  # ab ba bc cc of ab ba ab, ab bc cc
    assert repetition(texts, 1) == pytest.approx(1 - 5 / 8)
    assert repetition(texts, 2) == pytest.approx(1 - 5 / 6)
    assert repetition([["x"], texts[0]], 4) == 0  # a text that is too short has no part in it
    with pytest.raises(ValueError, match="no text has 3 symbols"):
        distinct([["a", "b"], []], 3)
