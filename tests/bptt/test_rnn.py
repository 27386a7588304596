"""The vanilla network's backward pass: truncation, the double sum, a language model's gradients, and large weights."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from by_hand import by_torch, case, gradients, worst
from unrolled import bptt
from unrolled.bptt import complex_step, relative_error
from unrolled.models import LanguageModel

SIZES = st.integers(1, 6)


def test_gradients_equal_those_of_a_language_model():
    torch.manual_seed(0)
    model = LanguageModel(7, embedding_size=3, hidden_size=5, learn_initial_state=True).double()
    tokens = torch.randint(7, (4, 51))
    logits, _ = model(tokens[:, :-1])
    cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
    cell = model.core.layers[0]
    layers = cell.W_xh, cell.W_hh, model.output.weight, cell.b_h, model.output.bias
    inputs = model.embedding(tokens[:, :-1]).detach().numpy()
    weights = bptt.rnn.Parameters(*(layer.detach().numpy() for layer in layers))
    actual = gradients("rnn", (weights, inputs, tokens[:, 1:].numpy()))
    for name, layer in zip(weights._fields, layers, strict=True):
        assert relative_error(getattr(actual, name), layer.grad.numpy()) < 1e-9
    assert relative_error(actual.h_0.sum(axis=0), model.h_0.grad.numpy()) < 1e-9  # one h_0 serves all sequences
    of_embedding = np.zeros_like(model.embedding.weight.detach().numpy())
    np.add.at(of_embedding, tokens[:, :-1].numpy().T, actual.x[1:])  # a symbol's vector is used wherever it stands
    assert relative_error(of_embedding, model.embedding.weight.grad.numpy()) < 1e-9


@settings(max_examples=30, deadline=None)
@given(h=SIZES, T=st.integers(1, 20), k=st.integers(1, 22), seed=SIZES)
def test_truncation_drops_the_terms_that_cross_a_windows_edge(h, T, k, seed):
    network = case("rnn", seed, h, 2, 3, T, (2,))
    _, trace = bptt.rnn.forward(*network)
    truncated = bptt.rnn.backward(trace, truncate=k)
    terms = bptt.rnn.double_sum(trace)
    window = (np.arange(T + 1) - 1) // k  # of step t, at [t]
    assert relative_error(truncated.W_hh, terms[window[:, None] == window].sum(axis=0)) < 1e-9
    assert worst(truncated, by_torch("rnn", network, windows=k)[1]) < 1e-9
    full = bptt.rnn.backward(trace)
    assert relative_error(terms.sum(axis=(0, 1)), full.W_hh) < 1e-9
    if k >= T:
        assert worst(truncated, {name: of[1:] if name in "xh" else of for name, of in vars(full).items()}) == 0


def test_the_loss_is_nats_per_symbol():
    parameters, *data = case("rnn", 3, 4, 2, 5, 6, (3,))
    parameters = parameters._replace(W_hy=np.zeros((5, 4)), b_y=np.zeros(5))
    assert bptt.rnn.forward(parameters, *data)[0] == pytest.approx(np.log(5))


def test_nothing_overflows():
    parameters, *data = case("rnn", 6, 3, 2, 4, 5)
    huge = bptt.rnn.Parameters(*(1e4 * weight for weight in parameters))
    with np.errstate(all="raise", under="ignore"):
        loss, trace = bptt.rnn.forward(huge, *data)
        passed = bptt.rnn.backward(trace)
    assert np.isfinite(loss) and all(np.isfinite(getattr(passed, name)).all() for name in (*huge._fields, "h_0", "h"))


def test_differences_know_a_derivative():
    at = np.array([[0.3, -1.2], [2.0, 0.1]])
    assert relative_error(complex_step(lambda x: np.exp(x).sum(), at), np.exp(at)) < 1e-15
    assert relative_error(np.zeros(2), np.zeros(2)) == 0 and relative_error(np.ones(2), np.zeros(2)) == np.inf
    with pytest.raises(ValueError, match=r"the shapes are \(2,\) and \(1,\)"):  # which numpy would broadcast
        relative_error(np.ones(2), np.ones(1))
