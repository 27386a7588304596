"""The networks of the page: measured as the page has them, 8 or 16 bits to a weight, and no larger than it takes."""

import pytest
import torch

import lab
from lab import playground
from lab.engine.experiment import NotChosen
from lab.engine.training import model_of, parameters
from small_experiments import small
from unrolled import records
from unrolled.figures.weights import eight_bits
from unrolled.models import load_model


@pytest.mark.parametrize("label", ["gru-words", "rnn-characters", "gru-dates"])
def test_a_network_is_trained_rounded_written_and_asked(label, tmp_path, hold_out):
    hold_out(60_000)
    config = small("playground", label)
    if "text" in config:
        config["text"]["characters"] = 300_000  # so that every name is known
    metrics = playground.measure(config, 0, tmp_path)
    answers = {"exact"} if label == "gru-dates" else {"nats", "name", "name_asked"}
    if label == "gru-words":
        answers |= {"nats_32_bits"}
        assert metrics["nats_32_bits"] == pytest.approx(metrics["nats"], rel=0.01)
        assert metrics["nats_32_bits"] != metrics["nats"]
    assert {*metrics} == {"parameters", "kilobytes", "digest"} | answers
    network, *vocabularies = load_model(tmp_path / "model.model")
    assert metrics["parameters"] == parameters(network)
    written = playground.script(config, network, *vocabularies)
    assert playground.digest(written) == metrics["digest"]  # the same weights make the same script
    with torch.no_grad():
        network.output.bias[0] += 1
    assert playground.digest(playground.script(config, network, *vocabularies)) != metrics["digest"]


def test_what_is_measured_has_as_many_bits_to_a_weight_as_the_page_has():
    config = small("playground", "lstm-words")
    exact = model_of(config, 50).state_dict()
    for bits in (16, 8):
        network = model_of(config, 50)
        network.load_state_dict(exact)
        for name, weights in playground.rounded(network, bits).state_dict().items():
            if bits == 16:
                assert torch.equal(weights, exact[name].half().float())
            else:
                scale, whole = eight_bits(exact[name])
                assert torch.equal(weights, scale * whole) and whole.abs().max() <= 127
        assert network.output.weight.dtype == torch.float32


def test_the_networks_of_words_are_those_of_names_at_the_rates_that_it_preferred():
    recorded = records.load("names")
    for core in ("rnn", "lstm", "gru"):
        ours, theirs = lab.find("playground").config(f"{core}-words"), recorded[core].config
        rate = recorded[core]["learning_rate"][0]
        assert ours["model"] == theirs["model"] and ours["text"] == theirs["text"]
        assert ours["recipe"] == theirs["recipe"] | {"learning_rate": rate}


def test_before_names_is_recorded_its_networks_wait(monkeypatch, tmp_path):
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    with pytest.raises(NotChosen, match="names has not measured 'gru' yet; choose its rate with: python -m lab run"):
        lab.find("playground").config("gru-words")


def test_all_are_small_enough_for_a_page():
    for units, symbols, least, most in (("words", 1171, 490_000, 510_000), ("characters", 62, 95_000, 115_000)):
        for core in ("rnn", "lstm", "gru"):
            config = lab.find("playground").config(f"{core}-{units}")
            assert least < parameters(model_of(config, symbols)) < most, (core, units)


def test_rounding_to_8_bits_cost_next_to_nothing():
    recorded = records.load("playground")
    for core in ("rnn", "lstm", "gru"):
        measured = recorded[f"{core}-words"]
        assert abs(measured["nats"] - measured["nats_32_bits"]).max() < 0.01, core
