"""Chapter 3's experiments: scores of both ways to carry a state, and a state that begins as its label says."""

import pytest

import lab
from lab.ch03_backpropagation import truncation
from lab.engine.training import fit, model_of, recipe_of
from small_experiments import small
from unrolled.measure import evaluate


@pytest.mark.parametrize("state", ["reset", "carried"])
def test_windows_are_scored_in_both_ways(state, tmp_path):
    config = small("rnn-truncation", f"{state} 4")
    metrics = truncation.measure_windows(config, 0, tmp_path / "a")
    network, read, history, _ = fit(config, 0, tmp_path / "b")
    assert metrics["curve"] == history.validation and metrics["updates"] == [1, 2, 3]
    assert metrics["scored_carried"] == pytest.approx(evaluate(network, read.held_out).nats_per_symbol)
    assert metrics["scored_reset"] == pytest.approx(evaluate(network, read.held_out, window=16).nats_per_symbol)
    assert metrics["scored_carried"] != metrics["scored_reset"]


@pytest.mark.parametrize("label", lab.find("rnn-initial-state").contenders)
def test_an_initial_state_is_learned_and_scored_as_the_label_says(label, tmp_path):
    config, (state, beginning) = small("rnn-initial-state", label), label.split()
    assert model_of(config, 5).h_0.requires_grad == (beginning == "learned")
    assert recipe_of(config).carry == (state == "carried")
    metrics = truncation.measure_initial_state(config, 0, tmp_path / "a")
    network, read, *_ = fit(config, 0, tmp_path / "b")
    window = None if state == "carried" else 16
    assert metrics["nats"] == pytest.approx(evaluate(network, read.held_out, window=window).nats_per_symbol)
