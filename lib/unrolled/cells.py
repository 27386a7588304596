"""Recurrent cells, written from the book's equations in the order of the equations.

A cell splits its step in two: `project` does what needs no state, and so can be done for all steps at once;
`step` does what has to wait for the step before. `unroll` puts the two together, and `trace` keeps everything that was
computed on the way. `RNNCell` is here, the gated cells are in `gated`, and what they all share is in `recurrence`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from unrolled.gated import GRUCell, LSTMCell
from unrolled.recurrence import Cell, State, check_state, detach, select

__all__ = [
    "CELLS",
    "Cell",
    "GRUCell",
    "LSTMCell",
    "NONLINEARITIES",
    "RNNCell",
    "State",
    "check_state",
    "detach",
    "select",
    "trace",
    "unroll",
]

NONLINEARITIES = {"tanh": torch.tanh, "relu": torch.relu, "sigmoid": torch.sigmoid, "identity": lambda a: a}


class RNNCell(Cell):
    """Carry the hidden state one step forward (:eq:`eq-rnn`; Elman 1990).

        a_t = W_xh x_t + W_hh h_{t−1} + b_h
        h_t = tanh(a_t)

    Args:
        input_size: d, the length of an input vector.
        hidden_size: h, the length of the state.
        nonlinearity: ``"tanh"``, or another of `NONLINEARITIES`: ``"relu"``, ``"sigmoid"``, ``"identity"``.

    Attributes:
        W_xh: input weights, (hidden_size, input_size).
        W_hh: recurrent weights, (hidden_size, hidden_size).
        b_h: bias, (hidden_size,). PyTorch keeps two that are only ever added; one is enough.

    Raises:
        ValueError: a size below 1, or an unknown nonlinearity.
    """

    torch_cell, torch_layer = nn.RNNCell, nn.RNN
    torch_blocks = {"h": 1}

    def __init__(self, input_size: int, hidden_size: int, nonlinearity: str = "tanh"):
        if nonlinearity not in NONLINEARITIES:
            raise ValueError(f"nonlinearity is {nonlinearity!r}; it can be one of {', '.join(NONLINEARITIES)}")
        super().__init__(input_size, hidden_size, ("h",))
        self.nonlinearity = nonlinearity

    def options(self) -> dict[str, Any]:
        return {"nonlinearity": self.nonlinearity}

    def equations(self, projected: torch.Tensor, state: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return h, that is h_t, from the projected x_t and h_{t−1}; all are (batch, hidden_size)."""
        return {"h": NONLINEARITIES[self.nonlinearity](torch.addmm(projected, state, self.W_hh.T))}

    def options_for_torch(self) -> dict[str, Any]:
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"torch.nn has no RNN with nonlinearity={self.nonlinearity!r}, only with 'tanh' and 'relu'"
            )
        return self.options()

    @classmethod
    def options_from_torch(cls, module: nn.RNNCell | nn.RNN) -> dict[str, Any]:
        return {"nonlinearity": module.nonlinearity}


CELLS = {"rnn": RNNCell, "lstm": LSTMCell, "gru": GRUCell}


def unroll(
    cell: Cell, inputs: torch.Tensor, state: State | None = None, *, plain: bool = False
) -> tuple[torch.Tensor, State]:
    """Apply one cell at every step of a sequence, each time to its own last state.

    The common gated cells go through `fused`, whose derivatives were found by hand: the same numbers up to rounding,
    sooner. They can be differentiated once only, and not by ``torch.func``; the plain steps have no such limits. Under
    autocast the steps are the plain ones.

    Args:
        cell: the cell; the same weights serve every step.
        inputs: (batch, time, input_size).
        state: the state before the first step; the cell's own initial state where None.
        plain: go step by step, with the cell's own `step` and autograd's derivatives.

    Returns:
        The hidden states after every step, (batch, time, hidden_size), and the last state.

    Raises:
        ValueError: the inputs do not have three axes, or none but zero steps, or the state does not fit.
    """
    state = _first_state(cell, inputs, state)
    if not plain and not torch.is_autocast_enabled(inputs.device.type):
        ready = cell.fast(inputs, state)
        if ready is not None:
            return ready
    hidden = []
    for projected in cell.project(inputs).unbind(1):  # one product for all steps; then (batch, …) a step
        state = cell.step(projected, state)
        hidden.append(state[0] if isinstance(state, tuple) else state)
    return torch.stack(hidden, dim=1), state  # (batch, time, hidden)


def trace(cell: Cell, inputs: torch.Tensor, state: State | None = None) -> dict[str, torch.Tensor]:
    """Return what each equation gave at every step, by name, (batch, time, hidden_size) each.

    An RNN has h; an LSTM f, i, candidate, c, o and h; a GRU z, r, candidate and h. The steps are the plain ones.

    Takes and raises what `unroll` does.
    """
    state = _first_state(cell, inputs, state)
    steps = []
    for projected in cell.project(inputs).unbind(1):
        steps.append(cell.equations(projected, state))
        state = cell.state_of(steps[-1])
    return {name: torch.stack([values[name] for values in steps], dim=1) for name in steps[0]}


def _first_state(cell: Cell, inputs: torch.Tensor, state: State | None) -> State:
    """Return the state to begin with, or raise ValueError where it or the inputs do not fit."""
    if inputs.ndim != 3 or inputs.shape[1] == 0:
        raise ValueError(
            f"the inputs have shape {tuple(inputs.shape)}; three axes are expected, (batch, time, input_size), "
            "and at least one step"
        )
    if state is None:
        state = cell.initial_state(inputs)
    cell.check_state(state, inputs)
    return state
