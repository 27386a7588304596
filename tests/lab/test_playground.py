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
        if "text" in config:
            config["text"] |= {"characters": 300_000}
        config["model"]["options"] |= {"hidden_size": 8, "embedding_size": 8}
        config["recipe"] |= {"updates": 2, "batch": 4}
        return config

    return small


@pytest.mark.parametrize("label", ["gru-words", "rnn-characters", "gru-dates"])
def test_a_network_is_trained_rounded_written_and_asked(config, label, tmp_path):
    small = config(label)
    metrics = playground.measure(small, 0, tmp_path)
    other = {"exact"} if label == "gru-dates" else {"nats", "name", "name_asked"}
    assert set(metrics) == {"parameters", "kilobytes", "digest"} | other
    network, *vocabularies = load_model(tmp_path / "model.model")
    assert metrics["parameters"] == base.parameters(network)
    written = playground.script(small, network, *vocabularies)
    assert playground.digest(written) == metrics["digest"]  # the same weights make the same script
    with torch.no_grad():
        network.output.bias[0] += 1
    assert playground.digest(playground.script(small, network, *vocabularies)) != metrics["digest"]


@pytest.mark.parametrize("fraction", [10, 4])
def test_what_is_measured_has_16_bits_to_a_weight_and_no_more_of_a_fraction_than_said(config, fraction):
    exact = base.model_of(config("lstm-words"), 50).state_dict()
    network = playground.rounded(base.model_of(config("lstm-words"), 50), fraction)
    network.load_state_dict(exact)
    for name, weights in playground.rounded(network, fraction).state_dict().items():
        assert torch.equal(weights, weights.half().float())
        if fraction == 10:
            assert torch.equal(weights, exact[name].half().float())
        assert not (weights.half().view(torch.int16) & (1 << 10 - fraction) - 1).any()
        # the nearest: half of the last bit of the fraction, and of the sixteen
        assert ((weights - exact[name]).abs() <= exact[name].abs() * (2.0 ** -(fraction + 1) + 2**-10) + 1e-7).all()
    assert network.output.weight.dtype == torch.float32


def test_all_are_small_enough_for_a_page():
    for units, symbols, least, most in (("words", 1171, 190_000, 305_000), ("characters", 62, 95_000, 115_000)):
        for core in ("rnn", "lstm", "gru"):
            config = find("playground").contenders["quick"][f"{core}-{units}"]
            assert least < base.parameters(base.model_of(config, symbols)) < most, (core, units)
