"""Every cell is trained at every rate, and streams that are lost are counted."""

import numpy as np
import pytest
import torch
from unrolled.experiments import find, learning_rates, reading
from unrolled.experiments.model_kinds import MODELS

from small_experiments import small, watch
from unrolled.measure import evaluate
from unrolled.models import load_model


def test_a_cell_is_trained_at_every_rate(tmp_path, monkeypatch):
    watched = watch(monkeypatch)
    config = small(find("learning-rates").contenders["quick"]["lstm"], rates=[1e-3, 0.5])
    metrics = learning_rates.measure(config, 0, tmp_path)
    assert {name: recipe.learning_rate for name, recipe in watched.recipes.items()} == {"0.001": 1e-3, "0.5": 0.5}
    text = reading.encoded(config)
    for place, rate in enumerate(("0.001", "0.5")):
        model, _ = load_model(tmp_path / f"{rate}.model")
        assert metrics["nats"][place] == pytest.approx(evaluate(model, text.held_out).nats_per_symbol)
        assert metrics["training_nats"][place] == watched.losses[rate][-1]
        assert metrics["lost"][place] == learning_rates.lost(model, text)


def test_the_cells_are_those_of_the_large_comparison():
    for contenders in find("learning-rates").contenders.values():
        assert {label: config["model"] for label, config in contenders.items()} == {
            label: MODELS[label] for label in ("rnn", "gru", "lstm")
        }
        assert all("learning_rate" not in config["recipe"] for config in contenders.values())


def test_a_stream_that_pays_more_than_twice_the_median_is_lost(monkeypatch):
    paid = np.repeat([1.0, 1.0, 3.0, 1.2], [5, 5, 5, 3])  # a text of 19 symbols in 4 streams
    monkeypatch.setattr(learning_rates, "token_nats", lambda model, tokens, streams: paid)
    text = reading.Encoded(None, None, torch.zeros(19))
    assert learning_rates.lost(None, text, 4) == 1
    paid[15:] = 4.0  # of the streams at 1, 1, 3 and 4 the median is 2
    assert learning_rates.lost(None, text, 4) == 0
    paid[10:15] = 1.0
    assert learning_rates.lost(None, text, 4) == 1
