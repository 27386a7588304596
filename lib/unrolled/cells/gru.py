"""The gated recurrent unit, with the reset gate before or after the recurrent product."""

from typing import Any

import torch
from torch import nn

from unrolled.cells.twin import TwinCell


class GRUCell(TwinCell):
    """Carry the hidden state one step forward through an update and a reset gate (Cho et al. 2014; Chung et al. 2014).

        z = σ(W_z [h, x] + b_z)                    (:eq:`eq-gru-update`)
        r = σ(W_r [h, x] + b_r)                    (:eq:`eq-gru-reset`)
        h̃ = tanh(W_h [r ⊙ h, x] + b_h)             (:eq:`eq-gru-state`)
        h_t = (1 − z) ⊙ h + z ⊙ h̃                  (:eq:`eq-gru-state`)

    where h is h_{t−1} and x is x_t. In the code ``W_xh`` stacks the columns of the three matrices that multiply x, and
    ``W_hh`` those that multiply h or r ⊙ h.

    This is the form of Chung et al. 2014. With ``reset="after"`` the reset gate acts on the recurrent product, not on
    the state: h̃ = tanh(W_xh x + b_h + r ⊙ (W_hh h + b_hh)). That is PyTorch's form, and a different model. In PyTorch,
    as in Cho et al. 2014, z *keeps* the old state. That is the same model with z and 1 − z exchanged, so the conversion
    changes the sign of the weights of z.

    Args:
        input_size: d, the length of an input vector.
        hidden_size: h, the length of the state.
        reset: ``"before"`` or ``"after"`` the recurrent product.
        update_bias: the initial value of b_z, negative so that the cell keeps its state at first; None leaves what the
            initialisation draws.
        initialisation, t_max: how all weights are drawn; see `initialise`.

    Attributes:
        W_xh: input weights, (3 · hidden_size, input_size): the blocks ``"z"``, ``"r"`` and ``"candidate"``.
        W_hh: recurrent weights, (3 · hidden_size, hidden_size).
        b_h: biases, (3 · hidden_size,).
        b_hh: with ``reset="after"``, the bias of the candidate's recurrent product, (hidden_size,).

    Raises:
        ValueError: a size below 1, another placement of the reset, a bias beside chrono's, or what `initialise` raises.

    Example:
        >>> cell = GRUCell(3, 4)
        >>> cell(torch.zeros(2, 3)).shape
        torch.Size([2, 4])
        >>> GRUCell(3, 4, reset="after").to_torch()
        GRUCell(3, 4)
    """

    option_names = ("reset", "update_bias")
    torch_cell, torch_layer = nn.GRUCell, nn.GRU
    torch_blocks = {"r": 1, "z": -1, "candidate": 1}
    chrono_blocks = {"z": -1}

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        reset: str = "before",
        update_bias: float | None = None,
        initialisation: str = "uniform",
        t_max: int | None = None,
    ):
        if reset not in ("before", "after"):
            raise ValueError(f"reset is {reset!r}; it can be 'before' or 'after' the recurrent product")
        blocks, vectors = ("z", "r", "candidate"), ["b_hh"] if reset == "after" else []
        biases = {"z": update_bias}
        super().__init__(
            input_size, hidden_size, blocks, vectors, biases=biases, initialisation=initialisation, t_max=t_max
        )
        self.reset, self.update_bias = reset, update_bias

    def equations(self, projected: torch.Tensor, state: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return z, r, candidate and h, (batch, hidden_size) each; the arguments are those of `Cell.equations`."""
        h, two = state, 2 * self.hidden_size
        if self.reset == "before":
            z, r = torch.sigmoid(torch.addmm(projected[:, :two], h, self.W_hh[:two].T)).chunk(2, dim=-1)
            candidate = torch.tanh(torch.addmm(projected[:, two:], r * h, self.W_hh[two:].T))
        else:
            recurrent = h @ self.W_hh.T  # (batch, 3 · hidden)
            z, r = torch.sigmoid(projected[:, :two] + recurrent[:, :two]).chunk(2, dim=-1)
            candidate = torch.tanh(projected[:, two:] + r * (recurrent[:, two:] + self.b_hh))
        return {"z": z, "r": r, "candidate": candidate, "h": (1 - z) * h + z * candidate}

    def second_bias(self, name: str) -> torch.Tensor | None:
        return getattr(self, "b_hh", None) if name == "candidate" else None

    def torch_weights(self) -> list[torch.Tensor]:
        *weights, zeros = super().torch_weights()
        return [*weights, torch.cat([zeros[: 2 * self.hidden_size], self.b_hh])]  # the candidate is last there, too

    def options_for_torch(self) -> dict[str, Any]:
        if self.reset != "after":
            raise ValueError('torch.nn\'s GRU resets after the product; a cell with reset="before" has no twin there')
        return {}

    @classmethod
    def options_from_torch(cls, module: nn.GRUCell | nn.GRU) -> dict[str, Any]:
        return {"reset": "after"}
