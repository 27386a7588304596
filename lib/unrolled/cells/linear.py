"""Cells whose step is linear in the state, so that a whole sequence is one scan (chapter 13)."""

from typing import Any

import torch

from unrolled.cells.base import Cell
from unrolled.cells.parallel_scan import scan


class LinearCell(Cell):
    """A cell whose step multiplies each number of the state by a factor and adds another.

        h_t = a_t ⊙ h_{t−1} + b_t

    Neither a_t nor b_t depends on the state, so a whole sequence is one `scan`. A subclass gives both. The arguments
    are those of `Cell`; no block has recurrent weights.

    Example:
        >>> from unrolled.cells import unroll
        >>> class LeakyCell(LinearCell):
        ...     def coefficients(self, projected):
        ...         return {"a": torch.full_like(projected, 0.9), "b": 0.1 * projected}
        >>> states, h = unroll(LeakyCell(3, 4, blocks=["h"]), torch.zeros(2, 5, 3))
        >>> states.shape, h.shape
        (torch.Size([2, 5, 4]), torch.Size([2, 4]))
    """

    def __init__(self, *sizes_and_names: Any, **options: Any):
        super().__init__(*sizes_and_names, recurrent=False, **options)

    def coefficients(self, projected: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return a_t and b_t, and what they are made of, (…, hidden_size) each, from x_t after `project`."""
        raise NotImplementedError

    def equations(self, projected: torch.Tensor, state: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the coefficients and h, (batch, hidden_size) each; the arguments are those of `Cell.equations`."""
        values = self.coefficients(projected)
        return values | {"h": values["a"] * state + values["b"]}

    def unroll(self, inputs: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what `Cell.unroll` does, by `scan`: a tree in place of a loop."""
        values = self.coefficients(self.project(inputs))
        states = scan(values["a"], values["b"], state)
        return states, states[:, -1]


class MinGRUCell(LinearCell):
    """Carry the hidden state forward through an update gate that reads the input alone (Feng et al. 2024).

        z = σ(W_z x + b_z)                 (:eq:`eq-mingru`)
        h̃ = W_h x + b_h                    (:eq:`eq-mingru`)
        h_t = (1 − z) ⊙ h + z ⊙ h̃          (:eq:`eq-mingru`)

    where h is h_{t−1} and x is x_t; the blocks are ``"z"`` and ``"candidate"``. With ``signed`` the factor of the old
    state is 1 − 2z, between −1 and 1: only then can a state change its sign from step to step, which parity needs
    (Grazzi et al. 2025).

    Args:
        signed: let the factor of the old state be negative.
        update_bias: the initial value of b_z, negative so that the cell keeps its state at first; None leaves what the
            initialisation draws.
        input_size, hidden_size, **drawn: as in `Cell`.

    Example:
        >>> shut = MinGRUCell(3, 4, update_bias=-1e9)  # with the update gate shut, h never changes
        >>> shut(torch.randn(1, 3), torch.ones(1, 4)).tolist()
        [[1.0, 1.0, 1.0, 1.0]]
    """

    option_names, chrono_blocks = ("signed", "update_bias"), {"z": -1}

    def __init__(self, input_size: int, hidden_size: int, *, signed: bool = False, update_bias=None, **drawn: Any):
        super().__init__(input_size, hidden_size, ("z", "candidate"), biases={"z": update_bias}, **drawn)
        self.signed, self.update_bias = signed, update_bias

    def coefficients(self, projected: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return z, candidate, a and b; the arguments are those of `LinearCell.coefficients`."""
        a_z, candidate = projected.chunk(2, dim=-1)
        z = torch.sigmoid(a_z)
        return {"z": z, "candidate": candidate, "a": 1 - 2 * z if self.signed else 1 - z, "b": z * candidate}
