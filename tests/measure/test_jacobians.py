"""Jacobians, gradients against lag and Lyapunov exponents of every cell equal autograd's and differences'."""

import math

import pytest
import torch

from small_runs import tensors
from unrolled.cells import NONLINEARITIES, Cell, GRUCell, LSTMCell, OriginalLSTMCell, RNNCell, trace, unroll
from unrolled.measure import gradients, jacobians

CELLS = {
    **{f"rnn, {kind}": lambda kind=kind: RNNCell(3, 4, kind) for kind in NONLINEARITIES},
    "lstm": lambda: LSTMCell(3, 4),
    "lstm of 1997": lambda: OriginalLSTMCell(3, 4),
    "gru": lambda: GRUCell(3, 4),
    "gru, reset after": lambda: GRUCell(3, 4, reset="after"),
}
PARTS = [(name, part) for name in CELLS for part in CELLS[name]().state_names]


def case(name, batch=2, time=5):
    """Return a cell with large weights, inputs and a state, all float64."""
    torch.manual_seed(0)
    cell = CELLS[name]().double()
    with torch.no_grad():
        for weight in cell.parameters():
            weight.normal_()
    state = tuple(torch.randn(batch, 4, dtype=torch.float64) for _ in cell.state_names)
    return cell, torch.randn(batch, time, 3, dtype=torch.float64), state if len(state) > 1 else state[0]


def whole(state):
    """Return a state's parts end to end."""
    return torch.cat(tensors(state), dim=-1)


def step(cell, x, joined):
    """Return the whole state after a step from the whole state before, (batch, size) both."""
    state = joined.chunk(len(cell.state_names), dim=-1)
    return whole(cell(x, state if len(state) > 1 else state[0]))


@pytest.mark.parametrize("name", CELLS)
def test_jacobians_equal_autograd(name):
    cell, inputs, state = case(name)
    measured = gradients.state_jacobians(cell, inputs, state)
    size = 4 * len(cell.state_names)
    assert measured.shape == (2, 5, size, size) and not measured.requires_grad
    for row in range(2):
        joined = whole(state)[row : row + 1]
        for t in range(5):
            x = inputs[row : row + 1, t]
            brute = torch.autograd.functional.jacobian(lambda s, x=x: step(cell, x, s)[0], joined)[:, 0]
            assert torch.allclose(measured[row, t], brute, rtol=1e-12, atol=1e-13)
            joined = step(cell, x, joined)
    from_zeros = gradients.state_jacobians(cell, inputs, cell.initial_state(inputs))
    assert torch.equal(gradients.state_jacobians(cell, inputs), from_zeros)


def test_jacobians_come_one_at_a_time_where_all_would_be_too_many():
    cell, inputs, state = case("lstm")
    each = jacobians.step_jacobians(cell, inputs, state)
    assert next(each).shape == (2, 8, 8) and len(list(each)) == 4


def restarted(cell, inputs, state, t, row, part):
    """Return h_T as a function of one part of one sequence's state after t steps, and that part's value."""
    here = state if t == 0 else unroll(cell, inputs[:, :t], state, plain=True)[1]
    given = {name: value[row : row + 1].detach() for name, value in zip(cell.state_names, tensors(here), strict=True)}
    o = None if t == 0 or part != "c" else trace(cell, inputs[:, :t], state)["o"][row : row + 1, -1].detach()

    def last(value):
        values = given | {part: value}
        if o is not None:  # h_t is made from c_t, which the output gate does not see
            values["h"] = o * torch.tanh(value)
        if t == inputs.shape[1]:
            return values["h"]
        return unroll(cell, inputs[row : row + 1, t:], cell.state_of(values), plain=True)[0][:, -1]

    return last, given[part]


@pytest.mark.parametrize("name, part", PARTS)
def test_gradient_by_lag_equals_one_brute_derivative_for_each_lag(name, part):
    cell, inputs, state = case(name)
    weights = torch.randn(4, dtype=torch.float64)
    measured = gradients.gradient_by_lag(cell, inputs, lambda last: last @ weights, state, part=part)
    assert measured.shape == (2, 6) and measured.dtype == torch.float64
    for lag in range(6):
        for row in range(2):
            last, value = restarted(cell, inputs, state, 5 - lag, row, part)
            start = value.clone().requires_grad_()
            (brute,) = torch.autograd.grad((last(start) @ weights).sum(), start)
            assert measured[row, lag].item() == pytest.approx(brute.norm().item(), rel=1e-10)


def test_along_an_open_cell_state_the_gradient_keeps_what_the_forget_gate_keeps():
    cell = LSTMCell(1, 3, forget_bias=math.log(4)).double()  # σ(ln 4) is 0.8
    torch.nn.init.zeros_(cell.W_hh)
    torch.nn.init.zeros_(cell.W_xh)
    norms = gradients.gradient_by_lag(
        cell, torch.zeros(1, 20, 1, dtype=torch.float64), lambda last: last[:, 0], part="c"
    )
    assert (norms / norms[:, :1])[0].tolist() == pytest.approx([0.8**lag for lag in range(21)])


@pytest.mark.parametrize("name", CELLS)
def test_the_lyapunov_exponent_is_the_rate_of_a_small_difference(name):
    cell, inputs, state = case(name, time=12)
    measured = gradients.lyapunov(cell, inputs, state)
    size = 4 * len(cell.state_names)
    v = torch.randn(2, size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    v = v / v.norm(dim=1, keepdim=True)
    above, below, gaps = whole(state) + 1e-4 * v, whole(state) - 1e-4 * v, []
    for x in inputs.unbind(1):
        above, below = step(cell, x, above), step(cell, x, below)
        gaps.append((above - below).norm(dim=1))
    rate = (gaps[-1] / gaps[1]).log() / 10  # a fifth of 12 steps, 2, is not counted
    assert measured.tolist() == pytest.approx(rate.tolist(), abs=1e-5)


class Unknown(Cell):
    def __init__(self):
        super().__init__(3, 4, ("h",))

    def equations(self, projected, state):
        return {"h": state}


@pytest.mark.parametrize(
    "call, says",
    [
        (
            lambda: gradients.gradient_by_lag(GRUCell(3, 4), torch.zeros(2, 5, 3), torch.sum, part="c"),
            "part is 'c'; the state of GRUCell has h",
        ),
        (
            lambda: gradients.gradient_by_lag(LSTMCell(3, 4), torch.zeros(2, 5, 3), torch.sum, torch.zeros(2, 4)),
            r"the state is a tensor; a tuple \(h, c\)",
        ),
        (lambda: gradients.state_jacobians(Unknown(), torch.zeros(2, 5, 3)), "of type Unknown; it can be RNNCell"),
        (lambda: gradients.state_jacobians(LSTMCell(3, 4), torch.zeros(2, 3)), "three axes are expected"),
    ],
)
def test_bad_input_is_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()
