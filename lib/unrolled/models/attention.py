"""Attention: scores, masks, and the mean of what is looked at, weighted by them (chapter 11).

Whatever computes the scores, the rest is the same: a softmax over the places that may be looked at, and the mean of
their values. `AdditiveScore` is Bahdanau et al.'s score, `ProductScore` the dot product with or without its scale.
"""

import math
from functools import partial

import torch
from torch import nn


def padding_mask(lengths: torch.Tensor, time: int) -> torch.Tensor:
    """Return which places hold a symbol, not a pad: booleans, (batch, 1, time), the same for every query.

    Args:
        lengths: the number of symbols in each row without its pads, (batch,).
        time: the length of the rows, pads included.

    Raises:
        ValueError: what `check_lengths` raises.

    Example:
        >>> padding_mask(torch.tensor([1, 3]), time=3)[:, 0].tolist()
        [[True, False, False], [True, True, True]]
    """
    check_lengths(lengths, len(lengths), time)
    return (torch.arange(time, device=lengths.device) < lengths[:, None])[:, None]  # (batch, 1, time)


def causal_mask(time: int, device: torch.device | str | None = None) -> torch.Tensor:
    """Return which place may look at which: itself and the places before it. Booleans, (time, time).

    Args:
        time: the number of places.
        device: where the mask shall be; the CPU where None.

    Example:
        >>> causal_mask(3).tolist()
        [[True, False, False], [True, True, False], [True, True, True]]
    """
    return torch.ones(time, time, dtype=torch.bool, device=device).tril()


def check_lengths(lengths: torch.Tensor, batch: int, time: int) -> None:
    """Raise ValueError unless the lengths are those of so many rows, each of 1 to so many symbols.

    Args:
        lengths: the number of symbols in each row without its pads, (batch,).
        batch: the number of rows.
        time: the length of the rows, pads included.
    """
    if lengths.shape != (batch,) or lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise ValueError(
            f"lengths are {lengths.dtype} and have shape {tuple(lengths.shape)}; "
            f"integers are expected, one for each row: ({batch},)"
        )
    if not batch:
        raise ValueError("the batch is empty; it must have one row or more")
    shortest, longest = (int(end) for end in lengths.aminmax())
    if shortest < 1 or longest > time:
        raise ValueError(
            f"lengths run from {shortest} to {longest}; a row has 1 to {time} symbols: leave out rows that are empty"
        )


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

    Raises:
        ValueError: the scores are no floating-point numbers or there is no place; the mask is not made of booleans,
            does not fit the scores, may be meant for the batch, or hides everything from a query.

    Example:
        >>> scores, values = torch.tensor([[0.0, 0.0, 9.0]]), torch.tensor([[1.0], [3.0], [100.0]])
        >>> c, alpha = attend(scores, values, allowed=torch.tensor([[True, True, False]]))
        >>> c.tolist(), alpha.tolist()
        ([[2.0]], [[0.5, 0.5, 0.0]])
    """
    if not scores.is_floating_point():
        raise ValueError(f"the scores are {scores.dtype}; a softmax needs floating-point numbers: scores.float()")
    if not scores.shape[-1]:
        raise ValueError(f"the scores have shape {tuple(scores.shape)}; there must be a place to look at")
    if allowed is not None:
        check_mask(allowed, scores)
        scores = scores.masked_fill(~allowed, -math.inf)
    alpha = torch.softmax(scores, dim=-1)
    return alpha @ values, alpha


def check_mask(allowed: torch.Tensor, scores: torch.Tensor) -> None:
    """Raise ValueError unless the mask is made of booleans, fits the scores, and leaves each query a place."""
    if allowed.dtype != torch.bool:
        raise ValueError(f"the mask is {allowed.dtype}; booleans are expected, True where a query may look")
    axes = zip(reversed(allowed.shape), reversed(scores.shape), strict=False)
    if allowed.ndim > scores.ndim or any(given not in (1, expected) for given, expected in axes):
        raise ValueError(
            f"the mask has shape {tuple(allowed.shape)}, which does not expand to that of the scores, "
            f"{tuple(scores.shape)}: (…, queries, places)"
        )
    if allowed.ndim == 2 < scores.ndim and scores.shape[-1] != len(allowed) == scores.shape[-2] == scores.shape[0]:
        raise ValueError(
            f"the mask has shape {tuple(allowed.shape)}, and the batch is as large as the number of queries, "
            f"{len(allowed)}; write allowed[None] for (queries, places), or allowed[:, None] for (batch, places)"
        )
    if not allowed.any(dim=-1).all():
        raise ValueError("the mask hides every place from a query; each needs at least one place to look at")


def scaled_dot_product(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, allowed: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return softmax(Q Kᵀ / √d) V and the weights (:eq:`eq-scaled-dot-product`, Vaswani et al. 2017).

    Args:
        queries: Q, (…, queries, d).
        keys: K, (…, places, d).
        values: V, (…, places, features).
        allowed: as in `attend`.

    Raises:
        ValueError: queries and keys are not equally long, or what `attend` raises.

    Example:
        >>> x = torch.randn(2, 5, 4)
        >>> c, alpha = scaled_dot_product(x, x, x, causal_mask(5))
        >>> c.shape, alpha.shape, alpha[0, 0].tolist()  # the first place sees only itself
        (torch.Size([2, 5, 4]), torch.Size([2, 5, 5]), [1.0, 0.0, 0.0, 0.0, 0.0])
    """
    if queries.ndim < 2 or queries.shape[-1] != keys.shape[-1] or keys.shape[-2] != values.shape[-2]:
        shapes = ", ".join(str(tuple(part.shape)) for part in (queries, keys, values))
        raise ValueError(
            f"queries, keys and values have the shapes {shapes}; right are (…, queries, d), (…, places, d) and "
            "(…, places, features)"
        )
    scores = queries @ keys.mT / math.sqrt(queries.shape[-1])  # (…, queries, places)
    return attend(scores, values, allowed)


class AdditiveScore(nn.Module):
    """Score places by a network with one hidden layer (:eq:`eq-scores`, Bahdanau et al. 2015).

        e_ij = vᵀ tanh(W_q q_i + W_k k_j + b)

    Args:
        query_size: the length of q.
        key_size: the length of k.
        attention_size: the number of hidden units.

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
        query_size: the length of q.
        key_size: the length of k.
        attention_size: d.
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
