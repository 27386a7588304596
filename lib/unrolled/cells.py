"""Recurrent cells, written from the book's equations in the order of the equations.

A cell splits its step in two: `project` does what needs no state, and so can be done for all steps at once;
`step` does what has to wait for the step before. `unroll` puts the two together.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import linear

NONLINEARITIES = {"tanh": torch.tanh, "relu": torch.relu, "sigmoid": torch.sigmoid, "identity": lambda a: a}


def check_state(state: torch.Tensor, inputs: torch.Tensor, hidden_size: int) -> None:
    """Raise ValueError, saying which axis or device is wrong, unless `state` fits `inputs` (batch, …)."""
    if state.ndim != 2:
        raise ValueError(f"the state has shape {tuple(state.shape)}; two axes are expected: (batch, hidden_size)")
    for axis, (name, found, right) in enumerate(
        (("batch", state.shape[0], inputs.shape[0]), ("hidden_size", state.shape[1], hidden_size))
    ):
        if found != right:
            raise ValueError(
                f"the state has shape {tuple(state.shape)}: axis {axis} ({name}) is {found} and should be {right}"
            )
    if state.device != inputs.device:
        raise ValueError(
            f"the state is on {state.device} but the inputs are on {inputs.device}; "
            f"move it with state.to({str(inputs.device)!r})"
        )


class RNNCell(nn.Module):
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

    def __init__(self, input_size: int, hidden_size: int, nonlinearity: str = "tanh"):
        super().__init__()
        if input_size < 1 or hidden_size < 1:
            raise ValueError(f"input_size is {input_size} and hidden_size is {hidden_size}; both must be 1 or more")
        if nonlinearity not in NONLINEARITIES:
            raise ValueError(f"nonlinearity is {nonlinearity!r}; it can be one of {', '.join(NONLINEARITIES)}")
        self.input_size, self.hidden_size, self.nonlinearity = input_size, hidden_size, nonlinearity
        self.W_xh = nn.Parameter(torch.empty(hidden_size, input_size))
        self.W_hh = nn.Parameter(torch.empty(hidden_size, hidden_size))
        self.b_h = nn.Parameter(torch.empty(hidden_size))
        for parameter in self.parameters():  # PyTorch's own choice for its recurrent layers
            nn.init.uniform_(parameter, -(hidden_size**-0.5), hidden_size**-0.5)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}, nonlinearity={self.nonlinearity!r}"

    def initial_state(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the state before the first step: zeros, (batch, hidden_size), for inputs (batch, …)."""
        return inputs.new_zeros(inputs.shape[0], self.hidden_size)

    def project(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return W_xh x + b_h for inputs (…, input_size), shape (…, hidden_size): no state needed.

        Raises:
            ValueError: the last axis is not input_size long.
        """
        if inputs.shape[-1] != self.input_size:
            raise ValueError(
                f"the inputs have shape {tuple(inputs.shape)}: the last axis is {inputs.shape[-1]} "
                f"and should be input_size, {self.input_size}"
            )
        return linear(inputs, self.W_xh, self.b_h)

    def step(self, projected: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        """Return h_t, (batch, hidden_size), from the projected x_t and h_{t−1}, both (batch, hidden_size)."""
        return NONLINEARITIES[self.nonlinearity](torch.addmm(projected, state, self.W_hh.T))

    def forward(self, x: torch.Tensor, state: torch.Tensor | None = None) -> torch.Tensor:
        """Return h_t, (batch, hidden_size), from x_t, (batch, input_size), and h_{t−1} (zeros where None).

        Raises:
            ValueError: an axis of x or of the state has the wrong length, or the devices differ.
        """
        projected = self.project(x)
        if state is None:
            state = self.initial_state(x)
        check_state(state, x, self.hidden_size)
        return self.step(projected, state)

    @classmethod
    def from_torch(cls, module: nn.RNNCell | nn.RNN) -> RNNCell:
        """Return a cell with the weights of PyTorch's one (of its first layer), the two biases added."""
        suffix = "_l0" if isinstance(module, nn.RNN) else ""
        weight_ih, weight_hh, bias_ih, bias_hh = (
            getattr(module, name + suffix).detach() for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        cell = cls(module.input_size, module.hidden_size, module.nonlinearity).to(weight_ih)
        cell.load_state_dict({"W_xh": weight_ih, "W_hh": weight_hh, "b_h": bias_ih + bias_hh})
        return cell


def unroll(cell: RNNCell, inputs: torch.Tensor, state: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Apply one cell at every step of a sequence, each time to its own last state.

    Args:
        cell: the cell; the same weights serve every step.
        inputs: (batch, time, input_size).
        state: the state before the first step, (batch, hidden_size); the cell's own initial state where None.

    Returns:
        The states after every step, (batch, time, hidden_size), and the last one, (batch, hidden_size).

    Raises:
        ValueError: the inputs do not have three axes, or none but zero steps, or the state does not fit.
    """
    if inputs.ndim != 3 or inputs.shape[1] == 0:
        raise ValueError(
            f"the inputs have shape {tuple(inputs.shape)}; three axes are expected, (batch, time, input_size), "
            "and at least one step"
        )
    if state is None:
        state = cell.initial_state(inputs)
    check_state(state, inputs, cell.hidden_size)
    states = []
    for projected in cell.project(inputs).unbind(1):  # one product for all steps; then (batch, hidden) a step
        state = cell.step(projected, state)
        states.append(state)
    return torch.stack(states, dim=1), state  # (batch, time, hidden), (batch, hidden)
