"""What a recurrent network is built from: dropout, layers by their names, and layers on top of each other.

A layer is one of the book's cells or one of PyTorch's networks. `unroll_layer` applies either at every step, `Stack`
several of them, with or without dropout between them and residual connections.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import nn

from unrolled.cells import CELLS, Cell, State, unroll
from unrolled.cells.base import check_state

CORES = (*CELLS, "torch-rnn", "torch-lstm", "torch-gru")
RecurrentLayer = Cell | nn.RNNBase


class Dropout(nn.Module):
    """Set a share of the numbers to zero in training, and scale up the rest.

        m ~ Bernoulli(1 − rate)
        y = x ⊙ m / (1 − rate)

    The mean of y is x, so nothing has to be scaled in evaluation: there y = x.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> x = torch.ones(1, 3, 4)  # (batch, time, features)
        >>> Dropout(0.5)(x).unique().tolist(), Dropout(0.5).eval()(x) is x
        ([0.0, 2.0], True)
    """

    def __init__(self, rate: float):
        super().__init__()
        if not 0 <= rate < 1:
            raise ValueError(f"dropout is {rate}; it must be 0 or more and below 1")
        self.rate = rate

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return y, (batch, time, features), for x of the same shape; at rate 0 no random number is drawn."""
        if not self.training or self.rate == 0:
            return x
        m = x.new_empty(x.shape).bernoulli_(1 - self.rate)  # (batch, time, features)
        return x * (m / (1 - self.rate))


class Stack(nn.Module):
    """Recurrent layers on top of each other, each of which reads the states of the one below (:eq:`eq-stack`).

        h_t^(1) = layer_1(x_t, h_{t−1}^(1))
        h_t^(l) = layer_l(dropout(h_t^(l−1)), h_{t−1}^(l))

    With residual connections, each layer but the first adds its states to what it reads (:eq:`eq-residual`):

        x_t^(l) = x_t^(l−1) + layer_l(dropout(x_t^(l−1)), h_{t−1}^(l))

    The state is a tuple with one state for each layer, from the bottom to the top. A single layer's state stands alone.

    Args:
        layers: from the bottom to the top, each a cell or one of PyTorch's networks, as `unroll_layer` takes them. They
            may be of different kinds and sizes.
        dropout: what every layer but the first reads through; None is no dropout.
        residual: whether there are residual connections; if so, all states are equally long.

    Example:
        >>> from unrolled.cells import GRUCell, RNNCell
        >>> states, state = Stack([GRUCell(3, 4), RNNCell(4, 6)])(torch.randn(2, 5, 3))
        >>> states.shape, [part.shape for part in state]
        (torch.Size([2, 5, 6]), [torch.Size([2, 4]), torch.Size([2, 6])])
    """

    def __init__(self, layers: Iterable[RecurrentLayer], dropout: Dropout | None = None, *, residual: bool = False):
        super().__init__()
        self.layers, self.dropout, self.residual = nn.ModuleList(layers), dropout or Dropout(0.0), residual

    def forward(self, inputs: torch.Tensor, state: State | None = None) -> tuple[torch.Tensor, State]:
        """Return the top layer's output after every step, (batch, time, hidden_size), and the last state."""
        if len(self.layers) == 1:
            return unroll_layer(self.layers[0], inputs, state)
        after = []
        for layer, before in zip(self.layers, by_layer(state, len(self.layers)), strict=True):
            states, last = unroll_layer(layer, self.dropout(inputs) if after else inputs, before)
            inputs = inputs + states if self.residual and after else states
            after.append(last)
        return inputs, tuple(after)


def unroll_layer(layer: RecurrentLayer, inputs: torch.Tensor, state: State | None = None) -> tuple[torch.Tensor, State]:
    """Apply a layer at every step of a sequence, as `cells.unroll` does, also where it is PyTorch's, batch first.

    Where PyTorch's network has several layers, the state is a tuple with one for each, from the bottom to the top.
    """
    if isinstance(layer, Cell):
        return unroll(layer, inputs, state)
    lstm = isinstance(layer, nn.LSTM)
    if state is not None:  # PyTorch's is h, (layers, batch, hidden), or the pair of h and c
        states = (state,) if layer.num_layers == 1 else by_layer(state, layer.num_layers)
        for layer_state in states:
            check_state(layer_state, len(inputs), state_sizes(layer))
        state = tuple(map(torch.stack, zip(*states, strict=True))) if lstm else torch.stack(states)
    outputs, last = layer(inputs, state)
    parts = last if lstm else (last,)
    return outputs, joined_states(zip(*(part.unbind(0) for part in parts), strict=True))


def by_layer(state: State | None, num_layers: int) -> tuple[State | None, ...]:
    """Return the state of each of several layers, or None for each."""
    states = (None,) * num_layers if state is None else state
    if not isinstance(states, tuple) or len(states) != num_layers:
        raise ValueError(
            f"the state is a {type(state).__name__}; a tuple of {num_layers} states is expected, one a layer"
        )
    return states


def state_sizes(layer: RecurrentLayer) -> dict[str, int]:
    """Return the length of each part of a layer's state, by its name."""
    if isinstance(layer, Cell):
        return layer.state_sizes
    return dict.fromkeys("hc" if isinstance(layer, nn.LSTM) else "h", layer.hidden_size)


def joined_states(layers: Iterable[tuple[torch.Tensor, ...]]) -> State:
    """Return the state of a stack, given the parts of each layer's state, (batch, size) each: h, or h and c."""
    states = tuple(parts if len(parts) > 1 else parts[0] for parts in layers)
    return states if len(states) > 1 else states[0]


def input_sizes(input_size: int, output_size: int, num_layers: int) -> list[int]:
    """Return the length of the vectors that each layer reads, from the bottom to the top."""
    if num_layers < 1:
        raise ValueError(f"num_layers is {num_layers}; it must be 1 or more")
    return [input_size] + [output_size] * (num_layers - 1)


def make_layer(core: str, input_size: int, hidden_size: int, options: Mapping[str, Any] | None) -> RecurrentLayer:
    """Return an untrained layer, a cell or PyTorch's network, with these keywords of its own."""
    if core not in CORES:
        raise ValueError(f"core is {core!r}; it can be one of {', '.join(CORES)}")
    kind, options = CELLS[core.removeprefix("torch-")], options or {}
    if core.startswith("torch-"):
        return kind.torch_layer(input_size, hidden_size, batch_first=True, **options)
    return kind(input_size, hidden_size, **options)


def make_stack(core: str, input_size: int, hidden_size: int, num_layers: int, cell_options, dropout: Dropout) -> Stack:
    """Return untrained layers of one kind, each with the same core, state and keywords, and dropout between them."""
    sizes = input_sizes(input_size, hidden_size, num_layers)
    if core.startswith("torch-"):
        own = {"num_layers": num_layers, "dropout": dropout.rate if num_layers > 1 else 0.0}
        return Stack([make_layer(core, input_size, hidden_size, {**(cell_options or {}), **own})])
    return Stack((make_layer(core, size, hidden_size, cell_options) for size in sizes), dropout)
