"""Measure what becomes of a gradient on its way back: norms against lag, Jacobians, saturation, Lyapunov exponents.

The tools take any recurrent cell, as `cells.unroll` does. A loss, where one is asked for, is a function of the last
hidden state: it maps (batch, hidden_size) to a loss for each sequence, (batch,). So a language model is measured with
``model.core.cell`` and ``model.embedding(tokens)``, and the loss is
``lambda last: cross_entropy(model.output(last), target, reduction="none")``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch

from unrolled.cells import Cell, State, unroll
from unrolled.measure.jacobians import slopes, state_jacobians, step_jacobians

__all__ = [
    "Loss",
    "gate_saturation",
    "gradient_by_input",
    "gradient_by_lag",
    "half_life",
    "lag_of",
    "lyapunov",
    "product",
    "recurrent_gradient",
    "saturation",
    "slopes",
    "spectra",
    "state_jacobians",
]

Loss = Callable[[torch.Tensor], torch.Tensor]


def saturation(states: torch.Tensor, bound: float = 0.99) -> float:
    """Return the share of tanh units, over all axes, with |h| above the bound.

    There the slope 1 − h² is below 1 − bound², which is 0.0199 for a bound of 0.99.

    Raises:
        ValueError: the bound is not between 0 and 1.
    """
    if not 0 < bound < 1:
        raise ValueError(f"bound is {bound}; tanh lies between −1 and 1, so it must be between 0 and 1")
    return (states.abs() > bound).double().mean().item()


def gate_saturation(gate: torch.Tensor, bound: float = 0.9) -> tuple[torch.Tensor, torch.Tensor]:
    """Return how often each unit of a gate is nearly shut, and how often nearly open.

    There the sigmoid's slope is below bound · (1 − bound), 0.09 for a bound of 0.9, of the 0.25 that it can be. The
    bound is that of Karpathy, Johnson & Fei-Fei (arXiv 1506.02078).

    Args:
        gate: its values, from 0 to 1, (…, hidden_size), as from `cells.trace`.
        bound: a unit is nearly open above it, and nearly shut below 1 − bound.

    Returns:
        The share of values below 1 − bound and the share above the bound, over all axes but the last, float64,
        (hidden_size,) each.

    Raises:
        ValueError: the bound is not between 1/2 and 1.
    """
    if not 0.5 < bound < 1:
        raise ValueError(f"bound is {bound}; a gate lies between 0 and 1, so it must be between 1/2 and 1")
    values = gate.flatten(0, -2)  # (…, hidden) → (values, hidden)
    return (values < 1 - bound).double().mean(dim=0), (values > bound).double().mean(dim=0)


def half_life(kept: float) -> float:
    """Return after how many steps half is left, where every step keeps this share: −ln 2 / ln(kept).

    Of a cell state, a forget gate that stays at f keeps that share, and so of the gradient along it.

    Raises:
        ValueError: the share is not between 0 and 1.
    """
    if not 0 < kept < 1:
        raise ValueError(f"kept is {kept}; a share that halves in some time is between 0 and 1")
    return -math.log(2) / math.log(kept)


def lag_of(left: np.ndarray, share: float = 0.5) -> np.ndarray:
    """Return the lag at which this share of the gradient is left, between the two nearest on a logarithmic scale.

    Args:
        left: what is left at lag 0, 1, …, as a share of that at lag 0, (…, lags).
        share: between 0 and 1.

    Returns:
        The lags, (…,); infinite where more is left at the last one.

    Raises:
        ValueError: the share is not between 0 and 1, or what is left does not begin above it.
    """
    if not 0 < share < 1 or (left[..., 0] <= share).any():
        raise ValueError(f"share is {share}; it must lie between 0 and what is left at lag 0")
    after = (left <= share).argmax(axis=-1, keepdims=True)  # 0 where there is none
    low, high = (np.take_along_axis(left, lag, axis=-1) for lag in (np.maximum(after - 1, 0), after))
    with np.errstate(divide="ignore", invalid="ignore"):
        lag = after - 1 + np.log(share / low) / np.log(high / low)
    return np.where(after == 0, np.inf, lag)[..., 0]


def _losses(loss: Loss, last: torch.Tensor) -> torch.Tensor:
    """Return the losses of the last state, (batch,), or raise ValueError if that is not their shape."""
    losses = loss(last)
    if losses.shape != last.shape[:1]:
        raise ValueError(
            f"the loss has shape {tuple(losses.shape)}; one for each sequence is expected, {tuple(last.shape[:1])}: "
            'use reduction="none"'
        )
    return losses


def _parts(state: State) -> tuple[torch.Tensor, ...]:
    """Return the tensors of a cell's state, of which there may be one or several."""
    return state if isinstance(state, tuple) else (state,)


def gradient_by_lag(
    cell: Cell, inputs: torch.Tensor, loss: Loss, state: State | None = None, *, part: str = "h"
) -> torch.Tensor:
    """Return ‖∂L_T/∂h_t‖ of every sequence at every lag T − t, or ‖∂L_T/∂c_t‖, by one backward pass.

    L_T is the loss after the last step. The derivative is total: through all that was computed from h_t, or from c_t.
    So in the derivative by h_t the cell state c_t is held, while that by c_t goes through h_t = o_t ⊙ tanh(c_t) too
    (:eq:`eq-lstm-delta-h`, :eq:`eq-lstm-delta-cell`). One pass suffices because on the way to the first state it
    visits every other (Werbos 1990).

    Args:
        cell: the recurrent cell.
        inputs: (batch, time, input_size).
        loss: maps the last hidden state to a loss for each sequence.
        state: the state before the first step; the cell's own initial state where None.
        part: ``"h"`` for the hidden state, or another of the cell's `state_names`: ``"c"`` for an LSTM's cell state.

    Returns:
        The norms, (batch, time + 1), float64: at lag 0 that of h_T (or c_T), at lag T that of h_0. Where a gradient is
        too small for the states' number format, the norm is 0, as it is for training.

    Raises:
        ValueError: the loss does not give one number for each sequence, the state has no such part, or what
            `cells.unroll` raises.
    """
    if part not in cell.state_names:
        raise ValueError(f"part is {part!r}; the state of {type(cell).__name__} has {', '.join(cell.state_names)}")
    if state is None:
        state = cell.initial_state(inputs)
    cell.check_state(state, inputs)
    here = tuple(one.detach().requires_grad_() for one in _parts(state))
    at = cell.state_names.index(part)
    visited = [here[at]]
    with torch.enable_grad():
        for x in inputs.split(1, dim=1):  # (batch, 1, input_size)
            # The plain step: to the one derived by hand, h_t and c_t are two results that do not depend on each other.
            here = _parts(unroll(cell, x, here if len(here) > 1 else here[0], plain=True)[1])
            visited.append(here[at])
        # No sequence acts on another, so the gradient of the sum holds each sequence's own.
        gradients = torch.autograd.grad(_losses(loss, here[0]).sum(), visited)
    # Squares of small numbers underflow long before the numbers do: the norms are taken in float64.
    return torch.stack([gradient.double().norm(dim=-1) for gradient in reversed(gradients)], dim=1)


def gradient_by_input(read: Loss, inputs: torch.Tensor, loss: Loss) -> torch.Tensor:
    """Return ‖∂L_T/∂x_t‖ of every sequence at every lag T − t: how much the last loss owes to each input.

    So models can be compared that have no state in common: a recurrent network, and one that attends.

    Args:
        read: maps inputs, (batch, time, input_size), to hidden states, (batch, time, hidden_size). Of a language model
            it is ``lambda x: model.core(x, model.initial_state(len(x)))[0]``, of a transformer ``model.attend``.
        inputs: (batch, time, input_size).
        loss: maps the last hidden state to a loss for each sequence.

    Returns:
        The norms, (batch, time), float64: at lag 0 that of the last input.

    Raises:
        ValueError: the loss does not give one number for each sequence.
    """
    inputs = inputs.detach().requires_grad_()
    with torch.enable_grad():
        losses = _losses(loss, read(inputs)[:, -1])
        (gradient,) = torch.autograd.grad(losses.sum(), inputs)  # no sequence acts on another
    return gradient.double().norm(dim=-1).flip(1)


def recurrent_gradient(cell: Cell, inputs: torch.Tensor, loss: Loss, state: State | None = None) -> np.ndarray:
    """Return ∂L_T/∂W_hh, its elements in a row, (blocks · hidden_size²,), ready for a histogram.

    L_T is the mean of the sequences' losses after the last step; the derivative is total. Nothing is added to the
    gradients that the weights hold. A gated cell has a block for each gate and candidate, one after the other in the
    order of `cell.blocks`.

    Args:
        cell, inputs, loss, state: as in `gradient_by_lag`.

    Raises:
        ValueError: what `gradient_by_lag` raises.
    """
    with torch.enable_grad():
        states, _ = unroll(cell, inputs, state)
        (gradient,) = torch.autograd.grad(_losses(loss, states[:, -1]).mean(), [cell.W_hh])
    return gradient.flatten().cpu().numpy()


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

    For an LSTM this is the derivative of the whole state (h, c), whose length is then the h below. One pass from the
    end, a factor at a time; the product is rescaled at each step, so that it neither underflows nor overflows at any
    lag. Singular values less than about 1e-16 (in float64) of the largest are lost to rounding.

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
    cell: Cell, inputs: torch.Tensor, state: State | None = None, *, warm_up: int | None = None, seed: int = 0
) -> torch.Tensor:
    """Return the largest Lyapunov exponent of each sequence: the rate, a step, at which a small difference grows.

        λ = lim (1/T) ln ‖J_T ⋯ J_1 v‖

    A random v, as long as the whole state, is carried through the steps and brought back to length 1 after each; the
    rate is the mean logarithm of what that took. For a linear cell it tends to ln ρ(W_hh), and in general the norm of
    `product` tends to exp(λ (T − t)).

    Args:
        cell: the recurrent cell.
        inputs: (batch, time, input_size); an error of the order of 1 / time remains.
        state: the state before the first step; the cell's own initial state where None.
        warm_up: steps at the beginning that are not counted, while v turns to the direction that grows fastest; a
            fifth of them where None.
        seed: of v.

    Returns:
        λ in nats a step, (batch,); −∞ where v came to be zero.

    Raises:
        ValueError: no steps are left after the warm-up, or what `state_jacobians` raises.
    """
    time = inputs.shape[1]
    warm_up = time // 5 if warm_up is None else warm_up
    if not 0 <= warm_up < time:
        raise ValueError(f"warm_up is {warm_up}; with {time} steps it can be from 0 to {time - 1}")
    size = len(cell.state_names) * cell.hidden_size
    generator = torch.Generator().manual_seed(seed)
    v = torch.randn(len(inputs), size, generator=generator, dtype=torch.float64).to(inputs)
    v = v / v.norm(dim=-1, keepdim=True)
    total = torch.zeros_like(v[:, 0])
    for t, jacobian in enumerate(step_jacobians(cell, inputs, state)):
        v = (jacobian @ v[..., None])[..., 0]  # (batch, size)
        length = v.norm(dim=-1)
        v = v / torch.where(length > 0, length, 1)[:, None]
        if t >= warm_up:
            total += length.log()
    return total / (time - warm_up)
