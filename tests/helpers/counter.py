"""A model that solves the counting task without having learned it."""

import torch
from torch import nn


class Counter(nn.Module):
    """It counts, up to a limit; there is nothing to train."""

    def __init__(self, limit=10**6):
        super().__init__()
        self.limit, self.zero = limit, nn.Parameter(torch.zeros(1))

    def forward(self, inputs):
        counts = inputs.cumsum(1)
        left = (counts[..., 0] - counts[..., 1]).abs() + (counts[..., 0] > self.limit)
        return 100 * (0.5 - left)[..., None] + self.zero
