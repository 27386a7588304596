"""Measure what becomes of a gradient on its way back: norms against lag, Jacobians, saturation, Lyapunov exponents.

The tools take a recurrent cell as `cells.unroll` does. A loss, where one is asked for, is a function of the last state:
it maps (batch, hidden_size) to a loss for each sequence, (batch,). So a language model is measured with
``model.core.cell`` and ``model.embedding(tokens)``, and the loss is
``lambda last: cross_entropy(model.output(last), target, reduction="none")``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from unrolled.cells import RNNCell, unroll

Loss = Callable[[torch.Tensor], torch.Tensor]

SLOPES = {  # φ′(a) of each nonlinearity, as a function of φ(a)
    "tanh": lambda h: 1 - h * h,
    "relu": lambda h: (h > 0).to(h),
    "sigmoid": lambda h: h * (1 - h),
    "identity": torch.ones_like,
}


def slopes(states: torch.Tensor, nonlinearity: str = "tanh") -> torch.Tensor:
    """Return φ′(a_t), measured from h_t = φ(a_t): 1 − h_t ⊙ h_t for tanh; the shape is that of the states.

    Raises:
        ValueError: an unknown nonlinearity.
    """
    if nonlinearity not in SLOPES:
        raise ValueError(f"nonlinearity is {nonlinearity!r}; it can be one of {', '.join(SLOPES)}")
    return SLOPES[nonlinearity](states)


def saturation(states: torch.Tensor, bound: float = 0.99) -> float:
    """Return the share of tanh units, over all axes, with |h| above the bound.

    There the slope 1 − h² is below 1 − bound², which is 0.0199 for a bound of 0.99.

    Raises:
        ValueError: the bound is not between 0 and 1.
    """
    if not 0 < bound < 1:
        raise ValueError(f"bound is {bound}; tanh lies between −1 and 1, so it must be between 0 and 1")
    return (states.abs() > bound).double().mean().item()


def _losses(loss: Loss, last: torch.Tensor) -> torch.Tensor:
    """Return the losses of the last state, (batch,), or raise ValueError if that is not their shape."""
    losses = loss(last)
    if losses.shape != last.shape[:1]:
        raise ValueError(
            f"the loss has shape {tuple(losses.shape)}; one for each sequence is expected, {tuple(last.shape[:1])}: "
            'use reduction="none"'
        )
    return losses


def gradient_by_lag(cell: RNNCell, inputs: torch.Tensor, loss: Loss, state: torch.Tensor | None = None) -> torch.Tensor:
    """Return ‖∂L_T/∂h_t‖ of every sequence at every lag T − t, by one backward pass.

    L_T is the loss after the last step. The derivative is total: through all the states after h_t. One pass suffices
    because on the way to h_0 it visits every state (Werbos 1990).

    Args:
        cell: the recurrent cell.
        inputs: (batch, time, input_size).
        loss: maps the last state to a loss for each sequence.
        state: h_0, (batch, hidden_size); the cell's own initial state where None.

    Returns:
        The norms, (batch, time + 1), float64: at lag 0 that of h_T, at lag T that of h_0. Where a gradient is too small
        for the states' number format, the norm is 0, as it is for training.

    Raises:
        ValueError: the loss does not give one number for each sequence, or what `cells.unroll` raises.
    """
    first = cell.initial_state(inputs) if state is None else state
    visited = [first.detach().requires_grad_()]
    with torch.enable_grad():
        for x in inputs.split(1, dim=1):  # (batch, 1, input_size)
            visited.append(unroll(cell, x, visited[-1])[1])
        # No sequence acts on another, so the gradient of the sum holds each sequence's own.
        gradients = torch.autograd.grad(_losses(loss, visited[-1]).sum(), visited)
    # Squares of small numbers underflow long before the numbers do: the norms are taken in float64.
    return torch.stack([gradient.double().norm(dim=-1) for gradient in reversed(gradients)], dim=1)


def recurrent_gradient(
    cell: RNNCell, inputs: torch.Tensor, loss: Loss, state: torch.Tensor | None = None
) -> np.ndarray:
    """Return ∂L_T/∂W_hh, its elements in a row, (hidden_size²,), ready for a histogram.

    L_T is the mean of the sequences' losses after the last step; the derivative is total. Nothing is added to the
    gradients that the weights hold.

    Takes and raises what `gradient_by_lag` does.
    """
    with torch.enable_grad():
        _, last = unroll(cell, inputs, state)
        (gradient,) = torch.autograd.grad(_losses(loss, last).mean(), [cell.W_hh])
    return gradient.flatten().cpu().numpy()


@torch.no_grad()
def state_jacobians(cell: RNNCell, inputs: torch.Tensor, state: torch.Tensor | None = None) -> torch.Tensor:
    """Return the Jacobian of every step, from its equation (Pascanu et al. 2013).

        J_t = ∂h_t/∂h_{t−1} = diag(φ′(a_t)) W_hh

    Args:
        cell: the recurrent cell.
        inputs: (batch, time, input_size).
        state: h_0, (batch, hidden_size); the cell's own initial state where None.

    Returns:
        J_1 … J_T, (batch, time, hidden_size, hidden_size): a row for each element of h_t, a column for each of h_{t−1}.

    Raises:
        ValueError: what `cells.unroll` raises.
    """
    states, _ = unroll(cell, inputs, state)
    return slopes(states, cell.nonlinearity)[..., None] * cell.W_hh  # (batch, time, hidden, 1) scales the rows


@torch.no_grad()
def spectra(matrices: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the singular values and the eigenvalues of matrices (…, h, h), both (…, h), the largest first.

    The eigenvalues are complex, and sorted by absolute value.
    """
    eigenvalues = torch.linalg.eigvals(matrices)
    order = eigenvalues.abs().argsort(dim=-1, descending=True)
    return torch.linalg.svdvals(matrices), eigenvalues.gather(-1, order)


@torch.no_grad()
def product(jacobians: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ∂h_T/∂h_t for every lag T − t, each as a matrix of norm 1 and the logarithm of its norm.

        ∂h_T/∂h_{T−k} = J_T J_{T−1} ⋯ J_{T−k+1}

    One pass from the end, a factor at a time; the product is rescaled at each step, so that it neither underflows nor
    overflows at any lag. Singular values less than about 1e-16 (in float64) of the largest are lost to rounding.

    Args:
        jacobians: J_1 … J_T, (…, time, h, h).

    Returns:
        The matrices, (…, time + 1, h, h), of spectral norm 1, and ln ‖∂h_T/∂h_{T−k}‖ for k = 0 … T, (…, time + 1). A
        product that is zero is a matrix of zeros with a logarithm of −∞.

    Raises:
        ValueError: the matrices are not square, or not in a row along a time axis.
    """
    if jacobians.ndim < 3 or jacobians.shape[-1] != jacobians.shape[-2]:
        raise ValueError(f"jacobians have shape {tuple(jacobians.shape)}; (…, time, h, h) is expected")
    here = torch.eye(jacobians.shape[-1]).to(jacobians).expand(*jacobians.shape[:-3], -1, -1)
    log_scale = jacobians.new_zeros(jacobians.shape[:-3])
    matrices, log_scales = [here], [log_scale]
    for jacobian in jacobians.flip(-3).unbind(-3):
        here = here @ jacobian
        size = torch.linalg.matrix_norm(here)
        here = here / torch.where(size > 0, size, 1)[..., None, None]
        log_scale = log_scale + size.log()
        matrices.append(here)
        log_scales.append(log_scale)
    stacked = torch.stack(matrices, dim=-3)  # (…, time + 1, h, h)
    norms = torch.linalg.matrix_norm(stacked, ord=2)
    return stacked / torch.where(norms > 0, norms, 1)[..., None, None], torch.stack(log_scales, dim=-1) + norms.log()


@torch.no_grad()
def lyapunov(
    cell: RNNCell, inputs: torch.Tensor, state: torch.Tensor | None = None, *, warm_up: int | None = None, seed: int = 0
) -> torch.Tensor:
    """Return the largest Lyapunov exponent of each sequence: the rate, a step, at which a small difference grows.

        λ = lim (1/T) ln ‖J_T ⋯ J_1 v‖

    A random v is carried through the steps and brought back to length 1 after each; the rate is the mean logarithm
    of what that took. For a linear cell it tends to ln ρ(W_hh), and in general ln ‖∂h_T/∂h_t‖ tends to λ (T − t).

    Args:
        cell: the recurrent cell.
        inputs: (batch, time, input_size); an error of the order of 1 / time remains.
        state: h_0, (batch, hidden_size); the cell's own initial state where None.
        warm_up: steps at the beginning that are not counted, while v turns to the direction that grows fastest; a
            fifth of them where None.
        seed: of v.

    Returns:
        λ in nats a step, (batch,); −∞ where v came to be zero.

    Raises:
        ValueError: no steps are left after the warm-up, or what `cells.unroll` raises.
    """
    states, _ = unroll(cell, inputs, state)
    time = states.shape[1]
    warm_up = time // 5 if warm_up is None else warm_up
    if not 0 <= warm_up < time:
        raise ValueError(f"warm_up is {warm_up}; with {time} steps it can be from 0 to {time - 1}")
    generator = torch.Generator().manual_seed(seed)
    v = torch.randn(states.shape[0], cell.hidden_size, generator=generator, dtype=torch.float64).to(states)
    v = v / v.norm(dim=-1, keepdim=True)
    total = torch.zeros_like(v[:, 0])
    for t, slope in enumerate(slopes(states, cell.nonlinearity).unbind(1)):
        v = slope * (v @ cell.W_hh.T)  # J_t v
        length = v.norm(dim=-1)
        v = v / torch.where(length > 0, length, 1)[:, None]
        if t >= warm_up:
            total += length.log()
    return total / (time - warm_up)
