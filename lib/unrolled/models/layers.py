"""What the core of a recurrent language model is built from: dropout, one layer, several layers.

`Layer` unrolls one of the book's cells and `TorchLayers` wraps PyTorch's networks; `Stack` puts cells on top of each
other, `DropoutStack` layers with dropout between them, and `ResidualStack` layers that add to what they read. All map
``(inputs, state)`` to ``(states, state)``.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from unrolled.cells import Cell, State, check_state, unroll


class Dropout(nn.Module):
    """Set a share of the numbers to zero in training, and scale up the rest.

        m ~ Bernoulli(1 − rate)
        y = x ⊙ m / (1 − rate)

    The mean of y is x, so nothing has to be scaled in evaluation: there y = x.

    Args:
        rate: the share that becomes zero.
        variational: draw one m for each row and keep it for all steps (Gal & Ghahramani 2016). Otherwise every step
            has an m of its own (Zaremba et al. 2014).

    Raises:
        ValueError: the rate is negative, or 1 or more.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> x = torch.ones(1, 3, 4)  # (batch, time, features)
        >>> y = Dropout(0.5, variational=True)(x)
        >>> y.unique().tolist(), torch.equal(y[:, 0], y[:, 2])
        ([0.0, 2.0], True)
        >>> Dropout(0.5).eval()(x) is x
        True
    """

    def __init__(self, rate: float, *, variational: bool = False):
        super().__init__()
        if not 0 <= rate < 1:
            raise ValueError(f"dropout is {rate}; it must be 0 or more and below 1")
        self.rate, self.variational = rate, variational

    def extra_repr(self) -> str:
        return f"{self.rate}, variational={self.variational}"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return y, (batch, time, features), for x of the same shape; at rate 0 no random number is drawn."""
        if not self.training or self.rate == 0:
            return x
        steps = 1 if self.variational else x.shape[1]
        m = x.new_empty(x.shape[0], steps, x.shape[2]).bernoulli_(1 - self.rate)  # (batch, time or 1, features)
        return x * (m / (1 - self.rate))


class Layer(nn.Module):
    """One cell, applied at every step of a sequence.

    Args:
        cell: any cell.

    Example:
        >>> from unrolled.cells import LSTMCell
        >>> states, (h, c) = Layer(LSTMCell(3, 4))(torch.randn(2, 5, 3))
        >>> states.shape, h.shape, c.shape
        (torch.Size([2, 5, 4]), torch.Size([2, 4]), torch.Size([2, 4]))
    """

    def __init__(self, cell: Cell):
        super().__init__()
        self.cell, self.state_sizes = cell, cell.state_sizes

    def forward(self, inputs: torch.Tensor, state: State | None = None) -> tuple[torch.Tensor, State]:
        """Return the hidden state after every step, (batch, time, hidden_size), and the cell's last state.

        Args:
            inputs: (batch, time, input_size).
            state: the state before the first step; None is the cell's initial state.

        Raises:
            ValueError: what `cells.unroll` raises.
        """
        return unroll(self.cell, inputs, state)


class Stack(nn.Module):
    """Several cells on top of each other, each of which reads the states of the one below (:eq:`eq-stack`).

        h_t^(1) = cell_1(x_t, h_{t−1}^(1))
        h_t^(l) = cell_l(h_t^(l−1), h_{t−1}^(l))

    The state is a tuple with one state for each layer, from the bottom to the top.

    Args:
        cells: one cell for each layer, from the bottom to the top; they may be of different kinds and sizes.

    Raises:
        ValueError: there are no cells, or the sizes of two neighbours do not fit.

    Example:
        >>> from unrolled.cells import GRUCell, RNNCell
        >>> states, state = Stack([GRUCell(3, 4), RNNCell(4, 6)])(torch.randn(2, 5, 3))
        >>> states.shape, [part.shape for part in state]
        (torch.Size([2, 5, 6]), [torch.Size([2, 4]), torch.Size([2, 6])])
    """

    def __init__(self, cells: Iterable[Cell]):
        super().__init__()
        self.cells = nn.ModuleList(cells)
        if not len(self.cells):
            raise ValueError("there are no cells; give one for each layer")
        for layer, (below, cell) in enumerate(zip(self.cells, self.cells[1:], strict=False), start=1):
            if cell.input_size != below.hidden_size:
                raise ValueError(
                    f"the cell of layer {layer} has input_size {cell.input_size}, and the one below it has "
                    f"hidden_size {below.hidden_size}; they must be equal"
                )

    def forward(
        self, inputs: torch.Tensor, state: tuple[State, ...] | None = None
    ) -> tuple[torch.Tensor, tuple[State, ...]]:
        """Return the top layer's hidden state after every step, (batch, time, hidden_size), and all last states.

        Args:
            inputs: (batch, time, input_size).
            state: each layer's state before the first step; None is the cells' own initial states.

        Raises:
            ValueError: the state is not a tuple with one state for each layer, or what `cells.unroll` raises.
        """
        before = [None] * len(self.cells) if state is None else check_layers(state, len(self.cells))
        after = []
        for cell, cell_state in zip(self.cells, before, strict=True):
            inputs, cell_state = unroll(cell, inputs, cell_state)
            after.append(cell_state)
        return inputs, tuple(after)


class TorchLayers(nn.Module):
    """PyTorch's ``nn.RNN``, ``nn.LSTM`` or ``nn.GRU`` with the book's interface and the book's form of the state.

    Args:
        rnn: PyTorch's network, batch first.

    Example:
        >>> layers = TorchLayers(nn.GRU(3, 4, num_layers=2, batch_first=True))
        >>> states, state = layers(torch.randn(2, 5, 3), (torch.zeros(2, 4), torch.zeros(2, 4)))
        >>> states.shape, [part.shape for part in state]
        (torch.Size([2, 5, 4]), [torch.Size([2, 4]), torch.Size([2, 4])])
    """

    def __init__(self, rnn: nn.RNN | nn.LSTM | nn.GRU):
        super().__init__()
        self.rnn = rnn
        self.state_sizes = dict.fromkeys("hc" if isinstance(rnn, nn.LSTM) else "h", rnn.hidden_size)

    def forward(self, inputs: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        """Return the top layer's hidden state after every step, (batch, time, hidden_size), and the last state.

        Args:
            inputs: (batch, time, input_size).
            state: the state before the first step: of one layer as `Layer` takes it, of several as `Stack` does.

        Raises:
            ValueError: the state does not fit.
        """
        layers = (state,) if self.rnn.num_layers == 1 else check_layers(state, self.rnn.num_layers)
        for layer_state in layers:
            check_state(layer_state, inputs, self.state_sizes)
        if len(self.state_sizes) == 1:
            states, h = self.rnn(inputs, torch.stack(layers))  # PyTorch's states are (layers, batch, hidden)
            layers = h.unbind(0)
        else:
            states, both = self.rnn(inputs, tuple(torch.stack(parts) for parts in zip(*layers, strict=True)))
            layers = tuple(zip(*(part.unbind(0) for part in both), strict=True))  # (h, c) of each layer
        return states, layers[0] if len(layers) == 1 else layers


class DropoutStack(nn.Module):
    """Several layers on top of each other, with dropout between them.

        h_t^(1) = layer_1(x_t, h_{t−1}^(1))
        h_t^(l) = layer_l(dropout(h_t^(l−1)), h_{t−1}^(l))

    The state is a tuple with one state for each layer, from the bottom to the top.

    Args:
        layers: from the bottom to the top, each a `Layer` or a `TorchLayers` of one layer.
        dropout: what every layer but the first reads through.

    Example:
        >>> from unrolled.cells import RNNCell
        >>> stack = DropoutStack([Layer(RNNCell(3, 4)), Layer(RNNCell(4, 4))], Dropout(0.2))
        >>> states, state = stack(torch.randn(2, 5, 3), (torch.zeros(2, 4), torch.zeros(2, 4)))
        >>> states.shape, len(state)
        (torch.Size([2, 5, 4]), 2)
    """

    def __init__(self, layers: Iterable[nn.Module], dropout: Dropout):
        super().__init__()
        self.layers, self.dropout = nn.ModuleList(layers), dropout

    def forward(self, inputs: torch.Tensor, state: tuple[State, ...]) -> tuple[torch.Tensor, tuple[State, ...]]:
        """Return the top layer's hidden state after every step, (batch, time, hidden_size), and all last states.

        Args:
            inputs: (batch, time, input_size).
            state: each layer's state before the first step.

        Raises:
            ValueError: the state is not a tuple with one state for each layer, or what the layers raise.
        """
        after = []
        for layer, layer_state in zip(self.layers, check_layers(state, len(self.layers)), strict=True):
            states, layer_state = layer(self.dropout(inputs) if after else inputs, layer_state)
            inputs = self.passed_on(inputs, states) if after else states
            after.append(layer_state)
        return inputs, tuple(after)

    @staticmethod
    def passed_on(read: torch.Tensor, said: torch.Tensor) -> torch.Tensor:
        """Return what a layer but the first passes on to the next, given what it read: what it says."""
        return said


class ResidualStack(DropoutStack):
    """Several layers on top of each other; each but the first adds what it reads to what it says (:eq:`eq-residual`).

        x_t^(1) = layer_1(x_t, …)
        x_t^(l) = x_t^(l−1) + layer_l(dropout(x_t^(l−1)), …)

    The state is a tuple with one state for each layer, from the bottom to the top.

    Args:
        layers: from the bottom to the top, each a `Layer` or a `TorchLayers` of one layer, with states equally long.
        dropout: what every layer but the first reads through.

    Example:
        >>> from unrolled.cells import RNNCell
        >>> stack = ResidualStack([Layer(RNNCell(3, 4)), Layer(RNNCell(4, 4))], Dropout(0.0))
        >>> states, state = stack(torch.randn(2, 5, 3), (torch.zeros(2, 4), torch.zeros(2, 4)))
        >>> states.shape, len(state)
        (torch.Size([2, 5, 4]), 2)
    """

    @staticmethod
    def passed_on(read: torch.Tensor, said: torch.Tensor) -> torch.Tensor:
        """Return what a layer passes on to the next: what it read plus what it says."""
        return read + said


def check_layers(state: State, num_layers: int) -> tuple[State, ...]:
    """Return the state, or raise ValueError where it is not a tuple with one state for each layer."""
    if not isinstance(state, tuple) or len(state) != num_layers:
        form = f"tuple of {len(state)}" if isinstance(state, tuple) else type(state).__name__
        raise ValueError(f"the state is a {form}; a tuple of {num_layers} states is expected, one for each layer")
    return state
