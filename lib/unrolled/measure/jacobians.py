"""The Jacobian of every step of a cell, from its equations: the whole state with respect to the one before."""

from collections.abc import Iterator
from functools import singledispatch

import torch

from unrolled.cells import Cell, GRUCell, LSTMCell, OriginalLSTMCell, RNNCell, State, trace

SLOPES = {  # φ′(a) of each nonlinearity, as a function of φ(a)
    "tanh": lambda h: 1 - h * h,
    "relu": lambda h: (h > 0).to(h),
    "sigmoid": lambda h: h * (1 - h),
    "identity": torch.ones_like,
}


def slopes(states: torch.Tensor, nonlinearity: str = "tanh") -> torch.Tensor:
    """Return φ′(a_t), computed from h_t = φ(a_t): 1 − h_t ⊙ h_t for tanh.

    Args:
        states: h_t, of any shape. For the slope of a gate, its values, with the nonlinearity ``"sigmoid"``.
        nonlinearity: the name of φ, one of `SLOPES`.

    Returns:
        The slopes, of the shape of the states.

    Raises:
        ValueError: an unknown nonlinearity.

    Example:
        >>> slopes(torch.tensor([0.0, 0.5, 1.0])).tolist()
        [1.0, 0.75, 0.0]
    """
    if nonlinearity not in SLOPES:
        raise ValueError(f"nonlinearity is {nonlinearity!r}; it can be one of {', '.join(SLOPES)}")
    return SLOPES[nonlinearity](states)


@torch.no_grad()
def state_jacobians(cell: Cell, inputs: torch.Tensor, state: State | None = None) -> torch.Tensor:
    """Return the Jacobian of every step, from the cell's equations.

    For a vanilla cell (Pascanu et al. 2013):

        J_t = ∂h_t/∂h_{t−1} = diag(φ′(a_t)) W_hh

    For an LSTM, the whole state (h_t, c_t) with respect to (h_{t−1}, c_{t−1}) (:eq:`eq-lstm-jacobian`):

        ∂c_t/∂h_{t−1} = diag(c_{t−1} ⊙ f ⊙ (1 − f)) W_f,h + diag(c̃ ⊙ i ⊙ (1 − i)) W_i,h + diag(i ⊙ (1 − c̃ ⊙ c̃)) W_c,h
        ∂c_t/∂c_{t−1} = diag(f)
        ∂h_t/∂h_{t−1} = diag(tanh(c_t) ⊙ o ⊙ (1 − o)) W_o,h + diag(o ⊙ (1 − tanh²(c_t))) ∂c_t/∂h_{t−1}
        ∂h_t/∂c_{t−1} = diag(o ⊙ (1 − tanh²(c_t))) ∂c_t/∂c_{t−1}

    In the LSTM of 1997 f is 1, and the term with W_f,h is missing.

    For a GRU, with k = z ⊙ (1 − h̃ ⊙ h̃) (:eq:`eq-gru-jacobian`):

        J_t = diag(1 − z) + diag((h̃ − h_{t−1}) ⊙ z ⊙ (1 − z)) W_z,h + C_t
        reset before the product:  C_t = diag(k) W_hh (diag(r) + diag(h_{t−1} ⊙ r ⊙ (1 − r)) W_r,h)
        reset after it:            C_t = diag(k) (diag(r) W_hh + diag((W_hh h_{t−1} + b_hh) ⊙ r ⊙ (1 − r)) W_r,h)

    Args:
        cell, inputs, state: those of `cells.unroll`.

    Returns:
        J_1 … J_T, (batch, time, size, size), where size is that of the whole state: 2 hidden_size for an LSTM, first h,
        then c; hidden_size for the others. Rows belong to the state after the step, columns to the state before it.

    Raises:
        ValueError: a cell of another kind, or what `cells.unroll` raises.

    Example:
        >>> cell = LSTMCell(3, 4)
        >>> tuple(state_jacobians(cell, torch.zeros(2, 5, 3)).shape)
        (2, 5, 8, 8)
    """
    return torch.stack(list(step_jacobians(cell, inputs, state)), dim=1)


@torch.no_grad()
def step_jacobians(cell: Cell, inputs: torch.Tensor, state: State | None = None) -> Iterator[torch.Tensor]:
    """Yield the Jacobians of `state_jacobians` step by step, for when all of them would not fit in memory.

    Arguments and errors are those of `state_jacobians`; each Jacobian is (batch, size, size).
    """
    values = trace(cell, inputs, state)
    first = cell.initial_state(inputs) if state is None else state
    before = dict(zip(cell.state_names, first if isinstance(first, tuple) else (first,), strict=True))
    for t in range(inputs.shape[1]):
        current = {name: value[:, t] for name, value in values.items()}
        yield _step_jacobian(cell, current, before)
        before = current


@singledispatch
def _step_jacobian(cell: Cell, values: dict[str, torch.Tensor], before: dict[str, torch.Tensor]) -> torch.Tensor:
    """Return one step's Jacobian from what its equations gave, and the state before it, (batch, hidden) by name."""
    raise ValueError(
        f"the cell is of type {type(cell).__name__}; it can be RNNCell, LSTMCell, OriginalLSTMCell or GRUCell"
    )


@_step_jacobian.register
def _of_rnn(cell: RNNCell, values: dict[str, torch.Tensor], before: dict[str, torch.Tensor]) -> torch.Tensor:
    return _rows(slopes(values["h"], cell.nonlinearity), cell.W_hh)


@_step_jacobian.register
def _of_lstm(
    cell: LSTMCell | OriginalLSTMCell, values: dict[str, torch.Tensor], before: dict[str, torch.Tensor]
) -> torch.Tensor:
    i, candidate, o, squashed = values["i"], values["candidate"], values["o"], values["c"].tanh()
    f = values.get("f", torch.ones_like(i))
    by = {  # ∂c_t with respect to each pre-activation, and ∂h_t with respect to that of o
        "f": before["c"] * slopes(f, "sigmoid"),
        "i": candidate * slopes(i, "sigmoid"),
        "candidate": i * slopes(candidate),
        "o": squashed * slopes(o, "sigmoid"),
    }
    c_by_h = sum(_rows(by[name], cell.block(name).W_hh) for name in cell.blocks if name != "o")
    c_by_c, slope = f, o * slopes(squashed)  # diagonal, both: ∂c_t/∂c_{t−1} and ∂h_t/∂c_t
    h_by_h = _rows(by["o"], cell.block("o").W_hh) + _rows(slope, c_by_h)
    of_h = torch.cat([h_by_h, torch.diag_embed(slope * c_by_c)], dim=-1)  # (batch, hidden, 2 hidden)
    of_c = torch.cat([c_by_h, torch.diag_embed(c_by_c)], dim=-1)
    return torch.cat([of_h, of_c], dim=-2)


@_step_jacobian.register
def _of_gru(cell: GRUCell, values: dict[str, torch.Tensor], before: dict[str, torch.Tensor]) -> torch.Tensor:
    h, z, r, candidate = before["h"], values["z"], values["r"], values["candidate"]
    W_z, W_r, W_hh = (cell.block(name).W_hh for name in ("z", "r", "candidate"))
    if cell.reset == "before":
        inner = W_hh @ (torch.diag_embed(r) + _rows(h * slopes(r, "sigmoid"), W_r))
    else:
        inner = _rows(r, W_hh) + _rows((h @ W_hh.T + cell.b_hh) * slopes(r, "sigmoid"), W_r)
    update = _rows((candidate - h) * slopes(z, "sigmoid"), W_z)
    return torch.diag_embed(1 - z) + update + _rows(z * slopes(candidate), inner)


def _rows(scale: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """Return diag(scale) times the matrix, whose rows it scales: (batch, h) and (…, h, h) → (batch, h, h)."""
    return scale[..., None] * matrix
