"""Attention without a softmax, whose past fits into a matrix: a recurrent cell (chapter 13)."""

import torch
from torch import nn
from torch.nn.functional import elu, linear, logsigmoid

from unrolled.cells.base import Cell


class LinearAttentionCell(Cell):
    """Carry one step forward a matrix that maps keys to values (Katharopoulos et al. 2020).

        q, k, v = W_q x + b_q, W_k x + b_k, W_v x + b_v
        S_t = f S_{t−1} + v φ(k)ᵀ
        n_t = f n_{t−1} + φ(k)
        h_t = S_t φ(q) / (n_tᵀ φ(q))               φ(a) = elu(a) + 1, which is above 0

    With f = 1, h_t = Σ_{s≤t} φ(q_t)ᵀφ(k_s) v_s / Σ_{s≤t} φ(q_t)ᵀφ(k_s): attention to all steps so far, a product in
    place of the softmax's exponential, and blind to their order. With ``gated``, f = σ(W_f x + b_f) is one number for
    each head, so that a head can prefer what is near (Dao & Gu 2024).

    `unroll` computes whole sequences with scores (time, time), and single steps in the recurrent form. With several
    heads, each has its own slice of q, k and v, and a smaller S.

    Args:
        input_size: d, the length of an input vector.
        hidden_size: h, the length of h_t, and of q, k and v.
        num_heads: into how many slices q, k and v are cut; a divisor of h.
        gated: whether each head has a forget gate. Its bias begins at such a value that the time constants of the heads
            run from 1 to 100 steps.
        initialisation: how W_xh and b_h are drawn; see `initialise`.

    Attributes:
        W_xh: input weights, (3 · hidden_size, input_size): the blocks ``"q"``, ``"k"`` and ``"v"``.
        b_h: biases, (3 · hidden_size,).
        W_f, b_f: with ``gated``, those of the gates, (heads, input_size) and (heads,).

    Raises:
        ValueError: a size below 1, heads that do not divide the hidden size, or what `initialise` raises.

    Example:
        >>> from unrolled.cells import unroll
        >>> states, (h, S, n) = unroll(LinearAttentionCell(3, 4, num_heads=2), torch.zeros(2, 5, 3))
        >>> states.shape, S.shape, n.shape
        (torch.Size([2, 5, 4]), torch.Size([2, 8]), torch.Size([2, 4]))
    """

    option_names = ("num_heads", "gated")
    state_names = ("h", "S", "n")

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        num_heads: int = 1,
        gated: bool = False,
        initialisation: str = "uniform",
    ):
        if num_heads < 1 or hidden_size % num_heads:
            raise ValueError(f"num_heads is {num_heads}, which does not divide hidden_size, {hidden_size}")
        super().__init__(input_size, hidden_size, ("q", "k", "v"), recurrent=False, initialisation=initialisation)
        self.num_heads, self.gated = num_heads, gated
        if gated:
            self.W_f = nn.Parameter(torch.zeros(num_heads, input_size))
            self.b_f = nn.Parameter(torch.logspace(0, 2, num_heads).reciprocal().expm1().log().neg())  # σ(b) = e^(−1/τ)

    @property
    def state_sizes(self) -> dict[str, int]:
        """The sizes of h, of S, (heads, h / heads, h / heads) in a row, and of n."""
        h = self.hidden_size
        return {"h": h, "S": h * h // self.num_heads, "n": h}

    def project(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return q, k, v and, of a gated cell, what the gates take the σ of, (…, 3 · hidden_size + heads)."""
        projected = super().project(inputs)
        return torch.cat([projected, linear(inputs, self.W_f, self.b_f)], dim=-1) if self.gated else projected

    def parts(self, projected: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return φ(q), φ(k) and v by heads, (…, heads, hidden_size / heads) each, and ln f, (…, heads)."""
        h = self.hidden_size
        q, k, v = (part.unflatten(-1, (self.num_heads, -1)) for part in projected[..., : 3 * h].chunk(3, dim=-1))
        log_f = logsigmoid(projected[..., 3 * h :]) if self.gated else q.new_zeros(q.shape[:-1])
        return elu(q) + 1, elu(k) + 1, v, log_f

    def equations(
        self, projected: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor, torch.Tensor]
    ) -> dict[str, torch.Tensor]:
        """Return f, S, n and h, (batch, size) each.

        Args:
            projected: x_t after `project`, (batch, 3 · hidden_size, and one for each gate).
            state: (h_{t−1}, S_{t−1}, n_{t−1}), with the sizes of `state_sizes`.
        """
        q, k, v, log_f = self.parts(projected)  # (batch, heads, slice)
        f, (_, S, n) = log_f.exp(), state
        S = f[..., None, None] * S.view(*v.shape, -1) + v[..., None] * k[..., None, :]  # (batch, heads, slice, slice)
        n = f[..., None] * n.view(k.shape) + k
        h = (S @ q[..., None])[..., 0] / (n * q).sum(dim=-1, keepdim=True)
        return {"f": f, "S": S.flatten(1), "n": n.flatten(1), "h": h.flatten(1)}

    def by_scores(
        self, inputs: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor, torch.Tensor]
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
        """Return what `cells.unroll` does, with its arguments, by the scores of all steps with the steps so far."""
        # (batch, time, heads, …) → (batch, heads, time, …)
        q, k, v, log_f = (part.transpose(1, 2) for part in self.parts(self.project(inputs)))
        p = log_f.cumsum(dim=2)
        kept = (p[..., None] - p[..., None, :]).tril().exp()  # f_{s+1} ⋯ f_t, (batch, heads, time, time)
        scores = (q @ k.mT * kept).tril()
        _, S, n = state
        S, n = S.view(*v.shape[:2], v.shape[-1], -1), n.view(*k.shape[:2], -1)
        since = p.exp()[..., None]  # f_1 ⋯ f_t
        summed = scores.sum(dim=-1, keepdim=True) + since * (q @ n[..., None])
        h = (scores @ v + since * (q @ S.mT)) / summed
        left = k * kept[:, :, -1, :, None]  # each key, as far as it is left in the end
        S = since[:, :, -1, :, None] * S + v.mT @ left
        n = since[:, :, -1] * n + left.sum(dim=2)
        states = h.transpose(1, 2).flatten(2)  # (batch, heads, time, slice) → (batch, time, hidden)
        return states, (states[:, -1], S.flatten(1), n.flatten(1))
