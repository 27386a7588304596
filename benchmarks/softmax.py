"""An adaptive softmax against one over all words: the output layer alone, and a language model that has it.

They are two models; what is compared is the time of the loss and its gradients, and not the loss. Targets are as
frequent as words are: in proportion to 1 ÷ their rank (Zipf 1949).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from lab.ch07_neural_language_models.adaptive import AdaptiveLM, AdaptiveSoftmax
from lab.ch07_neural_language_models.words import ADAPTIVE
from pairs import Pair
from unrolled.models import LanguageModel

VOCABULARIES = [10_000, 33_278]  # words; the second is WikiText-2's
BATCH, TIME_STEPS = 20, 35
ROWS = BATCH * TIME_STEPS


def adaptive() -> Iterator[Pair]:
    """Yield the comparisons, forward and backward."""
    options = {name: value for name, value in ADAPTIVE["model"].items() if name != "kind"}
    begins, units = options.pop("begins"), options["hidden_size"]
    for words in VOCABULARIES:
        states, targets = torch.randn(ROWS, units, requires_grad=True), drawn(words, ROWS)
        ours = AdaptiveSoftmax(units, words, [round(share * words) for share in begins])
        peer = nn.Linear(units, words)
        yield Pair(
            f"the output layer, {words:,} words, N={ROWS} h={units}",
            both_passes(ours, lambda states=states, targets=targets, ours=ours: ours.nats(states, targets).mean()),
            both_passes(peer, lambda states=states, targets=targets, peer=peer: cross_entropy(peer(states), targets)),
        )
    words = VOCABULARIES[-1]
    tokens = drawn(words, ROWS + BATCH).view(BATCH, -1)
    models = (
        AdaptiveLM(words, begins=begins, **options),
        LanguageModel(words, embedding_size=units, tied=True, **options),
    )
    ways = [
        both_passes(model, lambda model=model: model.mean_cost(tokens[:, :-1], tokens[:, 1:])[0]) for model in models
    ]
    yield Pair(f"{options['num_layers']} layers of {units} units with it, B={BATCH} T={TIME_STEPS}", *ways)


def drawn(words: int, places: int) -> torch.Tensor:
    """Return the numbers of words, (places,), as frequent as 1 ÷ (1 + their number)."""
    return torch.multinomial(1 / torch.arange(1.0, words + 1), places, replacement=True)


def both_passes(module: nn.Module, loss: Callable[[], torch.Tensor]) -> Callable[[], None]:
    """Return what computes a loss and its gradients."""

    def run() -> None:
        module.zero_grad()
        loss().backward()

    return run
