"""The gated cells, written from the book's equations in the order of the equations."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from unrolled.cells import fused
from unrolled.cells.base import Cell


class LSTMCell(Cell):
    """Carry the hidden state and the cell state one step forward (Hochreiter & Schmidhuber 1997; Gers et al. 2000).

        f = σ(W_f [h, x] + b_f)            (:eq:`eq-lstm-forget`)
        i = σ(W_i [h, x] + b_i)            (:eq:`eq-lstm-input`)
        c̃ = tanh(W_c [h, x] + b_c)         (:eq:`eq-lstm-candidate`)
        c_t = f ⊙ c_{t−1} + i ⊙ c̃          (:eq:`eq-lstm-cell`)
        o = σ(W_o [h, x] + b_o)            (:eq:`eq-lstm-output`)
        h_t = o ⊙ tanh(c_t)                (:eq:`eq-lstm-output`)

    where h is h_{t−1} and x is x_t. This is the concatenated form. The code runs the fused one, which is the same in
    fewer products: ``W_xh`` holds those columns of W_f, W_i, W_c and W_o that meet x, one block under the other, and
    ``W_hh`` those that meet h, so that all four gates come out of W_xh x + W_hh h + b_h.

    With peepholes the gates also see the cell state (Gers & Schmidhuber 2000): p_f ⊙ c_{t−1}, p_i ⊙ c_{t−1} and
    p_o ⊙ c_t are added inside the three σ. Without forget gate f is 1, and the cell is that of 1997.

    The state is the tuple (h, c), (batch, hidden_size) each.

    Args:
        input_size: d, the length of an input vector.
        hidden_size: h, the length of the two states.
        forget_bias: what b_f begins with, 1 so that the cell remembers at first (Gers et al. 2000). Without a forget
            gate it means nothing.
        forget_gate: False for the cell of 1997; then the blocks are those of i, c̃ and o.
        peepholes: whether the gates see the cell state.

    Attributes:
        W_xh: input weights, (4 · hidden_size, input_size): the blocks ``"f"``, ``"i"``, ``"candidate"`` and ``"o"``.
        W_hh: recurrent weights, (4 · hidden_size, hidden_size).
        b_h: biases, (4 · hidden_size,). PyTorch keeps two that are only ever added; one is enough.
        p_f, p_i, p_o: the peepholes' weights, (hidden_size,) each, where there are any.

    Raises:
        ValueError: a size below 1.
    """

    state_names = ("h", "c")
    torch_cell, torch_layer = nn.LSTMCell, nn.LSTM
    torch_blocks = {"i": 1, "f": 1, "candidate": 1, "o": 1}

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        forget_bias: float = 1.0,
        forget_gate: bool = True,
        peepholes: bool = False,
    ):
        blocks = ("f", "i", "candidate", "o") if forget_gate else ("i", "candidate", "o")
        super().__init__(
            input_size, hidden_size, blocks, [f"p_{name}" for name in blocks if peepholes and name != "candidate"]
        )
        self.forget_bias, self.forget_gate, self.peepholes = forget_bias, forget_gate, peepholes
        if forget_gate:
            nn.init.constant_(self.block("f").b_h, forget_bias)

    def options(self) -> dict[str, Any]:
        return {"forget_bias": self.forget_bias, "forget_gate": self.forget_gate, "peepholes": self.peepholes}

    def equations(self, projected: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return f (where there is one), i, candidate, c, o and h, (batch, hidden_size) each.

        Args:
            projected: what `project` made of x_t, (batch, 4 · hidden_size), or 3 without forget gate.
            state: (h_{t−1}, c_{t−1}), (batch, hidden_size) each.
        """
        h, c = state
        values = {}
        *a_f, a_i, a_candidate, a_o = torch.addmm(projected, h, self.W_hh.T).chunk(len(self.blocks), dim=-1)
        if self.forget_gate:
            values["f"] = f = torch.sigmoid(a_f[0] + self.p_f * c if self.peepholes else a_f[0])
        values["i"] = i = torch.sigmoid(a_i + self.p_i * c if self.peepholes else a_i)
        values["candidate"] = candidate = torch.tanh(a_candidate)
        values["c"] = c = (f * c if self.forget_gate else c) + i * candidate
        values["o"] = o = torch.sigmoid(a_o + self.p_o * c if self.peepholes else a_o)
        values["h"] = o * torch.tanh(c)
        return values

    def fast(
        self, inputs: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor]
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]] | None:
        """Return what `cells.unroll` returns, by way of `fused.LSTM`; None with peepholes or without a forget gate."""
        if self.peepholes or not self.forget_gate:
            return None
        states, h, c = fused.LSTM.apply(self.project(inputs.transpose(0, 1)), self.W_hh, *state)
        return states.transpose(0, 1), (h, c)  # (time, batch, hidden) → (batch, time, hidden)

    def options_for_torch(self) -> dict[str, Any]:
        if self.peepholes or not self.forget_gate:
            raise ValueError(
                "torch.nn has no LSTM with peepholes or without a forget gate; this cell has no twin there"
            )
        return {}
