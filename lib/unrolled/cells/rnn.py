"""The vanilla recurrent cell."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from unrolled.cells.twin import TwinCell

NONLINEARITIES = {"tanh": torch.tanh, "relu": torch.relu, "sigmoid": torch.sigmoid, "identity": lambda a: a}


class RNNCell(TwinCell):
    """Carry the hidden state one step forward (:eq:`eq-rnn`; Elman 1990).

        a_t = W_xh x_t + W_hh h_{t−1} + b_h
        h_t = tanh(a_t)

    PyTorch has two biases, which are only ever added; b_h, (hidden_size,), is enough.

    Args:
        nonlinearity: ``"tanh"``, or another of `NONLINEARITIES`: ``"relu"``, ``"sigmoid"``, ``"identity"``.
        input_size, hidden_size, initialisation: as in `Cell`.

    Example:
        >>> cell = RNNCell(3, 4)
        >>> cell(torch.zeros(2, 3)).shape
        torch.Size([2, 4])
        >>> RNNCell(3, 4, "relu").to_torch()
        RNNCell(3, 4, nonlinearity=relu)
    """

    option_names = ("nonlinearity",)
    torch_cell, torch_layer, torch_blocks = nn.RNNCell, nn.RNN, {"h": 1}

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

    def kernel(self) -> Callable | None:
        kernels = {"tanh": torch.rnn_tanh, "relu": torch.rnn_relu}
        return kernels.get(self.nonlinearity) if type(self) is RNNCell else None

    @classmethod
    def options_from_torch(cls, module: nn.RNNCell | nn.RNN) -> dict[str, Any]:
        return {"nonlinearity": module.nonlinearity}
