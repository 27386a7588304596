"""A small causal transformer to compare the recurrent models with: it looks back and remembers nothing (chapter 11)."""

import torch
from torch import nn

from unrolled.models.attention import MultiHeadAttention
from unrolled.models.base import NeuralModel
from unrolled.text import symbol_numbers


class TransformerBlock(nn.Module):
    """A layer of a transformer from these parts: attention, then two linear layers, each added to what it reads.

        x ← x + attention(norm(x))
        x ← x + W_2 gelu(W_1 norm(x) + b_1) + b_2

    The norm comes first (Xiong et al. 2020). The layers of `TransformerLM` compute the same, apart from their dropout.

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
        """Return x after the layer, (batch, time, hidden_size), and the weights, as `MultiHeadAttention` does."""
        y, alpha = self.attention(self.attention_norm(x), allowed)
        x = x + y
        return x + self.outer(nn.functional.gelu(self.inner(self.norm(x)))), alpha


class TransformerLM(NeuralModel):
    """Predict the next symbol from the block so far, by causal self-attention (Vaswani et al. 2017).

        x_t = dropout(E[w_t] + P[t])                         t counts from the beginning of the block
        x ← x + dropout(attention(norm(x)))                  each step attends to itself and the steps before it
        x ← x + dropout(W_2 dropout(gelu(W_1 norm(x) + b_1)) + b_2)
        logits_t = W_hy norm(x_t) + b_y

    The two middle lines are repeated in every layer. The norm comes before attention and before the feed-forward part,
    not after the sum (Xiong et al. 2020).

    A text is read in blocks of ``context`` symbols. When a block is full, its second half becomes the first half of
    the next. So predictions see 1, 2, …, ``context`` symbols in the first block, ``context`` / 2 + 1 to ``context`` in
    every later one, and never more. The state is the block so far: a text can be read in pieces, and how it is cut
    changes no prediction. Every call reads the block again, even for a single symbol.

    For training, take windows of one block, ``Recipe(seq_len=context, carry=False, …)``: then every position is
    trained equally and nothing is read twice. If blocks were carried on, half of each would be read a second time.

    Args:
        vocab_size: V, the number of symbols.
        context: the largest number of symbols that a prediction sees; even.
        hidden_size: h, the length of x_t; W_1 is (4 h, h).
        num_layers: the number of layers.
        num_heads: the heads of each attention, with h / num_heads numbers each.
        dropout: the share of the numbers that are set to zero in training, attention weights included.

    Example:
        >>> model = TransformerLM(65, context=8, hidden_size=16, num_layers=1, num_heads=2)
        >>> tokens = torch.randint(65, (4, 10))  # (batch, time)
        >>> logits, state = model(tokens)
        >>> logits.shape, state.shape  # the second block began with the last four symbols of the first
        (torch.Size([4, 10, 65]), torch.Size([4, 6]))
    """

    def __init__(
        self,
        vocab_size: int,
        *,
        context: int = 128,
        hidden_size: int = 128,
        num_layers: int = 4,
        num_heads: int = 4,
        dropout: float = 0.0,
    ):
        super().__init__()
        if context < 2 or context % 2:
            raise ValueError(f"context is {context}; it must be an even number, 2 or more")
        self.vocab_size, self.context = vocab_size, context
        self.embedding = nn.Embedding(vocab_size, hidden_size)
        self.positions = nn.Embedding(context, hidden_size)  # P
        self.dropout = nn.Dropout(dropout)
        layer = {"activation": "gelu", "batch_first": True, "norm_first": True}
        self.layers = nn.ModuleList(  # nn.TransformerEncoder would begin with the same weights in every layer
            nn.TransformerEncoderLayer(hidden_size, num_heads, 4 * hidden_size, dropout, **layer)
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(hidden_size)
        self.output = nn.Linear(hidden_size, vocab_size)  # W_hy, b_y
        for table in (self.embedding, self.positions):
            nn.init.normal_(table.weight, std=0.02)  # small, so that what the layers add to it counts

    def attend(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return norm(x) after the last layer, (batch, time, hidden_size), for E[w] of one block, of the same shape."""
        time = vectors.shape[1]
        x = self.dropout(vectors + self.positions.weight[:time])
        ahead = torch.ones(time, time, dtype=torch.bool, device=x.device).triu(1)  # True where attention is forbidden
        for layer in self.layers:
            x = layer(x, src_mask=ahead)
        return self.norm(x)

    def hidden_states(
        self, tokens: torch.Tensor, state: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return norm(x) after the last layer at every symbol, (batch, time, hidden_size), and the last state.

        Args:
            tokens: symbol numbers, (batch, time).
            state: the block so far, symbol numbers, (batch, n), n ≤ context; None is an empty block.
        """
        tokens = symbol_numbers(tokens)
        block = tokens[:, :0] if state is None else symbol_numbers(state, name="the symbols of the state", empty=True)
        if len(block) != len(tokens) or block.shape[1] > self.context:
            raise ValueError(
                f"state has shape {tuple(block.shape)}; ({len(tokens)}, n) is expected, n at most {self.context}"
            )
        block, tokens, states = block.to(self.device), tokens.to(self.device), []
        while tokens.shape[1]:
            if block.shape[1] == self.context:
                block = block[:, self.context // 2 :]
            read, tokens = tokens.tensor_split([self.context - block.shape[1]], dim=1)
            block = torch.cat([block, read], dim=1)  # (batch, n)
            states.append(self.attend(self.embed(block))[:, -read.shape[1] :])
        return torch.cat(states, dim=1), block

    def forward(self, tokens: torch.Tensor, state: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the logits of the symbol after each one, (batch, time, vocab_size), and the last state."""
        states, state = self.hidden_states(tokens, state)
        return self.output(states), state
