"""Dropout has its places and no others; tied weights are one matrix."""

import re

import pytest
import torch
from torch.nn.functional import cross_entropy

from small_runs import RECIPE, TOKENS, stopped_and_resumed, tensors, weights
from unrolled.models import CORES, Dropout, LanguageModel
from unrolled.training import train


def language_model(core="lstm", num_layers=2, **options) -> LanguageModel:
    torch.manual_seed(0)
    return LanguageModel(11, embedding_size=7, hidden_size=7, core=core, num_layers=num_layers, **options)


def test_a_share_is_zero_and_the_mean_stays():
    torch.manual_seed(0)
    y = Dropout(0.3)(torch.ones(200, 20, 50))
    assert y.unique().tolist() == pytest.approx([0, 1 / 0.7])
    assert (y == 0).float().mean() == pytest.approx(0.3, abs=0.02) and y.mean() == pytest.approx(1, abs=0.02)
    assert not (y[:, 0] == y[:, 1]).all() and not (y[0] == y[1]).all()  # a mask for every step of every row


def test_without_a_rate_or_in_evaluation_nothing_is_drawn():
    x, tokens = torch.randn(2, 3, 4), torch.zeros(2, 5, dtype=torch.long)
    model, before = language_model(), torch.get_rng_state()
    for dropout in (Dropout(0.0), Dropout(0.5).eval()):
        assert dropout(x) is x
    model(tokens)
    assert torch.equal(torch.get_rng_state(), before)
    Dropout(0.5)(x)
    assert not torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("num_layers", [1, 2])
@pytest.mark.parametrize("core", CORES)
def test_dropout_leaves_the_first_weights_as_they_are_and_the_model_in_evaluation(core, num_layers):
    tokens = torch.arange(10).view(2, 5)
    plain = language_model(core, num_layers).eval()
    model = language_model(core, num_layers, dropout=0.5)
    pairs = zip(model.parameters(), plain.parameters(), strict=True)
    assert all(torch.equal(*pair) for pair in pairs)
    assert not torch.equal(model(tokens)[0], model(tokens)[0])
    (logits, state), (expected, expected_state) = model.eval()(tokens), plain(tokens)
    assert torch.allclose(logits, expected, atol=1e-6)
    for part, expected_part in zip(tensors(state), tensors(expected_state), strict=True):
        assert torch.allclose(part, expected_part, atol=1e-6)
    first, state = model(tokens[:, :2])
    second, _ = model(tokens[:, 2:], state)
    assert torch.allclose(torch.cat([first, second], dim=1), logits, atol=1e-6)


@pytest.mark.parametrize("num_layers", [1, 3])
@pytest.mark.parametrize("core", ["lstm", "gru"])
def test_the_masks_are_where_zaremba_put_them(core, num_layers, monkeypatch):
    """With masks that are known, each layer reads a masked sequence and none masks its own state."""
    model = language_model(core, num_layers, dropout=0.5).double()
    plain = language_model(core, num_layers).double()
    masks = []

    def noted(self, x):
        masks.append(2.0 * torch.randint(2, (len(x), 1, x.shape[2])))
        return x * masks[-1]

    monkeypatch.setattr(Dropout, "forward", noted)
    tokens = torch.randint(11, (2, 6))
    logits, _ = model(tokens)
    assert len(masks) == num_layers + 1
    x = plain.embedding(tokens)
    for layer in range(num_layers):
        x = x * masks[layer]
        cell = plain.core.layers[layer]
        states, state = [], cell.initial_state(x[:, 0])
        for step in x.unbind(1):
            state = cell(step, state)
            states.append(state[0] if isinstance(state, tuple) else state)
        x = torch.stack(states, dim=1)
    assert torch.allclose(logits, plain.output(x * masks[-1]), atol=1e-10)


def test_the_dropout_between_torchs_layers_is_torchs():
    model = language_model("torch-gru", 3, dropout=0.4)
    assert model.core.layers[0].dropout == 0.4
    assert language_model("torch-gru", 1, dropout=0.4).core.layers[0].dropout == 0
    assert model.dropout.rate == 0.4


@pytest.mark.parametrize("core", ["rnn", "lstm", "gru", "torch-lstm", "torch-gru"])
def test_dropped_weights_are_recurrent_ones_and_the_same_at_every_step(core, monkeypatch):
    model, plain = language_model(core, 2, weight_drop=0.5), language_model(core, 2)
    tokens, masks = torch.randint(11, (2, 6)), []

    def noted(self, x):
        if self is not model.weight_dropout:
            return x
        masks.append(2.0 * torch.randint(2, x.shape))
        return x * masks[-1]

    monkeypatch.setattr(Dropout, "forward", noted)
    logits, _ = model(tokens)
    recurrent = [weight for name, weight in plain.core.named_parameters() if re.search("W_hh|weight_hh", name)]
    assert [mask.shape for mask in masks] == [weight.shape for weight in recurrent]
    with torch.no_grad():
        for weight, mask in zip(recurrent, masks, strict=True):
            weight *= mask
    assert torch.allclose(logits, plain(tokens)[0], atol=1e-6)
    assert torch.equal(model.eval()(tokens)[0], language_model(core, 2).eval()(tokens)[0])


def test_a_run_with_dropout_and_tied_weights_resumes_to_the_bit(tmp_path):
    def made(seed):
        torch.manual_seed(seed)
        options = {"num_layers": 2, "dropout": 0.3, "tied": True}
        return LanguageModel(7, embedding_size=8, hidden_size=8, **options)

    whole = made(seed=0)
    train(whole, TOKENS, RECIPE, progress=False)
    model = stopped_and_resumed(made, RECIPE, tmp_path / "run")
    assert torch.equal(weights(model), weights(whole))
    assert model.output.weight is model.embedding.weight


# Tied weights


def test_tied_weights_are_one_matrix():
    tied, untied = language_model(tied=True), language_model()
    assert (
        sum(weight.numel() for weight in tied.parameters())
        == sum(weight.numel() for weight in untied.parameters()) - 11 * 7
    )
    assert torch.equal(tied.output.weight, untied.output.weight)  # it begins as an output matrix does
    tokens = torch.randint(11, (2, 6))
    logits, _ = tied(tokens)
    states, _ = tied.hidden_states(tokens)
    assert torch.allclose(logits, states @ tied.embedding.weight.T + tied.output.bias)
    with torch.no_grad():
        untied.embedding.weight.copy_(tied.embedding.weight)
    assert torch.equal(untied(tokens)[0], logits)


def test_the_tied_gradient_is_the_sum_of_both():
    tied, untied = language_model(tied=True).double(), language_model().double()
    with torch.no_grad():
        untied.embedding.weight.copy_(untied.output.weight)
    tokens = torch.randint(11, (3, 9))
    for model in (tied, untied):
        cross_entropy(model(tokens[:, :-1])[0].flatten(0, 1), tokens[:, 1:].flatten()).backward()
    expected = untied.embedding.weight.grad + untied.output.weight.grad
    assert torch.allclose(tied.embedding.weight.grad, expected, atol=1e-12)
    assert not torch.allclose(untied.output.weight.grad, expected, atol=1e-3)
