"""Read whole sequences of known lengths, layer by layer, from the left, from the right, or from both sides."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from unrolled.models.attention import check_lengths
from unrolled.models.layers import Dropout, RecurrentLayer, input_sizes, make_layer, unroll_layer
from unrolled.text import backwards, last_states

# The sides that an encoder reads from
DIRECTIONS = {"forward": ("from_left",), "backward": ("from_right",), "both": ("from_left", "from_right")}


class Encoder(nn.Module):
    """Several recurrent layers, each of which reads all outputs of the one below (:eq:`eq-bidirectional`).

        h→_t = cell→(x_t, h→_{t−1})             from the left
        h←_t = cell←(x_t, h←_{t+1})             from the right
        x_t of the next layer = [h→_t, h←_t]

    A row is read without its pads in both directions: to read from the right, its symbols are put in reverse order and
    its pads stay at the end.

    Args:
        input_size: d, the length of an input vector.
        hidden_size: h, the length of a state in one direction.
        core: one of `CORES`.
        num_layers: the number of layers.
        direction: ``"forward"``, ``"backward"`` or ``"both"``.
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
        dropout: float = 0.0,
        cell_options: Mapping[str, Any] | None = None,
    ):
        super().__init__()
        if direction not in DIRECTIONS:
            raise ValueError(f"direction is {direction!r}; it can be one of {', '.join(DIRECTIONS)}")
        self.hidden_size, self.dropout = hidden_size, Dropout(dropout)
        self.sides = DIRECTIONS[direction]
        self.output_size = hidden_size * len(self.sides)
        self.layers = nn.ModuleList(
            nn.ModuleDict({side: make_layer(core, size, hidden_size, cell_options) for side in self.sides})
            for size in input_sizes(input_size, self.output_size, num_layers)
        )

    def all_layers(self, inputs: torch.Tensor, lengths: torch.Tensor) -> list[torch.Tensor]:
        """Return the outputs of each layer, from the bottom to the top, (batch, time, output_size) each.

        Outputs at pads mean nothing.

        Args:
            inputs: (batch, time, input_size).
            lengths: the number of vectors in each row without its pads, (batch,).

        Raises:
            ValueError: the lengths do not fit the inputs, or one is 0.
        """
        check_lengths(lengths, *inputs.shape[:2])
        outputs = []
        for layer in self.layers:
            read = self.dropout(inputs) if outputs else inputs
            inputs = torch.cat([read_from(side, layer[side], read, lengths) for side in self.sides], dim=2)
            outputs.append(inputs)  # (batch, time, output)
        return outputs

    def forward(self, inputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return the outputs of the top layer; the arguments and the errors are those of `all_layers`."""
        return self.all_layers(inputs, lengths)[-1]

    def summary(self, states: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return a layer's output at the end of its reading, of both readings end to end, (batch, output_size).

        Args:
            states: the layer's outputs, (batch, time, output_size).
            lengths: the number of vectors in each row without its pads, (batch,).
        """
        parts = zip(self.sides, states.split(self.hidden_size, dim=2), strict=True)
        ends = [last_states(part, lengths) if side == "from_left" else part[:, 0] for side, part in parts]
        return torch.cat(ends, dim=1)


def read_from(side: str, layer: RecurrentLayer, inputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Return the states of a layer that reads from one side, (batch, time, hidden_size), in the order of the inputs."""
    if side == "from_left":
        return unroll_layer(layer, inputs)[0]
    states, _ = unroll_layer(layer, backwards(inputs, lengths))
    return backwards(states, lengths)
