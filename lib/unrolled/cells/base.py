"""What every recurrent cell shares: its blocks of weights, and its step from state to state."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.functional import linear

from unrolled.cells.initialisation import initialise
from unrolled.cells.state import State, check_state


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
        biases: the initial biases of blocks, by name; None leaves what the initialisation draws.
        initialisation: how the weights are drawn, one of `INITIALISATIONS`; `initialise` describes them.
        t_max: T_max of ``"chrono"``.

    Attributes:
        W_xh: input weights, (blocks · hidden_size, input_size).
        W_hh: recurrent weights, (blocks · hidden_size, hidden_size); None where the cell is not recurrent.
        b_h: bias, (blocks · hidden_size,).
        state_names: the names of the parts of the state. With more than one, the state is a tuple.
        option_names: the attributes that hold the keyword arguments of a cell.
        chrono_blocks: the gates whose biases ``"chrono"`` sets, each with 1 where it keeps the state, −1 where it
            writes; none where a cell has no such gates.

    Raises:
        ValueError: a size below 1, a bias beside chrono's, or what `initialise` raises.

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
    option_names: tuple[str, ...] = ()
    chrono_blocks: dict[str, int] = {}

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        blocks: Sequence[str],
        vectors: Sequence[str] = (),
        *,
        recurrent: bool = True,
        biases: Mapping[str, float | None] | None = None,
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
        initialise(self, initialisation, t_max=t_max, input_weights=True)
        for name, bias in (biases or {}).items():
            if bias is not None:
                if initialisation == "chrono" and name in self.chrono_blocks:
                    raise ValueError(f"the bias of {name!r} is {bias}, but chrono draws it; give None instead")
                nn.init.constant_(self.block(name).b_h, bias)

    def options(self) -> dict[str, Any]:
        """Return the keyword arguments of this cell, beside its sizes and its initialisation."""
        return {name: getattr(self, name) for name in self.option_names}

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

    def second_bias(self, name: str) -> torch.Tensor | None:
        """Return the bias of the block's recurrent product, (hidden_size,), where it is kept apart from b_h."""
        return None

    @property
    def state_sizes(self) -> dict[str, int]:
        """The size of each part of the state, by its name: hidden_size, where a cell does not say otherwise."""
        return dict.fromkeys(self.state_names, self.hidden_size)

    def initial_state(self, inputs: torch.Tensor) -> State:
        """Return the state before the first step, all zeros, for inputs (batch, …)."""
        zeros = {name: inputs.new_zeros(inputs.shape[0], size) for name, size in self.state_sizes.items()}
        return self.state_of(zeros)

    def first_state(self, inputs: torch.Tensor, state: State | None) -> State:
        """Return the state to begin with: the one given, or the initial one where None.

        Args:
            inputs: (batch, …, input_size).
            state: the state before the first step, or None.

        Raises:
            ValueError: the last axis of the inputs is not input_size long, or the state does not fit.
        """
        if inputs.shape[-1] != self.input_size:
            raise ValueError(
                f"the inputs have shape {tuple(inputs.shape)}: the last axis is {inputs.shape[-1]} "
                f"and should be input_size, {self.input_size}"
            )
        if state is None:
            return self.initial_state(inputs)
        check_state(state, inputs, self.state_sizes)
        return state

    def state_of(self, values: dict[str, torch.Tensor]) -> State:
        """Return the state, picked by name from the values of a step's equations."""
        parts = tuple(values[name] for name in self.state_names)
        return parts if len(parts) > 1 else parts[0]

    def project(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return W_xh x + b_h, (…, blocks · hidden_size), for inputs (…, input_size): the part that needs no state."""
        return linear(inputs, self.W_xh, self.b_h)

    def equations(self, projected: torch.Tensor, state: State) -> dict[str, torch.Tensor]:
        """Return the value of each equation of a step, by name and in order, (batch, hidden_size) each.

        Args:
            projected: x_t after `project`, (batch, blocks · hidden_size).
            state: the state before the step: h_{t−1}, (batch, hidden_size), or a tuple of such parts.
        """
        raise NotImplementedError

    def step(self, projected: torch.Tensor, state: State) -> State:
        """Return the state after a step; the arguments are those of `equations`."""
        return self.state_of(self.equations(projected, state))

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
        state = self.first_state(x, state)
        return self.step(self.project(x), state)
