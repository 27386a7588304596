"""What autograd keeps is what the formulas of the costs say, and recomputing it changes no gradient."""

import pytest
import torch

from unrolled import cells, cost
from unrolled.measure.memory import Kept, pass_through

KINDS = ("rnn", "lstm", "gru")


def window(kind, steps, d=6, h=8, batch=3):
    torch.manual_seed(0)
    return cells.CELLS[kind](d, h).double(), torch.randn(batch, steps, d, dtype=torch.float64, requires_grad=True)


def most(kind, steps, way, segment=None, **sizes):
    cell, inputs = window(kind, steps, **sizes)
    with Kept(without=cell.parameters()) as kept:
        pass_through(cell, inputs, way, segment)
    assert kept.now == 0
    return kept.most


def gradients(kind, way, segment=None):
    cell, inputs = window(kind, 12)
    pass_through(cell, inputs, way, segment)
    return [inputs.grad, *(weight.grad for weight in cell.parameters())]


@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_window_keeps_what_the_formula_says(kind):
    grown = most(kind, 128, "whole") - most(kind, 64, "whole")
    assert grown == 64 * 3 * 8 * cost.recurrent(kind, 6, 8).kept


@pytest.mark.parametrize("kind", KINDS)
def test_segments_keep_less_a_truncated_window_nothing_more_a_recomputed_one_a_state_each(kind):
    for way, more in (("truncated", 0), ("recomputed", 3 * 8 * (64 * 6 + 4 * cost.recurrent(kind, 6, 8).state))):
        assert most(kind, 128, way, 16) - most(kind, 64, way, 16) == more
        assert most(kind, 128, way, 16) < most(kind, 128, "whole")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("segment", [1, 5, 12, None])
def test_recomputing_changes_no_gradient(kind, segment):
    for ours, expected in zip(gradients(kind, "recomputed", segment), gradients(kind, "whole"), strict=True):
        torch.testing.assert_close(ours, expected)


def test_truncating_does_and_equals_windows_of_their_own():
    cell, inputs = window("gru", 12)
    pass_through(cell, inputs, "truncated", 4)
    truncated, state = cell.W_hh.grad.clone(), None
    cell.W_hh.grad = None
    for piece in inputs.split(4, dim=1):
        states, state = cells.unroll(cell, piece, state)
        states.sum().backward(retain_graph=True)
        state = state.detach()
    torch.testing.assert_close(truncated, cell.W_hh.grad)
    assert not torch.allclose(truncated, gradients("gru", "whole")[2])


def test_a_storage_counts_once_and_until_it_is_released():
    x = torch.ones(5, requires_grad=True)
    with Kept() as kept:
        y, z = x[:2] * x[2:4], x * x
        assert kept.now == kept.most == 5 * 4
        y.sum().backward()
        assert kept.now == 5 * 4
        z.sum().backward()
        assert (kept.now, kept.most) == (0, 5 * 4)
    with Kept(without=[x]) as kept:
        y = x * x
        assert kept.now == 0
