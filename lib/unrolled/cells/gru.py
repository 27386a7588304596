"""The gated recurrent unit, with the reset gate before or after the recurrent product."""

from collections.abc import Callable
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
    ``W_hh`` those that multiply h or r ⊙ h: the blocks ``"z"``, ``"r"`` and ``"candidate"``.

    This is the form of Chung et al. 2014. With ``reset="after"`` the reset gate acts on the recurrent product, not on
    the state: h̃ = tanh(W_xh x + b_h + r ⊙ (W_hh h + b_hh)), with a bias more, b_hh, (hidden_size,). That is PyTorch's
    form, and a different model. In PyTorch, as in Cho et al. 2014, z *keeps* the old state. That is the same model with
    z and 1 − z exchanged, so the conversion changes the sign of the weights of z.

    Args:
        reset: ``"before"`` or ``"after"`` the recurrent product.
        update_bias: the initial value of b_z, negative so that the cell keeps its state at first; None leaves what the
            initialisation draws.
        input_size, hidden_size, **drawn: as in `Cell`.

    Example:
        >>> cell = GRUCell(3, 4)
        >>> cell(torch.zeros(2, 3)).shape
        torch.Size([2, 4])
        >>> GRUCell(3, 4, reset="after").to_torch()
        GRUCell(3, 4)
    """

    option_names = ("reset", "update_bias")
    torch_cell, torch_layer, torch_blocks = nn.GRUCell, nn.GRU, {"r": 1, "z": -1, "candidate": 1}
    chrono_blocks = {"z": -1}

    def __init__(self, input_size: int, hidden_size: int, *, reset: str = "before", update_bias=None, **drawn: Any):
        if reset not in ("before", "after"):
            raise ValueError(f"reset is {reset!r}; it can be 'before' or 'after' the recurrent product")
        blocks, vectors = ("z", "r", "candidate"), ["b_hh"] if reset == "after" else []
        super().__init__(input_size, hidden_size, blocks, vectors, biases={"z": update_bias}, **drawn)
        self.reset, self.update_bias = reset, update_bias

    def equations(self, projected: torch.Tensor, state: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return z, r, candidate and h, (batch, hidden_size) each; the arguments are those of `Cell.equations`."""
        h, sizes = state, [2 * self.hidden_size, self.hidden_size]  # of both gates, and of the candidate
        of_gates, of_candidate = projected.split(sizes, dim=-1)
        W_gates, W_candidate = self.W_hh.split(sizes)
        z, r = torch.sigmoid(torch.addmm(of_gates, h, W_gates.T)).chunk(2, dim=-1)
        if self.reset == "before":
            candidate = torch.tanh(torch.addmm(of_candidate, r * h, W_candidate.T))
        else:
            candidate = torch.tanh(of_candidate + r * torch.addmm(self.b_hh, h, W_candidate.T))
        h = torch.lerp(h, candidate.to(h), z.to(h))  # (1 − z) ⊙ h + z ⊙ h̃, in one format also under autocast
        return {"z": z, "r": r, "candidate": candidate, "h": h}

    def second_bias(self, name: str) -> torch.Tensor | None:
        return getattr(self, "b_hh", None) if name == "candidate" else None

    def kernel(self) -> Callable | None:
        return torch.gru if self.reset == "after" and type(self) is GRUCell else None

    @classmethod
    def options_from_torch(cls, module: nn.GRUCell | nn.GRU) -> dict[str, Any]:
        return {"reset": "after"}
