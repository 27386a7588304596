"""Stuck gates: what is stuck stays stuck, in both trainings, and the rest is as in the experiments before."""

import pytest
import torch

from small_experiments import small
from unrolled.cells import LSTMCell, trace
from unrolled.experiments import cells_over_budget, find, stuck_gates
from unrolled.experiments.scoring import BY_STORY
from unrolled.tasks import Adding, SequenceModel, solve

CONTENDERS = find("gates-stuck").contenders["quick"]


@pytest.mark.parametrize("gate", ["f", "i", "o"])
@pytest.mark.parametrize("bias", [stuck_gates.OPEN, stuck_gates.SHUT])
def test_a_stuck_gate_does_not_move(gate, bias):
    torch.manual_seed(0)
    cell, inputs = LSTMCell(2, 8), 3 * torch.randn(4, 9, 2)
    stuck_gates.stick(cell, {gate: bias})
    for _ in range(3):
        assert (trace(cell, inputs)[gate] == (bias > 0)).all() or trace(cell, inputs)[gate].max() < 1e-30
        model, before = SequenceModel(cell, 1), [weights.clone() for weights in cell.block(gate)]
        solve(model, Adding(6), updates=5, learning_rate=0.1)
        assert all(torch.equal(*pair) for pair in zip(before, cell.block(gate), strict=True))
    other = next(name for name in "fio" if name != gate)
    assert 0.01 < trace(cell, inputs)[other].mean() < 0.99


def test_each_gate_is_stuck_in_turn():
    assert {label: config["stuck"] for label, config in CONTENDERS.items()} == {"free": {}} | {
        f"{name}-{state}": {name[0]: bias}
        for name in ("forget", "input", "output")
        for state, bias in {"open": 100, "shut": -100}.items()
    }


@pytest.fixture
def trained(monkeypatch):
    """The cells that were trained: on the task, and on stories."""
    cells = []
    attempt, fit = stuck_gates.attempt, stuck_gates.fit

    def attempted(config, task, cell, seed):
        cells.append(cell)
        return attempt(config, task, cell, seed)

    def fitted(*arguments, **options):
        result = fit(*arguments, **options)
        cells.append(result.model.core.cell)
        return result

    monkeypatch.setattr(stuck_gates, "attempt", attempted)
    monkeypatch.setattr(stuck_gates, "fit", fitted)
    return cells


def test_gates_are_stuck_in_both_trainings(trained, tmp_path):
    metrics = {}
    for label in ("free", "input-open", "input-shut", "output-shut"):
        config = small(CONTENDERS[label])
        size = {"length": 4, "updates": 3, "batch": 3, "hidden_size": 5, "sequences": 20}
        config["adding"] = config["adding"] | size
        metrics[label] = stuck_gates.measure(config, 0, tmp_path / label)
        assert {*metrics[label]} == {*stuck_gates.METRICS} and len(trained) == 2
        for cell in trained:
            assert all((cell.block(gate).b_h == bias).all() for gate, bias in config["stuck"].items())
        trained.clear()
    assert metrics["input-shut"]["loss"] == metrics["output-shut"]["loss"]  # either way h is 0
    assert len({ended["loss"] for ended in metrics.values()}) == 3
    assert metrics["free"]["nats"] != metrics["input-open"]["nats"]


@pytest.mark.parametrize("profile", ["quick", "full"])
def test_the_lstm_is_that_of_the_experiments_before(profile):
    stuck = find("gates-stuck").contenders[profile]["free"]
    stories = find("gated-stories").contenders[profile]["lstm"]
    assert stuck["text"] == stories["text"] and stuck["model"] == stories["model"]
    assert stuck["recipe"] == stories["recipe"] | {"updates": stories["recipe"]["updates"] // 2}
    adding = find("gated-memory-tasks").contenders[profile]["adding/lstm"]
    given = ("task", "lengths")
    assert stuck["adding"] == {"length": 40} | {name: value for name, value in adding.items() if name not in given}


def test_four_forget_gates_are_compared_at_every_number_of_updates(monkeypatch):
    chosen = {"learning_rate": 4e-3, "initialisation": "uniform"}
    monkeypatch.setattr(type(cells_over_budget.COMPARISON), "chosen", lambda *_: chosen)
    contenders = find("gates-over-budget").contenders["quick"]
    assert len(contenders) == 12
    for label, config in contenders.items():
        gate, _, updates = label.rpartition(" ")
        options, recipe = config["model"]["options"]["cell_options"], config["recipe"]
        assert (recipe["updates"], recipe["learning_rate"]) == (int(updates), 4e-3)
        assert options["initialisation"] == "orthogonal"
        assert options["forget_bias"] == (-1 if gate == "bias -1" else 1)
        assert config["stuck"] == {"open": {"f": 100}, "shut": {"f": -100}}.get(gate, {})


def test_a_gate_stuck_over_a_budget_is_stuck_until_the_end(trained, tmp_path, hold_out):
    hold_out(20_000)
    config = cells_over_budget.configuration("lstm", 2, 4, characters_per_update=512) | {"stuck": {"f": -100.0}}
    config["text"]["characters"] = 30_000
    metrics = stuck_gates.measure_over_budget(config, 0, tmp_path)
    assert {*metrics} == {*cells_over_budget.METRICS} - {*BY_STORY} and (trained[0].block("f").b_h == -100).all()
