"""The experiments that count: their parts on texts small enough to check by eye, their records on known figures."""

import math

import numpy as np
import pytest

from unrolled import experiments, stories
from unrolled.experiments import counting


def test_loners_are_frequent_and_keep_to_few():
    words = ["new", "york", "and", "new", "york", "but", "old", "york", "saw", "old", "men", "and", "old", "days"]
    found = counting._loners(words, frequent=2)
    assert (found["count"], found["pairs"]) == (14, 12)
    assert ["york", 3, 2, "new"] in found["loners"] and found["loners"][0][0] in ("york", "new")
    assert not any(word == "days" for word, *_ in found["loners"])
    after_a_mark = counting._loners([".", "So", ".", "So", ".", "So", "it", "is"], frequent=2)
    assert all(mate.isalpha() for *_, mate in after_a_mark["loners"])


def test_what_occurs_again_is_counted_in_the_other_half():
    text = "a b a b\na b x y\na b x y\nx y a b\n"  # the first and third line against the second and fourth
    again = counting._again(text, stories.words, times=2)
    halves = ["a b a b\na b x y", "a b x y\nx y a b"]
    counted = [{}, {}]
    for half, words in zip(counted, map(stories.words, halves), strict=True):
        for pair in zip(words[:-1], words[1:], strict=True):
            half[pair] = half.get(pair, 0) + 1
    for times, mean in enumerate(again, start=1):
        pairs = [pair for pair, count in counted[0].items() if count == times]
        assert mean == pytest.approx(np.mean([counted[1].get(pair, 0) for pair in pairs]))


def test_the_records_agree_with_what_others_found():
    """Figures known from elsewhere: see the tests of `ngram` for Tiny Shakespeare."""
    record = experiments.recorded("ngram-characters")
    plain = {name: record[f"{name}/kneser-ney"][0] for name in ("names", "tinystories-sample", "tiny-shakespeare")}
    assert plain["names"][5] == pytest.approx(1.997, abs=0.01)
    for order, perplexity in ((4, 3.84), (7, 2.92), (10, 2.83)):
        assert math.exp(plain["tinystories-sample"][order - 1]) == pytest.approx(perplexity, abs=0.02)
    for order, nats in ((5, 1.579), (6, 1.558), (7, 1.565)):
        assert plain["tiny-shakespeare"][order - 1] == pytest.approx(nats, abs=0.01)


def test_a_character_ngram_is_scored_on_every_corpus_and_its_sample_is_text():
    record = experiments.recorded("ngram-characters")
    for name in record.config["corpora"]:
        assert np.isfinite(record[f"{name}/modified"]).all()
        assert (np.diff(record[f"{name}/bytes"][0]) > 0).all()
        assert len(record[f"{name}/sample"][0]) == 401
