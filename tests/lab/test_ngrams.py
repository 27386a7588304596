"""N-grams of characters: their parts on texts small enough to check by eye, their records on known figures."""

import math

import numpy as np
import pytest
from unrolled.experiments import ngrams, reading

from unrolled import experiments
from unrolled.text import stories

ORDERS = {"orders": [1, 2, 3, 4]}


def small(name, label):
    """Return the configuration of a contender with orders up to 4."""
    return experiments.find(name).contenders["quick"][label] | ORDERS


@pytest.fixture
def corpus(monkeypatch):
    """Return a function that puts two texts in place of those of every configuration."""
    return lambda *parts: monkeypatch.setattr(ngrams, "texts", lambda config: parts)


def test_a_text_is_scored_and_nothing_goes_below_the_floor(tmp_path):
    config = small("ngram-characters", "stories") | {"text": reading.text("stories", 60_000)}
    metrics = ngrams.measure_characters(config, 0, tmp_path)
    training, held_out = reading.texts(config)
    floor = stories.grammar().entropy_per_character()
    assert all(len(metrics[name]) == 4 and min(metrics[name]) > floor for name in ngrams.SMOOTHINGS)
    assert all(floor < np.log(2) * metrics[name] < metrics["add_k"][0] for name in ("bz2", "lzma"))
    assert metrics["characters"] == len(held_out) > 4 * metrics["words"]
    assert len(metrics["sample"]) == 401 and metrics["symbols"] == len(set(training + held_out))
    assert {*metrics} == {*ngrams.CHARACTERS}


def test_names_are_read_one_by_one_and_their_marks_cost_nothing(corpus, tmp_path):
    corpus("a\nb\n" * 2000, "b\nb\na\n" * 500)
    nats = ngrams.measure_characters(small("ngram-characters", "names") | {"orders": [1, 2, 3]}, 0, tmp_path)
    assert {*nats} == {*ngrams.SMOOTHINGS}
    first, *longer = nats["add_k"]
    assert first == pytest.approx((np.log(4) + np.log(2)) / 2, abs=0.01)  # a letter is a quarter of all, an end half
    assert longer == pytest.approx([np.log(2) / 2] * 2, abs=0.01)  # one of two letters, and its end for certain


def test_the_setting_of_dive_into_deep_learning_is_letters_only(corpus, tmp_path):
    clean = "the time traveller for so it will be convenient " * 400
    novel = clean.replace("will", "WILL, 9").upper()
    training, held_out = ngrams.letters_only(novel)
    assert training + held_out == clean[:15_000] and len(training) == 10_000
    corpus(novel, "")
    metrics = ngrams.measure_characters(small("ngram-characters", "time-machine-d2l"), 0, tmp_path)
    assert {*metrics} == {*ngrams.SMOOTHINGS} and all(len(nats) == 4 for nats in metrics.values())


def test_learning_curves_fall_and_tables_grow(tmp_path):
    size = {"text": reading.text("stories", 60_000), "sizes": [1000, 5000, 50_000], "orders": [2, 5], "scored": 3000}
    config = small("ngram-learning-curves", "stories") | size
    metrics = ngrams.measure_growth(config, 0, tmp_path)
    assert np.shape(metrics["nats"]) == np.shape(metrics["bytes"]) == (2, 3)
    assert (np.diff(metrics["nats"]) < 0).all() and (np.diff(metrics["bytes"]) > 0).all()
    assert (np.diff(metrics["bytes"], axis=0) > 0).all()
    assert ngrams.measure_growth(config, 1, tmp_path)["nats"] != metrics["nats"]  # other stories


def test_the_records_agree_with_what_others_found():
    """Figures known from elsewhere: see the tests of `ngram` for Tiny Shakespeare."""
    record = experiments.recorded("ngram-characters")
    nats = {name: contender["kneser_ney"][0] for name, contender in record.items()}
    assert nats["names"][5] == pytest.approx(1.997, abs=0.01)
    for order, perplexity in ((4, 3.84), (7, 2.92), (10, 2.83)):
        assert math.exp(nats["tinystories-sample"][order - 1]) == pytest.approx(perplexity, abs=0.02)
    for order, known in ((5, 1.579), (6, 1.558), (7, 1.565)):
        assert nats["tiny-shakespeare"][order - 1] == pytest.approx(known, abs=0.01)


def test_every_corpus_is_scored_and_its_sample_is_text():
    record = experiments.recorded("ngram-characters")
    for contender in record.values():
        assert np.isfinite(contender["modified"]).all()
        if contender.config["reading"] == "whole":
            assert (np.diff(contender["bytes"][0]) > 0).all()
            assert len(contender["sample"][0]) == 401
