"""The window network: what is trained, what is scored, and which weights it begins with."""

import pytest
from torch import nn
from unrolled.experiments import base, find, reading, window_networks

from small_experiments import small
from unrolled.measure import evaluate
from unrolled.models import FixedWindowLM


def contenders(name):
    return {label: small(config) for label, config in find(name).contenders["quick"].items()}


def test_networks_begin_and_are_normalised_as_their_labels_say():
    for label, config in contenders("window-initialisation").items():
        network = base.model_of(config, 5)
        layers = list(network.layers)
        assert any(isinstance(layer, nn.LayerNorm) for layer in layers) == label.endswith("norm")
        assert (layers[0].weight.std() > 0.5) == label.startswith("normal")
        assert network.window == 8


def test_the_first_batch_and_the_curve_are_measured(tmp_path):
    config = contenders("window-initialisation")["xavier norm"]
    metrics = window_networks.measure_initialisation(config, 0, tmp_path / "a")
    again = base.fit(config, 0, tmp_path / "b")
    assert metrics["first_loss"] == again.history.losses[0] and metrics["updates"] == [1, 2, 3]
    assert metrics["curve"] == again.history.validation
    assert metrics["nats"] == pytest.approx(evaluate(again.model, again.text.held_out).nats_per_symbol)
    assert metrics["curve"][-1] == pytest.approx(metrics["nats"], rel=1e-4)


def test_windows_of_several_sizes_are_trained(tmp_path):
    configs, nats = contenders("window-size"), set()
    assert list(configs) == ["2", "4", "8", "16", "32"]
    for label in ("2", "4"):
        metrics = window_networks.measure_size(configs[label], 0, tmp_path / label)
        vocab_size = len(reading.encoded(configs[label]).vocabulary)
        network = FixedWindowLM(vocab_size, **configs[label]["model"]["options"] | {"window": int(label)})
        assert metrics["parameters"] == sum(weight.numel() for weight in network.parameters())
        nats.add(metrics["nats"])
    assert len(nats) == 2
