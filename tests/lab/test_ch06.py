"""Chapter 6's experiments: text unseen and asked, counting followed to its end, and clocks that are fair."""

from dataclasses import replace

import pytest
import torch

import lab
from counter import Counter
from lab.ch06_gru import cells_over_budget, counting_task, timing
from lab.engine import timing as engine_timing
from lab.engine.texts import unseen_stories
from lab.engine.timing import medians
from lab.engine.training import parameters
from small_experiments import small
from unrolled import cells, tasks
from unrolled.measure import hardware

# Cells over budget


def test_a_cell_is_scored_and_questioned_in_the_test(tmp_path, monkeypatch, hold_out):
    hold_out(20_000)
    config = small("cells-over-budget", "gru 500")
    asked, recall = [], cells_over_budget.recall_by_lag
    monkeypatch.setattr(
        cells_over_budget, "recall_by_lag", lambda *arguments: asked.append(arguments[2]) or recall(*arguments)
    )
    measured = cells_over_budget.measure(config | {"by_story": True}, 0, tmp_path)
    total = sum(measured["by_story"]) / sum(measured["story_symbols"])
    assert total == pytest.approx(measured["nats"], rel=0.01) and sum(measured["story_symbols"]) >= 20_000
    assert "by_story" not in cells_over_budget.measure(config, 0, tmp_path)
    assert asked[:1] == [unseen_stories()[1]] and measured["updates"] == [1, 2, 3]


# Counting


@pytest.mark.parametrize("limit, reach", [(4, 4), (100, 12), (0, 0)])
def test_the_reach_ends_before_the_first_wrong_answer(limit, reach, tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "SequenceModel", lambda cell, size: Counter(limit))
    config = small("counting-task", "rnn 0.01", length=3, limit=12)
    assert counting_task.measure(config, 0, tmp_path)["reach"] == reach
    right = torch.tensor([True, True, False, True])  # the last one by chance
    monkeypatch.setattr(counting_task, "counted", lambda *_: right)
    assert counting_task.measure(config, 0, tmp_path)["reach"] == 2


# Timing

ONCE = {"warm_up": 1, "rounds": 2}


@pytest.fixture
def clock(monkeypatch):
    """A clock by which everything that is timed takes a second."""
    monkeypatch.setattr(engine_timing, "seconds", lambda work: (work(), 1.0)[1])


def test_works_take_turns_and_the_warm_up_does_not_count(monkeypatch):
    done, ticks = [], iter([*[0, 99] * 4, 0, 1, 0, 5, 0, 3, 0, 7, 0, 2, 0, 6])
    monkeypatch.setattr(hardware.time, "perf_counter", lambda: next(ticks))
    works = {name: lambda name=name: done.append(name) for name in "ab"}
    assert medians(works, {"warm_up": 2, "rounds": 3}) == {"a": 2, "b": 6}
    assert "".join(done) == "ab" * 5


def test_times_are_microseconds_of_a_step(clock, tmp_path):
    loops = {label: small("rnn-loop-time", label, lengths=[4, 10]) for label in ("loop", "no-loop")}
    measured = timing.measure_loop(loops, 0, tmp_path)
    assert measured == {label: {"microseconds": [250_000, 100_000]} for label in loops}
    compared = lab.find("cells-time").contenders
    steps = {label: config | ONCE | {"batch": 2, "length": 5} for label, config in compared.items()}
    for label, metrics in timing.measure_cells(steps, 0, tmp_path).items():
        assert metrics["ours"] == metrics["torch"] == 200_000
        assert metrics["hidden_size"] == steps[label]["hidden_size"]


def test_the_cells_timed_have_one_size_or_equally_many_weights():
    weights = {}
    for label, config in lab.find("cells-time").contenders.items():
        core = config["core"]
        assert label.startswith(core) and (config["hidden_size"] == 128) == ("-as-" not in label)
        weights[label] = parameters(cells.CELLS[core](config["input_size"], config["hidden_size"]))
        assert weights[label] == timing.core_parameters(core, config["hidden_size"])
    assert {*weights} == {"rnn", "gru", "lstm", "gru-as-rnn", "lstm-as-rnn", "rnn-as-lstm", "gru-as-lstm"}
    for label in weights:
        if "-as-" in label:  # one unit more or less would be further off
            assert weights[label] == pytest.approx(weights[label.split("-as-")[1]], rel=0.012)


def test_what_is_timed_is_all_the_updates_of_a_real_training_of_equally_many_symbols(clock, tmp_path, monkeypatch):
    train, done = timing.train, []

    def watched(model, tokens, recipe, progress):  # not every processor has PyTorch's LSTM in bf16
        losses = train(model, tokens, replace(recipe, precision="float32"), progress=progress).losses
        done.append((id(model), recipe.precision, recipe.batch, len(losses)))

    monkeypatch.setattr(timing, "train", watched)
    configs = {
        label: small("batching-time", label, batches=[1, 4], least=16) | {"recipe": config["recipe"] | {"seq_len": 2}}
        for label, config in lab.find("batching-time").contenders.items()
    }
    metrics = timing.measure_batching(configs, 0, tmp_path)
    assert all(measured == {"microseconds": [1e6 / 16] * 2} for measured in metrics.values())
    assert list(metrics) == [f"{core} {bits}" for core in ("lstm", "torch-lstm") for bits in ("float32", "bf16")]
    assert len(done) == 4 * 2 * (1 + 2) and len({number for number, *_ in done}) == 4
    assert {tuple(each) for _, *each in done} == {
        (precision, batch, 16 // (2 * batch)) for precision in ("float32", "bf16") for batch in (1, 4)
    }
