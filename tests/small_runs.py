"""A text that is easy to learn, and a small model to learn it: what the tests of training share."""

import torch

from unrolled.models import LanguageModel
from unrolled.recipes import Recipe

TOKENS = torch.arange(3000) % 7
RECIPE = Recipe(updates=40, batch=4, seq_len=8, learning_rate=1e-2)
DROPOUT = {"core": "torch-lstm", "num_layers": 2, "dropout": 0.5}  # random numbers in every update


def model(seed: int = 0, **core) -> LanguageModel:
    torch.manual_seed(seed)
    return LanguageModel(7, embedding_size=4, hidden_size=16, **core)


def weights(model: LanguageModel) -> torch.Tensor:
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])
