"""The book's cells equal PyTorch's, forward and backward."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from unrolled.cells import RNNCell, unroll

SIZES = st.integers(1, 7)
KINDS = st.sampled_from(["tanh", "relu"])


def gap(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    return (ours - theirs).abs().max().item()


@settings(max_examples=40, deadline=None)
@given(d=SIZES, h=SIZES, batch=SIZES, kind=KINDS, with_state=st.booleans(), seed=st.integers(0, 999))
def test_a_step_equals_torch(d, h, batch, kind, with_state, seed):
    torch.manual_seed(seed)
    theirs = nn.RNNCell(d, h, nonlinearity=kind, dtype=torch.float64)
    ours = RNNCell.from_torch(theirs)
    x = torch.randn(batch, d, dtype=torch.float64, requires_grad=True)
    state = torch.randn(batch, h, dtype=torch.float64, requires_grad=True) if with_state else None
    weigh = torch.randn(batch, h, dtype=torch.float64)
    inputs = [x] + ([state] if with_state else [])
    results = []
    for cell, weights in ((ours, [ours.W_xh, ours.W_hh, ours.b_h]), (theirs, list(theirs.parameters())[:3])):
        out = cell(x, state)
        results.append([out, *torch.autograd.grad((out * weigh).sum(), inputs + weights)])
    assert max(gap(a, b) for a, b in zip(*results, strict=True)) < 1e-10


@settings(max_examples=40, deadline=None)
@given(d=SIZES, h=SIZES, batch=SIZES, time=st.integers(1, 12), kind=KINDS, with_state=st.booleans())
def test_an_unrolled_cell_equals_torch(d, h, batch, time, kind, with_state):
    theirs = nn.RNN(d, h, nonlinearity=kind, batch_first=True, dtype=torch.float64)
    ours = RNNCell.from_torch(theirs)
    inputs = torch.randn(batch, time, d, dtype=torch.float64, requires_grad=True)
    state = torch.randn(batch, h, dtype=torch.float64, requires_grad=True) if with_state else None
    weigh = torch.randn(batch, time, h, dtype=torch.float64)
    leaves = [inputs] + ([state] if with_state else [])
    states, last = unroll(ours, inputs, state)
    states_, last_ = theirs(inputs, None if state is None else state.unsqueeze(0))
    gradients = torch.autograd.grad((states * weigh).sum(), [*leaves, ours.W_xh, ours.W_hh, ours.b_h])
    gradients_ = torch.autograd.grad((states_ * weigh).sum(), [*leaves, *list(theirs.parameters())[:3]])
    assert gap(states, states_) < 1e-10 and gap(last, last_[0]) < 1e-10
    assert max(gap(a, b) for a, b in zip(gradients, gradients_, strict=True)) < 1e-10


def test_the_comparison_can_fail():
    theirs = nn.RNNCell(3, 4, dtype=torch.float64)
    ours = RNNCell.from_torch(theirs)
    with torch.no_grad():
        ours.W_hh.copy_(ours.W_hh.T.clone())  # a forgotten transpose
    x, state = torch.randn(2, 3, dtype=torch.float64), torch.randn(2, 4, dtype=torch.float64)
    assert gap(ours(x, state), theirs(x, state)) > 1e-3


@pytest.mark.parametrize(
    "shape, says",
    [
        ((3, 4), r"axis 0 \(batch\) is 3 and should be 2"),
        ((2, 5), r"axis 1 \(hidden_size\) is 5 and should be 4"),
        ((1, 2, 4), r"two axes are expected: \(batch, hidden_size\)"),
    ],
)
def test_a_state_of_the_wrong_shape_says_which_axis(shape, says):
    cell = RNNCell(3, 4)
    with pytest.raises(ValueError, match=says):
        cell(torch.zeros(2, 3), torch.zeros(shape))
    with pytest.raises(ValueError, match=says):
        unroll(cell, torch.zeros(2, 6, 3), torch.zeros(shape))


def test_a_state_on_another_device_says_so():
    with pytest.raises(ValueError, match="the state is on meta but the inputs are on cpu"):
        RNNCell(3, 4)(torch.zeros(2, 3), torch.zeros(2, 4, device="meta"))


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: RNNCell(3, 4)(torch.zeros(2, 5)), "the last axis is 5 and should be input_size, 3"),
        (lambda: unroll(RNNCell(3, 4), torch.zeros(2, 3)), "three axes are expected"),
        (lambda: unroll(RNNCell(3, 4), torch.zeros(2, 0, 3)), "at least one step"),
        (lambda: RNNCell(0, 4), "input_size is 0"),
        (lambda: RNNCell(3, 4, nonlinearity="gelu"), "'gelu'; it can be one of tanh, relu"),
    ],
)
def test_bad_input_is_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()
