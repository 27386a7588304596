"""What every recurrent cell shares: its blocks of weights, its step from state to state, and the loop over time."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.functional import linear

from unrolled.cells.initialisation import initialise

State = torch.Tensor | tuple["State", ...]
"""What a network carries from step to step: a tensor, (batch, hidden_size), or a tuple of states."""


class Block(NamedTuple):
    """The weights of one gate or candidate: views, so that writing into them changes the cell."""

    W_xh: torch.Tensor  # (hidden_size, input_size)
    W_hh: torch.Tensor | None  # (hidden_size, hidden_size); None of a cell that has none
    b_h: torch.Tensor  # (hidden_size,)


class Cell(nn.Module):
    """A recurrent cell: a block of weights for each gate and candidate, and a step from state to state.

    The blocks are stacked, so that one product serves them all. A subclass names its blocks and the parts of its state,
    and gives the equations of a step.

    Args:
        input_size: d, the length of an input vector.
        hidden_size: h, the length of the state, or of each of its parts.
        blocks: the names of the blocks, from top to bottom.
        vectors: the names of any further weights, (hidden_size,) each.
        recurrent: whether the blocks also multiply a state, and so have recurrent weights.
        biases: the initial biases of blocks, by name; None leaves what the initialisation draws.
        initialisation, t_max: how the weights are drawn, as `initialise` describes it.

    Attributes:
        W_xh: input weights, (blocks · hidden_size, input_size).
        W_hh: recurrent weights, (blocks · hidden_size, hidden_size); None where the cell is not recurrent.
        b_h: bias, (blocks · hidden_size,).

    Example:
        >>> from unrolled.cells import unroll
        >>> class LeakyCell(Cell):  # whose state moves a tenth of the way to each projected input
        ...     def equations(self, projected, state):
        ...         return {"h": state + 0.1 * (projected - state)}
        >>> states, h = unroll(LeakyCell(3, 4, blocks=["h"]), torch.zeros(2, 5, 3))
        >>> states.shape, h.shape
        (torch.Size([2, 5, 4]), torch.Size([2, 4]))
    """

    state_names: tuple[str, ...] = ("h",)  # the parts of the state, which is a tuple where there are several
    option_names: tuple[str, ...] = ()  # the attributes that hold the keyword arguments of a cell
    chrono_blocks: dict[str, int] = {}  # the gates whose biases "chrono" sets: 1, where one keeps the state; −1, writes

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
        """Return the weights of one gate or candidate."""
        if name not in self.blocks:
            raise ValueError(f"there is no block {name!r}; this cell has {', '.join(self.blocks)}")
        start = self.blocks.index(name) * self.hidden_size
        rows = slice(start, start + self.hidden_size)
        return Block(self.W_xh[rows], None if self.W_hh is None else self.W_hh[rows], self.b_h[rows])

    def second_bias(self, name: str) -> torch.Tensor | None:
        """Return the bias of the block's recurrent product, (hidden_size,), where it is kept apart from b_h."""
        return None

    @property
    def state_sizes(self) -> dict[str, int]:
        """The size of each part of the state, by its name: hidden_size, where a cell does not say otherwise."""
        return dict.fromkeys(self.state_names, self.hidden_size)

    def state_of(self, values: Mapping[str, torch.Tensor]) -> State:
        """Return the state, picked by name from the values of a step's equations."""
        parts = tuple(values[name] for name in self.state_names)
        return parts if len(parts) > 1 else parts[0]

    def initial_state(self, inputs: torch.Tensor) -> State:
        """Return the state before the first step, all zeros, for inputs (batch, …)."""
        return self.state_of({name: inputs.new_zeros(len(inputs), size) for name, size in self.state_sizes.items()})

    def first_state(self, inputs: torch.Tensor, state: State | None) -> State:
        """Return the state to begin with, for inputs (batch, …): the one given, or the initial one where None."""
        if state is not None:
            check_state(state, len(inputs), self.state_sizes)
        return self.initial_state(inputs) if state is None else state

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
        """Return the state after a step, given x_t, (batch, input_size), and the state before; None is zeros."""
        if x.ndim != 2 or x.shape[1] != self.input_size:
            expected = f"(batch, {self.input_size}) is expected: x[None] for one vector, cells.unroll for sequences"
            raise ValueError(f"x has shape {tuple(x.shape)}; {expected}")
        return self.step(self.project(x), self.first_state(x, state))

    def unroll(self, inputs: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        """Return what `cells.unroll` does: the plain loop, where a cell has no faster way to the same numbers."""
        hidden = []
        for projected in self.project(inputs).unbind(1):  # one product for all steps; then (batch, …) a step
            state = self.step(projected, state)
            hidden.append(state[0] if isinstance(state, tuple) else state)
        return torch.stack(hidden, dim=1), state  # (batch, time, hidden)


def check_state(state: State, batch: int, sizes: Mapping[str, int]) -> None:
    """Raise ValueError unless a layer's state has its parts, (batch, size) each; sizes has theirs, by name."""
    parts = state if isinstance(state, tuple) else (state,)
    found = [tuple(part.shape) if isinstance(part, torch.Tensor) else type(part).__name__ for part in parts]
    expected = {name: (batch, size) for name, size in sizes.items()}
    if found != list(expected.values()) or isinstance(state, tuple) != (len(sizes) > 1):
        form = "a tuple of tensors" if len(sizes) > 1 else "a tensor"
        raise ValueError(f"the state is a {type(state).__name__} with {found}; {form} {expected} is expected")
