"""Chapter 5's experiment: a gate that is stuck stays stuck."""

import pytest
import torch

from lab.ch04_vanishing_gradients import success_by_lag
from lab.ch05_lstm import stuck_gates
from lab.engine.tasks import network_of
from small_experiments import small
from unrolled.cells import LSTMCell, trace
from unrolled.tasks import Adding, SequenceModel, solve


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


@pytest.mark.parametrize("label", ["flip-flop: forget open", "adding: input open"])
def test_a_gate_is_stuck_on_a_task_too_and_its_bias_is_not_searched(label):
    searched, config = (small(f"stuck-gates{name}", label) for name in ("-tuning", ""))
    (gate, bias), *_ = config["stuck"].items()
    assert {"f": "forget_bias", "i": "input_bias"}[gate] not in searched["space"]
    assert (network_of(config, success_by_lag.task_of(config)).cell.block(gate).b_h == bias).all()
    whole = small("success-by-lag-tuning", f"{label.split(':')[0]} 50: lstm")
    assert searched["space"].items() <= whole["space"].items() and len(whole["space"]) == len(searched["space"]) + 1


def test_a_gate_that_is_stuck_is_stuck_until_the_end(tmp_path, hold_out, monkeypatch):
    trained, fit = [], stuck_gates.fit
    monkeypatch.setattr(stuck_gates, "fit", lambda *given, **named: trained.append(fit(*given, **named)) or trained[-1])
    hold_out(20_000)
    stuck_gates.measure(small("gates-over-budget", "shut 500"), 0, tmp_path)
    assert (trained[0].model.core.layers[0].block("f").b_h == -100).all()
