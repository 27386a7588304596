"""What the tests of training share: a text that is easy to learn, and a small model to learn it."""

import torch

from unrolled.cells import State
from unrolled.models import LanguageModel, NeuralModel
from unrolled.training import Recipe

TOKENS = torch.arange(3000) % 7
RECIPE = Recipe(updates=40, batch=4, seq_len=8, learning_rate=1e-2)


def model(seed: int = 0, **options) -> LanguageModel:
    torch.manual_seed(seed)
    return LanguageModel(7, embedding_size=4, hidden_size=16, **options)


def weights(model: NeuralModel) -> torch.Tensor:
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


def tensors(state: State) -> list[torch.Tensor]:
    """Return the tensors of a state, however it is nested."""
    return [part for inner in state for part in tensors(inner)] if isinstance(state, tuple) else [state]


class Stopped(Exception):
    """The run ended here."""
