"""The experiments that count: their parts on texts small enough to check by eye, their records on known figures."""

import math

import numpy as np
import pytest

from unrolled import experiments
from unrolled.experiments import base, counting
from unrolled.text import corpora, sources, stories


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


TINY = {"corpora": ["stories"], "characters": 60_000, "orders": [1, 2, 3, 4]}


@pytest.fixture
def corpus(monkeypatch):
    """Return a function that makes one corpus of texts the only real one."""

    def put(train, validation, test=""):
        file = sources.File("here/train.txt", "", note="made up")
        made = corpora.Corpus("made", train, validation, test, "public domain", (file,))
        monkeypatch.setattr(corpora, "load_corpus", lambda name: made)
        return made

    return put


def test_characters_are_scored_and_nothing_goes_below_the_floor(corpus, tmp_path):
    corpus("Ada, an owl!\n" * 2000, "An owl!\n" * 20)
    metrics = counting.measure_characters(TINY, 0, tmp_path)
    training, validation = base.texts(TINY | {"corpus": "stories"})
    floor = stories.grammar().entropy_per_character()
    for name in counting.SMOOTHINGS:
        assert min(metrics[f"stories/{name}"]) > floor and len(metrics[f"time-machine-d2l/{name}"]) == 4
    for compressor in ("bz2", "lzma"):
        assert floor < np.log(2) * metrics[f"stories/{compressor}"] < metrics["stories/add-k"][0]
    assert metrics["stories/characters"] == len(validation) > 4 * metrics["stories/words"]
    assert len(metrics["stories/sample"]) == 401 and metrics["stories/symbols"] == len(set(training + validation))


def test_names_are_read_one_by_one_and_their_marks_cost_nothing(corpus):
    nats = counting._names_apart(corpus("a\nb\n" * 2000, "b\nb\na\n" * 500), [1, 2, 3])
    first, *longer = nats["add-k"]
    assert first == pytest.approx((np.log(4) + np.log(2)) / 2, abs=0.01)  # a letter is a quarter of all, an end half
    assert longer == pytest.approx([np.log(2) / 2] * 2, abs=0.01)  # one of two letters, and its end for certain


def test_the_setting_of_dive_into_deep_learning_is_letters_only(corpus):
    clean = "the time traveller for so it will be convenient " * 400
    training, validation = counting._dive_into_deep_learning(corpus(clean.replace("will", "WILL, 9").upper(), ""))
    assert training + validation == clean[:15_000] and len(training) == 10_000


def test_words_are_scored_with_vocabularies_of_several_sizes(corpus, tmp_path):
    rng = np.random.default_rng(0)
    told, heard, known = (rng.zipf(1.5, size).clip(max=most) for size, most in ((6000, 300), (900, 400), (900, 300)))
    text, validation, test = (" ".join(f"w{number}" for number in part) for part in (told, heard, known))
    text += " " + " ".join(f"w{number}" for number in range(1, 301))  # every word at least once
    corpus(text, validation, validation)
    config = TINY | {"corpora": ["wikitext-2"], "frequent": 5, "times": 1, "limits": [10, 100, 1000]}
    measured = counting.measure_words(config, 0, tmp_path)
    metrics = {key.removeprefix("wikitext-2/"): value for key, value in measured.items()}
    assert metrics["file"] == "here/train.txt, made up"
    assert metrics["symbols"] == 301 and metrics["words"] == 900
    assert metrics["unknown"] == pytest.approx((heard > 300).mean()) and metrics["unknown"] > 0
    assert metrics["test"] == metrics["modified"]  # here the two texts are one
    assert metrics["limited"][-1] == metrics["modified"][2] and metrics["limited-unknown"][-1] == metrics["unknown"]
    assert metrics["limited"] == sorted(metrics["limited"])
    assert metrics["limited-unknown"] == sorted(metrics["limited-unknown"], reverse=True)


def test_learning_curves_fall_and_tables_grow(tmp_path):
    config = {
        "corpus": "stories",
        "characters": 60_000,
        "sizes": [1000, 5000, 50_000],
        "orders": [2, 5],
        "scored": 3000,
    }
    metrics = counting.measure_learning_curves(config, 0, tmp_path)
    for order in (2, 5):
        assert (np.diff(metrics[f"nats-{order}"]) < 0).all() and (np.diff(metrics[f"bytes-{order}"]) > 0).all()


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
