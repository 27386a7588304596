"""The LSTM as it is used today."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from unrolled.cells.twin import TwinCell


class LSTMCell(TwinCell):
    """Carry the hidden state and the cell state one step forward (Hochreiter & Schmidhuber 1997; Gers et al. 2000).

        f = σ(W_f [h, x] + b_f)            (:eq:`eq-lstm-forget`)
        i = σ(W_i [h, x] + b_i)            (:eq:`eq-lstm-input`)
        c̃ = tanh(W_c [h, x] + b_c)         (:eq:`eq-lstm-candidate`)
        c_t = f ⊙ c_{t−1} + i ⊙ c̃          (:eq:`eq-lstm-cell`)
        o = σ(W_o [h, x] + b_o)            (:eq:`eq-lstm-output`)
        h_t = o ⊙ tanh(c_t)                (:eq:`eq-lstm-output`)

    where h is h_{t−1} and x is x_t. The code computes the same in fewer products: ``W_xh`` stacks the columns of W_f,
    W_i, W_c and W_o that multiply x, and ``W_hh`` those that multiply h, so that W_xh x + W_hh h + b_h serves all four
    blocks: ``"f"``, ``"i"``, ``"candidate"`` and ``"o"``. The state is the tuple (h, c), (batch, hidden_size) each.

    Args:
        forget_bias: the initial value of b_f, 1 so that the cell remembers from the start (Gers et al. 2000); None
            leaves what the initialisation draws.
        input_bias: the initial value of b_i, or None.
        input_size, hidden_size, **drawn: as in `Cell`.

    Example:
        >>> cell = LSTMCell(3, 4)
        >>> h, c = cell(torch.zeros(2, 3))
        >>> h.shape, c.shape
        (torch.Size([2, 4]), torch.Size([2, 4]))
        >>> cell.block("f").b_h.tolist()
        [1.0, 1.0, 1.0, 1.0]
    """

    state_names, option_names = ("h", "c"), ("forget_bias", "input_bias")
    torch_cell, torch_layer, torch_blocks = nn.LSTMCell, nn.LSTM, {"i": 1, "f": 1, "candidate": 1, "o": 1}
    chrono_blocks = {"f": 1, "i": -1}

    def __init__(self, input_size: int, hidden_size: int, *, forget_bias=1.0, input_bias=None, **drawn: Any):
        blocks, biases = ("f", "i", "candidate", "o"), {"f": forget_bias, "i": input_bias}
        super().__init__(input_size, hidden_size, blocks, biases=biases, **drawn)
        self.forget_bias, self.input_bias = forget_bias, input_bias

    def equations(self, projected: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return f, i, candidate, c, o and h, (batch, hidden_size) each; the arguments are as in `Cell.equations`."""
        h, c = state
        a_f, a_i, a_candidate, a_o = torch.addmm(projected, h, self.W_hh.T).chunk(4, dim=-1)
        f = torch.sigmoid(a_f)
        i = torch.sigmoid(a_i)
        candidate = torch.tanh(a_candidate)
        c = f * c + i * candidate
        o = torch.sigmoid(a_o)
        h = o * torch.tanh(c)
        return {"f": f, "i": i, "candidate": candidate, "c": c, "o": o, "h": h}

    def kernel(self) -> Callable | None:
        return torch.lstm if type(self) is LSTMCell else None
