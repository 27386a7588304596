"""Chapter 1's experiments: n-grams on texts small enough to check by eye, and what window networks begin with."""

import math

import numpy as np
import pytest
from torch import nn

import lab
from lab.ch01_language_models import ngram_words, ngrams
from lab.engine.experiment import text
from lab.engine.texts import texts
from lab.engine.training import model_of
from small_experiments import small
from unrolled import records
from unrolled.text import Corpus, stories

# N-grams of words


def test_loners_are_frequent_and_keep_to_few():
    words = ["new", "york", "and", "new", "york", "but", "old", "york", "saw", "old", "men", "and", "old", "days"]
    metrics = ngram_words.loners(words, frequent=2)
    assert (metrics["count"], metrics["pairs"]) == (14, 12)
    assert ["york", 3, 2, "new"] in metrics["loners"] and metrics["loners"][0][0] in ("york", "new")
    assert not any(word == "days" for word, *_ in metrics["loners"])
    after_a_mark = ngram_words.loners([".", "So", ".", "So", ".", "So", "it", "is"], frequent=2)
    assert all(mate.isalpha() for *_, mate in after_a_mark["loners"])


def test_what_occurs_again_is_counted_in_the_other_half():
    lines = "a b a b\na b x y\na b x y\nx y a b\n"  # the first and third line against the second and fourth
    halves = ["a b a b\na b x y", "a b x y\nx y a b"]
    counted = [{}, {}]
    for half, words in zip(counted, map(stories.words, halves), strict=True):
        for pair in zip(words[:-1], words[1:], strict=True):
            half[pair] = half.get(pair, 0) + 1
    once = [pair for pair, count in counted[0].items() if count == 1]
    expected = np.mean([counted[1].get(pair, 0) for pair in once])
    assert ngram_words.again(lines, stories.words, times=1) == pytest.approx([expected])


def test_words_are_scored_with_vocabularies_of_several_sizes(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    read, heard = (rng.zipf(1.5, size).clip(max=most) for size, most in ((6000, 300), (900, 400)))
    training, validation = (" ".join(f"w{number}" for number in part) for part in (read, heard))
    training += " " + " ".join(f"w{number}" for number in range(1, 301))  # every word at least once
    corpus = Corpus(training, validation, validation, ("here/train.txt",))
    monkeypatch.setattr(ngram_words, "load_corpus", lambda name: corpus)
    monkeypatch.setattr(ngram_words, "texts", lambda config: (training, validation))
    config = lab.find("ngram-words").config("wikitext-2")
    few = {"orders": [1, 2, 3, 4], "frequent": 5, "times": 0, "limits": [10, 100, 1000]}
    metrics = ngram_words.measure(config | few, 0, tmp_path)
    assert {*metrics} == {*ngram_words.METRICS} and metrics["file"] == "here/train.txt"
    assert metrics["symbols"] == 301 and metrics["words"] == 900
    assert metrics["unknown"] == pytest.approx((heard > 300).mean()) and metrics["unknown"] > 0
    assert metrics["test"] == metrics["modified"]  # here the two texts are one
    assert metrics["limited"][-1] == metrics["modified"][2] and metrics["limited_unknown"][-1] == metrics["unknown"]
    assert metrics["limited"] == sorted(metrics["limited"])
    assert metrics["limited_unknown"] == sorted(metrics["limited_unknown"], reverse=True)


# N-grams of characters


def few_orders(label: str) -> dict:
    """Return the configuration of a contender with orders up to 4."""
    return lab.find("ngram-characters").config(label) | {"orders": [1, 2, 3, 4]}


def test_a_text_is_scored_and_nothing_goes_below_the_floor(tmp_path):
    config = few_orders("stories") | {"text": text("stories", 60_000)}
    metrics = ngrams.measure_characters(config, 0, tmp_path)
    training, held_out = texts(config)
    floor = stories.grammar().entropy_per_character()
    assert all(len(metrics[name]) == 4 and min(metrics[name]) > floor for name in ngrams.SMOOTHINGS)
    assert all(floor < np.log(2) * metrics[name] < metrics["add_k"][0] for name in ("bz2", "lzma"))
    assert metrics["characters"] == len(held_out) > 4 * metrics["words"]
    assert len(metrics["sample"]) == 401 and metrics["symbols"] == len(set(training + held_out))


def test_names_are_read_one_by_one_and_their_marks_cost_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(ngrams, "texts", lambda config: ("a\nb\n" * 2000, "b\nb\na\n" * 500))
    first, *longer = ngrams.measure_characters(few_orders("names"), 0, tmp_path)["add_k"]
    assert first == pytest.approx((np.log(4) + np.log(2)) / 2, abs=0.01)  # a letter is a quarter of all, an end half
    assert longer == pytest.approx([np.log(2) / 2] * 3, abs=0.01)  # one of two letters, and its end for certain


def test_the_setting_of_dive_into_deep_learning_is_letters_only():
    clean = "the time traveller for so it will be convenient " * 400
    training, held_out = ngrams.letters_only(clean.replace("will", "WILL, 9").upper())
    assert training + held_out == clean[:15_000] and len(training) == 10_000


def test_the_records_agree_with_what_others_found():
    """Figures known from elsewhere: see the tests of `ngram` for Tiny Shakespeare."""
    nats = {name: contender["kneser_ney"][0] for name, contender in records.load("ngram-characters").items()}
    assert nats["names"][5] == pytest.approx(1.997, abs=0.01)
    for order, perplexity in ((4, 3.84), (7, 2.92), (10, 2.83)):
        assert math.exp(nats["tinystories-sample"][order - 1]) == pytest.approx(perplexity, abs=0.02)
    for order, known in ((5, 1.579), (6, 1.558), (7, 1.565)):
        assert nats["tiny-shakespeare"][order - 1] == pytest.approx(known, abs=0.01)


# Window networks


def test_networks_begin_and_are_normalised_as_their_labels_say():
    for label in lab.find("window-initialisation").contenders:
        network = model_of(small("window-initialisation", label), 5)
        layers = list(network.layers)
        assert any(isinstance(layer, nn.LayerNorm) for layer in layers) == label.endswith("norm")
        assert (layers[0].weight.std() > 0.5) == label.startswith("normal") and network.window == 8
