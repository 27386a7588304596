"""The experiments that watch a language model's gradient measure what they say."""

import math

import pytest
import torch
from unrolled.experiments import base, gradients, reading

from unrolled import experiments
from unrolled.cells import initialise

TEXT = reading.text("stories", 3000)


def vanilla(nonlinearity: str, initialisation: str | None) -> dict:
    model = base.model("LanguageModel", hidden_size=5, cell_options={"nonlinearity": nonlinearity})
    return {"text": TEXT, "model": model, "initialisation": initialisation}


def small(name: str, label: str, **changes) -> dict:
    """Return the configuration of a contender of the book's, on little text."""
    config = experiments.find(name).contenders["quick"][label]
    model = config["model"] | {"options": config["model"]["options"] | {"hidden_size": 5}}
    recipe = config["recipe"] | {"updates": 4, "batch": 4} | changes.pop("recipe", {})
    return config | {"text": TEXT, "model": model, "recipe": recipe, "sequences": 3} | changes


def lag(label: str) -> dict:
    return small("gradient-lag", label, steps=6, watched=[0, 2, 4], recipe={"seq_len": 8})


def histogram(seq_len: int) -> dict:
    return small("gradient-histogram", "16", bins=10, longest=8, recipe={"seq_len": seq_len})


def test_a_linear_cell_that_halves_keeps_half_a_step():
    model = gradients.begin(vanilla("identity", None), 7)
    initialise(model.core.layers[0], "identity", 0.5)
    probed = gradients.probe(model, torch.randint(7, (3, 6)))
    assert probed["lag"] == pytest.approx([0.5**lag for lag in range(6)])
    assert probed["lyapunov"] == pytest.approx(math.log(0.5))
    assert probed["slope"] == 1 and probed["log_slope"] == 0


def test_slopes_that_are_zero_have_a_finite_mean_logarithm():
    model = gradients.begin(vanilla("relu", "identity"), 7)
    torch.nn.init.constant_(model.core.layers[0].b_h, -100.0)  # no unit is ever on
    probed = gradients.probe(model, torch.randint(7, (3, 6)))
    assert probed["slope"] == 0 and probed["log_slope"] == pytest.approx(math.log(1e-12), rel=1e-3)
    assert probed["lyapunov"] == -1e3


def test_windows_come_from_all_over_the_text():
    windows = gradients.windows_of(torch.arange(100), sequences=3, steps=4)
    assert windows.tolist() == [[0, 1, 2, 3, 4], [47, 48, 49, 50, 51], [95, 96, 97, 98, 99]]


def test_each_remedy_begins_as_it_says_and_is_watched_while_it_learns(tmp_path):
    slopes = {}
    for label in experiments.find("gradient-lag").contenders["quick"]:
        metrics = gradients.measure_lag(lag(label), 0, tmp_path)
        before, after = metrics["lag"]
        assert len(before) == len(after) == 7 and before[0] == after[0] == 1 and before != after
        assert len(metrics["singular"]) == 3 and metrics["singular"][0] != metrics["singular"][-1]
        largest, middle, smallest = metrics["singular"][0]
        assert largest >= middle >= smallest
        assert (largest - smallest < 1e-5) == (label in ("irnn", "orthogonal"))
        slopes[label] = metrics["slope"][0]
    assert slopes["sigmoid"] < 0.25 < slopes["tanh"]


def test_the_histogram_counts_every_entry_and_the_whole_window_is_the_longest(tmp_path):
    axes = gradients.histogram_axes(histogram(4))
    assert axes["steps"] == [1, 2, 4, 8] and len(axes["bin"]) == 10 and axes["bin"][-1] == 0.03
    measured = {seq_len: gradients.measure_histogram(histogram(seq_len), 0, tmp_path) for seq_len in (4, 8)}
    for metrics in measured.values():
        assert sum(metrics["counts"]) == 5 * 5 and len(metrics["counts"]) == 10
        assert 0 < metrics["loss"] < 10
    # eight steps from an empty state are all there is; four are fewer
    assert measured[8]["by_steps"][-1] == pytest.approx(measured[8]["spread"], rel=1e-5)
    assert measured[4]["by_steps"][-1] != pytest.approx(measured[4]["spread"], rel=1e-5)


def test_the_histogram_is_taken_halfway(tmp_path, monkeypatch):
    updates, halves, train = [], [], gradients.train

    def watched(model, tokens, recipe, watch, progress):
        def look(done):
            updates.append(done)
            watch(done)

        return train(model, tokens, recipe, watch=look, progress=progress)

    def gradient(*_):
        halves.append(updates[-1])
        return torch.ones(25).numpy()

    monkeypatch.setattr(gradients, "train", watched)
    monkeypatch.setattr(gradients.gradients, "recurrent_gradient", gradient)
    gradients.measure_histogram(histogram(8), 0, tmp_path)
    assert updates == [1, 2, 3, 4] and set(halves) == {2}
