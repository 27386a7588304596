"""Attention: scores, masks, and the mean of what is looked at, weighted by them; one head or several (chapter 11)."""

import math
from functools import partial

import torch
from torch import nn


def padding_mask(lengths: torch.Tensor, time: int) -> torch.Tensor:
    """Return which places hold a symbol, not a pad, by the rows' lengths, (batch,): booleans, (batch, 1, time).

    Example:
        >>> padding_mask(torch.tensor([1, 3]), time=3)[:, 0].tolist()
        [[True, False, False], [True, True, True]]
    """
    check_lengths(lengths, len(lengths), time)
    return (torch.arange(time, device=lengths.device) < lengths[:, None])[:, None]  # (batch, 1, time)


def causal_mask(time: int, device: torch.device | str | None = None) -> torch.Tensor:
    """Return which of so many places may look at which: itself and the places before it. Booleans, (time, time).

    Example:
        >>> causal_mask(3).tolist()
        [[True, False, False], [True, True, False], [True, True, True]]
    """
    return torch.ones(time, time, dtype=torch.bool, device=device).tril()


def check_lengths(lengths: torch.Tensor, batch: int, time: int) -> None:
    """Raise ValueError unless the lengths are those of so many rows, each of 1 to so many symbols."""
    if lengths.shape != (batch,) or lengths.min() < 1 or lengths.max() > time:
        found = f"lengths run from {lengths.min()} to {lengths.max()}; a row has 1 to {time} symbols"
        raise ValueError(f"{found}, and there are {batch} rows: leave out rows that are empty")


def attend(
    scores: torch.Tensor, values: torch.Tensor, allowed: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return each query's mean of the values, weighted by a softmax of scores, and the weights (:eq:`eq-attention`).

        α_ij = exp(e_ij) / Σ_k exp(e_ik)        k: the places that i may look at; the weight of the others is 0
        v̄_i = Σ_j α_ij v_j

    Args:
        scores: e, (…, queries, places).
        values: v, (…, places, features).
        allowed: booleans, True where a query may look, in a shape that expands to that of the scores; None: everywhere.
            With two axes it is (queries, places), the same for each row of a batch.

    Returns:
        v̄, (…, queries, features), and α, (…, queries, places).

    Example:
        >>> scores, values = torch.tensor([[0.0, 0.0, 9.0]]), torch.tensor([[1.0], [3.0], [100.0]])
        >>> c, alpha = attend(scores, values, allowed=torch.tensor([[True, True, False]]))
        >>> c.tolist(), alpha.tolist()
        ([[2.0]], [[0.5, 0.5, 0.0]])
    """
    if allowed is not None:
        square = scores.ndim > 2 and scores.shape[-1] != scores.shape[-2] == len(scores)  # as many queries as rows
        if allowed.ndim == 2 and square and len(allowed) == len(scores):
            named = "allowed[None] for (queries, places), or allowed[:, None] for (batch, places)"
            raise ValueError(
                f"the mask has shape {tuple(allowed.shape)}, as long as the batch and as the queries: {named}"
            )
        if not allowed.any(dim=-1).all():
            raise ValueError("the mask hides every place from a query; each needs at least one place to look at")
        scores = scores.masked_fill(~allowed, -math.inf)
    alpha = torch.softmax(scores, dim=-1)
    return alpha @ values, alpha


def scaled_dot_product(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, allowed: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return softmax(Q Kᵀ / √d) V and the weights (:eq:`eq-scaled-dot-product`, Vaswani et al. 2017).

    Args:
        queries, keys, values: Q, (…, queries, d); K, (…, places, d); V, (…, places, features).
        allowed: as in `attend`.

    Example:
        >>> x = torch.randn(2, 5, 4)
        >>> c, alpha = scaled_dot_product(x, x, x, causal_mask(5))
        >>> c.shape, alpha.shape, alpha[0, 0].tolist()  # the first place sees only itself
        (torch.Size([2, 5, 4]), torch.Size([2, 5, 5]), [1.0, 0.0, 0.0, 0.0, 0.0])
    """
    scores = queries @ keys.mT / math.sqrt(queries.shape[-1])  # (…, queries, places)
    return attend(scores, values, allowed)


class AdditiveScore(nn.Module):
    """Score places by a network with one hidden layer (:eq:`eq-scores`, Bahdanau et al. 2015).

        e_ij = vᵀ tanh(W_q q_i + W_k k_j + b)

    Args:
        query_size, key_size, attention_size: the length of q, that of k, and the number of hidden units.

    Example:
        >>> AdditiveScore(3, 4, 8)(torch.randn(2, 5, 3), torch.randn(2, 7, 4)).shape
        torch.Size([2, 5, 7])
    """

    def __init__(self, query_size: int, key_size: int, attention_size: int):
        super().__init__()
        self.query = nn.Linear(query_size, attention_size, bias=False)  # W_q
        self.key = nn.Linear(key_size, attention_size)  # W_k, b
        self.v = nn.Linear(attention_size, 1, bias=False)

    def forward(self, queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Return e, (batch, queries, places), for queries (batch, queries, …) and keys (batch, places, …)."""
        pairs = self.query(queries)[:, :, None] + self.key(keys)[:, None]  # (batch, queries, places, units)
        return self.v(torch.tanh(pairs))[..., 0]


class ProductScore(nn.Module):
    """Score places by a dot product, with or without a scale (:eq:`eq-scores`; Luong et al. 2015, Vaswani et al. 2017).

        e_ij = (W_q q_i) · (W_k k_j)              / √d with the scale, d = attention_size

    Luong et al. have W_q = W_k = 1 in "dot", and the product W_qᵀ W_k as one matrix in "general".

    Args:
        query_size, key_size, attention_size: the length of q, that of k, and d.
        scaled: whether to divide by √d.

    Example:
        >>> ProductScore(3, 4, 8, scaled=True)(torch.randn(2, 5, 3), torch.randn(2, 7, 4)).shape
        torch.Size([2, 5, 7])
    """

    def __init__(self, query_size: int, key_size: int, attention_size: int, *, scaled: bool):
        super().__init__()
        self.query = nn.Linear(query_size, attention_size, bias=False)  # W_q
        self.key = nn.Linear(key_size, attention_size, bias=False)  # W_k
        self.scale = 1 / math.sqrt(attention_size) if scaled else 1.0

    def forward(self, queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Return e, (batch, queries, places), for queries (batch, queries, …) and keys (batch, places, …)."""
        return self.query(queries) @ self.key(keys).mT * self.scale


SCORES = {
    "additive": AdditiveScore,
    "dot": partial(ProductScore, scaled=False),
    "scaled": partial(ProductScore, scaled=True),
}


class MultiHeadAttention(nn.Module):
    """Let each place look at the places through several heads side by side (:eq:`eq-self-attention`).

        Q, K, V = W_Q x + b_Q, W_K x + b_K, W_V x + b_V         each cut into heads of d = h / heads numbers
        c = [softmax(Q_1 K_1ᵀ / √d) V_1, …]                    the heads end to end
        y = W_O c + b_O

    (Vaswani et al. 2017). `W_qkv` and `b_qkv` hold the first three from top to bottom, `output` the last. They begin as
    those of ``torch.nn.MultiheadAttention`` do. `hidden_size` is h, the length of x and y.

    Example:
        >>> y, alpha = MultiHeadAttention(8, num_heads=2)(torch.randn(3, 5, 8), causal_mask(5))
        >>> y.shape, alpha.shape
        (torch.Size([3, 5, 8]), torch.Size([3, 2, 5, 5]))
    """

    def __init__(self, hidden_size: int, num_heads: int):
        super().__init__()
        if hidden_size % num_heads:
            raise ValueError(f"num_heads is {num_heads}, which does not divide hidden_size, {hidden_size}")
        self.num_heads = num_heads
        self.W_qkv = nn.Parameter(torch.empty(3 * hidden_size, hidden_size))
        self.b_qkv = nn.Parameter(torch.zeros(3 * hidden_size))
        self.output = nn.Linear(hidden_size, hidden_size)  # W_O, b_O
        nn.init.xavier_uniform_(self.W_qkv)
        nn.init.zeros_(self.output.bias)

    @classmethod
    @torch.no_grad()
    def from_torch(cls, theirs: nn.MultiheadAttention) -> "MultiHeadAttention":
        """Return attention with the same weights as PyTorch's, whose queries, keys and values are equally long."""
        ours = cls(theirs.embed_dim, theirs.num_heads).to(theirs.in_proj_weight)
        ours.W_qkv.copy_(theirs.in_proj_weight)
        ours.b_qkv.copy_(theirs.in_proj_bias)
        ours.output.load_state_dict(theirs.out_proj.state_dict())
        return ours

    def forward(self, x: torch.Tensor, allowed: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Return y, (batch, time, hidden_size), and the weights, (batch, heads, time, time), for x like y.

        The mask is the same for all heads: (time, time), (batch, 1, time) or (batch, time, time); None: everywhere.
        """
        parts = (x @ self.W_qkv.T + self.b_qkv).chunk(3, dim=-1)
        q, k, v = (part.unflatten(2, (self.num_heads, -1)).transpose(1, 2) for part in parts)  # (batch, heads, time, d)
        if allowed is not None and allowed.ndim == 3:
            allowed = allowed[:, None]  # (batch, 1, time or 1, time)
        c, alpha = scaled_dot_product(q, k, v, allowed)
        return self.output(c.transpose(1, 2).flatten(2)), alpha
