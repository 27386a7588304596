"""Error rates of transcriptions, against an independent edit distance."""

import random

import nltk
import pytest

from lab.ch11_attention.transcription import edit_distance, error_rates


def test_the_edit_distance_is_nltks():
    rng = random.Random(0)
    for _ in range(300):
        first, second = (rng.choices("abc", k=rng.randint(0, 8)) for _ in range(2))
        assert edit_distance(first, second) == nltk.edit_distance(first, second) == edit_distance(second, first)


def test_any_listed_alternative_is_right_and_the_nearest_counts():
    read = [("R", "EH", "D"), ("R", "IY", "D")]
    assert error_rates([("R", "IY", "D")], [read]) == (0, 0)
    assert error_rates([("R", "IY")], [[("R", "EH", "D", "D"), *read]]) == (1 / 3, 1)
    assert error_rates([()], [read]) == (1, 1)


def test_rates_are_totals_over_totals():
    rates = error_rates([["A"], ["B", "C", "D"], ["X"]], [[["A"]], [["B", "C"]], [["X", "Y", "Z"]]])
    assert rates.phonemes == pytest.approx((0 + 1 + 2) / (1 + 2 + 3)) and rates.words == pytest.approx(2 / 3)


@pytest.mark.parametrize("written, right", [([], []), ([["A"]], []), ([["A"]], [[["A"]], [["B"]]])])
def test_as_many_transcriptions_as_words_are_needed(written, right):
    with pytest.raises(ValueError, match="give one for each word"):
        error_rates(written, right)


@pytest.mark.parametrize("alternatives", [[], [[]], [["A"], []]])
def test_a_word_without_phonemes_is_refused(alternatives):
    with pytest.raises(ValueError, match="there must be one, and none may be empty"):
        error_rates([["A"]], [alternatives])
