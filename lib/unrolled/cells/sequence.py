"""The loop over time: one cell applied at every step of a sequence."""

import torch

from unrolled.cells.base import Cell
from unrolled.cells.fast import FAST
from unrolled.cells.state import State


def unroll(
    cell: Cell, inputs: torch.Tensor, state: State | None = None, *, plain: bool = False
) -> tuple[torch.Tensor, State]:
    """Apply one cell at every step of a sequence, each time to its own last state.

    A cell may take a shortcut to the same numbers, up to rounding; `fast.FAST` says which:

    - An LSTM uses PyTorch's kernel, on a CPU. (On a GPU, that kernel rounds to 10 bits by default.) In training
      ``torch.compile`` cannot follow it, and gets the plain steps.
    - A GRU uses `fused`, whose backward pass is derived by hand. It can be differentiated only once.
    - Where no gradients are recorded, as in scoring, RNN and GRU use PyTorch's kernels too, as far as it has them. All
      three do so for `fast.KERNEL_STEPS` steps or more.

    ``torch.func`` cannot follow these, but it can follow the plain steps. They also serve autocast, a single step
    without gradients, and subclasses.

    Args:
        cell: the cell; the same weights serve every step.
        inputs: (batch, time, input_size).
        state: the state before the first step; the cell's initial state where None.
        plain: take the plain steps: the cell's own `step`, differentiated by autograd.

    Returns:
        The hidden states after every step, (batch, time, hidden_size), and the last state.

    Raises:
        ValueError: the inputs do not have three axes and at least one step, or the inputs or the state do not fit the
            cell.

    Example:
        >>> from unrolled.cells import LSTMCell
        >>> states, (h, c) = unroll(LSTMCell(3, 4), torch.zeros(2, 5, 3))
        >>> states.shape, h.shape
        (torch.Size([2, 5, 4]), torch.Size([2, 4]))
        >>> torch.equal(states[:, -1], h)
        True
    """
    state = _first_state(cell, inputs, state)
    fast = FAST.get(type(cell))
    if fast and not plain and not torch.is_autocast_enabled(inputs.device.type):
        gradients = _records_gradients(cell, inputs, state)
        if gradients or inputs.shape[1] > 1:
            result = fast(cell, inputs, state, gradients)
            if result is not None:
                return result
    hidden = []
    for projected in cell.project(inputs).unbind(1):  # one product for all steps; then (batch, …) a step
        state = cell.step(projected, state)
        hidden.append(state[0] if isinstance(state, tuple) else state)
    return torch.stack(hidden, dim=1), state  # (batch, time, hidden)


def trace(cell: Cell, inputs: torch.Tensor, state: State | None = None) -> dict[str, torch.Tensor]:
    """Return the value of each equation at every step, by name, (batch, time, hidden_size) each.

    An RNN has h; an LSTM f, i, candidate, c, o and h; the LSTM of 1997 the same without f; a GRU z, r, candidate and h.
    The steps are the plain ones. Arguments and errors are those of `unroll`.

    Example:
        >>> from unrolled.cells import GRUCell
        >>> values = trace(GRUCell(3, 4), torch.zeros(2, 5, 3))
        >>> list(values)
        ['z', 'r', 'candidate', 'h']
        >>> values["z"].shape
        torch.Size([2, 5, 4])
    """
    state = _first_state(cell, inputs, state)
    steps = []
    for projected in cell.project(inputs).unbind(1):
        steps.append(cell.equations(projected, state))
        state = cell.state_of(steps[-1])
    return {name: torch.stack([values[name] for values in steps], dim=1) for name in steps[0]}


def _records_gradients(cell: Cell, inputs: torch.Tensor, state: State) -> bool:
    """Return whether autograd records what is computed from these inputs, this state and the cell's weights."""
    tensors = (inputs, *(state if isinstance(state, tuple) else (state,)), *cell.parameters())
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def _first_state(cell: Cell, inputs: torch.Tensor, state: State | None) -> State:
    """Return the state to begin with; raise ValueError where it or the inputs do not fit."""
    if inputs.ndim != 3 or inputs.shape[1] == 0:
        raise ValueError(
            f"the inputs have shape {tuple(inputs.shape)}; three axes are expected, (batch, time, input_size), "
            "and at least one step"
        )
    return cell.first_state(inputs, state)
