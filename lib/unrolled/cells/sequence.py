"""The loop over time: one cell applied at every step of a sequence."""

from __future__ import annotations

import torch

from unrolled.cells.base import Cell, State


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
