"""What a recurrent network is built from: dropout, layers by their names, and layers on top of each other.

A layer is one of the book's cells or one of PyTorch's networks. `unroll_layer` applies either at every step, `Stack`
several of them, with or without dropout between them and residual connections.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import nn

from unrolled.cells import CELLS, Cell, State, check_state, unroll

CORES = (*CELLS, "torch-rnn", "torch-lstm", "torch-gru")
RecurrentLayer = Cell | nn.RNNBase


class Dropout(nn.Module):
    """Set a share of the numbers to zero in training, and scale up the rest.

        m ~ Bernoulli(1 − rate)
        y = x ⊙ m / (1 − rate)

    The mean of y is x, so nothing has to be scaled in evaluation: there y = x.

    Args:
        rate: the share that becomes zero.

    Raises:
        ValueError: the rate is negative, or 1 or more.

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

    def extra_repr(self) -> str:
        return str(self.rate)

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

    Raises:
        ValueError: there are no layers, or the sizes of two neighbours do not fit.

    Example:
        >>> from unrolled.cells import GRUCell, RNNCell
        >>> states, state = Stack([GRUCell(3, 4), RNNCell(4, 6)])(torch.randn(2, 5, 3))
        >>> states.shape, [part.shape for part in state]
        (torch.Size([2, 5, 6]), [torch.Size([2, 4]), torch.Size([2, 6])])
    """

    def __init__(self, layers: Iterable[RecurrentLayer], dropout: Dropout | None = None, *, residual: bool = False):
        super().__init__()
        self.layers, self.dropout, self.residual = nn.ModuleList(layers), dropout or Dropout(0.0), residual
        if not len(self.layers):
            raise ValueError("there are no layers; give at least one cell")
        for number, (below, layer) in enumerate(zip(self.layers, self.layers[1:], strict=False), start=1):
            if layer.input_size != below.hidden_size:
                raise ValueError(
                    f"layer {number} has input_size {layer.input_size}, and the one below it has hidden_size "
                    f"{below.hidden_size}; they must be equal"
                )

    def forward(self, inputs: torch.Tensor, state: State | None = None) -> tuple[torch.Tensor, State]:
        """Return the top layer's output after every step, (batch, time, hidden_size), and the last state.

        Args:
            inputs: (batch, time, input_size).
            state: the state before the first step; None is the layers' own initial states.

        Raises:
            ValueError: the state is not a tuple with one state for each layer, or what `unroll_layer` raises.
        """
        if len(self.layers) == 1:
            return unroll_layer(self.layers[0], inputs, state)
        before = [None] * len(self.layers) if state is None else check_layers(state, len(self.layers))
        after = []
        for layer, layer_state in zip(self.layers, before, strict=True):
            states, layer_state = unroll_layer(layer, self.dropout(inputs) if after else inputs, layer_state)
            inputs = inputs + states if self.residual and after else states
            after.append(layer_state)
        return inputs, tuple(after)


def unroll_layer(layer: RecurrentLayer, inputs: torch.Tensor, state: State | None = None) -> tuple[torch.Tensor, State]:
    """Apply a layer at every step of a sequence, as `cells.unroll` does, also where it is PyTorch's.

    Args:
        layer: a cell, or PyTorch's ``nn.RNN``, ``nn.LSTM`` or ``nn.GRU``, batch first.
        inputs: (batch, time, input_size).
        state: the state before the first step; None is the initial state. Where PyTorch's network has several layers,
            it is a tuple with one state for each, from the bottom to the top.

    Returns:
        The hidden states after every step, (batch, time, hidden_size), and the last state, in the form of the first.

    Raises:
        ValueError: the state does not fit, or what `cells.unroll` raises.
    """
    if isinstance(layer, Cell):
        return unroll(layer, inputs, state)
    lstm = isinstance(layer, nn.LSTM)
    if state is not None:  # PyTorch's is h, (layers, batch, hidden), or the pair of h and c
        states = (state,) if layer.num_layers == 1 else check_layers(state, layer.num_layers)
        for layer_state in states:
            check_state(layer_state, inputs, state_sizes(layer))
        state = tuple(map(torch.stack, zip(*states, strict=True))) if lstm else torch.stack(states)
    outputs, last = layer(inputs, state)
    parts = last if lstm else (last,)
    return outputs, joined_states(zip(*(part.unbind(0) for part in parts), strict=True))


def check_layers(state: State, num_layers: int) -> tuple[State, ...]:
    """Return the state, or raise ValueError where it is not a tuple with one state for each layer."""
    if not isinstance(state, tuple) or len(state) != num_layers:
        form = f"tuple of {len(state)}" if isinstance(state, tuple) else type(state).__name__
        raise ValueError(f"the state is a {form}; a tuple of {num_layers} states is expected, one for each layer")
    return state


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
    """Return the length of the vectors that each layer reads, from the bottom to the top.

    Raises:
        ValueError: there is no layer.
    """
    if num_layers < 1:
        raise ValueError(f"num_layers is {num_layers}; it must be 1 or more")
    return [input_size] + [output_size] * (num_layers - 1)


def make_layer(core: str, input_size: int, hidden_size: int, options: Mapping[str, Any] | None) -> RecurrentLayer:
    """Return an untrained layer, a cell or PyTorch's network, with these keywords of its own.

    Raises:
        ValueError: the core is none of `CORES`.
    """
    if core not in CORES:
        raise ValueError(f"core is {core!r}; it can be one of {', '.join(CORES)}")
    kind, options = CELLS[core.removeprefix("torch-")], options or {}
    if core.startswith("torch-"):
        return kind.torch_layer(input_size, hidden_size, batch_first=True, **options)
    return kind(input_size, hidden_size, **options)


def make_stack(
    core: str,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    cell_options: Mapping[str, Any] | None,
    dropout: Dropout,
) -> Stack:
    """Return untrained layers of one kind, each with the same core, state and keywords, and dropout between them.

    Raises:
        ValueError: the core is unknown, or there is no layer.
    """
    sizes = input_sizes(input_size, hidden_size, num_layers)
    if core.startswith("torch-"):
        own = {"num_layers": num_layers, "dropout": dropout.rate if num_layers > 1 else 0.0}
        return Stack([make_layer(core, input_size, hidden_size, {**(cell_options or {}), **own})])
    return Stack((make_layer(core, size, hidden_size, cell_options) for size in sizes), dropout)
