"""One protocol: total nats over total symbols, every symbol once."""

import inspect
import math

import numpy as np
import pytest
import torch

from unrolled.measure import Score, evaluate, mixed, token_nats
from unrolled.models import FixedWindowLM, LanguageModel
from unrolled.ngram import Counts, KneserNey

V = 9


@pytest.fixture(params=[("rnn", 1), ("lstm", 1), ("lstm", 2), ("gru", 1)], ids=str)
def model(request):
    torch.manual_seed(1)
    core, num_layers = request.param
    return LanguageModel(V, embedding_size=4, hidden_size=6, core=core, num_layers=num_layers)


def test_a_text_is_read_as_thirty_two_streams():
    assert inspect.signature(token_nats).parameters["streams"].default == 32


def slowly(model, tokens, window=None):
    """Score a text symbol by symbol, without any batching."""
    nats, state = [], None
    with torch.no_grad():
        for at, (read, target) in enumerate(zip(tokens[:-1], tokens[1:], strict=True)):
            if window and at % window == 0:
                state = None
            logits, state = model(read.view(1, 1), state)
            nats.append(-torch.log_softmax(logits[0, 0].double(), dim=0)[target].item())
    return np.array(nats)


@pytest.mark.parametrize(
    "options, length",
    [
        *(({"streams": streams}, math.ceil(300 / streams)) for streams in (1, 3, 32, 1000)),
        *(({"window": window}, window) for window in (1, 7, 64, 500, 10**12)),
    ],
    ids=str,
)
def test_a_text_is_scored_as_if_read_symbol_by_symbol(model, options, length):
    """Every symbol once; the past ends where a window does, or a stream begins."""
    tokens = torch.randint(V, (301,))
    nats = token_nats(model, tokens, **options)
    assert nats.shape == (300,) and np.allclose(nats, slowly(model, tokens, length), atol=1e-5)


def test_a_start_scores_the_first_symbol_too(model):
    tokens = torch.randint(V, (50,))
    nats = token_nats(model, tokens, start=3, streams=1)
    assert len(nats) == 50
    assert np.allclose(nats, slowly(model, torch.cat([torch.tensor([3]), tokens])), atol=1e-5)


def test_a_uniform_model_has_perplexity_v(model):
    torch.nn.init.zeros_(model.output.weight)
    torch.nn.init.zeros_(model.output.bias)
    score = evaluate(model, torch.randint(V, (200,)))
    assert score.perplexity == pytest.approx(V, rel=1e-6)
    assert score.bits_per_symbol == pytest.approx(math.log2(V), rel=1e-6)
    assert score.nats_per_symbol == pytest.approx(math.log(V), rel=1e-6) and score.symbols == 199


def test_perplexity_is_total_over_total_and_no_mean_over_pieces(model):
    """A model without memory that expects symbol 0, on a text of which one part is as expected and one is not."""
    torch.nn.init.zeros_(model.output.weight)
    with torch.no_grad():
        model.output.bias.copy_(torch.tensor([4.0] + [0.0] * (V - 1)))
    usual, unusual = (-torch.log_softmax(model.output.bias.detach().double(), dim=0))[:2].tolist()
    score = evaluate(model, torch.tensor([0] * 301 + [1] * 100))
    assert score.perplexity == pytest.approx(math.exp((300 * usual + 100 * unusual) / 400), rel=1e-5)
    assert score.perplexity < 0.2 * (300 * math.exp(usual) + 100 * math.exp(unusual)) / 400  # what a mean would say


def test_the_cost_of_a_text_can_be_shared_among_its_words():
    score = Score(nats=30.0, symbols=20)
    assert score.per(5) == Score(30.0, 5)
    assert Score(1000.0, 1).perplexity == np.inf
    assert score.per(5).perplexity == pytest.approx(score.perplexity ** (20 / 5))


@pytest.mark.parametrize("window", [None, 1, 5, 40])
def test_every_kind_of_model_is_scored_by_the_same_protocol(window):
    tokens = torch.randint(V, (301,))
    models = [KneserNey(Counts(torch.randint(V, (500,)), V, 4)), FixedWindowLM(V, window=6, hidden_size=8)]
    for model in models:
        assert np.allclose(
            token_nats(model, tokens, window=window, streams=1), slowly(model, tokens, window), atol=1e-5
        )
        several = token_nats(model, tokens, streams=7)  # only near the streams' beginnings may they differ
        assert (np.abs(several - slowly(model, tokens)) > 1e-5).sum() <= 6 * 6


def test_the_mode_is_restored(model):
    model.train()
    evaluate(model, torch.randint(V, (20,)))
    assert model.training


def test_a_mixture_mixes_probabilities():
    first, second = np.array([0.5, 0.1]), np.array([0.1, 0.0])  # what the second never expects costs it infinity
    with np.errstate(divide="ignore"):
        assert np.allclose(mixed(-np.log(first), -np.log(second), 0.25), -np.log(0.75 * first + 0.25 * second))
