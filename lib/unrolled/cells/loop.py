"""The loop over time: one cell applied at every step of a sequence, and what is done with the state it carries."""

import torch

from unrolled.cells.base import Cell, State


def unroll(
    cell: Cell, inputs: torch.Tensor, state: State | None = None, *, plain: bool = False
) -> tuple[torch.Tensor, State]:
    """Apply one cell at every step of a sequence, each time to its own last state.

    A cell may have a faster way to the same numbers, up to rounding: PyTorch's kernel where PyTorch has the cell, and a
    scan, scores or chunks where a step is linear in the state.

    Args:
        cell: the cell; the same weights serve every step.
        inputs: (batch, time, input_size).
        state: the state before the first step; zeros where None.
        plain: take the plain steps, which ``torch.func`` can follow and autograd can leave at a state on the way.

    Returns:
        The hidden states after every step, (batch, time, hidden_size), and the last state.

    Example:
        >>> from unrolled.cells import LSTMCell
        >>> states, (h, c) = unroll(LSTMCell(3, 4), torch.zeros(2, 5, 3))
        >>> states.shape, h.shape
        (torch.Size([2, 5, 4]), torch.Size([2, 4]))
        >>> torch.equal(states[:, -1], h)
        True
    """
    state = _first_state(cell, inputs, state)
    # A single step is the plain one, and under autocast kernels and scans would meet numbers of two formats.
    if plain or inputs.shape[1] == 1 or torch.is_autocast_enabled(inputs.device.type):
        return Cell.unroll(cell, inputs, state)
    return cell.unroll(inputs, state)


def trace(cell: Cell, inputs: torch.Tensor, state: State | None = None) -> dict[str, torch.Tensor]:
    """Return the value of each equation at every step, by name, (batch, time, hidden_size) each.

    The names are those of the cell's `equations`, the arguments those of `unroll`, the steps the plain ones.

    Example:
        >>> from unrolled.cells import GRUCell
        >>> {name: tuple(value.shape) for name, value in trace(GRUCell(3, 4), torch.zeros(2, 5, 3)).items()}
        {'z': (2, 5, 4), 'r': (2, 5, 4), 'candidate': (2, 5, 4), 'h': (2, 5, 4)}
    """
    state = _first_state(cell, inputs, state)
    steps = []
    for projected in cell.project(inputs).unbind(1):
        steps.append(cell.equations(projected, state))
        state = cell.state_of(steps[-1])
    return {name: torch.stack([values[name] for values in steps], dim=1) for name in steps[0]}


def _first_state(cell: Cell, inputs: torch.Tensor, state: State | None) -> State:
    """Return the state to begin with, having checked the inputs and it."""
    if inputs.ndim != 3 or inputs.shape[1] == 0 or inputs.shape[2] != cell.input_size:
        expected = f"(batch, time, {cell.input_size}) is expected, with at least one step"
        raise ValueError(f"the inputs have shape {tuple(inputs.shape)}; {expected}")
    return cell.first_state(inputs, state)


def detach(state: State) -> State:
    """Return the same state, however deeply nested, cut off from the graph of what it was computed from."""
    return tuple(map(detach, state)) if isinstance(state, tuple) else state.detach()


def select(state: State, rows: list[int] | slice) -> State:
    """Return the state of some rows of the batch, in a new order; a row may be repeated, a part be a NumPy array."""
    return tuple(select(part, rows) for part in state) if isinstance(state, tuple) else state[rows]


def restart(state: State, initial: State, rows: torch.Tensor) -> State:
    """Return the state with some rows of the batch, booleans (batch,), as they are in the initial state.

    Example:
        >>> restart(torch.ones(3, 2), torch.zeros(3, 2), torch.tensor([False, True, False])).tolist()
        [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    """
    if isinstance(state, tuple):
        return tuple(restart(*parts, rows) for parts in zip(state, initial, strict=True))
    return torch.where(rows[:, None], initial, state)
