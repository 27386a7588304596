"""What every recurrent cell shares: its blocks of weights, its step, and the check of its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.functional import linear

from unrolled.cells.initialisation import draw

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
    axis = "hidden_size" if len(set(sizes.values())) == 1 else "size"
    if len(sizes) == 1:
        _check_tensor("the state", state, inputs, *sizes.values(), axis)
        return
    if not isinstance(state, tuple) or len(state) != len(sizes):
        given = f"{type(state).__name__} of {len(state)}" if isinstance(state, (tuple, list)) else "tensor"
        raise ValueError(f"the state is a {given}; a tuple ({', '.join(sizes)}) of {len(sizes)} tensors is expected")
    for (name, size), part in zip(sizes.items(), state, strict=True):
        _check_tensor(f"{name} of the state", part, inputs, size, axis)


def _check_tensor(label: str, state: torch.Tensor, inputs: torch.Tensor, size: int, axis_of_size: str) -> None:
    if not isinstance(state, torch.Tensor):
        raise ValueError(f"{label} is a {type(state).__name__}; a tensor, (batch, {axis_of_size}), is expected")
    if state.ndim != 2:
        raise ValueError(f"{label} has shape {tuple(state.shape)}; two axes are expected: (batch, {axis_of_size})")
    for axis, (name, length) in enumerate((("batch", inputs.shape[0]), (axis_of_size, size))):
        if state.shape[axis] != length:
            raise ValueError(
                f"{label} has shape {tuple(state.shape)}: axis {axis} ({name}) is {state.shape[axis]} "
                f"and should be {length}"
            )
    if state.device != inputs.device:
        raise ValueError(
            f"{label} is on {state.device} but the inputs are on {inputs.device}; "
            f"move it with .to({str(inputs.device)!r})"
        )


class Block(NamedTuple):
    """The weights of one gate or candidate: views, so that writing into them changes the cell.

    Attributes:
        W_xh: input weights, (hidden_size, input_size).
        W_hh: recurrent weights, (hidden_size, hidden_size); None of a cell that has none.
        b_h: bias, (hidden_size,).
    """

    W_xh: torch.Tensor
    W_hh: torch.Tensor | None
    b_h: torch.Tensor


class Cell(nn.Module):
    """A recurrent cell: a block of weights for each gate and candidate, and a step from state to state.

    The blocks are stacked, so that one product serves them all. A subclass names its blocks and the parts of its state,
    and gives the equations of a step.

    Args:
        input_size: d, the length of an input vector.
        hidden_size: h, the length of the state.
        blocks: the names of the blocks, from top to bottom.
        vectors: the names of any further weights, (hidden_size,) each.
        recurrent: whether the blocks also multiply a state, and so have recurrent weights.
        initialisation: how the weights are drawn, one of `INITIALISATIONS`; `draw` describes them.
        t_max: T_max of ``"chrono"``.

    Attributes:
        W_xh: input weights, (blocks · hidden_size, input_size).
        W_hh: recurrent weights, (blocks · hidden_size, hidden_size); None where the cell is not recurrent.
        b_h: bias, (blocks · hidden_size,).
        state_names: the names of the parts of the state. With more than one, the state is a tuple.
        chrono_blocks: the gates whose biases ``"chrono"`` sets, each with 1 where it keeps the state, −1 where it
            writes; none where a cell has no such gates.

    Raises:
        ValueError: a size below 1, or what `draw` raises.

    Example:
        A cell whose state moves a tenth of the way to each projected input:

        >>> from unrolled.cells import unroll
        >>> class LeakyCell(Cell):
        ...     def equations(self, projected, state):
        ...         return {"h": state + 0.1 * (projected - state)}
        >>> states, h = unroll(LeakyCell(3, 4, blocks=["h"]), torch.zeros(2, 5, 3))
        >>> states.shape, h.shape
        (torch.Size([2, 5, 4]), torch.Size([2, 4]))
    """

    state_names: tuple[str, ...] = ("h",)
    chrono_blocks: dict[str, int] = {}

    def __init_subclass__(cls, **options):
        """Take the parent's `fast`, which computes the parent's steps, from a subclass that has steps of its own."""
        super().__init_subclass__(**options)
        if "fast" not in vars(cls) and {"project", "equations", "step", "state_of"} & vars(cls).keys():
            cls.fast = Cell.fast

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        blocks: Sequence[str],
        vectors: Sequence[str] = (),
        *,
        recurrent: bool = True,
        initialisation: str = "uniform",
        t_max: int | None = None,
    ):
        super().__init__()
        if input_size < 1 or hidden_size < 1:
            raise ValueError(f"input_size is {input_size} and hidden_size is {hidden_size}; both must be 1 or more")
        self.input_size, self.hidden_size, self.blocks = input_size, hidden_size, tuple(blocks)
        self.W_xh = nn.Parameter(torch.empty(len(blocks) * hidden_size, input_size))
        self.W_hh = nn.Parameter(torch.empty(len(blocks) * hidden_size, hidden_size)) if recurrent else None
        self.b_h = nn.Parameter(torch.empty(len(blocks) * hidden_size))
        for name in vectors:
            self.register_parameter(name, nn.Parameter(torch.empty(hidden_size)))
        self.initialisation, self.t_max = initialisation, t_max
        draw(self, initialisation, t_max)

    def set_bias(self, block: str, bias: float | None) -> None:
        """Set the initial bias of a gate; None leaves what the initialisation has drawn.

        Raises:
            ValueError: a bias is given, and chrono has drawn one.
        """
        if bias is None:
            return
        if self.initialisation == "chrono" and block in self.chrono_blocks:
            raise ValueError(f"the bias of {block!r} is {bias}, but chrono draws it; give None instead")
        nn.init.constant_(self.block(block).b_h, bias)

    def options(self) -> dict[str, Any]:
        """Return the keyword arguments of this cell, beside its sizes and its initialisation."""
        return {}

    def second_bias(self, name: str) -> torch.Tensor | None:
        """Return the bias of the block's recurrent product, (hidden_size,), where it is kept apart from b_h."""
        return None

    def extra_repr(self) -> str:
        options = [f"{name}={value!r}" for name, value in self.options().items() if value is not None]
        return ", ".join([str(self.input_size), str(self.hidden_size), *options])

    def block(self, name: str) -> Block:
        """Return the weights of one gate or candidate.

        Raises:
            ValueError: the cell has no block of that name.
        """
        if name not in self.blocks:
            raise ValueError(f"there is no block {name!r}; this cell has {', '.join(self.blocks)}")
        start = self.blocks.index(name) * self.hidden_size
        rows = slice(start, start + self.hidden_size)
        return Block(*(None if weights is None else weights[rows] for weights in (self.W_xh, self.W_hh, self.b_h)))

    @property
    def state_sizes(self) -> dict[str, int]:
        """The size of each part of the state, by its name: hidden_size, where a cell does not say otherwise."""
        return dict.fromkeys(self.state_names, self.hidden_size)

    def initial_state(self, inputs: torch.Tensor) -> State:
        """Return the state before the first step, all zeros, for inputs (batch, …)."""
        zeros = {name: inputs.new_zeros(inputs.shape[0], size) for name, size in self.state_sizes.items()}
        return self.state_of(zeros)

    def state_of(self, values: dict[str, torch.Tensor]) -> State:
        """Return the state, picked by name from the values of a step's equations."""
        parts = tuple(values[name] for name in self.state_names)
        return parts if len(parts) > 1 else parts[0]

    def check_state(self, state: State, inputs: torch.Tensor) -> None:
        """Raise ValueError, naming what does not fit, unless the state fits this cell and inputs (batch, …)."""
        check_state(state, inputs, self.state_sizes)

    def check_inputs(self, inputs: torch.Tensor) -> None:
        """Raise ValueError unless the last axis of the inputs is input_size long."""
        if inputs.shape[-1] != self.input_size:
            raise ValueError(
                f"the inputs have shape {tuple(inputs.shape)}: the last axis is {inputs.shape[-1]} "
                f"and should be input_size, {self.input_size}"
            )

    def project(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return W_xh x + b_h, (…, blocks · hidden_size), for inputs (…, input_size): the part that needs no state.

        Raises:
            ValueError: the last axis is not input_size long.
        """
        self.check_inputs(inputs)
        return linear(inputs, self.W_xh, self.b_h)

    def equations(self, projected: torch.Tensor, state: State) -> dict[str, torch.Tensor]:
        """Return the value of each equation of a step, by name and in order, (batch, hidden_size) each.

        Args:
            projected: x_t after `project`, (batch, blocks · hidden_size).
            state: the state before the step.
        """
        raise NotImplementedError

    def step(self, projected: torch.Tensor, state: State) -> State:
        """Return the state after a step; the arguments are those of `equations`."""
        return self.state_of(self.equations(projected, state))

    def fast(self, inputs: torch.Tensor, state: State, kernel: bool) -> tuple[torch.Tensor, State] | None:
        """Return the states and the last state, as `cells.unroll` does, or None where nothing beats the plain steps.

        Args:
            inputs: (batch, time, input_size).
            state: the state before the first step.
            kernel: whether PyTorch's own kernel may be used. No gradient is recorded then.
        """
        return None

    def forward(self, x: torch.Tensor, state: State | None = None) -> State:
        """Return the state after a step.

        Args:
            x: x_t, (batch, input_size).
            state: the state before the step; the initial state where None.

        Raises:
            ValueError: x or the state has not two axes, an axis has the wrong length, or the devices differ.
        """
        if x.ndim != 2:
            raise ValueError(
                f"x has shape {tuple(x.shape)}; two axes are expected: (batch, input_size); "
                "use x[None] for a single vector, and cells.unroll for sequences"
            )
        projected = self.project(x)
        if state is None:
            state = self.initial_state(x)
        self.check_state(state, x)
        return self.step(projected, state)
