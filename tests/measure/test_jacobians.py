"""Jacobians, gradients against lag and Lyapunov exponents of every cell equal autograd's and differences'."""

import math

import pytest
import torch

from small_runs import tensors
from unrolled.cells import CELLS, GRUCell, LSTMCell, RNNCell, trace
from unrolled.measure import gradients, jacobians

EVERY = {name: lambda name=name: CELLS[name](3, 4) for name in CELLS}
EVERY |= {"relu": lambda: RNNCell(3, 4, "relu"), "gru, reset after": lambda: GRUCell(3, 4, reset="after")}
RECURRENT = ("rnn", "relu", "lstm", "gru", "gru, reset after")


def case(name, time=5):
    """Return a cell with large weights, inputs of two sequences and a state, all float64."""
    torch.manual_seed(0)
    cell = EVERY[name]().double()
    with torch.no_grad():
        for weight in cell.parameters():
            weight.normal_()
    state = tuple(torch.rand(2, size, dtype=torch.float64) for size in cell.state_sizes.values())
    return cell, torch.randn(2, time, 3, dtype=torch.float64), state if len(state) > 1 else state[0]


def whole(state):
    """Return a state's parts end to end."""
    return torch.cat(tensors(state), dim=-1)


def step(cell, x, joined):
    """Return the whole state after a step from the whole state before, (batch, size) both."""
    state = joined.split(list(cell.state_sizes.values()), dim=-1)
    return whole(cell(x, state if len(state) > 1 else state[0]))


@pytest.mark.parametrize("name", EVERY)
def test_jacobians_equal_autograd(name):
    cell, inputs, state = case(name)
    measured = gradients.state_jacobians(cell, inputs, state)
    size = sum(cell.state_sizes.values())
    assert measured.shape == (2, 5, size, size) and not measured.requires_grad
    for row in range(2):
        joined = whole(state)[row : row + 1]
        for t in range(5):
            x = inputs[row : row + 1, t]
            brute = torch.autograd.functional.jacobian(lambda s, x=x: step(cell, x, s)[0], joined)[:, 0]
            assert torch.allclose(measured[row, t], brute, rtol=1e-12, atol=1e-13)
            joined = step(cell, x, joined)
    with torch.no_grad():
        from_zeros = gradients.state_jacobians(cell, inputs, cell.initial_state(inputs))
    assert torch.equal(gradients.state_jacobians(cell, inputs), from_zeros)
    assert all(weight.grad is None for weight in cell.parameters())


def test_slopes_are_those_of_the_nonlinearity():
    a = torch.linspace(-2, 2, 8, dtype=torch.float64).requires_grad_()
    for name, phi in {"tanh": torch.tanh, "relu": torch.relu}.items():
        (right,) = torch.autograd.grad(phi(a).sum(), a)
        assert torch.allclose(jacobians.slopes(phi(a), name), right)


@pytest.mark.parametrize("name, part", [(name, part) for name in RECURRENT for part in EVERY[name]().state_names])
def test_gradient_by_lag_is_the_product_of_the_jacobians(name, part):
    cell, inputs, state = case(name)
    weights, jacobians = torch.randn(4).double(), gradients.state_jacobians(cell, inputs, state)
    measured = gradients.gradient_by_lag(cell, inputs, lambda last: last @ weights, state, part=part)
    assert measured.shape == (2, 6) and measured.dtype == torch.float64
    values = {key: value.detach() for key, value in trace(cell, inputs, state).items()}
    row = torch.zeros(2, jacobians.shape[-1], dtype=torch.float64)  # ∂L_T/∂ the whole state, of each sequence
    row[:, :4] = weights
    for lag in range(6):
        row = (row[:, None] @ jacobians[:, 5 - lag])[:, 0] if lag else row
        expected = row[:, :4] if part == "h" else row[:, 4:]
        if part == "c" and lag < 5:  # h_t is made from c_t, which the output gate does not see
            o, c = values["o"][:, 4 - lag], values["c"][:, 4 - lag]
            expected = expected + row[:, :4] * o * (1 - torch.tanh(c) ** 2)
        assert torch.allclose(measured[:, lag], expected.norm(dim=1), rtol=1e-10)


def test_along_an_open_cell_state_the_gradient_keeps_what_the_forget_gate_keeps():
    cell = LSTMCell(1, 3, forget_bias=math.log(4)).double()  # σ(ln 4) is 0.8
    torch.nn.init.zeros_(cell.W_hh)
    torch.nn.init.zeros_(cell.W_xh)
    inputs = torch.zeros(1, 20, 1, dtype=torch.float64)
    norms = gradients.gradient_by_lag(cell, inputs, lambda last: last[:, 0], part="c")
    assert (norms / norms[:, :1])[0].tolist() == pytest.approx([0.8**lag for lag in range(21)])


@pytest.mark.parametrize("name", RECURRENT)
def test_the_lyapunov_exponent_is_the_rate_of_a_small_difference(name):
    cell, inputs, state = case(name, time=12)
    measured = gradients.lyapunov(cell, inputs, state)
    size = sum(cell.state_sizes.values())
    v = torch.randn(2, size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    v = v / v.norm(dim=1, keepdim=True)
    above, below, gaps = whole(state) + 1e-4 * v, whole(state) - 1e-4 * v, []
    for x in inputs.unbind(1):
        above, below = step(cell, x, above), step(cell, x, below)
        gaps.append((above - below).norm(dim=1))
    rate = (gaps[-1] / gaps[1]).log() / 10  # a fifth of 12 steps, 2, is not counted
    assert measured.tolist() == pytest.approx(rate.tolist(), abs=1e-5)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="part is 'c'; the state of GRUCell has h"):
        gradients.gradient_by_lag(GRUCell(3, 4), torch.zeros(2, 5, 3), torch.sum, part="c")
    with pytest.raises(ValueError, match="the state is a Tensor"):
        gradients.gradient_by_lag(LSTMCell(3, 4), torch.zeros(2, 5, 3), torch.sum, torch.zeros(2, 4))
