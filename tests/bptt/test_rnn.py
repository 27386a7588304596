"""The gradients computed by hand equal autograd's, differences', and the double sum, and a mistake would be seen."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from mistakes import with_mistake
from unrolled import bptt
from unrolled.bptt import central, complex_step, relative_error
from unrolled.cells import RNNCell, unroll
from unrolled.models import LanguageModel

SIZES = st.integers(1, 6)
ACTIVATIONS = list(bptt.rnn.ACTIVATIONS)
LEAVES = [name for name in bptt.rnn.Gradients._fields if name != "states"]  # what one can move; the states follow


def case(seed, h, d, V, T, lead=()):
    """Return a random network and its data, so small that states do not run away and no prediction is certain."""
    random = np.random.default_rng(seed)
    W_hh = random.normal(size=(h, h))
    parameters = bptt.rnn.Parameters(
        W_xh=random.normal(size=(h, d)) / 2,
        W_hh=0.9 * W_hh / np.linalg.norm(W_hh, 2),
        W_hy=random.normal(size=(V, h)) / 2,
        b_h=random.normal(size=h) / 2,
        b_y=random.normal(size=V) / 2,
    )
    data = random.normal(size=(*lead, T, d)), random.integers(0, V, size=(*lead, T)), random.normal(size=(*lead, h))
    return parameters, *data


def by_torch(parameters, inputs, targets, h_0, activation, step_weights=None, windows=None):
    """Return the gradients by autograd, the network written in PyTorch's own operations."""
    phi = {"tanh": torch.tanh, "sigmoid": torch.sigmoid, "identity": lambda a: a}[activation]
    W_xh, W_hh, W_hy, b_h, b_y, x, h = leaves = [
        torch.tensor(array, requires_grad=True) for array in (*parameters, inputs, h_0)
    ]
    states, T = [], inputs.shape[-2]
    for t in range(T):
        before = h.detach() if windows and t and t % windows == 0 else h
        h = phi(x[..., t, :] @ W_xh.T + before @ W_hh.T + b_h)
        h.retain_grad()
        states.append(h)
    logits = torch.stack(states, dim=-2) @ W_hy.T + b_y
    losses = cross_entropy(logits.flatten(0, -2), torch.tensor(targets).flatten(), reduction="none").reshape(
        targets.shape
    )
    weights = torch.full((T,), 1 / T, dtype=torch.float64) if step_weights is None else torch.tensor(step_weights)
    (losses @ weights).mean().backward()
    *weights, of_inputs, of_h_0 = [leaf.grad.numpy() for leaf in leaves]
    return bptt.rnn.Gradients(*weights, of_h_0, of_inputs, np.stack([state.grad.numpy() for state in states], axis=-2))


def by_differences(method, parameters, inputs, targets, h_0, **options):
    """Return the gradient by each leaf, the loss differentiated entry by entry."""
    given = parameters._asdict() | {"h_0": h_0, "inputs": inputs}

    def loss(name, value):
        now = given | {name: value}
        weights = bptt.rnn.Parameters(*(now[field] for field in bptt.rnn.Parameters._fields))
        return bptt.rnn.forward(weights, now["inputs"], targets, now["h_0"], **options)[0]

    return {name: method(lambda value, name=name: loss(name, value), given[name]) for name in LEAVES}


def gradients(network, module=bptt.rnn, truncate=None, **options):
    return module.backward(module.forward(*network, **options)[1], truncate)


def shared(found, right):
    """Return the pairs of gradients that both have."""
    found, right = (x if isinstance(x, dict) else x._asdict() for x in (found, right))
    return [(found[name], right[name]) for name in found if name in right]


def worst(found, right):
    """Return the largest relative error of a gradient."""
    return max(relative_error(*pair) for pair in shared(found, right))


def joint(found, right):
    """Return the relative error of all gradients together: central differences know a small one less exactly."""
    return relative_error(
        *(np.concatenate([x.ravel() for x in side]) for side in zip(*shared(found, right), strict=True))
    )


@settings(max_examples=60, deadline=None)
@given(
    h=SIZES, d=SIZES, V=st.integers(2, 6), T=st.integers(1, 50), activation=st.sampled_from(ACTIVATIONS),
    lead=st.sampled_from([(), (1,), (3,), (2, 2)]), last_only=st.booleans(), seed=st.integers(0, 9999),
)  # fmt: skip
def test_gradients_equal_autograd(h, d, V, T, activation, lead, last_only, seed):
    network = case(seed, h, d, V, T, lead)
    weights = np.eye(T)[-1] if last_only else None
    found = gradients(network, activation=activation, step_weights=weights)
    assert worst(found, by_torch(*network, activation, weights)) < 1e-9


@settings(max_examples=20, deadline=None)
@given(
    h=st.integers(1, 4), d=st.integers(1, 3), V=st.integers(2, 4), T=st.integers(1, 12),
    activation=st.sampled_from(ACTIVATIONS), lead=st.sampled_from([(), (2,)]), seed=st.integers(0, 9999),
)  # fmt: skip
def test_gradients_equal_differences(h, d, V, T, activation, lead, seed):
    network = case(seed, h, d, V, T, lead)
    found = gradients(network, activation=activation)
    assert worst(found, by_differences(complex_step, *network, activation=activation)) < 1e-9
    assert joint(found, by_differences(central, *network, activation=activation)) < 1e-6


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gradients_equal_differences_over_fifty_steps(activation):
    network = case(1, 4, 2, 3, 50)
    found = gradients(network, activation=activation)
    assert worst(found, by_differences(complex_step, *network, activation=activation)) < 1e-9
    assert joint(found, by_differences(central, *network, activation=activation)) < 1e-6
    last = np.eye(50)[-1]
    found = gradients(network, activation=activation, step_weights=last)
    assert worst(found, by_differences(complex_step, *network, activation=activation, step_weights=last)) < 1e-9


def test_gradients_equal_those_of_the_books_cell():
    network = parameters, inputs, targets, h_0 = case(2, 5, 3, 4, 50, (3,))
    cell = RNNCell(3, 5).double()
    weights = {name: torch.tensor(array, requires_grad=True) for name, array in parameters._asdict().items()}
    cell.load_state_dict({name: weights[name] for name in ("W_xh", "W_hh", "b_h")})
    states, _ = unroll(cell, torch.tensor(inputs), torch.tensor(h_0))
    logits = states @ weights["W_hy"].T + weights["b_y"]
    loss = cross_entropy(logits.flatten(0, 1), torch.tensor(targets).flatten())
    loss.backward()
    assert bptt.rnn.forward(*network)[0] == pytest.approx(loss.item(), rel=1e-14)
    right = {name: parameter.grad.numpy() for name, parameter in cell.named_parameters()}
    right |= {name: weights[name].grad.numpy() for name in ("W_hy", "b_y")}
    assert worst(gradients(network), right) < 1e-9


def test_gradients_equal_those_of_a_language_model():
    torch.manual_seed(0)
    model = LanguageModel(7, embedding_size=3, hidden_size=5, learn_initial_state=True).double()
    tokens = torch.randint(7, (4, 21))
    logits, _ = model(tokens[:, :-1])
    cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
    cell = model.core.cell
    layers = cell.W_xh, cell.W_hh, model.output.weight, cell.b_h, model.output.bias
    inputs = model.embedding(tokens[:, :-1]).detach().numpy()
    weights = bptt.rnn.Parameters(*(layer.detach().numpy() for layer in layers))
    found = gradients((weights, inputs, tokens[:, 1:].numpy()))
    for layer, gradient in zip(layers, found, strict=False):
        assert relative_error(gradient, layer.grad.numpy()) < 1e-9
    assert relative_error(found.h_0.sum(axis=0), model.h_0.grad.numpy()) < 1e-9  # one h_0 serves all sequences
    by_embedding = np.zeros_like(model.embedding.weight.detach().numpy())
    np.add.at(by_embedding, tokens[:, :-1].numpy(), found.inputs)  # a symbol's vector is used wherever it stands
    assert relative_error(by_embedding, model.embedding.weight.grad.numpy()) < 1e-9


@settings(max_examples=30, deadline=None)
@given(h=SIZES, T=st.integers(1, 20), k=st.integers(1, 22), activation=st.sampled_from(ACTIVATIONS), seed=SIZES)
def test_truncation_drops_the_terms_that_cross_a_windows_edge(h, T, k, activation, seed):
    network = case(seed, h, 2, 3, T, (2,))
    _, trace = bptt.rnn.forward(*network, activation=activation)
    found = bptt.rnn.backward(trace, truncate=k)
    terms = bptt.rnn.double_sum(trace)
    window = np.arange(T) // k
    assert relative_error(found.W_hh, terms[window[:, None] == window].sum(axis=0)) < 1e-9
    assert worst(found, by_torch(*network, activation, windows=k)) < 1e-9
    full = bptt.rnn.backward(trace)
    assert relative_error(terms.sum(axis=(0, 1)), full.W_hh) < 1e-9
    if k >= T:
        assert worst(found, full) == 0


def test_the_loss_is_nats_per_symbol_and_a_batch_is_a_mean():
    parameters, inputs, targets, h_0 = case(3, 4, 2, 5, 6, (3,))
    parameters = parameters._replace(W_hy=np.zeros((5, 4)), b_y=np.zeros(5))
    assert bptt.rnn.forward(parameters, inputs, targets)[0] == pytest.approx(np.log(5))
    network = case(4, 4, 2, 5, 6, (3,))
    alone = [gradients((network[0], *(array[b] for array in network[1:]))) for b in range(3)]
    together = gradients(network)
    for name in bptt.rnn.Parameters._fields:
        mean = np.mean([getattr(one, name) for one in alone], axis=0)
        assert relative_error(getattr(together, name), mean) < 1e-12
    assert relative_error(together.h_0, np.stack([one.h_0 for one in alone]) / 3) < 1e-12


def test_zeros_are_the_default_state_and_types_are_kept():
    network = case(5, 3, 2, 4, 5)
    start = (*network[:3], np.zeros(3))
    assert worst(gradients(network[:3]), gradients(start)) == 0
    small = bptt.rnn.Parameters(*(weight.astype(np.float32) for weight in network[0]))
    found = gradients((small, network[1].astype(np.float32), network[2]))
    assert {gradient.dtype for gradient in found} == {np.dtype(np.float32)}
    assert worst(found, gradients(start)) < 1e-4
    whole = bptt.rnn.Parameters(*(np.ones_like(weight, dtype=int) for weight in network[0]))
    assert gradients((whole, np.ones((5, 2), dtype=int), network[2])).W_hh.dtype == float


def test_an_error_is_no_more_exact_than_a_probability():
    """Where ŷ is 1 − 1e-11, only five digits of ŷ − 1 are right: agreement is tested where no prediction is certain."""
    sure = bptt.rnn.Parameters(*(np.zeros(shape) for shape in [(1, 1), (1, 1), (2, 1), 1]), b_y=np.array([25.3, 0.0]))
    found = gradients((sure, np.zeros((1, 1)), np.zeros(1, int))).b_y
    assert 1e-7 < relative_error(found, np.array([-1, 1]) / (np.exp(25.3) + 1)) < 1e-4


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_nothing_overflows(activation):
    parameters, inputs, targets, h_0 = case(6, 3, 2, 4, 5)
    huge = bptt.rnn.Parameters(*(1e4 * weight for weight in parameters))
    with np.errstate(all="raise", under="ignore"):
        loss, trace = bptt.rnn.forward(huge, inputs, targets, h_0, activation=activation)
        found = bptt.rnn.backward(trace)
    assert np.isfinite(loss) and all(np.isfinite(gradient).all() for gradient in found)


# the mistakes: what is wrong, the line as it is, the line with the mistake
MISTAKES = {
    "φ′ is dropped": ("delta[t] = slope(h[t]) * d_h[t]", "delta[t] = d_h[t]"),
    "φ′ of the wrong step": ("slope(h[t]) * d_h[t]", "slope(h[t - 1]) * d_h[t]"),
    "W_hh is dropped": ("(delta[t + 1] @ W_hh if", "(delta[t + 1] if"),
    "W_hh has its transpose forgotten": ("(delta[t + 1] @ W_hh if", "(delta[t + 1] @ W_hh.T if"),
    "W_hy has its transpose forgotten": ("e[t - 1] @ W_hy +", "e[t - 1] @ W_hy.T +"),
    "W_xh has its transpose forgotten": ("inputs=deltas @ W_xh", "inputs=deltas @ W_xh.T"),
    "the gradient is transposed": (
        "W_hh=rows(deltas).T @ rows(states[..., :-1, :])",
        "W_hh=rows(states[..., :-1, :]).T @ rows(deltas)",
    ),
    "the immediate derivative for the total": ("+ (delta[t + 1] @ W_hh if inside else 0)", ""),
    "h_t for h_{t−1}": ("rows(states[..., :-1, :])", "rows(states[..., 1:, :])"),
    "the factors of each Jacobian are exchanged": (
        "(delta[t + 1] @ W_hh if",
        "(slope(h[t + 1]) * (d_h[t + 1] @ W_hh) if t < T and",
    ),
    "the target is not subtracted": ("(trace.probabilities - one_hot)", "trace.probabilities"),
    "the loss of every step counts 1": (" * trace.step_weights[:, None]", ""),
}  # fmt: skip


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_seen(mistake, activation):
    network = case(7, 3, 3, 3, 5, (2,))  # square weights, so that a forgotten transpose fits
    right = by_differences(complex_step, *network, activation=activation)
    assert worst(gradients(network, activation=activation), right) < 1e-9
    mutant = with_mistake(bptt.rnn, *MISTAKES[mistake])
    assert worst(gradients(network, mutant, activation=activation), right) > 1e-3


def sum_with_jacobians(network, activation, reverse=False):
    """Return ∂L/∂W_hh as the double sum, with each product of Jacobians multiplied out."""
    parameters, inputs, targets, h_0 = network
    _, trace = bptt.rnn.forward(*network, activation=activation)
    slope, e = bptt.rnn.ACTIVATIONS[activation][1], bptt.rnn.output_errors(trace)
    jacobians = [
        np.diag(slope(state)) @ parameters.W_hh for state in trace.states
    ]  # J_t at place t; that at 0 is unused
    total = np.zeros_like(parameters.W_hh)
    for t in range(1, len(inputs) + 1):
        for k in range(1, t + 1):
            factors = jacobians[k + 1 : t + 1] if reverse else jacobians[t:k:-1]
            product = np.linalg.multi_dot([np.eye(len(h_0))] * 2 + factors)
            back = np.diag(slope(trace.states[k])) @ product.T @ parameters.W_hy.T @ e[t - 1]
            total += np.outer(back, trace.states[k - 1])
    return total


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_the_reversed_product_is_seen(activation):
    network = case(8, 4, 2, 3, 30)
    right = by_torch(*network, activation).W_hh
    assert relative_error(sum_with_jacobians(network, activation), right) < 1e-9
    assert relative_error(sum_with_jacobians(network, activation, reverse=True), right) > 1e-3


@pytest.mark.parametrize("network", [case(8, 1, 2, 3, 30), case(8, 4, 2, 3, 2)], ids=["scalar", "two steps"])
def test_the_reversed_product_is_not_seen_where_it_makes_no_difference(network):
    right = by_torch(*network, "tanh").W_hh
    assert relative_error(sum_with_jacobians(network, "tanh", reverse=True), right) < 1e-9


GOOD = case(9, 3, 2, 4, 5, (2,))


@pytest.mark.parametrize(
    "change, says",
    [
        ({"W_xh": np.zeros((3, 3))}, r"W_xh has shape \(3, 3\): axis 1 \(input_size\) is 3 and should be 2"),
        ({"W_hh": np.zeros((3, 4))}, r"W_hh has shape \(3, 4\): axis 1 \(hidden_size\) is 4 and should be 3"),
        ({"W_hh": np.zeros(3)}, r"W_hh has shape \(3,\)"),
        ({"W_hy": np.zeros((4, 2))}, r"W_hy has shape \(4, 2\): axis 1 \(hidden_size\) is 2 and should be 3"),
        ({"b_h": np.zeros((3, 1))}, r"b_h has shape \(3, 1\); 1 axes are expected: \(hidden_size\)"),
        ({"b_y": np.zeros(3)}, r"b_y has shape \(3,\): axis 0 \(vocab_size\) is 3 and should be 4"),
        ({"inputs": np.zeros(2)}, r"inputs have shape \(2,\); \(…, time, input_size\) is expected"),
        ({"inputs": np.zeros((2, 0, 2))}, "no axis of length 0"),
        ({"targets": np.zeros((2, 4), int)}, r"targets has shape \(2, 4\): axis 1 \(time\) is 4 and should be 5"),
        ({"targets": np.full((2, 5), 4)}, "int64 from 4 to 4; integers from 0 to 3"),
        ({"targets": np.zeros((2, 5))}, "float64 from 0.0 to 0.0; integers"),
        ({"h_0": np.zeros((3, 3))}, r"h_0 has shape \(3, 3\): axis 0 \(batch\) is 3 and should be 2"),
        ({"activation": "gelu"}, "'gelu'; it can be one of tanh, sigmoid, identity"),
        ({"step_weights": np.ones(4)}, r"step_weights have shape \(4,\); one for each step is expected: \(5,\)"),
    ],
)  # fmt: skip
def test_bad_input_is_named(change, says):
    arguments = GOOD[0]._asdict() | dict(zip(["inputs", "targets", "h_0"], GOOD[1:], strict=True)) | change
    parameters = bptt.rnn.Parameters(*(arguments.pop(name) for name in bptt.rnn.Parameters._fields))
    with pytest.raises(ValueError, match=says):
        bptt.rnn.forward(parameters, **arguments)


def test_bad_truncation_and_bad_comparison_are_named():
    with pytest.raises(ValueError, match="truncate is 0; it must be 1 or more"):
        gradients(GOOD, truncate=0)
    with pytest.raises(ValueError, match=r"the shapes are \(2,\) and \(3,\)"):
        relative_error(np.ones(2), np.ones(3))


def test_differences_know_a_derivative():
    at = np.array([[0.3, -1.2], [2.0, 0.1]])
    assert relative_error(complex_step(lambda x: np.exp(x).sum(), at), np.exp(at)) < 1e-15
    assert relative_error(central(lambda x: np.exp(x).sum(), at), np.exp(at)) < 1e-9
    assert relative_error(np.zeros(2), np.zeros(2)) == 0 and relative_error(np.ones(2), np.zeros(2)) == np.inf
