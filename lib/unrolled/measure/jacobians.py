"""The Jacobian of every step of a cell: the whole state with respect to the one before."""

from collections.abc import Iterator

import torch

from unrolled.cells import Cell, State, detach

SLOPES = {  # φ′(a) of each nonlinearity, as a function of φ(a)
    "tanh": lambda h: 1 - h * h,
    "relu": lambda h: (h > 0).to(h),
    "sigmoid": lambda h: h * (1 - h),
    "identity": torch.ones_like,
}


def slopes(states: torch.Tensor, nonlinearity: str = "tanh") -> torch.Tensor:
    """Return φ′(a_t), of the shape of the states, computed from h_t = φ(a_t): 1 − h_t ⊙ h_t for tanh.

    Example:
        >>> slopes(torch.tensor([0.0, 0.5, 1.0])).tolist()
        [1.0, 0.75, 0.0]
    """
    return SLOPES[nonlinearity](states)


def state_jacobians(cell: Cell, inputs: torch.Tensor, state: State | None = None) -> torch.Tensor:
    """Return the Jacobian of every step: J_t = ∂h_t/∂h_{t−1} = diag(φ′(a_t)) W_hh of a vanilla cell, by autograd.

    Args:
        cell, inputs, state: those of `cells.unroll`; a cell of any kind.

    Returns:
        J_1 … J_T, (batch, time, size, size), where size is that of the whole state: 2 hidden_size for an LSTM, first h,
        then c (:eq:`eq-lstm-jacobian`); hidden_size for a GRU (:eq:`eq-gru-jacobian`). Rows belong to the state after
        the step, columns to the state before it.

    Example:
        >>> from unrolled.cells import LSTMCell
        >>> tuple(state_jacobians(LSTMCell(3, 4), torch.zeros(2, 5, 3)).shape)
        (2, 5, 8, 8)
    """
    return torch.stack(list(step_jacobians(cell, inputs, state)), dim=1)


def step_jacobians(cell: Cell, inputs: torch.Tensor, state: State | None = None) -> Iterator[torch.Tensor]:
    """Yield the Jacobians of `state_jacobians` step by step, (batch, size, size) each, where all would not fit.

    Every sequence takes each step once for every number of its state, side by side, and one backward pass asks each of
    these copies for the derivatives of another number.
    """
    names, sizes = list(cell.state_sizes), list(cell.state_sizes.values())
    size, eye = sum(sizes), torch.eye(sum(sizes)).to(inputs).repeat(len(inputs), 1)  # (batch · size, size)
    state = detach(cell.first_state(inputs, state))
    for projected in cell.project(inputs).detach().unbind(1):
        with torch.enable_grad():
            whole = _joined(state).repeat_interleave(size, dim=0).requires_grad_()  # (batch · size, size)
            parts = dict(zip(names, whole.split(sizes, dim=1), strict=True))
            after = _joined(cell.step(projected.repeat_interleave(size, dim=0), cell.state_of(parts)))
            (jacobian,) = torch.autograd.grad(after, whole, eye)
        yield jacobian.view(-1, size, size)
        state = detach(cell.step(projected, state))


def _joined(state: State) -> torch.Tensor:
    return torch.cat(state, dim=1) if isinstance(state, tuple) else state
