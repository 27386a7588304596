"""What helps a trained network to read on: each way against its formula, written out for one place."""

import copy

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

import lab
from lab.ch07_reading import cached_nats, dynamic_nats, states_and_nats
from lab.texts import encoded
from small_experiments import little_held_out, small
from unrolled.cells import detach
from unrolled.measure import mixed, token_nats
from unrolled.models import LanguageModel, TransformerLM, load_model


@pytest.fixture(params=["gru", "torch-lstm", "transformer"])
def network(request):
    torch.manual_seed(0)
    if request.param == "transformer":
        return TransformerLM(7, context=32, hidden_size=12, num_layers=1, num_heads=2)
    return LanguageModel(7, embedding_size=5, hidden_size=12, core=request.param)


@pytest.fixture
def tokens():
    return torch.randint(7, (400,), generator=torch.Generator().manual_seed(1))


def test_a_mixture_adds_probabilities():
    nats, others = -np.log([0.5, 0.1]), -np.log([0.1, 0.5])
    assert np.allclose(mixed(nats, others, 0.25), -np.log([0.4, 0.2]))
    assert np.allclose(mixed(nats, np.full(2, np.inf), 0.25), nats - np.log(0.75))  # what a cache does not know


def test_the_stream_costs_what_the_evaluation_says(network, tokens):
    states, nats = states_and_nats(network, tokens)
    assert states.shape == (399, 12)
    assert np.allclose(nats, token_nats(network, tokens, streams=1), atol=1e-5)


def test_the_cache_is_its_formula(network, tokens):
    states, _ = states_and_nats(network, tokens)
    prices = cached_nats(states, tokens, window=50, flatness=0.7)
    for t in (60, 200, 398):
        votes = torch.exp(0.7 * states[t - 50 : t] @ states[t])
        right = votes[tokens[t - 49 : t + 1] == tokens[t + 1]].sum() / votes.sum()
        assert np.isclose(prices[t], -np.log(right.item()), atol=1e-4)
    assert np.isinf(prices[0])  # nothing has been read


def test_a_cache_of_equal_votes_counts(tokens):
    prices = cached_nats(torch.zeros(399, 3), tokens, window=100, flatness=0.0)
    seen = tokens[201:301]
    assert np.isclose(prices[300], -np.log((seen == tokens[301]).float().mean().item()), atol=1e-5)


def test_what_reads_on_begins_as_it_was_and_leaves_the_model_alone(network, tokens):
    before = [weight.clone() for weight in network.parameters()]
    still, learning = (dynamic_nats(network, tokens, rate=rate) for rate in (0.0, 0.3))
    assert np.allclose(still, token_nats(network, tokens, streams=1), atol=1e-5)
    assert np.allclose(learning[:20], still[:20], atol=1e-5)  # the first stretch is paid before it is learned
    assert abs(learning[20:] - still[20:]).max() > 0.01
    assert all(map(torch.equal, before, network.parameters()))


def test_every_step_is_one_of_plain_descent_without_dropout(tokens):
    torch.manual_seed(0)
    network = LanguageModel(7, embedding_size=5, hidden_size=12, core="gru", dropout=0.5)
    found, learner = dynamic_nats(network, tokens[:61], rate=0.3), copy.deepcopy(network).eval()
    weights, state = [weight for weight in learner.parameters() if weight.requires_grad], None
    for start in (0, 20, 40):
        logits, state = learner(tokens[None, start : start + 20], state)
        costs = cross_entropy(logits[0], tokens[start + 1 : start + 21], reduction="none")
        assert np.allclose(found[start : start + 20], costs.detach().numpy(), atol=1e-5)
        slopes = torch.autograd.grad(costs.mean(), weights)
        state = detach(state)
        with torch.no_grad():
            for weight, slope in zip(weights, slopes, strict=True):
                weight -= 0.3 * slope


def test_it_learns_a_text_that_repeats_itself(network):
    refrain = torch.tensor([0, 1, 2, 3, 4, 5, 6]).repeat(120)
    nats = dynamic_nats(network, refrain, rate=0.5)
    assert nats[-100:].mean() < 0.7 * nats[:100].mean()


def test_in_windows_nothing_is_known_of_what_came_before(tmp_path):
    experiment = lab.find("ladder-windows")
    config = small("ladder-windows", "lstm: dropout", window=8)
    with little_held_out():
        measured, tokens = experiment.measure(config, 0, tmp_path), encoded(config).held_out
    model, *_ = load_model(tmp_path / "whole.model")
    windows = [states_and_nats(model, tokens[start : start + 9])[1] for start in range(0, len(tokens) - 1, 8)]
    expected = {"stream": states_and_nats(model, tokens)[1].mean(), "windows": np.concatenate(windows).mean()}
    assert abs(expected["windows"] - expected["stream"]) > 1e-3
    read = dict(zip(experiment.axes(config)["read"], measured["nats"], strict=True))
    assert read == pytest.approx(expected, abs=1e-5)
