"""More and more of a text is learned from, and all are scored on the same part of another."""

import math

import pytest
import torch
from unrolled.experiments import corpus_size, find, reading

from small_experiments import small, watch
from unrolled.measure import evaluate
from unrolled.models import load_model
from unrolled.ngram import Counts, ModifiedKneserNey

CONTENDERS = find("corpus-size").contenders["quick"]
SIZES = {"sizes": [1000, 4000], "watched": 500, "scored": 700}


def test_networks_are_watched_on_one_text_and_scored_on_another(tmp_path, monkeypatch):
    watched = watch(monkeypatch)
    config = small(CONTENDERS["gru"], **SIZES, passes=1)
    config["recipe"] |= {"updates": 40, "patience": 0}
    metrics = corpus_size.measure(config, 1, tmp_path)
    text = reading.encoded(config, 1)  # every seed has stories of its own
    assert {name: len(tokens) for name, tokens in watched.read.items()} == {"1000": 1000, "4000": 4000}
    assert torch.equal(watched.read["4000"], text.training[:4000])
    assert torch.equal(watched.keywords["validation"], text.held_out[:500])
    assert watched.recipes["1000"].updates == math.ceil(1000 / 64) and watched.recipes["4000"].updates == 40
    for place, size in enumerate(config["sizes"]):
        model, _ = load_model(tmp_path / f"{size}.model")
        assert metrics["nats"][place] == pytest.approx(evaluate(model, text.held_out[500:1200]).nats_per_symbol)
    assert metrics["updates"] == [16, 40] and len(set(metrics["bytes"])) == 1


def test_ngrams_are_counted_from_each_part(tmp_path):
    config = small(CONTENDERS["4-gram"], **SIZES)
    metrics = corpus_size.measure(config, 1, tmp_path)
    text = reading.encoded(config, 1)
    counted = ModifiedKneserNey(Counts(text.training[:4000], len(text.vocabulary), 12), 4)
    assert metrics["nats"][1] == pytest.approx(evaluate(counted, text.held_out[500:1200]).nats_per_symbol)
    assert metrics["bytes"][0] < metrics["bytes"][1] == counted.nbytes
