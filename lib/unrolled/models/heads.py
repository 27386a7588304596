"""Several heads of attention side by side, and the layer of a transformer that is made of them (chapter 11)."""

import torch
from torch import nn

from unrolled.models.attention import scaled_dot_product


class MultiHeadAttention(nn.Module):
    """Look at places through several heads side by side (:eq:`eq-self-attention`, Vaswani et al. 2017).

        Q, K, V = W_Q x + b_Q, W_K m + b_K, W_V m + b_V         each cut into heads of d = h / heads numbers
        c = [softmax(Q_1 K_1ᵀ / √d) V_1, …]                    the heads end to end
        y = W_O c + b_O

    In self-attention m = x. The weights begin as those of ``torch.nn.MultiheadAttention`` do.

    Args:
        hidden_size: h, the length of x, m and y.
        num_heads: the number of heads.

    Attributes:
        W_qkv: W_Q, W_K and W_V from top to bottom, (3 h, h).
        b_qkv: their biases, (3 h,).
        output: W_O and b_O.

    Raises:
        ValueError: the heads do not divide the hidden size.

    Example:
        >>> from unrolled.models import causal_mask
        >>> attention = MultiHeadAttention(8, num_heads=2)
        >>> y, alpha = attention(torch.randn(3, 5, 8), allowed=causal_mask(5))
        >>> y.shape, alpha.shape
        (torch.Size([3, 5, 8]), torch.Size([3, 2, 5, 5]))
    """

    def __init__(self, hidden_size: int, num_heads: int):
        super().__init__()
        if hidden_size < 1:
            raise ValueError(f"hidden_size is {hidden_size}; it must be 1 or more")
        if num_heads < 1 or hidden_size % num_heads:
            raise ValueError(f"num_heads is {num_heads}, which does not divide hidden_size, {hidden_size}")
        self.num_heads = num_heads
        self.W_qkv = nn.Parameter(torch.empty(3 * hidden_size, hidden_size))
        self.b_qkv = nn.Parameter(torch.zeros(3 * hidden_size))
        self.output = nn.Linear(hidden_size, hidden_size)  # W_O, b_O
        nn.init.xavier_uniform_(self.W_qkv)
        nn.init.zeros_(self.output.bias)

    @classmethod
    def from_torch(cls, theirs: nn.MultiheadAttention) -> "MultiHeadAttention":
        """Return attention with the same weights as PyTorch's, whose queries, keys and values are equally long.

        Raises:
            ValueError: theirs has keys or values of another width, no biases, or places that are added to the keys.
        """
        if theirs.in_proj_weight is None or theirs.in_proj_bias is None:
            raise ValueError("this attention has keys or values of another width, or bias=False; ours has one width")
        if theirs.bias_k is not None or theirs.add_zero_attn:
            raise ValueError(
                "this attention adds a place to the keys (add_bias_kv or add_zero_attn), which ours does not have"
            )
        ours = cls(theirs.embed_dim, theirs.num_heads).to(theirs.in_proj_weight)
        with torch.no_grad():
            ours.W_qkv.copy_(theirs.in_proj_weight)
            ours.b_qkv.copy_(theirs.in_proj_bias)
            ours.output.weight.copy_(theirs.out_proj.weight)
            ours.output.bias.copy_(theirs.out_proj.bias)
        return ours

    def forward(
        self, x: torch.Tensor, memory: torch.Tensor | None = None, allowed: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return y, (batch, queries, hidden_size), and the weights, (batch, heads, queries, places).

        Args:
            x: what asks, (batch, queries, hidden_size).
            memory: m, what is looked at, (batch, places, hidden_size); x itself where None.
            allowed: True where a query may look: (queries, places), (batch, 1, places) or (batch, queries, places), the
                same for all heads; None: everywhere.

        Raises:
            ValueError: x or memory has other axes or another width, the batches differ, or what `attend` raises.
        """
        memory = x if memory is None else memory
        for name, read in (("x", x), ("memory", memory)):
            if read.ndim != 3 or read.shape[2] != self.output.in_features:
                raise ValueError(
                    f"{name} has shape {tuple(read.shape)}; (batch, places, {self.output.in_features}) is expected"
                )
        if len(memory) != len(x):
            raise ValueError(f"x has {len(x)} rows and memory {len(memory)}; a row looks at a row of its own")
        W_q, W_kv = self.W_qkv.tensor_split([x.shape[-1]])
        b_q, b_kv = self.b_qkv.tensor_split([x.shape[-1]])
        q = self._heads(x @ W_q.T + b_q)
        k, v = map(self._heads, (memory @ W_kv.T + b_kv).chunk(2, dim=-1))
        if allowed is not None and allowed.ndim == 3:
            allowed = allowed[:, None]  # (batch, 1, queries or 1, places)
        c, alpha = scaled_dot_product(q, k, v, allowed)
        return self.output(c.transpose(1, 2).flatten(2)), alpha  # (batch, heads, queries, d) → (batch, queries, h)

    def _heads(self, x: torch.Tensor) -> torch.Tensor:
        """Cut (batch, time, hidden_size) into heads, (batch, heads, time, hidden_size / heads)."""
        return x.unflatten(2, (self.num_heads, -1)).transpose(1, 2)


class TransformerBlock(nn.Module):
    """A layer of a transformer from these parts: attention, then two linear layers, each added to what it reads.

        x ← x + attention(norm(x))
        x ← x + W_2 gelu(W_1 norm(x) + b_1) + b_2

    The norm comes first (Xiong et al. 2020). The layers of `TransformerLM` compute the same, apart from their dropout.

    Args:
        hidden_size: h; W_1 is (4 h, h).
        num_heads: of the attention.

    Example:
        >>> from unrolled.models import causal_mask
        >>> block = TransformerBlock(8, num_heads=2)
        >>> x, alpha = block(torch.randn(3, 5, 8), causal_mask(5))
        >>> x.shape, alpha.shape
        (torch.Size([3, 5, 8]), torch.Size([3, 2, 5, 5]))
    """

    def __init__(self, hidden_size: int, num_heads: int):
        super().__init__()
        self.attention = MultiHeadAttention(hidden_size, num_heads)
        self.attention_norm, self.norm = nn.LayerNorm(hidden_size), nn.LayerNorm(hidden_size)
        self.inner, self.outer = nn.Linear(hidden_size, 4 * hidden_size), nn.Linear(4 * hidden_size, hidden_size)

    @classmethod
    def from_torch(cls, theirs: nn.TransformerEncoderLayer) -> "TransformerBlock":
        """Return a block with the same weights as PyTorch's layer, made as `TransformerLM` makes it."""
        ours = cls(theirs.self_attn.embed_dim, theirs.self_attn.num_heads).to(theirs.linear1.weight)
        ours.attention = MultiHeadAttention.from_torch(theirs.self_attn)
        pairs = [(ours.attention_norm, theirs.norm1), (ours.norm, theirs.norm2)]
        for own, other in [*pairs, (ours.inner, theirs.linear1), (ours.outer, theirs.linear2)]:
            own.load_state_dict(other.state_dict())
        return ours

    def forward(self, x: torch.Tensor, allowed: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Return x after the layer, (batch, time, hidden_size), and the weights, (batch, heads, time, time).

        Args:
            x: (batch, time, hidden_size).
            allowed: as in `MultiHeadAttention.forward`.

        Raises:
            ValueError: what `attend` raises.
        """
        y, alpha = self.attention(self.attention_norm(x), allowed=allowed)
        x = x + y
        return x + self.outer(nn.functional.gelu(self.inner(self.norm(x)))), alpha
