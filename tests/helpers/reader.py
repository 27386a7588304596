"""A model that has not been trained: what it predicts is given."""

import torch

from unrolled.models import NeuralModel


class Reader(NeuralModel):
    """A model whose logits are a fixed function of the text's positions, or of nothing."""

    device = torch.device("cpu")

    def __init__(self, logits):
        super().__init__()
        self.logits = logits  # (length, vocab_size)

    def forward(self, tokens, state=None):
        rows, length = tokens.shape
        if state is None:  # every stream begins where token_nats cut the text
            stream = -(-len(self.logits) // 32)
            state = torch.arange(rows) * stream
        at = (state[:, None] + torch.arange(length)).clamp(max=len(self.logits) - 1)
        return self.logits[at], state + length
