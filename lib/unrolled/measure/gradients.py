"""Measure how a gradient changes on its way back through time: norms against lag, Jacobians, Lyapunov exponents.

The functions take any recurrent cell, as `cells.unroll` does. Where they take a loss, it is a function of the last
hidden state: it maps (batch, hidden_size) to one loss for each sequence, (batch,). A language model, for example, is
measured with ``model.core.layers[0]``, ``model.embedding(tokens)`` and
``lambda last: cross_entropy(model.output(last), target, reduction="none")``.
"""

import math
from collections.abc import Callable

import numpy as np
import torch

from unrolled.cells import Cell, State, unroll
from unrolled.measure.jacobians import slopes, state_jacobians, step_jacobians

__all__ = ["gradient_by_lag", "half_life", "lag_of", "lyapunov", "product", "slopes", "state_jacobians"]

Loss = Callable[[torch.Tensor], torch.Tensor]


def half_life(kept: float) -> float:
    """Return the number of steps after which half is left if every step keeps this share: −ln 2 / ln(kept).

    A forget gate that stays at f keeps the share f of the cell state, and of the gradient along it.

    Example:
        >>> half_life(0.5), round(half_life(0.99), 1)
        (1.0, 69.0)
    """
    return -math.log(2) / math.log(kept)


def lag_of(left: np.ndarray, share: float = 0.5) -> np.ndarray:
    """Return the lag at which only this share of the gradient is left, interpolated on a logarithmic scale.

    Args:
        left: the gradient's norm at lag 0, 1, … as a share of the norm at lag 0, (…, lags).
        share: between 0 and 1.

    Returns:
        The lags, (…,); infinite where more than the share is left at the last one.
    """
    if np.isnan(left).any() or not 0 < share < left[..., 0].min():
        raise ValueError(f"share is {share}; it lies between 0 and what is left at lag 0, and no lag has NaN left")
    after = (left <= share).argmax(axis=-1, keepdims=True)  # (…, 1): the first lag with no more left; 0 if none has
    low, high = (np.take_along_axis(left, lag, axis=-1) for lag in (np.maximum(after - 1, 0), after))
    with np.errstate(divide="ignore", invalid="ignore"):
        lag = after - 1 + np.log(share / low) / np.log(high / low)
    return np.where(after == 0, np.inf, lag)[..., 0]


def gradient_by_lag(
    cell: Cell, inputs: torch.Tensor, loss: Loss, state: State | None = None, *, part: str = "h"
) -> torch.Tensor:
    """Return ‖∂L_T/∂h_t‖ of every sequence at every lag T − t, or ‖∂L_T/∂c_t‖, with one backward pass.

    L_T is the loss after the last step. The derivative is total: through everything computed from h_t, or from c_t. So
    the derivative in h_t holds the cell state c_t fixed, while the derivative in c_t includes the path through
    h_t = o_t ⊙ tanh(c_t) (:eq:`eq-lstm-delta-h`, :eq:`eq-lstm-delta-cell`). One pass is enough, because on the way to
    the first state it visits every other (Werbos 1990).

    Args:
        cell, inputs, state: those of `cells.unroll`.
        loss: maps the last hidden state to one loss for each sequence.
        part: ``"h"`` for the hidden state, or another of the cell's `state_names`: ``"c"`` for an LSTM's cell state.

    Returns:
        The norms, (batch, time + 1), float64: at lag 0 that of h_T (or c_T), at lag T that of h_0. A gradient too small
        for the states' number format has the norm 0, as it has in training.

    Example:
        >>> from unrolled.cells import RNNCell, initialise
        >>> cell = initialise(RNNCell(1, 4, "identity"), "identity", 0.5)  # every step halves the gradient
        >>> gradient_by_lag(cell, torch.zeros(1, 3, 1), lambda last: last[:, 0]).tolist()
        [[1.0, 0.5, 0.25, 0.125]]
    """
    if part not in cell.state_names:
        raise ValueError(f"part is {part!r}; the state of {type(cell).__name__} has {', '.join(cell.state_names)}")
    first = cell.initial_state(inputs) if state is None else state
    current = tuple(tensor.detach().requires_grad_() for tensor in _parts(first))
    index = cell.state_names.index(part)
    visited = [current[index]]
    with torch.enable_grad():
        for x in inputs.split(1, dim=1):  # (batch, 1, input_size)
            # The plain step: a kernel returns h_t and c_t as results that do not depend on each other.
            current = _parts(unroll(cell, x, current if len(current) > 1 else current[0], plain=True)[1])
            visited.append(current[index])
        losses = loss(current[0])
        if losses.shape != (len(inputs),):
            shapes = f"the loss has shape {tuple(losses.shape)}; one for each sequence is expected, ({len(inputs)},)"
            raise ValueError(f'{shapes}: use reduction="none"')
        # Sequences do not interact, so the gradient of the sum holds each sequence's own.
        gradients = torch.autograd.grad(losses.sum(), visited)
    # Squares of small numbers underflow long before the numbers do, so the norms are taken in float64.
    return torch.stack([gradient.double().norm(dim=-1) for gradient in reversed(gradients)], dim=1)


def _parts(state: State) -> tuple[torch.Tensor, ...]:
    """Return a cell's state as a tuple of tensors, also if it is a single tensor."""
    return state if isinstance(state, tuple) else (state,)


@torch.no_grad()
def product(jacobians: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ∂h_T/∂h_t for every lag T − t, as a matrix of norm 1 and the logarithm of its norm.

        ∂h_T/∂h_{T−k} = J_T J_{T−1} ⋯ J_{T−k+1}

    For an LSTM this is the derivative of the whole state (h, c), whose size is then the h below. The product is built
    in one pass from the end, one factor at a time, and rescaled at each step, so that it neither underflows nor
    overflows at any lag. In float64, singular values below about 1e-16 of the largest are lost to rounding.

    Args:
        jacobians: J_1 … J_T, (…, time, h, h).

    Returns:
        The matrices, (…, time + 1, h, h), of spectral norm 1, and ln ‖∂h_T/∂h_{T−k}‖ for k = 0 … T, (…, time + 1). A
        product of zero is returned as a matrix of zeros and the logarithm −∞.

    Example:
        >>> _, log_norms = product(0.5 * torch.eye(3).expand(1000, 3, 3))
        >>> round(log_norms[-1].item() / 1000, 3)  # ln 0.5, although 0.5¹⁰⁰⁰ underflows in float32
        -0.693
    """
    matrix = torch.eye(jacobians.shape[-1]).to(jacobians).expand(*jacobians.shape[:-3], -1, -1)
    log_scale = jacobians.new_zeros(jacobians.shape[:-3])
    matrices, log_scales = [matrix], [log_scale]
    for jacobian in jacobians.flip(-3).unbind(-3):
        matrix = matrix @ jacobian
        size = torch.linalg.matrix_norm(matrix)
        matrix = matrix / torch.where(size > 0, size, 1)[..., None, None]
        log_scale = log_scale + size.log()
        matrices.append(matrix)
        log_scales.append(log_scale)
    stacked = torch.stack(matrices, dim=-3)  # (…, time + 1, h, h)
    norms = torch.linalg.matrix_norm(stacked, ord=2)
    return stacked / torch.where(norms > 0, norms, 1)[..., None, None], torch.stack(log_scales, dim=-1) + norms.log()


@torch.no_grad()
def lyapunov(cell: Cell, inputs: torch.Tensor, state: State | None = None) -> torch.Tensor:
    """Return the largest Lyapunov exponent of each sequence: the rate per step at which a small difference grows.

        λ = lim (1/T) ln ‖J_T ⋯ J_1 v‖

    A random vector v of the size of the whole state is carried through the steps, and rescaled to length 1 after each;
    the rate is the mean logarithm of its growth. The first fifth of the steps is not counted: there v turns towards the
    direction that grows fastest. For a linear cell the rate tends to ln ρ(W_hh); in general the norm of `product` tends
    to exp(λ (T − t)).

    Args:
        cell, inputs, state: those of `cells.unroll`; the error is of the order of 1 / time.

    Returns:
        λ in nats per step, (batch,); −∞ where v became zero.
    """
    time = inputs.shape[1]
    warm_up = time // 5
    size = len(cell.state_names) * cell.hidden_size
    generator = torch.Generator().manual_seed(0)
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
