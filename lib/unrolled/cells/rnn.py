"""The vanilla recurrent cell."""

from typing import Any

import torch
from torch import nn

from unrolled.cells.twin import TwinCell

NONLINEARITIES = {"tanh": torch.tanh, "relu": torch.relu, "sigmoid": torch.sigmoid, "identity": lambda a: a}


class RNNCell(TwinCell):
    """Carry the hidden state one step forward (:eq:`eq-rnn`; Elman 1990).

        a_t = W_xh x_t + W_hh h_{t−1} + b_h
        h_t = tanh(a_t)

    Args:
        input_size: d, the length of an input vector.
        hidden_size: h, the length of the state.
        nonlinearity: ``"tanh"``, or another of `NONLINEARITIES`: ``"relu"``, ``"sigmoid"``, ``"identity"``.
        initialisation: how the weights are drawn; see `initialise`.

    Attributes:
        W_xh: input weights, (hidden_size, input_size).
        W_hh: recurrent weights, (hidden_size, hidden_size).
        b_h: bias, (hidden_size,). PyTorch has two, which are only ever added; one is enough.

    Raises:
        ValueError: a size below 1, or an unknown nonlinearity or initialisation.

    Example:
        >>> cell = RNNCell(3, 4)
        >>> cell(torch.zeros(2, 3)).shape
        torch.Size([2, 4])
        >>> RNNCell(3, 4, "relu").to_torch()
        RNNCell(3, 4, nonlinearity=relu)
    """

    option_names = ("nonlinearity",)
    torch_cell, torch_layer = nn.RNNCell, nn.RNN
    torch_blocks = {"h": 1}

    def __init__(
        self, input_size: int, hidden_size: int, nonlinearity: str = "tanh", *, initialisation: str = "uniform"
    ):
        if nonlinearity not in NONLINEARITIES:
            raise ValueError(f"nonlinearity is {nonlinearity!r}; it can be one of {', '.join(NONLINEARITIES)}")
        super().__init__(input_size, hidden_size, ("h",), initialisation=initialisation)
        self.nonlinearity = nonlinearity

    def equations(self, projected: torch.Tensor, state: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return h, (batch, hidden_size); the arguments are those of `Cell.equations`."""
        return {"h": NONLINEARITIES[self.nonlinearity](torch.addmm(projected, state, self.W_hh.T))}

    def options_for_torch(self) -> dict[str, Any]:
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"torch.nn has no RNN with nonlinearity={self.nonlinearity!r}, only with 'tanh' and 'relu'"
            )
        return self.options()

    @classmethod
    def options_from_torch(cls, module: nn.RNNCell | nn.RNN) -> dict[str, Any]:
        return {"nonlinearity": module.nonlinearity}
