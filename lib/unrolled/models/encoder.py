"""Read whole sequences of known lengths, layer by layer, from the left, from the right, or from both sides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from unrolled.models.attention import check_lengths
from unrolled.models.layers import Dropout, Layer, TorchLayers
from unrolled.models.recurrent import CORES, make_core
from unrolled.text import backwards, last_states

DIRECTIONS = ("forward", "backward", "both")


class Encoder(nn.Module):
    """Several recurrent layers, each of which reads all that the one below it says (:eq:`eq-bidirectional`).

        h→_t = cell→(x_t, h→_{t−1})             from the left
        h←_t = cell←(x_t, h←_{t+1})             from the right
        x_t of the next layer = [h→_t, h←_t]    plus this layer's own x_t where there are residual connections

    A row is read without its pads in both directions: to read from the right, its symbols are put in reverse order and
    its pads stay at the end. The first layer has no residual connection, since its inputs have another length.

    Args:
        input_size: d, the length of an input vector.
        hidden_size: h, the length of a state in one direction.
        core: one of `CORES`.
        num_layers: the number of layers.
        direction: ``"forward"``, ``"backward"`` or ``"both"``.
        residual: whether each layer but the first adds what it reads to what it says.
        dropout: the share of the numbers set to zero between two layers in training.
        cell_options: keywords for every cell.

    Attributes:
        output_size: the length of a state: h, or 2 h where both directions are read.

    Raises:
        ValueError: the core or the direction is unknown, there is no layer, or the dropout is negative, or 1 or more.

    Example:
        >>> encoder = Encoder(3, 4, core="gru", num_layers=2, direction="both")
        >>> states = encoder(torch.randn(2, 5, 3), torch.tensor([5, 2]))
        >>> states.shape, encoder.summary(states, torch.tensor([5, 2])).shape
        (torch.Size([2, 5, 8]), torch.Size([2, 8]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        core: str = "lstm",
        num_layers: int = 1,
        direction: str = "both",
        residual: bool = False,
        dropout: float = 0.0,
        cell_options: Mapping[str, Any] | None = None,
    ):
        super().__init__()
        if core not in CORES:
            raise ValueError(f"core is {core!r}; it can be one of {', '.join(CORES)}")
        if direction not in DIRECTIONS:
            raise ValueError(f"direction is {direction!r}; it can be one of {', '.join(DIRECTIONS)}")
        if num_layers < 1:
            raise ValueError(f"num_layers is {num_layers}; it must be 1 or more")
        self.hidden_size, self.residual = hidden_size, residual
        self.dropout = Dropout(dropout)
        sides = {"forward": ("from_left",), "backward": ("from_right",), "both": ("from_left", "from_right")}
        self.sides = sides[direction]
        self.output_size = hidden_size * len(self.sides)
        sizes = [input_size] + [self.output_size] * (num_layers - 1)
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {side: make_core(core, size, hidden_size, 1, cell_options or {}, Dropout(0.0)) for side in self.sides}
            )
            for size in sizes
        )

    def all_layers(self, inputs: torch.Tensor, lengths: torch.Tensor) -> list[torch.Tensor]:
        """Return what each layer says, from the bottom to the top, (batch, time, output_size) each.

        What stands at a pad means nothing.

        Args:
            inputs: (batch, time, input_size).
            lengths: the number of vectors in each row without its pads, (batch,).

        Raises:
            ValueError: the lengths do not fit the inputs, or one is 0.
        """
        check_lengths(lengths, inputs.shape[0], inputs.shape[1])
        said = []
        for layer in self.layers:
            read = self.dropout(inputs) if said else inputs
            states = torch.cat([self._read(layer[side], side, read, lengths) for side in self.sides], dim=2)
            inputs = inputs + states if self.residual and said else states  # (batch, time, output)
            said.append(inputs)
        return said

    def forward(self, inputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return what the top layer says; the arguments and the errors are those of `all_layers`."""
        return self.all_layers(inputs, lengths)[-1]

    def summary(self, states: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return what a layer says at the end of its reading, of both readings end to end, (batch, output_size).

        Args:
            states: what the layer says, (batch, time, output_size).
            lengths: the number of vectors in each row without its pads, (batch,).
        """
        ends = {"from_left": lambda part: last_states(part, lengths), "from_right": lambda part: part[:, 0]}
        parts = states.split(self.hidden_size, dim=2)
        return torch.cat([ends[side](part) for side, part in zip(self.sides, parts, strict=True)], dim=1)

    def _read(self, layer: Layer | TorchLayers, side: str, inputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return the states of one layer in one direction, (batch, time, hidden_size), in the order of the inputs."""
        turned = (lambda rows: backwards(rows, lengths)) if side == "from_right" else (lambda rows: rows)
        zeros = tuple(inputs.new_zeros(len(inputs), size) for size in layer.state_sizes.values())
        states, _ = layer(turned(inputs), zeros if len(zeros) > 1 else zeros[0])
        return turned(states)
