"""Cells whose state is a matrix that maps keys to values: attention without a softmax, the delta rule (chapter 13)."""

from typing import Any

import torch
from torch import nn
from torch.nn.functional import elu, linear, normalize

from unrolled.cells.base import Cell, State

CHUNK = 64  # steps of the delta rule that are computed at once


class MatrixCell(Cell):
    """A cell that reads a query q, a key k and a value v from its input: W_q x + b_q, W_k x + b_k, W_v x + b_v.

    No block has recurrent weights. With several heads, each has its own slice of q, k and v, and a smaller matrix S.

    Args:
        num_heads: into how many slices q, k and v, each as long as h_t, are cut; a divisor of h.
        input_size, hidden_size, initialisation: as in `Cell`.
    """

    option_names, state_names = ("num_heads",), ("h", "S")

    def __init__(self, input_size: int, hidden_size: int, *, num_heads: int = 1, initialisation: str = "uniform"):
        if hidden_size % num_heads:
            raise ValueError(f"num_heads is {num_heads}, which does not divide hidden_size, {hidden_size}")
        super().__init__(input_size, hidden_size, ("q", "k", "v"), recurrent=False, initialisation=initialisation)
        self.num_heads = num_heads

    @property
    def state_sizes(self) -> dict[str, int]:
        """The sizes of h, of S, (heads, h / heads, h / heads) in a row, and of what else is carried."""
        return dict.fromkeys(self.state_names, self.hidden_size) | {"S": self.hidden_size**2 // self.num_heads}

    def parts(self, projected: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return q, k and v by heads, (…, heads, hidden_size / heads) each, from x_t after `project`."""
        vectors = projected[..., : 3 * self.hidden_size].chunk(3, dim=-1)
        return tuple(part.unflatten(-1, (self.num_heads, -1)) for part in vectors)


class LinearAttentionCell(MatrixCell):
    """Carry one step forward the sum of what was written, and of its keys (Katharopoulos et al. 2020).

        S_t = S_{t−1} + v φ(k)ᵀ
        n_t = n_{t−1} + φ(k)
        h_t = S_t φ(q) / (n_tᵀ φ(q))               φ(a) = elu(a) + 1, which is above 0

    So h_t = Σ_{s≤t} φ(q_t)ᵀφ(k_s) v_s / Σ_{s≤t} φ(q_t)ᵀφ(k_s): attention to all steps so far, a product in place of
    the softmax's exponential, and blind to their order. The arguments are those of `MatrixCell`.

    Example:
        >>> from unrolled.cells import unroll
        >>> states, (h, S, n) = unroll(LinearAttentionCell(3, 4, num_heads=2), torch.zeros(2, 5, 3))
        >>> states.shape, S.shape, n.shape
        (torch.Size([2, 5, 4]), torch.Size([2, 8]), torch.Size([2, 4]))
    """

    state_names = ("h", "S", "n")

    def parts(self, projected: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return φ(q), φ(k) and v by heads, (…, heads, hidden_size / heads) each."""
        q, k, v = super().parts(projected)
        return elu(q) + 1, elu(k) + 1, v

    def equations(self, projected: torch.Tensor, state: State) -> dict[str, torch.Tensor]:
        """Return S, n and h, (batch, size) each; the arguments are those of `Cell.equations`."""
        q, k, v = self.parts(projected)  # (batch, heads, slice)
        _, S, n = state
        S = S.view(*v.shape, -1) + v[..., None] * k[..., None, :]  # (batch, heads, slice, slice)
        n = n.view(k.shape) + k
        h = (S @ q[..., None])[..., 0] / (n * q).sum(dim=-1, keepdim=True)
        return {"S": S.flatten(1), "n": n.flatten(1), "h": h.flatten(1)}

    def unroll(self, inputs: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        """Return what `Cell.unroll` does, by the scores of all steps with the steps so far."""
        # (batch, time, heads, slice) → (batch, heads, time, slice)
        q, k, v = (part.transpose(1, 2) for part in self.parts(self.project(inputs)))
        scores = (q @ k.mT).tril()  # (batch, heads, time, time)
        _, S, n = state
        S, n = S.view(*v.shape[:2], v.shape[-1], -1), n.view(*k.shape[:2], -1)
        summed = scores.sum(dim=-1, keepdim=True) + q @ n[..., None]
        h = (scores @ v + q @ S.mT) / summed
        S, n = S + v.mT @ k, n + k.sum(dim=2)
        states = h.transpose(1, 2).flatten(2)  # (batch, heads, time, slice) → (batch, time, hidden)
        return states, (states[:, -1], S.flatten(1), n.flatten(1))


class DeltaCell(MatrixCell):
    """Carry one step forward a matrix that is taught its values by the delta rule (Schlag et al. 2021).

        k is divided by its length
        β = σ(W_β x + b_β), one number for each head; twice that with ``negative``
        S_t = S_{t−1} (1 − β k kᵀ) + β v kᵀ
        h_t = S_t q

    Or S_t = S_{t−1} − β (S_{t−1} k − v) kᵀ: a step of gradient descent on ½ ‖S k − v‖², at the rate β. With β = 1 the
    key k has the value v afterwards, whatever it had before. With β = 2, 1 − β k kᵀ is a reflection: only ``negative``,
    where β lies between 0 and 2, comes near it (Grazzi et al. 2025).

    Args:
        negative: let β rise above 1, so that a factor of the old state can be negative.
        input_size, hidden_size, **options: as in `MatrixCell`.

    Example:
        >>> from unrolled.cells import unroll
        >>> states, (h, S) = unroll(DeltaCell(3, 4, num_heads=2), torch.zeros(2, 5, 3))
        >>> states.shape, S.shape
        (torch.Size([2, 5, 4]), torch.Size([2, 8]))
    """

    option_names = ("num_heads", "negative")

    def __init__(self, input_size: int, hidden_size: int, *, negative: bool = False, **options: Any):
        super().__init__(input_size, hidden_size, **options)
        self.negative = negative
        self.W_beta = nn.Parameter(torch.zeros(self.num_heads, input_size))
        self.b_beta = nn.Parameter(torch.zeros(self.num_heads))

    def project(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return q, k, v and what β takes the σ of, (…, 3 · hidden_size + heads)."""
        return torch.cat([super().project(inputs), linear(inputs, self.W_beta, self.b_beta)], dim=-1)

    def parts(self, projected: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return q, k and v by heads, (…, heads, hidden_size / heads) each, and β, (…, heads, 1)."""
        q, k, v = super().parts(projected)
        beta = torch.sigmoid(projected[..., 3 * self.hidden_size :, None]) * (2 if self.negative else 1)
        return q, normalize(k, dim=-1), v, beta

    def equations(self, projected: torch.Tensor, state: State) -> dict[str, torch.Tensor]:
        """Return β, S and h, (batch, size) each; the arguments are those of `Cell.equations`."""
        q, k, v, beta = self.parts(projected)
        S = state[1].view(*v.shape, -1)  # (batch, heads, slice, slice)
        written = beta * (v - (S @ k[..., None])[..., 0])
        S = S + written[..., None] * k[..., None, :]
        h = (S @ q[..., None])[..., 0]
        return {"beta": beta.flatten(1), "S": S.flatten(1), "h": h.flatten(1)}

    def unroll(self, inputs: torch.Tensor, state: State, chunk: int = CHUNK) -> tuple[torch.Tensor, State]:
        """Return what `Cell.unroll` does, so many steps at once (Yang et al. 2024).

        What each step of a chunk writes, u_t = β_t (v_t − S_{t−1} k_t), depends on what the steps before it wrote: a
        triangular system of equations. The rest is products.
        """
        # (batch, time, heads, …) → (batch, heads, time, …)
        parts = [part.transpose(1, 2) for part in self.parts(self.project(inputs))]
        S, shown = state[1].view(len(inputs), self.num_heads, parts[2].shape[-1], -1), []
        for q, k, v, beta in zip(*(part.split(chunk, dim=2) for part in parts), strict=True):
            system = (beta * (k @ k.mT)).tril(-1)  # the solver takes its diagonal for 1
            u = torch.linalg.solve_triangular(system, beta * (v - k @ S.mT), upper=False, unitriangular=True)
            shown.append((q @ k.mT).tril() @ u + q @ S.mT)
            S = S + u.mT @ k
        states = torch.cat(shown, dim=2).transpose(1, 2).flatten(2)  # (batch, time, hidden)
        return states, (states[:, -1], S.flatten(1))
