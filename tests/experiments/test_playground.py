"""The networks of the page: measured as the page has them, with 16 bits to a weight, and no larger than it takes."""

import copy

import pytest
import torch

from unrolled.experiments import base, find, playground
from unrolled.models import load_model


@pytest.fixture
def config():
    """A contender that takes a moment."""

    def small(label):
        config = copy.deepcopy(find("playground").contenders["quick"][label])
        config["text"] |= {"characters": 300_000}
        config["model"]["options"] |= {"hidden_size": 8, "embedding_size": 8}
        config["recipe"] |= {"updates": 2, "batch": 4, "seq_len": 16}
        return config

    return small


@pytest.mark.parametrize("label", ["gru-words", "rnn-characters"])
def test_a_network_is_trained_rounded_written_and_asked(config, label, tmp_path):
    metrics = playground.measure(config(label), 0, tmp_path)
    assert set(metrics) == set(playground.METRICS)
    network, vocabulary = load_model(tmp_path / "model.model")
    assert metrics["parameters"] == base.parameters(network)
    read = playground.Encoded(vocabulary, None, None)
    written = playground.script(label, network, read)
    assert playground.digest(written) == metrics["digest"]  # the same weights make the same script
    with torch.no_grad():
        network.output.bias[0] += 1
    assert playground.digest(playground.script(label, network, read)) != metrics["digest"]


def test_what_is_measured_has_16_bits_to_a_weight(config):
    network = playground.rounded(base.model_of(config("lstm-words"), 50))
    for weights in network.state_dict().values():
        assert torch.equal(weights, weights.half().float())
    assert network.output.weight.dtype == torch.float32


def test_all_are_small_enough_for_a_page_and_about_equally_large():
    for units, symbols, least, most in (("words", 1171, 190_000, 215_000), ("characters", 62, 95_000, 115_000)):
        for core in ("rnn", "lstm", "gru"):
            config = find("playground").contenders["quick"][f"{core}-{units}"]
            assert least < base.parameters(base.model_of(config, symbols)) < most, (core, units)
