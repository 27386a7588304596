"""The state that a cell carries from step to step: what is done with it, and the check of one that is given."""

from collections.abc import Mapping

import torch

State = torch.Tensor | tuple["State", ...]
"""What a network carries from step to step: a tensor, (batch, hidden_size), or a tuple of states."""


def detach(state: State) -> State:
    """Return the same state, however deeply nested, cut off from the graph of what it was computed from.

    Example:
        >>> h = torch.ones(2, 4, requires_grad=True)
        >>> detach((h, h))[0].requires_grad
        False
    """
    return tuple(map(detach, state)) if isinstance(state, tuple) else state.detach()


def select(state: State, rows: list[int] | slice) -> State:
    """Return the state of some rows of the batch.

    Args:
        state: any nesting of parts, each (batch, …). A part may also be a NumPy array, as in the n-grams' states.
        rows: which rows, in their new order; a row may be repeated.

    Example:
        >>> h, c = torch.zeros(3, 4), torch.ones(3, 4)
        >>> [part.shape for part in select((h, c), [2, 0, 0, 0])]
        [torch.Size([4, 4]), torch.Size([4, 4])]
    """
    return tuple(select(part, rows) for part in state) if isinstance(state, tuple) else state[rows]


def restart(state: State, initial: State, rows: torch.Tensor) -> State:
    """Return the state with some rows of the batch as they are in the initial state.

    Args:
        state: (batch, …), or a tuple of states.
        initial: the state that those rows begin again with, in the same form.
        rows: which ones, booleans, (batch,).

    Example:
        >>> restart(torch.ones(3, 2), torch.zeros(3, 2), torch.tensor([False, True, False])).tolist()
        [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    """
    if isinstance(state, tuple):
        return tuple(restart(*parts, rows) for parts in zip(state, initial, strict=True))
    return torch.where(rows[:, None], initial, state)


def check_state(state: State, inputs: torch.Tensor, sizes: Mapping[str, int]) -> None:
    """Raise ValueError unless the state fits the inputs and the sizes of its parts.

    Args:
        state: a tensor, (batch, size), where it has one part; otherwise a tuple with a tensor for each part.
        inputs: (batch, …).
        sizes: the size of each part, by its name.

    Raises:
        ValueError: the form of the state, the shape of a tensor or its device does not fit; the message says which.
    """
    axis_of_size = "hidden_size" if len(set(sizes.values())) == 1 else "size"
    if len(sizes) == 1:
        parts = {"the state": state}
    elif isinstance(state, tuple) and len(state) == len(sizes):
        parts = {f"{name} of the state": part for name, part in zip(sizes, state, strict=True)}
    else:
        given = f"{type(state).__name__} of {len(state)}" if isinstance(state, (tuple, list)) else "tensor"
        raise ValueError(f"the state is a {given}; a tuple ({', '.join(sizes)}) of {len(sizes)} tensors is expected")
    for (label, part), size in zip(parts.items(), sizes.values(), strict=True):
        if not isinstance(part, torch.Tensor):
            raise ValueError(f"{label} is a {type(part).__name__}; a tensor, (batch, {axis_of_size}), is expected")
        shape = tuple(part.shape)
        if part.ndim != 2:
            raise ValueError(f"{label} has shape {shape}; two axes are expected: (batch, {axis_of_size})")
        for axis, (name, length) in enumerate((("batch", inputs.shape[0]), (axis_of_size, size))):
            if shape[axis] != length:
                raise ValueError(
                    f"{label} has shape {shape}: axis {axis} ({name}) is {shape[axis]} and should be {length}"
                )
        if part.device != inputs.device:
            raise ValueError(
                f"{label} is on {part.device} but the inputs are on {inputs.device}; "
                f"move it with .to({str(inputs.device)!r})"
            )
