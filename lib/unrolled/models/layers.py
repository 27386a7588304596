"""Layers of recurrent cells, each unrolled over the whole sequence before the next reads its hidden states."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import torch
from torch import nn

from unrolled.cells import CELLS, Cell, State, TwinCell, check_state, unroll


class Layer(nn.Module):
    """One cell, unrolled. Every core of a language model has this interface: ``(inputs, state) -> (states, state)``.

    Args:
        cell: any cell.
    """

    def __init__(self, cell: Cell):
        super().__init__()
        self.cell = cell

    def forward(self, inputs: torch.Tensor, state: State | None = None) -> tuple[torch.Tensor, State]:
        """Map (batch, time, input_size) and the cell's state to (batch, time, hidden_size) and its last state."""
        return unroll(self.cell, inputs, state)


class Stack(nn.Module):
    """Several layers: the first reads the inputs, every other the hidden states of the one below.

        h_t^(1) = cell_1(x_t, h_{t−1}^(1))
        h_t^(l) = cell_l(h_t^(l−1), h_{t−1}^(l))

    The state is the tuple of the layers' states, from the bottom to the top.

    Args:
        cells: one for each layer, from the bottom to the top, of any kinds.

    Raises:
        ValueError: there are no cells, or one does not take what the one below gives.
    """

    def __init__(self, cells: Iterable[Cell]):
        super().__init__()
        self.cells = nn.ModuleList(cells)
        if not len(self.cells):
            raise ValueError("there are no cells; give one for each layer")
        for layer, (below, cell) in enumerate(zip(self.cells, self.cells[1:], strict=False), start=1):
            if cell.input_size != below.hidden_size:
                raise ValueError(
                    f"the cell of layer {layer} has input_size {cell.input_size}; "
                    f"below it is one with hidden_size {below.hidden_size}, and they must be the same"
                )

    def forward(
        self, inputs: torch.Tensor, state: tuple[State, ...] | None = None
    ) -> tuple[torch.Tensor, tuple[State, ...]]:
        """Return the top layer's hidden states, (batch, time, hidden_size), and every layer's last state.

        Args:
            inputs: (batch, time, input_size).
            state: each layer's state before the first step; the cells' own initial states where None.

        Raises:
            ValueError: there is not one state for each layer, or what `cells.unroll` raises.
        """
        before = [None] * len(self.cells) if state is None else layer_states(state, len(self.cells))
        after = []
        for cell, of_layer in zip(self.cells, before, strict=True):
            inputs, last = unroll(cell, inputs, of_layer)
            after.append(last)
        return inputs, tuple(after)

    @classmethod
    def from_torch(cls, module: nn.RNN | nn.LSTM | nn.GRU) -> Self:
        """Return a stack with the weights of PyTorch's network.

        Raises:
            ValueError: a module that is none of these, has two directions or a projection.
        """
        for kind in CELLS.values():
            if issubclass(kind, TwinCell) and isinstance(module, kind.torch_layer):
                return cls(kind.from_torch(module, layer) for layer in range(module.num_layers))
        raise ValueError(f"a stack is made from torch.nn's RNN, LSTM or GRU, not from {type(module).__name__}")

    @torch.no_grad()
    def to_torch(self) -> nn.RNN | nn.LSTM | nn.GRU:
        """Return PyTorch's network with these weights, batch first.

        Raises:
            ValueError: the cells differ in kind, hidden size or options, or PyTorch has no such cell.
        """
        first = self.cells[0]
        if not isinstance(first, TwinCell):
            raise ValueError(f"torch.nn has no {type(first).__name__}; this stack has no twin there")
        options = first.options_for_torch()
        for cell in self.cells[1:]:
            if (
                type(cell) is not type(first)
                or cell.hidden_size != first.hidden_size
                or cell.options_for_torch() != options
            ):
                raise ValueError(f"torch.nn stacks equal cells, but these are {first} and {cell}")
        module = first.torch_layer(
            first.input_size, first.hidden_size, len(self.cells), batch_first=True, **options
        ).to(first.W_xh)
        for layer, cell in enumerate(self.cells):
            cell.write_into(module, f"_l{layer}")
        return module


class TorchLayers(nn.Module):
    """``torch.nn.RNN``, ``LSTM`` or ``GRU`` behind the same interface, its states in the form of ours.

    Args:
        rnn: PyTorch's network, batch first.
    """

    def __init__(self, rnn: nn.RNN | nn.LSTM | nn.GRU):
        super().__init__()
        self.rnn = rnn
        self.state_names = ("h", "c") if isinstance(rnn, nn.LSTM) else ("h",)

    def forward(self, inputs: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        """Map (batch, time, input_size) and the state to (batch, time, hidden_size) and the last state.

        The state is that of `Layer` where there is one layer, else that of `Stack`.

        Raises:
            ValueError: a state that does not fit.
        """
        layers = (state,) if self.rnn.num_layers == 1 else layer_states(state, self.rnn.num_layers)
        for of_layer in layers:
            check_state(of_layer, inputs, self.rnn.hidden_size, self.state_names)
        if len(self.state_names) == 1:
            states, last = self.rnn(inputs, torch.stack(layers))  # (layers, batch, hidden): PyTorch's axis comes first
            layers = last.unbind(0)
        else:
            states, last = self.rnn(inputs, tuple(torch.stack(parts) for parts in zip(*layers, strict=True)))
            layers = tuple(zip(*(part.unbind(0) for part in last), strict=True))
        return states, layers[0] if len(layers) == 1 else layers


def layer_states(state: State, num_layers: int) -> tuple[State, ...]:
    """Return the same state, or raise ValueError where it is not a tuple with one state for each layer."""
    if not isinstance(state, tuple) or len(state) != num_layers:
        found = f"tuple of {len(state)}" if isinstance(state, tuple) else type(state).__name__
        raise ValueError(f"the state is a {found}; a tuple of {num_layers} states is expected, one for each layer")
    return state


class Dropout(nn.Module):
    """Set a share of the numbers to zero while training, and scale up the rest.

        m ~ Bernoulli(1 − rate)
        y = x ⊙ m / (1 − rate)

    The mean of y is x, so nothing has to change when the model is evaluated: there it returns x.

    Args:
        rate: the share that becomes zero.
        variational: draw m once for each row and keep it for all steps (Gal & Ghahramani 2016). Otherwise every step
            has an m of its own (Zaremba et al. 2014).

    Raises:
        ValueError: a rate below 0, or 1 and above.
    """

    def __init__(self, rate: float, *, variational: bool = False):
        super().__init__()
        if not 0 <= rate < 1:
            raise ValueError(f"dropout is {rate}; it must be 0 or more and below 1")
        self.rate, self.variational = rate, variational

    def extra_repr(self) -> str:
        return f"{self.rate}, variational={self.variational}"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return y, for x of the same shape, (batch, time, features). Without a rate no random number is drawn."""
        if not self.training or self.rate == 0:
            return x
        steps = 1 if self.variational else x.shape[1]
        m = x.new_empty(x.shape[0], steps, x.shape[2]).bernoulli_(1 - self.rate)
        return x * (m / (1 - self.rate))


class DropoutStack(nn.Module):
    """Layers above each other, with dropout between them.

        h_t^(1) = layer_1(x_t, h_{t−1}^(1))
        h_t^(l) = layer_l(dropout(h_t^(l−1)), h_{t−1}^(l))

    The state is the tuple of the layers' states, from the bottom to the top.

    Args:
        layers: from the bottom to the top, each with the interface of `layers.Layer`.
        dropout: what is between them.
    """

    def __init__(self, layers: Iterable[nn.Module], dropout: Dropout):
        super().__init__()
        self.layers, self.dropout = nn.ModuleList(layers), dropout

    def forward(self, inputs: torch.Tensor, state: tuple[State, ...]) -> tuple[torch.Tensor, tuple[State, ...]]:
        """Return the top layer's hidden states, (batch, time, hidden_size), and every layer's last state.

        Args:
            inputs: (batch, time, input_size).
            state: each layer's state before the first step.

        Raises:
            ValueError: there is not one state for each layer, or what the layers raise.
        """
        after = []
        for layer, before in zip(self.layers, layer_states(state, len(self.layers)), strict=True):
            inputs, last = layer(self.dropout(inputs) if after else inputs, before)
            after.append(last)
        return inputs, tuple(after)
