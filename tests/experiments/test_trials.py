"""The short trials of chapters 5 and 6: what is stuck stays stuck, and who counts is counted."""

import pytest
import torch
from torch import nn

from unrolled import experiments
from unrolled.cells import LSTMCell, trace
from unrolled.experiments import memory, trials
from unrolled.tasks import Counting, SequenceModel, counted, solve


class Counter(nn.Module):
    """It counts, up to a limit."""

    def __init__(self, limit=10**6):
        super().__init__()
        self.limit, self.zero = limit, nn.Parameter(torch.zeros(1))

    def forward(self, inputs):
        counts = inputs.cumsum(1)
        left = (counts[..., 0] - counts[..., 1]).abs() + (counts[..., 0] > self.limit)
        return 100 * (0.5 - left)[..., None] + self.zero


@pytest.mark.parametrize("length", [2, 7])
def test_counting_shows_as_many_b_as_a_and_wants_the_last(length):
    task = Counting(length)
    inputs, targets = task.batch(3000, torch.Generator().manual_seed(0))
    assert inputs.shape == (3000, 2 * length, 2) and targets.shape == (3000, 2 * length)
    for row, wanted in zip(inputs[:50], targets[:50], strict=True):
        letters = "".join("ab."[{(1, 0): 0, (0, 1): 1}.get(tuple(step), 2)] for step in row.int().tolist())
        n = letters.count("a")
        assert letters == ("a" * n + "b" * n).ljust(2 * length, ".")
        assert wanted.tolist() == [-1] * n + [0] * (n - 1) + [1] + [-1] * (2 * (length - n))
    assert set(inputs[..., 0].sum(1).int().tolist()) == set(range(1, length + 1))


def test_the_trivial_loss_of_counting_is_that_of_the_best_constant_answer():
    task = Counting(9)
    _, targets = task.batch(50_000, torch.Generator().manual_seed(0))
    share = targets[targets >= 0].mean()
    losses = [
        task.loss(torch.full((50_000, 18, 1), logit.item()), targets) for logit in share.logit() + torch.arange(-1, 2)
    ]
    assert share.item() == pytest.approx(2 / 10, rel=0.02)
    assert losses[1].item() == pytest.approx(task.trivial, rel=0.02) and losses[1] < min(losses[0], losses[2])
    assert task.goal == task.trivial / 1000


def test_nothing_is_counted_to_one():
    with pytest.raises(ValueError, match="length is 1; counting needs at least 2"):
        Counting(1)


def test_who_counts_is_right_and_who_counts_so_far_is_right_so_far():
    assert counted(Counter(), 40).tolist() == [True] * 40
    assert counted(Counter(limit=25), 40).tolist() == [True] * 25 + [False] * 15
    torch.manual_seed(0)
    assert not counted(SequenceModel(LSTMCell(2, 4), 1), 40).all()
    assert solve(Counter(), Counting(20), updates=1, score_every=1).success


@pytest.mark.parametrize("gate", ["f", "i", "o"])
@pytest.mark.parametrize("bias", [trials.OPEN, trials.SHUT])
def test_a_stuck_gate_does_not_move(gate, bias):
    torch.manual_seed(0)
    remedy = {"cell": "lstm", "options": {}, "stuck": {gate: bias}}
    cell, inputs = memory.cell_of(remedy, 2, 8), 3 * torch.randn(4, 9, 2)
    for _ in range(3):
        assert (trace(cell, inputs)[gate] == (bias > 0)).all() or trace(cell, inputs)[gate].max() < 1e-30
        model, before = SequenceModel(cell, 1), [weights.clone() for weights in cell.block(gate)]
        solve(model, memory.tasks.Adding(6), updates=5, learning_rate=0.1)
        assert all(torch.equal(*pair) for pair in zip(before, cell.block(gate), strict=True))
    other = next(name for name in "fio" if name != gate)
    assert 0.01 < trace(cell, inputs)[other].mean() < 0.99


def test_each_gate_is_stuck_in_turn_and_a_killed_run_goes_on(tmp_path, monkeypatch):
    config = experiments.find("gates-stuck").configs["quick"]
    assert config["stuck"] == {"free": {}} | {
        f"{name}-{how}": {name[0]: bias}
        for name in ("forget", "input", "output")
        for how, bias in {"open": 100, "shut": -100}.items()
    }
    small = {"characters": 20_000, "symbols_per_update": 64, "updates": 3, "seq_len": 16, "hidden_size": 4}
    adding = config["adding"] | {"lengths": [4], "updates": 3, "batch": 3, "hidden_size": 5, "sequences": 20}
    config = config | small | {"adding": adding}
    monkeypatch.setattr(trials, "trained", watched := Watched(trials.trained))
    metrics = trials.measure_stuck(config, 0, tmp_path)
    assert len(metrics) == 7 * 6 and len({metrics[f"{label}-loss"] for label in config["stuck"]}) == 6
    assert metrics["input-shut-loss"] == metrics["output-shut-loss"]  # either way h is 0
    for label, stuck in config["stuck"].items():
        cell = watched.models[label].core.cell
        assert all((cell.block(gate).b_h == bias).all() for gate, bias in stuck.items())
    assert metrics["free-nats"] != metrics["input-open-nats"]
    (tmp_path / "input-open.json").unlink()
    watched.models.clear()
    assert trials.measure_stuck(config, 0, tmp_path) == metrics and [*watched.models] == ["input-open"]


class Watched:
    """`base.trained`, and what it returned."""

    def __init__(self, trained):
        self.trained, self.models = trained, {}

    def __call__(self, make, config, seed, checkpoint):
        found = self.trained(make, config, seed, checkpoint)
        self.models[checkpoint.stem] = found[0]
        return found


def test_each_cell_is_taught_to_count(tmp_path):
    config = experiments.find("counting-task").configs["quick"] | {"length": 3, "limit": 12, "updates": 2}
    metrics = trials.measure_counting(config, 0, tmp_path)
    assert {key.split("-")[0] for key in metrics} == {"rnn", "gru", "lstm"} and len(metrics) == 12
    assert all(metrics[f"{kind}-updates"] == 2 for kind in config["cells"])
    assert trials.measure_counting(config, 0, tmp_path) == metrics


@pytest.mark.parametrize("limit, reach", [(4, 4), (100, 12), (0, 0)])
def test_the_reach_ends_before_the_first_wrong_answer(limit, reach, tmp_path, monkeypatch):
    monkeypatch.setattr(memory.tasks, "SequenceModel", lambda cell, size: Counter(limit))
    config = experiments.find("counting-task").configs["quick"] | {"length": 3, "limit": 12, "updates": 2}
    assert trials.measure_counting(config | {"cells": ["rnn"]}, 0, tmp_path)["rnn-reach"] == reach


def test_stories_are_as_in_the_experiment_before():
    stuck, before = (experiments.find(name).configs["quick"] for name in ("gates-stuck", "gated-stories"))
    assert stuck["learning_rate"] == before["models"]["lstm"]["learning_rate"]
    assert all(stuck[name] == before[name] for name in ("corpus", "characters", "symbols_per_update", "seq_len"))
