"""What a longer text costs is measured on the layers that are named, for each symbol, at each length."""

import itertools

import pytest
import torch
from unrolled.experiments import find, lengths

from unrolled import cost
from unrolled.measure import hardware

SMALL = {"hidden_size": 8, "heads": 2, "warm_up": 0, "rounds": 1}


def contenders(name, **size):
    return {label: config | SMALL | size for label, config in find(name).contenders["quick"].items()}


@pytest.fixture
def clock(monkeypatch):
    """A clock by which everything takes a second."""
    monkeypatch.setattr(hardware.time, "perf_counter", itertools.count().__next__)


def test_training_is_timed_for_each_symbol_at_each_length(clock, tmp_path):
    configs = contenders("length-time", lengths=[4, 10], batch=2)
    metrics = lengths.measure_training(configs, 0, tmp_path)
    assert metrics == {label: {"microseconds": [125_000, 50_000]} for label in configs}


@pytest.mark.parametrize("name", lengths.ALL)
def test_no_layer_looks_ahead_and_all_learn(name):
    layer = lengths.sequence_layer(contenders("length-time")[name])
    texts = torch.randn(2, 6, 8)
    other = texts.clone()
    other[:, 4:] += 1.0
    ours, theirs = layer(texts), layer(other)
    assert ours.shape == (2, 6, 8) and ours.requires_grad
    torch.testing.assert_close(ours[:, :4], theirs[:, :4])
    assert not torch.allclose(ours[:, 4:], theirs[:, 4:])


def test_the_mask_that_is_not_read_stands_for_the_one_that_is():
    layer, texts = lengths.transformer_layer(SMALL), torch.randn(2, 6, 8)
    ahead = torch.ones(6, 6, dtype=torch.bool).triu(1)
    torch.testing.assert_close(lengths.causal(layer, texts), layer(texts, ahead))
    theirs, _ = layer.self_attn(texts, texts, texts, attn_mask=ahead)
    torch.testing.assert_close(lengths.causal(layer, texts, alone=True), theirs)


@torch.no_grad()
def test_symbol_by_symbol_with_a_cache_equals_all_at_once():
    layer, texts, cache = lengths.transformer_layer(SMALL), torch.randn(2, 6, 8), torch.full((2, 2, 2, 6, 4), torch.nan)
    steps = [lengths.cached_step(layer, texts[:, t : t + 1], cache, t) for t in range(6)]
    torch.testing.assert_close(torch.cat(steps, dim=1), lengths.causal(layer, texts))


def test_a_state_stays_as_it_is_and_a_cache_grows(clock, tmp_path):
    metrics = lengths.measure_generation(contenders("generation-length", lengths=[4, 10], batch=3), 0, tmp_path)
    for label, measured in metrics.items():
        assert measured["microseconds"] == [1e6, 1e6]
        state = [
            cost.attention(8, n).state if label == "transformer" else cost.recurrent(label, 8, 8).state for n in (4, 10)
        ]
        assert measured["state_bytes"] == [4 * 3 * numbers for numbers in state]


def test_what_is_recomputed_is_not_kept(clock, tmp_path):
    configs = contenders("recomputing-time", lengths=[64, 256], batch=2)
    metrics = lengths.measure_recomputing(configs, 0, tmp_path)
    for label, measured in metrics.items():
        assert measured["whole_microseconds"] == measured["recomputed_microseconds"] == [1e6 / 128, 1e6 / 512]
        assert all(
            few < many / 1.5 for few, many in zip(measured["recomputed_bytes"], measured["whole_bytes"], strict=True)
        )
        if label != "transformer":
            assert (
                measured["whole_bytes"][1] - measured["whole_bytes"][0]
                == 4 * 2 * 192 * cost.recurrent(label, 8, 8).kept
            )


def test_recomputing_the_layers_of_a_transformer_changes_no_gradient():
    config = contenders("recomputing-time", batch=2)["transformer"]
    ways, weights = lengths.training_pass(config, 6)
    found = []
    for work in ways.values():
        work()
        found.append([weight.grad.clone() for weight in weights])
        for weight in weights:
            weight.grad = None
    torch.testing.assert_close(*found)


def test_axes_are_the_lengths():
    for experiment in lengths.EXPERIMENTS:
        for config in experiment.contenders["quick"].values():
            assert experiment.axes(config) == {"length": config["lengths"]}
