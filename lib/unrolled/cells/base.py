"""What every recurrent cell shares: its blocks of weights, and the check of its state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.functional import linear

State = torch.Tensor | tuple["State", ...]
"""What a network carries from step to step: a tensor, (batch, hidden_size), or a tuple of states."""


def detach(state: State) -> State:
    """Return the same state, however it is nested, cut off from what it was computed from."""
    return tuple(map(detach, state)) if isinstance(state, tuple) else state.detach()


def select(state: State, rows: list[int] | slice) -> State:
    """Return the state, however it is nested, of some rows of the batch.

    Args:
        state: its parts are (batch, …); a part may also be an array, as the n-grams' states are.
        rows: which rows, in their new order; one may come several times.
    """
    return tuple(select(part, rows) for part in state) if isinstance(state, tuple) else state[rows]


def check_state(state: State, inputs: torch.Tensor, hidden_size: int, names: Sequence[str] = ("h",)) -> None:
    """Raise ValueError, saying what is wrong, unless the state fits.

    Args:
        state: one tensor, (batch, hidden_size), where there is one name; else a tuple of them, one for each.
        inputs: (batch, …).
        hidden_size: what it should be.
        names: of the tensors.
    """
    if len(names) == 1:
        _check_tensor("the state", state, inputs, hidden_size)
        return
    if not isinstance(state, tuple) or len(state) != len(names):
        found = f"{type(state).__name__} of {len(state)}" if isinstance(state, (tuple, list)) else "tensor"
        raise ValueError(f"the state is a {found}; a tuple ({', '.join(names)}) of {len(names)} tensors is expected")
    for name, part in zip(names, state, strict=True):
        _check_tensor(f"{name} of the state", part, inputs, hidden_size)


def _check_tensor(what: str, state: torch.Tensor, inputs: torch.Tensor, hidden_size: int) -> None:
    if not isinstance(state, torch.Tensor):
        raise ValueError(f"{what} is a {type(state).__name__}; a tensor, (batch, hidden_size), is expected")
    if state.ndim != 2:
        raise ValueError(f"{what} has shape {tuple(state.shape)}; two axes are expected: (batch, hidden_size)")
    for axis, (name, found, right) in enumerate(
        (("batch", state.shape[0], inputs.shape[0]), ("hidden_size", state.shape[1], hidden_size))
    ):
        if found != right:
            raise ValueError(
                f"{what} has shape {tuple(state.shape)}: axis {axis} ({name}) is {found} and should be {right}"
            )
    if state.device != inputs.device:
        raise ValueError(
            f"{what} is on {state.device} but the inputs are on {inputs.device}; "
            f"move it with .to({str(inputs.device)!r})"
        )


class Block(NamedTuple):
    """The weights of one gate or candidate: views, so that writing into them changes the cell.

    Attributes:
        W_xh: input weights, (hidden_size, input_size).
        W_hh: recurrent weights, (hidden_size, hidden_size).
        b_h: bias, (hidden_size,).
    """

    W_xh: torch.Tensor
    W_hh: torch.Tensor
    b_h: torch.Tensor


class Cell(nn.Module):
    """A recurrent cell: one block of weights for each gate and candidate, and a step from state to state.

    The blocks lie under each other, so that one product serves them all. A cell of a certain kind names its blocks and
    the parts of its state, and gives the equations of a step.

    Args:
        input_size: d, the length of an input vector.
        hidden_size: h, the length of the state.
        blocks: the names of the blocks, from top to bottom.
        vectors: the names of further weights, (hidden_size,) each.

    Attributes:
        W_xh: input weights, (blocks · hidden_size, input_size).
        W_hh: recurrent weights, (blocks · hidden_size, hidden_size).
        b_h: bias, (blocks · hidden_size,).

    Raises:
        ValueError: a size below 1.
    """

    state_names: tuple[str, ...] = ("h",)  # more than one: the state is a tuple

    def __init__(self, input_size: int, hidden_size: int, blocks: Sequence[str], vectors: Sequence[str] = ()):
        super().__init__()
        if input_size < 1 or hidden_size < 1:
            raise ValueError(f"input_size is {input_size} and hidden_size is {hidden_size}; both must be 1 or more")
        self.input_size, self.hidden_size, self.blocks = input_size, hidden_size, tuple(blocks)
        self.W_xh = nn.Parameter(torch.empty(len(blocks) * hidden_size, input_size))
        self.W_hh = nn.Parameter(torch.empty(len(blocks) * hidden_size, hidden_size))
        self.b_h = nn.Parameter(torch.empty(len(blocks) * hidden_size))
        for name in vectors:
            self.register_parameter(name, nn.Parameter(torch.empty(hidden_size)))
        for parameter in self.parameters():  # PyTorch's own choice for its recurrent layers
            nn.init.uniform_(parameter, -(hidden_size**-0.5), hidden_size**-0.5)

    def options(self) -> dict[str, Any]:
        """Return the keywords that make another cell of this kind."""
        return {}

    def extra_repr(self) -> str:
        options = [f"{name}={value!r}" for name, value in self.options().items()]
        return ", ".join([str(self.input_size), str(self.hidden_size), *options])

    def block(self, name: str) -> Block:
        """Return the weights of one gate or candidate.

        Raises:
            ValueError: the cell has no block of that name.
        """
        if name not in self.blocks:
            raise ValueError(f"there is no block {name!r}; this cell has {', '.join(self.blocks)}")
        at = self.blocks.index(name) * self.hidden_size
        return Block(*(weights[at : at + self.hidden_size] for weights in (self.W_xh, self.W_hh, self.b_h)))

    def initial_state(self, inputs: torch.Tensor) -> State:
        """Return the state before the first step, zeros, for inputs (batch, …)."""
        return self.state_of({name: inputs.new_zeros(inputs.shape[0], self.hidden_size) for name in self.state_names})

    def state_of(self, values: dict[str, torch.Tensor]) -> State:
        """Return, of named values, those that are the state."""
        parts = tuple(values[name] for name in self.state_names)
        return parts if len(parts) > 1 else parts[0]

    def check_state(self, state: State, inputs: torch.Tensor) -> None:
        """Raise ValueError, saying what is wrong, unless the state fits this cell and inputs (batch, …)."""
        check_state(state, inputs, self.hidden_size, self.state_names)

    def project(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return W_xh x + b_h for inputs (…, input_size), shape (…, blocks · hidden_size): no state needed.

        Raises:
            ValueError: the last axis is not input_size long.
        """
        if inputs.shape[-1] != self.input_size:
            raise ValueError(
                f"the inputs have shape {tuple(inputs.shape)}: the last axis is {inputs.shape[-1]} "
                f"and should be input_size, {self.input_size}"
            )
        return linear(inputs, self.W_xh, self.b_h)

    def equations(self, projected: torch.Tensor, state: State) -> dict[str, torch.Tensor]:
        """Return what each equation of a step gives, by name and in their order, (batch, hidden_size) each.

        Args:
            projected: what `project` made of x_t, (batch, blocks · hidden_size).
            state: the state before the step.
        """
        raise NotImplementedError

    def step(self, projected: torch.Tensor, state: State) -> State:
        """Return the next state from the projected x_t, (batch, blocks · hidden_size), and the state before."""
        return self.state_of(self.equations(projected, state))

    def fast(self, inputs: torch.Tensor, state: State) -> tuple[torch.Tensor, State] | None:
        """Return what `cells.unroll` returns, by way of `fused`; None where that has nothing for this cell."""
        return None

    def forward(self, x: torch.Tensor, state: State | None = None) -> State:
        """Return the next state from x_t, (batch, input_size), and the state before (zeros where None).

        Raises:
            ValueError: an axis of x or of the state has the wrong length, or the devices differ.
        """
        projected = self.project(x)
        if state is None:
            state = self.initial_state(x)
        self.check_state(state, x)
        return self.step(projected, state)
