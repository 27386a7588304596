"""The gated cells' gradients and Jacobians by hand equal autograd's and differences', and a mistake would be seen."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from mistakes import with_mistake
from unrolled import bptt
from unrolled.bptt import central, complex_step, path_sizes, relative_error

SIZES = st.integers(1, 6)
CELLS = ["lstm", "gru before", "gru after"]
MODULES = {"lstm": bptt.lstm, "gru before": bptt.gru, "gru after": bptt.gru}
STATES = {"lstm": ["h_0", "c_0"], "gru before": ["h_0"], "gru after": ["h_0"]}
OPTIONS = {"lstm": {}, "gru before": {"reset": "before"}, "gru after": {"reset": "after"}}


def case(cell, seed, h, d, V, T, lead=()):
    """Return random parameters, inputs, targets and first states, so small that no gate or prediction is certain."""
    random = np.random.default_rng(seed)
    shapes = {"W_hy": (V, h), "b_y": (V,)}
    weights = {
        name: random.normal(size=shapes.get(name, (h, h + d) if name[0] == "W" else (h,))) / (1 + (name[0] == "W"))
        for name in MODULES[cell].Parameters._fields
        if (cell, name) != ("gru before", "b_hh")
    }
    data = random.normal(size=(*lead, T, d)), random.integers(0, V, size=(*lead, T))
    return MODULES[cell].Parameters(**weights), *data, *(random.normal(size=(*lead, h)) for _ in STATES[cell])


def gradients(cell, network, module=None, **options):
    module = module or MODULES[cell]
    return module.backward(module.forward(*network, **OPTIONS[cell], **options)[1])


def torch_step(cell, w, x, state):
    """Return the next states from the last, one step in PyTorch's own operations, from the book's equations."""
    h = state[0]
    pair, size = torch.cat([h, x], -1), h.shape[-1]
    if cell == "lstm":
        f, i, o = (torch.sigmoid(pair @ w[f"W_{g}"].T + w[f"b_{g}"]) for g in "fio")
        c = f * state[1] + i * torch.tanh(pair @ w["W_c"].T + w["b_c"])
        return o * torch.tanh(c), c
    z, r = (torch.sigmoid(pair @ w[f"W_{g}"].T + w[f"b_{g}"]) for g in "zr")
    if cell == "gru before":
        candidate = torch.tanh(torch.cat([r * h, x], -1) @ w["W_h"].T + w["b_h"])
    else:
        product = h @ w["W_h"][:, :size].T + w["b_hh"]
        candidate = torch.tanh(x @ w["W_h"][:, size:].T + w["b_h"] + r * product)
    return ((1 - z) * h + z * candidate,)


def tensors(cell, parameters, *arrays):
    """Return the weights as tensors by their names, and the arrays as tensors, all with gradients."""
    weights = {name: w for name, w in parameters._asdict().items() if w is not None}
    weights = {name: torch.tensor(w, requires_grad=True) for name, w in weights.items()}
    return weights, *(torch.tensor(array, requires_grad=True) for array in arrays)


def price(w, states, targets, step_weights=None):
    """Return the loss of states (…, time, hidden)."""
    logits = states @ w["W_hy"].T + w["b_y"]
    losses = cross_entropy(logits.flatten(0, -2), torch.tensor(targets).flatten(), reduction="none")
    T = targets.shape[-1]
    step_weights = torch.full((T,), 1 / T, dtype=torch.float64) if step_weights is None else torch.tensor(step_weights)
    return (losses.reshape(targets.shape) @ step_weights).mean()


def by_torch(cell, network, step_weights=None):
    """Return the loss and its gradients by autograd, those by the states among them."""
    parameters, inputs, targets, *first = network
    w, x, *state = tensors(cell, parameters, inputs, *first)
    given, visited = list(state), []
    for t in range(inputs.shape[-2]):
        state = torch_step(cell, w, x[..., t, :], state)
        for part in state:
            part.retain_grad()
        visited.append(state)
    loss = price(w, torch.stack([state[0] for state in visited], -2), targets, step_weights)
    loss.backward()
    found = {name: weight.grad.numpy() for name, weight in w.items()} | {"inputs": x.grad.numpy()}
    found |= {name: part.grad.numpy() for name, part in zip(STATES[cell], given, strict=True)}
    for name, parts in zip(["states", "cells"], zip(*visited, strict=True), strict=False):
        found[name] = np.stack([np.zeros(part.shape) if part.grad is None else part.grad for part in parts], -2)
    return loss.item(), found


def by_torch_nn(cell, network):
    """Return the gradients by autograd through torch.nn.LSTM or torch.nn.GRU, in the book's names."""
    parameters, inputs, targets, *first = network
    order = {"lstm": "ifco", "gru after": "rzh"}[cell]  # PyTorch's order of the gates
    (h, width), w = parameters[0].shape, parameters._asdict()
    core = {"lstm": torch.nn.LSTM, "gru after": torch.nn.GRU}[cell](width - h, h, batch_first=True).double()
    sign = {g: -1 if g == "z" else 1 for g in order}  # PyTorch's z keeps the old state: σ(−a) = 1 − σ(a)
    stacked = np.concatenate([sign[g] * w[f"W_{g}"] for g in order])
    bias = np.concatenate([sign[g] * w[f"b_{g}"] for g in order])
    inner = np.concatenate([np.zeros(len(bias) - h), w["b_hh"]]) if cell == "gru after" else np.zeros(len(bias))
    values = {"weight_ih": stacked[:, h:], "weight_hh": stacked[:, :h], "bias_ih": bias, "bias_hh": inner}
    core.load_state_dict({f"{name}_l0": torch.tensor(value) for name, value in values.items()})
    tail, x, *state = tensors(cell, parameters, inputs, *first)
    start = tuple(part[None] for part in state)
    states, _ = core(x, start if cell == "lstm" else start[0])
    price(tail, states, targets).backward()
    by = {name: getattr(core, f"{name}_l0").grad.numpy() for name in values}
    weights = dict(zip(order, np.split(np.concatenate([by["weight_hh"], by["weight_ih"]], 1), len(order)), strict=True))
    biases = dict(zip(order, np.split(by["bias_ih"], len(order)), strict=True))
    found = {f"W_{g}": sign[g] * weights[g] for g in order} | {f"b_{g}": sign[g] * biases[g] for g in order}
    found |= {"b_hh": by["bias_hh"][-h:]} if cell == "gru after" else {}
    found |= {name: part.grad.numpy() for name, part in zip(STATES[cell], state, strict=True)}
    return found | {name: tail[name].grad.numpy() for name in ("W_hy", "b_y")} | {"inputs": x.grad.numpy()}


def by_differences(method, cell, network, **options):
    """Return the gradient by each weight, input and first state, the loss differentiated entry by entry."""
    module, (parameters, inputs, targets, *first) = MODULES[cell], network
    weights = {name: w for name, w in parameters._asdict().items() if w is not None}
    given = weights | {"inputs": inputs} | dict(zip(STATES[cell], first, strict=True))

    def loss(name, value):
        now = given | {name: value}
        changed = module.Parameters(**{name: now[name] for name in weights})
        states = [now[state] for state in STATES[cell]]
        return module.forward(changed, now["inputs"], targets, *states, **OPTIONS[cell], **options)[0]

    return {name: method(lambda value, name=name: loss(name, value), value) for name, value in given.items()}


def worst(found, right):
    """Return the largest relative error of a gradient."""
    return max(relative_error(getattr(found, name), value) for name, value in right.items())


def joint(found, right):
    """Return the relative error of all gradients together: central differences know a small one less exactly."""
    found = np.concatenate([getattr(found, name).ravel() for name in right])
    return relative_error(found, np.concatenate([value.ravel() for value in right.values()]))


@settings(max_examples=60, deadline=None)
@given(
    cell=st.sampled_from(CELLS), h=SIZES, d=SIZES, V=st.integers(2, 6), T=st.integers(1, 50),
    lead=st.sampled_from([(), (1,), (3,), (2, 2)]), last_only=st.booleans(), seed=st.integers(0, 9999),
)  # fmt: skip
def test_gradients_equal_autograd(cell, h, d, V, T, lead, last_only, seed):
    network = case(cell, seed, h, d, V, T, lead)
    weights = np.eye(T)[-1] if last_only else None
    loss, right = by_torch(cell, network, weights)
    assert MODULES[cell].forward(*network, **OPTIONS[cell], step_weights=weights)[0] == pytest.approx(loss, rel=1e-12)
    assert worst(gradients(cell, network, step_weights=weights), right) < 1e-9


@settings(max_examples=40, deadline=None)
@given(
    cell=st.sampled_from(["lstm", "gru after"]), h=SIZES, d=SIZES, V=st.integers(2, 6), T=st.integers(1, 50),
    batch=st.integers(1, 4), seed=st.integers(0, 9999),
)  # fmt: skip
def test_gradients_equal_those_of_pytorchs_own_cells(cell, h, d, V, T, batch, seed):
    network = case(cell, seed, h, d, V, T, (batch,))
    assert worst(gradients(cell, network), by_torch_nn(cell, network)) < 1e-9


@settings(max_examples=15, deadline=None)
@given(
    cell=st.sampled_from(CELLS), h=st.integers(1, 3), d=st.integers(1, 3), V=st.integers(2, 4), T=st.integers(1, 10),
    lead=st.sampled_from([(), (2,)]), seed=st.integers(0, 9999),
)  # fmt: skip
def test_gradients_equal_differences(cell, h, d, V, T, lead, seed):
    network = case(cell, seed, h, d, V, T, lead)
    found = gradients(cell, network)
    assert worst(found, by_differences(complex_step, cell, network)) < 1e-9
    assert joint(found, by_differences(central, cell, network)) < 1e-6


@pytest.mark.parametrize("cell", CELLS)
def test_gradients_equal_differences_over_fifty_steps(cell):
    network = case(cell, 1, 3, 2, 3, 50)
    last = np.eye(50)[-1]
    found = gradients(cell, network, step_weights=last)
    assert worst(found, by_differences(complex_step, cell, network, step_weights=last)) < 1e-9
    assert joint(found, by_differences(central, cell, network, step_weights=last)) < 1e-6


@pytest.mark.parametrize("cell", CELLS)
def test_a_batch_is_a_mean_zeros_are_the_default_and_types_are_kept(cell):
    network = case(cell, 2, 4, 2, 5, 6, (3,))
    alone = [gradients(cell, (network[0], *(array[b] for array in network[1:]))) for b in range(3)]
    together = gradients(cell, network)
    for name in ("W_hy", MODULES[cell].Parameters._fields[0]):
        assert relative_error(getattr(together, name), np.mean([getattr(one, name) for one in alone], axis=0)) < 1e-12
    zero = (*network[:3], *(np.zeros((3, 4)) for _ in STATES[cell]))
    pairs = zip(gradients(cell, network[:3]), gradients(cell, zero), strict=True)
    assert all(np.array_equal(found, right) for found, right in pairs)
    small = MODULES[cell].Parameters(*(None if w is None else w.astype(np.float32) for w in network[0]))
    found = gradients(cell, (small, network[1].astype(np.float32), network[2]))
    assert {gradient.dtype for gradient in found if gradient is not None} == {np.dtype(np.float32)}


def test_the_bias_inside_the_reset_gate_may_be_left_out():
    parameters, *data = case("gru after", 3, 3, 2, 3, 5)
    without, zero = (gradients("gru after", (parameters._replace(b_hh=b), *data)) for b in (None, np.zeros(3)))
    assert all(relative_error(a, b) == 0 for a, b in zip(without, zero, strict=True))


def test_the_same_weights_do_not_mean_the_same_in_both_placements():
    network = case("gru before", 4, 3, 2, 3, 6)
    before, after = (bptt.gru.forward(*network, reset=reset)[1].states for reset in ("before", "after"))
    assert relative_error(after, before) > 1e-2
    single = case("gru before", 4, 1, 2, 3, 6)  # one number: r w h, whichever product comes first
    before, after = (bptt.gru.forward(*single, reset=reset)[1].states for reset in ("before", "after"))
    assert relative_error(after, before) < 1e-14


# the Jacobians and their paths


def trace_of(cell, seed=5, h=4, T=6, lead=()):
    network = case(cell, seed, h, 3, 3, T, lead)
    return network, MODULES[cell].forward(*network, **OPTIONS[cell])[1]


def step_jacobians(cell, network, trace):
    """Return the Jacobian of all next states by all last ones, step by step, by autograd."""
    parameters, inputs, _, *_ = network
    w, x = tensors(cell, parameters, inputs)
    size = trace.states.shape[-1]

    def step(stacked, t):
        return torch.cat(torch_step(cell, w, x[t], stacked.split(size)))

    parts = [trace.states, trace.cells] if cell == "lstm" else [trace.states]
    stacked = torch.tensor(np.concatenate(parts, axis=-1))
    steps = range(len(inputs))
    return np.stack([torch.autograd.functional.jacobian(lambda s, t=t: step(s, t), stacked[t]) for t in steps])


@pytest.mark.parametrize("seed", range(3))
def test_the_lstms_jacobian_by_both_states_equals_autograds(seed):
    network, trace = trace_of("lstm", seed)
    found, right = bptt.lstm.jacobians(trace), step_jacobians("lstm", network, trace)
    assert relative_error(found, right) < 1e-12
    product = np.linalg.multi_dot(found[::-1])
    w, x, h, c = tensors("lstm", network[0], network[1], *network[3:])

    def run(h, c):
        state = h, c
        for t in range(len(x)):
            state = torch_step("lstm", w, x[t], state)
        return state

    blocks = torch.autograd.functional.jacobian(run, (h, c))
    assert relative_error(product, np.block([[part.numpy() for part in row] for row in blocks])) < 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_the_paths_of_the_cell_state_add_up_to_autograds_jacobian(seed):
    network, trace = trace_of("lstm", seed)
    parts, (w, x) = bptt.lstm.paths(trace), tensors("lstm", *network[:2])
    for t in range(1, 6):  # t counts from 0: the first step, whose h_0 is given, comes below
        held = torch.tensor(trace.output[t - 1])
        right = torch.autograd.functional.jacobian(
            lambda c, t=t, held=held: torch_step("lstm", w, x[t], (held * torch.tanh(c), c))[1],
            torch.tensor(trace.cells[t]),
        )
        assert relative_error(sum(parts.values())[t], right.numpy()) < 1e-12
    assert all(not parts[gate][0].any() for gate in ("forget", "input", "candidate"))
    assert relative_error(parts["direct"][0], step_jacobians("lstm", network, trace)[0][4:, 4:]) < 1e-12


GATES = {"forget": "f", "input": "i", "candidate": "c"}


@pytest.mark.parametrize("gate", GATES)
def test_a_path_is_what_is_lost_when_its_gate_no_longer_listens_to_the_hidden_state(gate):
    """The path through a gate is 0 if its weights for h_{t−1} are, the argument being what it was."""
    network, trace = trace_of("lstm")
    name, letter = f"W_{GATES[gate]}", GATES[gate]
    parts, (w, x) = bptt.lstm.paths(trace), tensors("lstm", *network[:2])
    t, held = 3, torch.tensor(trace.output[2])
    deaf = w[name].detach().clone()
    deaf[:, :4] = 0
    bias = w[f"b_{letter}"] + w[name][:, :4] @ torch.tensor(trace.states[t])
    deafened = w | {name: deaf, f"b_{letter}": bias}
    right = torch.autograd.functional.jacobian(
        lambda c: torch_step("lstm", deafened, x[t], (held * torch.tanh(c), c))[1], torch.tensor(trace.cells[t])
    )
    others = sum(path for other, path in parts.items() if other != gate)[t]
    assert relative_error(others, right.numpy()) < 1e-12 and np.linalg.norm(parts[gate][t]) > 1e-3


def test_the_cell_states_own_jacobians_do_not_multiply_to_the_derivative_over_two_steps():
    """c_t also depends on c_{t−2} through o_{t−1}, which the Jacobian of one step holds."""
    _, trace = trace_of("lstm")
    single = sum(bptt.lstm.paths(trace).values())
    entry = np.concatenate([np.diag(trace.output[0] * (1 - trace.squashed[0] ** 2)), np.eye(4)])  # (h_1, c_1) by c_1
    right = (bptt.lstm.jacobians(trace)[2] @ bptt.lstm.jacobians(trace)[1] @ entry)[4:]
    assert relative_error(single[1], (bptt.lstm.jacobians(trace)[1] @ entry)[4:]) < 1e-12
    assert relative_error(single[2] @ single[1], right) > 1e-3


@pytest.mark.parametrize("cell", CELLS[1:])
@pytest.mark.parametrize("seed", range(3))
def test_the_grus_paths_add_up_to_autograds_jacobian(cell, seed):
    network, trace = trace_of(cell, seed)
    parts, right = bptt.gru.paths(trace), step_jacobians(cell, network, trace)
    assert relative_error(sum(parts.values()), right) < 1e-12
    parameters, size = network[0], 4
    for path, name in {"update": "W_z", "reset": "W_r"}.items():  # each is 0 if its gate does not listen to the state
        W = getattr(parameters, name).copy()
        W[:, :size] = 0
        deaf = bptt.gru.paths(trace._replace(parameters=parameters._replace(**{name: W})))
        assert not deaf[path].any() and parts[path].any()
        assert all(relative_error(deaf[other], parts[other]) == 0 for other in parts if other != path)


@pytest.mark.parametrize("cell", CELLS)
def test_a_gate_that_is_stuck_leaves_one_path(cell):
    """Where the LSTM forgets and takes nothing, or the GRU keeps all, only the direct path is left, of size 1."""
    parameters, *data = case(cell, 6, 4, 3, 3, 5, (2,))
    stuck = {"b_f": 100, "b_i": -100} if cell == "lstm" else {"b_z": -100}
    parameters = parameters._replace(**{name: np.full(4, float(value)) for name, value in stuck.items()})
    sizes = path_sizes(MODULES[cell].paths(MODULES[cell].forward(parameters, *data, **OPTIONS[cell])[1]))
    assert np.allclose(sizes["direct"], 1, atol=1e-12) and np.allclose(sizes["all"], 1, atol=1e-12)
    assert all((sizes[path] < 1e-12).all() for path in sizes if path not in ("direct", "all"))


@pytest.mark.parametrize("cell", CELLS)
def test_sizes_are_largest_singular_values(cell):
    _, trace = trace_of(cell, lead=(2,))
    parts = MODULES[cell].paths(trace)
    sizes = path_sizes(parts)
    assert list(sizes) == [*parts, "all"]
    for name, matrices in (parts | {"all": sum(parts.values())}).items():
        assert sizes[name].shape == (2, 6)
        assert relative_error(sizes[name], np.linalg.svd(matrices, compute_uv=False)[..., 0]) < 1e-12
    assert (sizes["all"] <= sum(sizes[name] for name in parts) + 1e-12).all()
    gate = trace.forget if cell == "lstm" else 1 - trace.update
    assert relative_error(sizes["direct"], gate.max(axis=-1)) < 1e-12  # of a diagonal matrix


# the mistakes: what is wrong, a text as it stands in the module, and the text with the mistake
LSTM_MISTAKES = {
    "two gates are exchanged": ("@ W_f + delta_i[t - 1] @ W_i", "@ W_i + delta_i[t - 1] @ W_f"),
    "the gradients of two gates are exchanged": (
        "@ rows(pairs) for delta in deltas)",
        "@ rows(pairs) for delta in deltas[::-1])",
    ),
    "the cell path lacks f": ("d_c[t] * f  # eq-lstm-delta-h", "d_c[t]  # eq-lstm-delta-h"),
    "f of the wrong step": ("d_c[t] * f  # eq-lstm-delta-h", "d_c[t] * gates[0][t - 2]  # eq-lstm-delta-h"),
    "the cell path is forgotten": ("(1 - q * q) + later_c", "(1 - q * q)"),
    "the path through o is forgotten": (" + delta_o[t - 1] @ W_o", ""),
    "the path through f is forgotten": ("delta_f[t - 1] @ W_f + ", ""),
    "c_t for c_{t−1}": ("d_c[t] * c[t - 1] * f", "d_c[t] * c[t] * f"),
    "σ′ is dropped": ("g * i * (1 - i)  # eq", "g  # eq"),
    "σ′ for tanh′": ("d_c[t] * i * (1 - g * g)  # eq", "d_c[t] * i * g * (1 - g)  # eq"),
    "tanh′ of the cell is dropped": ("d_h[t] * o * (1 - q * q) +", "d_h[t] * o +"),
    "c_t for tanh(c_t)": ("d_h[t] * q * o", "d_h[t] * c[t] * o"),
    "W has its transpose forgotten": ("delta_c[t - 1] @ W_c", "delta_c[t - 1] @ np.hstack([W_c[:, :3].T, W_c[:, 3:]])"),
    "the immediate derivative for the total": ("@ W_hy + later_h", "@ W_hy"),
    "the target is not subtracted": ("(trace.probabilities - one_hot)", "trace.probabilities"),
}
GRU_MISTAKES = {
    "two gates are exchanged": (
        "delta_z[t - 1] @ W_z_h + delta_r[t - 1] @ W_r_h",
        "delta_z[t - 1] @ W_r_h + delta_r[t - 1] @ W_z_h",
    ),
    "the gradients of two gates are exchanged": (
        "@ rows(pairs) for delta in of_gates)",
        "@ rows(pairs) for delta in of_gates[::-1])",
    ),
    "1 − z is dropped": ("later = (1 - z) * d_h[t]", "later = d_h[t]"),
    "z for 1 − z": ("later = (1 - z) * d_h[t]", "later = z * d_h[t]"),
    "the old state is not subtracted": ("d_h[t] * (g - h[t - 1]) * z", "d_h[t] * g * z"),
    "z is dropped": ("d_h[t] * z * (1 - g * g)", "d_h[t] * (1 - g * g)"),
    "σ′ is dropped": ("(g - h[t - 1]) * z * (1 - z)", "(g - h[t - 1])"),
    "the path through r is forgotten": (" + delta_r[t - 1] @ W_r_h", ""),
    "the path through the candidate is forgotten": (" + u  #", "  #"),
    "the immediate derivative for the total": ("trace.parameters.W_hy + later", "trace.parameters.W_hy"),
    "W_z has its transpose forgotten": ("delta_z[t - 1] @ W_z_h", "delta_z[t - 1] @ W_z_h.T"),
    "the reset gate in the other place": (
        'errors = trace.placement == "before"',
        'errors = trace.placement == "after"',
    ),
}
PLACED = {
    "gru before": {
        "W_hh has its transpose forgotten": ("back = delta_h[t - 1] @ W_hh", "back = delta_h[t - 1] @ W_hh.T"),
        "r is dropped": ("u = r * back", "u = back"),
        "r is dropped in the gradient": ("(of_candidate, reset * previous)", "(of_candidate, previous)"),
    },
    "gru after": {
        "W_hh has its transpose forgotten": ("u = (r * delta_h[t - 1]) @ W_hh", "u = (r * delta_h[t - 1]) @ W_hh.T"),
        "r after the product": ("u = (r * delta_h[t - 1]) @ W_hh", "u = r * (delta_h[t - 1] @ W_hh)"),
        "r is dropped in the gradient": ("(reset * of_candidate, previous)", "(of_candidate, previous)"),
        "the bias inside is forgotten": (
            "by_step(_product(trace.parameters, ",
            "by_step(_product(trace.parameters._replace(b_hh=None), ",
        ),
    },
}
MISTAKES = [("lstm", *item) for item in LSTM_MISTAKES.items()]
MISTAKES += [(cell, *item) for cell in PLACED for item in (GRU_MISTAKES | PLACED[cell]).items()]


@pytest.mark.parametrize("cell, lines", [pytest.param(c, lines, id=f"{c}: {what}") for c, what, lines in MISTAKES])
def test_a_mistake_is_seen(cell, lines):
    network = case(cell, 7, 3, 3, 3, 5, (2,))
    right = by_differences(complex_step, cell, network)
    assert worst(gradients(cell, network), right) < 1e-9
    found = gradients(cell, network, with_mistake(MODULES[cell], *lines))
    right = {name: value for name, value in right.items() if getattr(found, name) is not None}
    assert worst(found, right) > 1e-3


FORWARD_MISTAKES = [
    ("lstm", "two gates are exchanged", ("f[t - 1] * c[t - 1] + i[t - 1] *", "i[t - 1] * c[t - 1] + f[t - 1] *")),
    ("lstm", "two weights are exchanged", ("sigmoid(v @ W_f.T + b_f)", "sigmoid(v @ W_i.T + b_f)")),
    ("lstm", "the state comes last", ("np.concatenate([h[t - 1], x[t - 1]]", "np.concatenate([x[t - 1], h[t - 1]]")),
    ("gru after", "z keeps", ("(1 - z[t - 1]) * h[t - 1] + z[t - 1]", "z[t - 1] * h[t - 1] + (1 - z[t - 1])")),
    ("gru after", "the reset gate in the other place", ('if reset == "before":', 'if reset == "after":')),
    ("gru after", "a missing bias", ("0 if parameters.b_hh is None else parameters.b_hh", "0")),
]


@pytest.mark.parametrize("cell, lines", [pytest.param(c, lines, id=f"{c}: {n}") for c, n, lines in FORWARD_MISTAKES])
def test_a_mistake_in_the_forward_pass_is_seen(cell, lines):
    network = case(cell, 7, 3, 3, 3, 5, (2,))
    right = by_torch_nn(cell, network)
    assert worst(gradients(cell, network), right) < 1e-9
    assert worst(gradients(cell, network, with_mistake(MODULES[cell], *lines)), right) > 1e-3


WIDTH = r"\(hidden_size \+ input_size\)"


@pytest.mark.parametrize(
    "cell, change, says",
    [
        ("lstm", {"W_i": np.zeros((3, 4))}, rf"W_i has shape \(3, 4\): axis 1 {WIDTH} is 4 and should be 5"),
        (
            "lstm",
            {"W_o": np.zeros(3)},
            r"W_o has shape \(3,\); 2 axes are expected: \(hidden_size, hidden_size \+ input",
        ),
        ("lstm", {"b_o": np.zeros(4)}, r"b_o has shape \(4,\): axis 0 \(hidden_size\) is 4 and should be 3"),
        ("lstm", {"c_0": np.zeros((2, 4))}, r"c_0 has shape \(2, 4\): axis 1 \(hidden_size\) is 4 and should be 3"),
        ("lstm", {"step_weights": np.ones(4)}, r"step_weights have shape \(4,\)"),
        ("gru after", {"b_hh": np.zeros(2)}, r"b_hh has shape \(2,\): axis 0 \(hidden_size\) is 2 and should be 3"),
        ("gru before", {"b_hh": np.zeros(3)}, 'with reset="before" there is no place for it; add it to b_h'),
        ("gru before", {"reset": "never"}, "reset is 'never'; it can be one of before, after"),
        ("gru before", {"targets": np.full((2, 5), 4)}, "int64 from 4 to 4; integers from 0 to 3"),
    ],
)
def test_bad_input_is_named(cell, change, says):
    parameters, inputs, targets, *first = case(cell, 9, 3, 2, 4, 5, (2,))
    arguments = {"inputs": inputs, "targets": targets} | dict(zip(STATES[cell], first, strict=True)) | OPTIONS[cell]
    arguments |= {name: value for name, value in change.items() if name not in parameters._fields}
    weights = {name: value for name, value in change.items() if name in parameters._fields}
    with pytest.raises(ValueError, match=says):
        MODULES[cell].forward(parameters._replace(**weights), **arguments)
