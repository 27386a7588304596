"""Chapter 5's experiment: a gate that is stuck stays stuck."""

import pytest
import torch

from lab.ch05_lstm import stuck_gates
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


def test_a_gate_that_is_stuck_is_stuck_until_the_end(tmp_path, hold_out, monkeypatch):
    trained, fit = [], stuck_gates.fit
    monkeypatch.setattr(stuck_gates, "fit", lambda *given, **named: trained.append(fit(*given, **named)) or trained[-1])
    hold_out(20_000)
    stuck_gates.measure(small("gates-over-budget", "shut 500"), 0, tmp_path)
    assert (trained[0].model.core.layers[0].block("f").b_h == -100).all()
