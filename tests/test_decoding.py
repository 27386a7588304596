"""Sampling carries the state and follows the model's distribution."""

import numpy as np
import pytest
import torch

from unrolled.decoding import sample
from unrolled.models import LanguageModel
from unrolled.vocabulary import Vocabulary

VOCABULARY = Vocabulary("abcd")


@pytest.fixture(params=[("rnn", 1), ("lstm", 1), ("lstm", 2), ("gru", 1)], ids=str)
def model(request):
    torch.manual_seed(2)
    core, num_layers = request.param
    return LanguageModel(4, embedding_size=3, hidden_size=5, core=core, num_layers=num_layers)


def test_the_first_symbol_follows_the_models_distribution(model):
    with torch.no_grad():
        p = torch.softmax(model(VOCABULARY.encode("ab").view(1, -1))[0][0, -1] / 0.7, dim=0).numpy()
    draws = [sample(model, VOCABULARY, prompt="ab", length=1, temperature=0.7, seed=seed)[2] for seed in range(4000)]
    observed = np.array([draws.count(symbol) for symbol in VOCABULARY.symbols])
    chi_squared = ((observed - 4000 * p) ** 2 / (4000 * p)).sum()
    assert chi_squared < 16.3  # 3 degrees of freedom: one sound sampler in a thousand fails


def test_the_state_is_carried_exactly(model):
    text = sample(model, VOCABULARY, prompt="abca", length=30, seed=5)
    generator = torch.Generator().manual_seed(5)
    for at in range(4, 34):  # the slow way: read everything again for each symbol
        with torch.no_grad():
            logits = model(VOCABULARY.encode(text[:at]).view(1, -1))[0][0, -1]
        chances = torch.softmax(logits.double(), dim=0)
        assert VOCABULARY.symbols[int(torch.multinomial(chances, 1, generator=generator))] == text[at]


def test_same_seed_same_text_and_seeds_differ(model):
    texts = [sample(model, VOCABULARY, prompt="a", length=40, seed=seed) for seed in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2] and len(texts[0]) == 41


def test_bad_input_is_named(model):
    with pytest.raises(ValueError, match="temperature is 0"):
        sample(model, VOCABULARY, prompt="a", length=1, temperature=0)
    with pytest.raises(ValueError, match="empty"):
        sample(model, VOCABULARY, prompt="", length=1)
    with pytest.raises(ValueError, match="'z' at position 1"):
        sample(model, VOCABULARY, prompt="az", length=1)
