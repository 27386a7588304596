"""N-grams of words: their parts on texts small enough to check by eye."""

import numpy as np
import pytest
from unrolled.experiments import ngram_words

from unrolled import experiments
from unrolled.text import Corpus, sources, stories


def test_loners_are_frequent_and_keep_to_few():
    words = ["new", "york", "and", "new", "york", "but", "old", "york", "saw", "old", "men", "and", "old", "days"]
    metrics = ngram_words.loners(words, frequent=2)
    assert (metrics["count"], metrics["pairs"]) == (14, 12)
    assert ["york", 3, 2, "new"] in metrics["loners"] and metrics["loners"][0][0] in ("york", "new")
    assert not any(word == "days" for word, *_ in metrics["loners"])
    after_a_mark = ngram_words.loners([".", "So", ".", "So", ".", "So", "it", "is"], frequent=2)
    assert all(mate.isalpha() for *_, mate in after_a_mark["loners"])


def test_what_occurs_again_is_counted_in_the_other_half():
    text = "a b a b\na b x y\na b x y\nx y a b\n"  # the first and third line against the second and fourth
    again = ngram_words.again(text, stories.words, times=1)
    halves = ["a b a b\na b x y", "a b x y\nx y a b"]
    counted = [{}, {}]
    for half, words in zip(counted, map(stories.words, halves), strict=True):
        for pair in zip(words[:-1], words[1:], strict=True):
            half[pair] = half.get(pair, 0) + 1
    assert len(again) == 1
    once = [pair for pair, count in counted[0].items() if count == 1]
    assert again[0] == pytest.approx(np.mean([counted[1].get(pair, 0) for pair in once]))


def test_words_are_scored_with_vocabularies_of_several_sizes(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    read, heard = (rng.zipf(1.5, size).clip(max=most) for size, most in ((6000, 300), (900, 400)))
    text, validation = (" ".join(f"w{number}" for number in part) for part in (read, heard))
    text += " " + " ".join(f"w{number}" for number in range(1, 301))  # every word at least once
    file = sources.File("here/train.txt", "", note="made up")
    corpus = Corpus("made", text, validation, validation, "public domain", (file,))
    monkeypatch.setattr(ngram_words, "load_corpus", lambda name: corpus)
    monkeypatch.setattr(ngram_words, "texts", lambda config: (text, validation))
    config = experiments.find("ngram-words").contenders["quick"]["wikitext-2"]
    small = {"orders": [1, 2, 3, 4], "frequent": 5, "times": 0, "limits": [10, 100, 1000]}
    metrics = ngram_words.measure(config | small, 0, tmp_path)
    assert {*metrics} == {*ngram_words.METRICS}
    assert metrics["file"] == "here/train.txt, made up"
    assert metrics["symbols"] == 301 and metrics["words"] == 900
    assert metrics["unknown"] == pytest.approx((heard > 300).mean()) and metrics["unknown"] > 0
    assert metrics["test"] == metrics["modified"]  # here the two texts are one
    assert metrics["limited"][-1] == metrics["modified"][2] and metrics["limited_unknown"][-1] == metrics["unknown"]
    assert metrics["limited"] == sorted(metrics["limited"])
    assert metrics["limited_unknown"] == sorted(metrics["limited_unknown"], reverse=True)
