"""Dropout where a recurrent network bears it: on what goes up from layer to layer, never on what goes on in time."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from unrolled.cells import State
from unrolled.stacks import layer_states


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
        layers: from the bottom to the top, each with the interface of `stacks.Layer`.
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
