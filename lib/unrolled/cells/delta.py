"""A matrix that corrects what it holds before it writes, one step of gradient descent at a time (chapter 13)."""

import torch
from torch import nn
from torch.nn.functional import linear, logsigmoid, normalize

from unrolled.cells.base import Cell

CHUNK = 64  # steps that are computed at once


class DeltaCell(Cell):
    """Carry one step forward a matrix that is taught its values by the delta rule (Schlag et al. 2021).

        q, k, v = W_q x + b_q, W_k x + b_k, W_v x + b_v, and k is divided by its length
        β = σ(W_β x + b_β), one number for each head; twice that with ``negative``
        S_t = f S_{t−1} (1 − β k kᵀ) + β v kᵀ
        h_t = S_t q

    With f = 1, S_t = S_{t−1} − β (S_{t−1} k − v) kᵀ: a step of gradient descent on ½ ‖S k − v‖², at the rate β. With
    β = 1 the key k has the value v afterwards, whatever it had before. With β = 2, 1 − β k kᵀ is a reflection: only
    ``negative``, where β lies between 0 and 2, comes near it (Grazzi et al. 2025). With ``gated``, f = σ(W_f x + b_f)
    is one number for each head (Yang et al. 2025); f is 1 else.

    `unroll` computes whole sequences in chunks of `CHUNK` steps, and single steps in the form above. With several
    heads, each has its own slice of q, k and v, and a smaller S.

    Args:
        input_size: d, the length of an input vector.
        hidden_size: h, the length of h_t, and of q, k and v.
        num_heads: into how many slices q, k and v are cut; a divisor of h.
        negative: let β rise above 1, so that a factor of the old state can be negative.
        gated: whether each head has a forget gate. Its bias begins at such a value that the time constants of the heads
            run from 1 to 100 steps.
        initialisation: how W_xh and b_h are drawn; see `initialise`.

    Attributes:
        W_xh: input weights, (3 · hidden_size, input_size): the blocks ``"q"``, ``"k"`` and ``"v"``.
        b_h: biases, (3 · hidden_size,).
        W_g, b_g: those of β, and with ``gated`` of f below, (heads or 2 · heads, input_size) and (heads or 2 · heads,).

    Raises:
        ValueError: a size below 1, heads that do not divide the hidden size, or what `initialise` raises.

    Example:
        >>> from unrolled.cells import unroll
        >>> states, (h, S) = unroll(DeltaCell(3, 4, num_heads=2), torch.zeros(2, 5, 3))
        >>> states.shape, S.shape
        (torch.Size([2, 5, 4]), torch.Size([2, 8]))
    """

    option_names = ("num_heads", "negative", "gated")
    state_names = ("h", "S")

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        num_heads: int = 1,
        negative: bool = False,
        gated: bool = False,
        initialisation: str = "uniform",
    ):
        if num_heads < 1 or hidden_size % num_heads:
            raise ValueError(f"num_heads is {num_heads}, which does not divide hidden_size, {hidden_size}")
        super().__init__(input_size, hidden_size, ("q", "k", "v"), recurrent=False, initialisation=initialisation)
        self.num_heads, self.negative, self.gated = num_heads, negative, gated
        gates = num_heads * (2 if gated else 1)
        self.W_g, self.b_g = nn.Parameter(torch.zeros(gates, input_size)), nn.Parameter(torch.zeros(gates))
        if gated:
            with torch.no_grad():
                constants = torch.logspace(0, 2, num_heads)
                self.b_g[num_heads:] = -constants.reciprocal().expm1().log()  # σ(b) = e^(−1/τ)

    @property
    def state_sizes(self) -> dict[str, int]:
        """The sizes of h and of S, (heads, h / heads, h / heads) in a row."""
        return {"h": self.hidden_size, "S": self.hidden_size**2 // self.num_heads}

    def project(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return q, k, v and what β and f take the σ of, (…, 3 · hidden_size + heads, or + 2 · heads)."""
        return torch.cat([super().project(inputs), linear(inputs, self.W_g, self.b_g)], dim=-1)

    def parts(self, projected: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return q, k and v by heads, (…, heads, hidden_size / heads) each, and β and ln f, (…, heads, 1) each."""
        h = self.hidden_size
        q, k, v = (part.unflatten(-1, (self.num_heads, -1)) for part in projected[..., : 3 * h].chunk(3, dim=-1))
        gates = projected[..., 3 * h :].unflatten(-1, (-1, self.num_heads, 1))
        beta = torch.sigmoid(gates[..., 0, :, :]) * (2 if self.negative else 1)
        log_f = logsigmoid(gates[..., 1, :, :]) if self.gated else torch.zeros_like(beta)
        return q, normalize(k, dim=-1), v, beta, log_f

    def equations(self, projected: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return β, f, S and h, (batch, size) each.

        Args:
            projected: x_t after `project`, (batch, its size).
            state: (h_{t−1}, S_{t−1}), with the sizes of `state_sizes`.
        """
        q, k, v, beta, log_f = self.parts(projected)
        f = log_f.exp()
        S = f[..., None] * state[1].view(*v.shape, -1)  # (batch, heads, slice, slice)
        written = beta * (v - (S @ k[..., None])[..., 0])
        S = S + written[..., None] * k[..., None, :]
        h = (S @ q[..., None])[..., 0]
        return {"beta": beta.flatten(1), "f": f.flatten(1), "S": S.flatten(1), "h": h.flatten(1)}

    def by_chunks(
        self, inputs: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor], chunk: int = CHUNK
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        """Return what `cells.unroll` does, with its arguments, so many steps at once (Yang et al. 2024).

        What each step of a chunk writes, u_t = β_t (v_t − f_t S_{t−1} k_t), depends on what the steps before it wrote:
        a triangular system of equations. The rest is products.
        """
        # (batch, time, heads, …) → (batch, heads, time, …)
        parts = [part.transpose(1, 2) for part in self.parts(self.project(inputs))]
        S, shown = state[1].view(len(inputs), self.num_heads, parts[2].shape[-1], -1), []
        for q, k, v, beta, log_f in zip(*(part.split(chunk, dim=2) for part in parts), strict=True):
            p = log_f.cumsum(dim=2)
            kept = (p - p.mT).tril().exp()  # f_{s+1} ⋯ f_t, (batch, heads, chunk, chunk)
            since = p.exp()  # f_1 ⋯ f_t
            system = (beta * (k @ k.mT) * kept).tril(-1)  # the solver takes its diagonal for 1
            u = torch.linalg.solve_triangular(system, beta * (v - since * (k @ S.mT)), upper=False, unitriangular=True)
            shown.append((q @ k.mT * kept).tril() @ u + since * (q @ S.mT))
            S = since[:, :, -1:] * S + u.mT @ (k * kept[:, :, -1, :, None])
        states = torch.cat(shown, dim=2).transpose(1, 2).flatten(2)  # (batch, time, hidden)
        return states, (states[:, -1], S.flatten(1))
