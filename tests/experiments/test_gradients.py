"""The experiments that watch a language model's gradient measure what they say."""

import math

import pytest
import torch

from unrolled import experiments
from unrolled.cells import initialise
from unrolled.experiments import gradients as experiment

SMALL = {"corpus": "stories", "characters": 3000, "symbols_per_update": 64, "updates": 4, "hidden_size": 5}


@pytest.fixture
def lag():
    config = experiments.find("gradient-lag").configs["quick"]
    return config | SMALL | {"seq_len": 8, "sequences": 3, "steps": 6, "watched": [0, 2, 4]}


@pytest.fixture
def histogram():
    config = experiments.find("gradient-histogram").configs["quick"]
    return config | SMALL | {"seq_lens": [4, 8], "sequences": 3, "bins": 10}


def test_a_linear_cell_that_halves_keeps_half_a_step():
    model = experiment.model_of(7, 4, {"nonlinearity": "identity", "initialisation": None})
    initialise(model.core.cell, "identity", 0.5)
    found = experiment.probe(model, torch.randint(7, (3, 6)))
    assert found["lag"] == pytest.approx([0.5**lag for lag in range(6)])
    assert found["lyapunov"] == pytest.approx(math.log(0.5))
    assert found["slope"] == 1 and found["log-slope"] == 0


def test_slopes_that_are_zero_have_a_finite_mean_logarithm():
    model = experiment.model_of(7, 4, {"nonlinearity": "relu", "initialisation": "identity"})
    torch.nn.init.constant_(model.core.cell.b_h, -100.0)  # no unit is ever on
    found = experiment.probe(model, torch.randint(7, (3, 6)))
    assert found["slope"] == 0 and found["log-slope"] == pytest.approx(math.log(1e-12), rel=1e-3)
    assert found["lyapunov"] == -1e3


def test_windows_come_from_all_over_the_text():
    windows = experiment.windows_of(torch.arange(100), sequences=3, steps=4)
    assert windows.tolist() == [[0, 1, 2, 3, 4], [47, 48, 49, 50, 51], [95, 96, 97, 98, 99]]


def test_each_remedy_begins_as_it_says_and_is_watched_while_it_learns(lag, tmp_path):
    metrics = experiment.measure_lag(lag, 0, tmp_path)
    assert metrics["lags"] == list(range(7)) and metrics["watched"] == [0, 2, 4]
    for name in lag["remedies"]:
        before, after = metrics[f"{name}-before-lag"], metrics[f"{name}-after-lag"]
        assert len(before) == len(after) == 7 and before[0] == after[0] == 1 and before != after
        largest, middle, smallest = metrics[f"{name}-singular"][0]
        assert largest >= middle >= smallest
        assert (largest - smallest < 1e-5) == (name in ("irnn", "orthogonal"))
        assert metrics[f"{name}-singular"][-1] != metrics[f"{name}-singular"][0]
    assert metrics["sigmoid-before-slope"] < 0.25 < metrics["tanh-before-slope"]


def test_a_killed_run_goes_on_with_the_next_remedy(lag, tmp_path, monkeypatch):
    metrics = experiment.measure_lag(lag, 0, tmp_path)
    (tmp_path / "irnn.json").unlink()
    asked, train = [], experiment._train

    def watched(config, remedy, seed, watch):
        asked.append(remedy["nonlinearity"])
        return train(config, remedy, seed, watch)

    monkeypatch.setattr(experiment, "_train", watched)
    assert experiment.measure_lag(lag, 0, tmp_path) == metrics and asked == ["relu"]


def test_the_histogram_counts_every_entry_and_the_whole_window_is_the_longest(histogram, tmp_path):
    metrics = experiment.measure_histogram(histogram, 0, tmp_path)
    assert metrics["steps"] == [1, 2, 4, 8] and len(metrics["edges"]) == 11
    for seq_len in (4, 8):
        assert sum(metrics[f"{seq_len}-counts"]) == 5 * 5 and len(metrics[f"{seq_len}-counts"]) == 10
        assert 0 < metrics[f"{seq_len}-loss"] < 10
    # eight steps from an empty state are all there is; four are fewer
    assert metrics["8-by-steps"][-1] == pytest.approx(metrics["8-spread"], rel=1e-5)
    assert metrics["4-by-steps"][-1] != pytest.approx(metrics["4-spread"], rel=1e-5)


def test_the_histogram_is_taken_halfway(histogram, tmp_path, monkeypatch):
    seen, train = [], experiment.train

    def watched(model, tokens, recipe, watch, progress):
        def look(done):
            seen.append(done)
            watch(done)

        return train(model, tokens, recipe, watch=look, progress=progress)

    monkeypatch.setattr(experiment, "train", watched)
    halves = []
    monkeypatch.setattr(
        experiment.gradients, "recurrent_gradient", lambda *_: halves.append(seen[-1]) or torch.ones(25).numpy()
    )
    experiment.measure_histogram(histogram, 0, tmp_path)
    assert seen == [1, 2, 3, 4] * 2 and set(halves) == {2}
