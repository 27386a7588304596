"""The backward passes derived by hand equal autograd's through the plain steps."""

import gc
import weakref

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unrolled.cells import GRUCell, fused, unroll

SIZES = st.integers(1, 7)
KINDS = {
    "gru, reset before": lambda d, h: GRUCell(d, h, reset="before"),
    "gru, reset after": lambda d, h: GRUCell(d, h, reset="after"),
}


def case(kind: str, d: int = 3, h: int = 4, batch: int = 2, time: int = 5):
    """Return a cell, inputs and a state in float64, all of which need gradients."""
    cell = KINDS[kind](d, h).double()
    inputs = torch.randn(batch, time, d, dtype=torch.float64, requires_grad=True)
    return cell, inputs, torch.randn(batch, h, dtype=torch.float64, requires_grad=True)


def results(cell, inputs, state, plain: bool, weigh: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return all outputs, and the gradients by all there is of Σ weigh ⊙ output."""
    outputs = unroll(cell, inputs, state, plain=plain)
    loss = sum((output * w).sum() for output, w in zip(outputs, weigh, strict=True))
    return [*outputs, *torch.autograd.grad(loss, [inputs, state, *cell.parameters()])]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=50, deadline=None)
@given(
    d=SIZES,
    h=SIZES,
    batch=SIZES,
    time=st.integers(1, 12),
    used=st.tuples(st.booleans(), st.booleans()),
    seed=st.integers(0, 999),
)
def test_outputs_and_all_gradients_equal_those_of_the_plain_steps(kind, d, h, batch, time, used, seed):
    torch.manual_seed(seed)
    cell, inputs, state = case(kind, d, h, batch, time)
    shapes = (batch, time, h), (batch, h)  # each output may weigh in the loss or not
    weigh = [torch.randn(shape, dtype=torch.float64) * use for shape, use in zip(shapes, used, strict=True)]
    fast, plain = (results(cell, inputs, state, way, weigh) for way in (False, True))
    for ours, theirs in zip(fast, plain, strict=True):
        assert ours.shape == theirs.shape and (ours - theirs).abs().max() < 1e-10


@pytest.mark.parametrize("kind", KINDS)
def test_many_sequences_of_many_steps_are_no_exception(kind):
    """Their weights are written out anew."""
    torch.manual_seed(0)
    cell, inputs, state = case(kind, batch=16, time=11)
    assert fused.transposed(cell.W_hh, cell.project(inputs.transpose(0, 1))).is_contiguous()
    weigh = [torch.randn(shape, dtype=torch.float64) for shape in ((16, 11, 4), (16, 4))]
    for ours, theirs in zip(*(results(cell, inputs, state, way, weigh) for way in (False, True)), strict=True):
        assert (ours - theirs).abs().max() < 1e-10


@pytest.mark.parametrize("function, further", [(fused.GRUResetBefore, [(2, 4)]), (fused.GRUResetAfter, [(4,), (2, 4)])])
def test_gradients_equal_finite_differences(function, further):
    torch.manual_seed(0)
    shapes = [(3, 2, 12), (12, 4), *further]  # (time, batch, …), W_hh, then b_hh and the state
    arguments = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    assert torch.autograd.gradcheck(function.apply, arguments)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("output", ["states", "last"])
def test_one_output_alone_may_be_used(kind, output):
    cell, inputs, state = case(kind)
    gradients = []
    for plain in (False, True):
        states, last = unroll(cell, inputs, state, plain=plain)
        loss = (states if output == "states" else last).square().sum()
        gradients.append(torch.autograd.grad(loss, [inputs, state, *cell.parameters()]))
    for ours, theirs in zip(*gradients, strict=True):
        assert (ours - theirs).abs().max() < 1e-10


@pytest.mark.parametrize("kind", KINDS)
def test_going_back_twice_gives_the_same_and_changes_nothing(kind):
    cell, inputs, state = case(kind)
    states, _ = unroll(cell, inputs, state)
    before = states.detach().clone()
    loss, leaves = states.square().sum(), [inputs, state, *cell.parameters()]
    once, twice = (torch.autograd.grad(loss, leaves, retain_graph=True) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(once, twice, strict=True)) and torch.equal(states, before)


@pytest.mark.parametrize("kind", KINDS)
def test_frozen_weights_still_pass_the_gradient_on(kind):
    cell, inputs, state = case(kind)
    expected = torch.autograd.grad(unroll(cell, inputs, state, plain=True)[0].sum(), [inputs])[0]
    cell.requires_grad_(False)
    assert (torch.autograd.grad(unroll(cell, inputs, state)[0].sum(), [inputs])[0] - expected).abs().max() < 1e-10


@pytest.mark.parametrize("kind", KINDS)
def test_a_derivative_of_the_derivative_is_refused_and_plain_has_it(kind):
    cell, inputs, state = case(kind)
    with pytest.raises(RuntimeError, match=r"cannot be differentiated again .* use unroll\(\.\.\., plain=True\)"):
        torch.autograd.grad(unroll(cell, inputs, state)[0].sum(), [inputs], create_graph=True)
    loss = unroll(cell, inputs, state, plain=True)[0].sum()
    (gradient,) = torch.autograd.grad(loss, [inputs], create_graph=True)
    assert torch.isfinite(torch.autograd.grad(gradient.square().sum(), [inputs])[0]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_what_runs_unless_plain_is_asked_for(kind):
    cell, inputs, state = case(kind)
    fast, plain = (unroll(cell, inputs, state, plain=way)[0].grad_fn.next_functions[0][0] for way in (False, True))
    assert type(fast)._forward_cls in (fused.GRUResetBefore, fused.GRUResetAfter)
    assert not hasattr(type(plain), "_forward_cls")


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_kept_when_the_outputs_are_gone(kind):
    cell, inputs, state = case(kind)
    gc.disable()
    try:
        states, last = unroll(cell, inputs, state)
        gone = weakref.ref(states._base)
        del states, last
        assert gone() is None
    finally:
        gc.enable()
