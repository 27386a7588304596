"""A word language model in the loop of PyTorch's word-language-model example: the peer of `unrolled.training`.

Told again in our words: the text runs down the columns, the model ends in a log-softmax, and the loop itself changes
the weights.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import log_softmax, nll_loss
from torch.nn.utils import clip_grad_norm_


class WordModel(nn.Module):
    """Embedding → LSTM → linear layer → log-softmax, with dropout before and after the LSTM and between its layers.

    Args:
        vocab_size: V, the number of symbols.
        embedding_size: the length of a symbol's vector.
        hidden_size: the length of the state.
        num_layers: layers of the LSTM.
        dropout: the share that is dropped.
        tied: whether the linear layer's weights are the embedding's.
    """

    def __init__(
        self, vocab_size: int, *, embedding_size: int, hidden_size: int, num_layers: int, dropout: float, tied: bool
    ):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(embedding_size, hidden_size, num_layers, dropout=dropout if num_layers > 1 else 0.0)
        self.linear = nn.Linear(hidden_size, vocab_size)
        if tied:
            self.embedding.weight = self.linear.weight

    def forward(self, inputs: torch.Tensor, state: tuple | None) -> tuple[torch.Tensor, tuple]:
        """Return ln p of the symbols that follow, (time · batch, V), and the last state.

        Args:
            inputs: symbol numbers, (time, batch).
            state: h and c before them, (layers, batch, hidden_size) each; zeros where None.
        """
        states, state = self.lstm(self.dropout(self.embedding(inputs)), state)
        logits = self.linear(self.dropout(states))
        return log_softmax(logits.flatten(0, 1), dim=1), state


def columns(tokens: torch.Tensor, batch: int) -> torch.Tensor:
    """Return the text in so many columns, each a stretch of it, (length, batch); what is left over is not read."""
    length = len(tokens) // batch
    return tokens[: length * batch].view(batch, length).T.contiguous()


def window(text: torch.Tensor, at: int, bptt: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return at most bptt rows of the columns, (time, batch), and the symbols that follow them, (time · batch,)."""
    time = min(bptt, len(text) - 1 - at)
    return text[at : at + time], text[at + 1 : at + 1 + time].flatten()


def train(
    model: WordModel, tokens: torch.Tensor, batch: int, bptt: int, updates: int, rate: float, clip: float
) -> float:
    """Make so many updates with one window of the text each, and return their mean loss, nats per symbol.

    Args:
        model: trained in place.
        tokens: symbol numbers, long enough for the updates, (length,).
        batch: columns.
        bptt: symbols through which the gradient flows back.
        updates: how many.
        rate: the learning rate.
        clip: the gradient's norm at most.
    """
    text, state, total = columns(tokens, batch), None, 0.0
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    model.train()
    for update in range(updates):
        inputs, targets = window(text, update * bptt, bptt)
        state = state and tuple(part.detach() for part in state)
        model.zero_grad()
        costs, state = model(inputs, state)
        loss = nll_loss(costs, targets)
        loss.backward()
        clip_grad_norm_(weights, clip)
        for weight in weights:
            weight.data.add_(weight.grad, alpha=-rate)
        total += loss.item()
    return total / updates
