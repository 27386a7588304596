"""Gradients are measured as brute force measures them, and in one pass."""

import math

import numpy as np
import pytest
import torch

from unrolled.cells import RNNCell, initialise, unroll
from unrolled.measure import gradients


def squares(last):
    return (last**2).sum(1)


def linear(weights):
    cell = RNNCell(1, len(weights), "identity").double()
    with torch.no_grad():
        cell.W_hh.copy_(weights)
    return cell


def test_all_lags_take_one_backward_pass():
    visits = []

    class Counting(RNNCell):
        def step(self, projected, state):
            new = super().step(projected, state)
            new.register_hook(lambda gradient: visits.append(gradient.shape))
            return new

    cell = Counting(4, 5)
    gradients.gradient_by_lag(cell, torch.randn(2, 50, 4), squares)
    assert visits == [(2, 5)] * 50
    assert all(weight.grad is None for weight in cell.parameters())


def test_a_small_gradient_is_measured_until_its_format_ends():
    cell = RNNCell(1, 2, "identity")
    initialise(cell, "identity", 0.5)
    measured = gradients.gradient_by_lag(cell, torch.zeros(1, 160, 1), lambda last: last[:, 0])[0]
    assert torch.equal(measured[:150], 0.5 ** torch.arange(150, dtype=torch.float64))  # the last ones are subnormal
    assert (measured[150:] == 0).all()


def test_the_product_equals_autograd_at_every_lag():
    torch.manual_seed(0)
    cell, inputs, state = RNNCell(4, 5).double(), torch.randn(1, 6, 4).double(), torch.randn(1, 5).double()
    matrices, log_norms = gradients.product(gradients.state_jacobians(cell, inputs, state))
    assert matrices.shape == (1, 7, 5, 5) and log_norms.shape == (1, 7)
    for lag in range(1, 7):
        reached = state if lag == 6 else unroll(cell, inputs[:, : 6 - lag], state)[1]
        brute = torch.autograd.functional.jacobian(
            lambda h, lag=lag: unroll(cell, inputs[:, 6 - lag :], h)[1][0], reached.detach()
        )[:, 0]
        assert torch.allclose(matrices[0, lag] * log_norms[0, lag].exp(), brute, rtol=1e-10, atol=1e-12)
        assert log_norms[0, lag].item() == pytest.approx(torch.linalg.matrix_norm(brute, 2).log().item(), abs=1e-10)
    assert log_norms[0, 0] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("radius", [0.3, 1.0, 3.0])
def test_log_norms_neither_underflow_nor_overflow(radius):
    jacobians = gradients.state_jacobians(
        initialise(RNNCell(1, 6, "identity"), "orthogonal", radius), torch.zeros(2, 2000, 1)
    )
    matrices, log_norms = gradients.product(jacobians)
    assert log_norms.isfinite().all() and matrices.isfinite().all()
    expected = math.log(radius) * torch.arange(2001)
    assert torch.allclose(log_norms, expected.expand(2, -1), rtol=1e-4, atol=2e-3)
    assert torch.allclose(torch.linalg.matrix_norm(matrices, 2), torch.ones(2, 2001), atol=1e-5)


def test_a_product_of_zero_says_so():
    jacobians = torch.eye(3).repeat(5, 1, 1)
    jacobians[2] = 0
    matrices, log_norms = gradients.product(jacobians)
    assert log_norms.tolist() == pytest.approx([0, 0, 0, -math.inf, -math.inf, -math.inf], abs=1e-6)
    assert (matrices[3:] == 0).all()


def test_the_lyapunov_exponent_of_a_linear_cell_is_the_logarithm_of_the_spectral_radius():
    torch.manual_seed(0)
    symmetric = torch.randn(6, 6, dtype=torch.float64)
    symmetric = symmetric + symmetric.T
    for weights in (symmetric, torch.randn(6, 6, dtype=torch.float64)):  # the second one has complex eigenvalues
        rate = math.log(torch.linalg.eigvals(weights).abs().max())
        measured = gradients.lyapunov(linear(weights), torch.zeros(2, 5000, 1, dtype=torch.float64))
        assert measured.tolist() == pytest.approx([rate] * 2, abs=1e-3)
        _, log_norms = gradients.product(gradients.state_jacobians(linear(weights), torch.zeros(1, 1000, 1).double()))
        assert (log_norms[0, 1000] - log_norms[0, 500]).item() / 500 == pytest.approx(rate, abs=5e-3)


def test_a_difference_that_dies_has_a_rate_of_minus_infinity():
    cell = initialise(RNNCell(1, 3, "relu"), "identity")
    with torch.no_grad():
        cell.b_h.fill_(-1)  # and so no unit is ever on
    assert gradients.lyapunov(cell, torch.zeros(1, 9, 1)).tolist() == [-math.inf]


CELL, INPUTS = RNNCell(4, 5), torch.zeros(2, 6, 4)


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: gradients.gradient_by_lag(CELL, INPUTS, lambda last: last.sum()), r"the loss has shape \(\); one for"),
        (lambda: gradients.gradient_by_lag(CELL, INPUTS, lambda last: last), r"\(2, 5\).*expected, \(2,\)"),
        (lambda: gradients.gradient_by_lag(CELL, INPUTS, squares, torch.zeros(3, 5)), r"with \[\(3, 5\)\]"),
        (lambda: gradients.product(torch.zeros(3, 4, 5)), r"\(3, 4, 5\); \(…, time, h, h\) is expected"),
        (lambda: gradients.half_life(1.0), "kept is 1.0"),
        (lambda: gradients.lag_of(np.ones(3), 1), "share is 1; it must lie between 0 and what is left at lag 0"),
        (
            lambda: gradients.lag_of(np.array([[1.0, 0.2], [1.0, np.nan]])),
            "left is NaN at lag 1; leave out what has no",
        ),
    ],
)
def test_bad_input_is_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_the_lag_of_a_half_is_found_between_two():
    left = 0.9 ** np.arange(20)
    lags = gradients.lag_of(np.stack([left, left**2, left**0.1]))
    assert lags[:2] == pytest.approx([gradients.half_life(0.9), gradients.half_life(0.81)]) and lags[2] == np.inf
    assert gradients.lag_of(np.array([1.0, 0.5])) == 1 and gradients.lag_of(left, 0.81) == pytest.approx(2)


def test_jacobians_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="jacobians hold numbers that are not finite"):
        gradients.product(torch.full((2, 3, 3), torch.nan))
