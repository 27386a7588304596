"""The networks of the page: measured as the page has them, with 16 bits to a weight, and no larger than it takes."""

import pytest
import torch

import lab
from lab import playground
from lab.engine.training import model_of, parameters
from small_experiments import small
from unrolled.models import load_model


@pytest.mark.parametrize("label", ["gru-words", "rnn-characters", "gru-dates"])
def test_a_network_is_trained_rounded_written_and_asked(label, tmp_path, hold_out):
    hold_out(60_000)
    config = small("playground", label)
    if "text" in config:
        config["text"]["characters"] = 300_000  # so that every name is known
    metrics = playground.measure(config, 0, tmp_path)
    answers = {"exact"} if label == "gru-dates" else {"nats", "name", "name_asked"}
    assert {*metrics} == {"parameters", "kilobytes", "digest"} | answers
    network, *vocabularies = load_model(tmp_path / "model.model")
    assert metrics["parameters"] == parameters(network)
    written = playground.script(config, network, *vocabularies)
    assert playground.digest(written) == metrics["digest"]  # the same weights make the same script
    with torch.no_grad():
        network.output.bias[0] += 1
    assert playground.digest(playground.script(config, network, *vocabularies)) != metrics["digest"]


@pytest.mark.parametrize("fraction", [10, 4])
def test_what_is_measured_has_16_bits_to_a_weight_and_no_more_of_a_fraction_than_said(fraction):
    config = small("playground", "lstm-words")
    exact = model_of(config, 50).state_dict()
    network = model_of(config, 50)
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
            config = lab.find("playground").config(f"{core}-{units}")
            assert least < parameters(model_of(config, symbols)) < most, (core, units)
