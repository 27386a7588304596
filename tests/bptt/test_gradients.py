"""The gradients by hand equal autograd's, PyTorch's own cells' and differences', and a mistake would be seen."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from by_hand import (
    CELLS,
    MODULES,
    OPTIONS,
    STATES,
    by_differences,
    by_torch,
    case,
    gradients,
    tensors,
    torch_loss,
    worst,
)
from mistakes import with_mistake
from unrolled.bptt import output_errors, path_sizes, relative_error

SIZES = st.integers(1, 6)


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
    tail, x, *state = tensors(parameters, inputs, *first)
    start = tuple(part[None] for part in state)
    states, _ = core(x, start if cell == "lstm" else start[0])
    torch_loss(tail, states, targets).backward()
    of = {name: getattr(core, f"{name}_l0").grad.numpy() for name in values}
    weights = dict(zip(order, np.split(np.concatenate([of["weight_hh"], of["weight_ih"]], 1), len(order)), strict=True))
    biases = dict(zip(order, np.split(of["bias_ih"], len(order)), strict=True))
    expected = {f"W_{g}": sign[g] * weights[g] for g in order} | {f"b_{g}": sign[g] * biases[g] for g in order}
    expected |= {"b_hh": of["bias_hh"][-h:]} if cell == "gru after" else {}
    expected |= {name: part.grad.numpy() for name, part in zip(STATES[cell], state, strict=True)}
    return (
        expected
        | {name: tail[name].grad.numpy() for name in ("W_hy", "b_y")}
        | {"x": np.moveaxis(x.grad.numpy(), -2, 0)}
    )


@settings(max_examples=80, deadline=None)
@given(
    cell=st.sampled_from(CELLS), h=SIZES, d=SIZES, V=st.integers(2, 6), T=st.integers(1, 50),
    lead=st.sampled_from([(), (1,), (3,), (2, 2)]), last_only=st.booleans(), seed=st.integers(0, 9999),
)  # fmt: skip
def test_gradients_equal_autograd(cell, h, d, V, T, lead, last_only, seed):
    network = case(cell, seed, h, d, V, T, lead)
    weights = np.eye(T)[-1] if last_only else None
    loss, expected = by_torch(cell, network, weights)
    assert MODULES[cell].forward(*network, **OPTIONS[cell], step_weights=weights)[0] == pytest.approx(loss, rel=1e-12)
    assert worst(gradients(cell, network, step_weights=weights), expected) < 1e-9


@settings(max_examples=40, deadline=None)
@given(
    cell=st.sampled_from(["lstm", "gru after"]), h=SIZES, d=SIZES, V=st.integers(2, 6), T=st.integers(1, 50),
    batch=st.integers(1, 4), seed=st.integers(0, 9999),
)  # fmt: skip
def test_gradients_equal_those_of_pytorchs_own_cells(cell, h, d, V, T, batch, seed):
    network = case(cell, seed, h, d, V, T, (batch,))
    assert worst(gradients(cell, network), by_torch_nn(cell, network)) < 1e-9


@settings(max_examples=20, deadline=None)
@given(
    cell=st.sampled_from(CELLS), h=st.integers(1, 3), d=st.integers(1, 3), V=st.integers(2, 4), T=st.integers(1, 10),
    lead=st.sampled_from([(), (2,)]), seed=st.integers(0, 9999),
)  # fmt: skip
def test_gradients_equal_differences(cell, h, d, V, T, lead, seed):
    network = case(cell, seed, h, d, V, T, lead)
    assert worst(gradients(cell, network), by_differences(cell, network)) < 1e-9


def arrays(result):
    """Return the arrays of a trace or of gradients by name."""
    return {name: value for name, value in vars(result).items() if isinstance(value, np.ndarray)}


@pytest.mark.parametrize("cell", CELLS)
def test_t_is_t(cell):
    """Row t belongs to step t, and what has no step 0 is NaN there, so that no sum over all rows goes unnoticed."""
    network = case(cell, 3, 4, 2, 5, 6, (3,))
    _, trace = MODULES[cell].forward(*network, **OPTIONS[cell])
    assert np.array_equal(trace.x[2], network[1][:, 1]) and np.array_equal(trace.y[2].argmax(axis=-1), network[2][:, 1])
    states = [name[0] for name in STATES[cell]]
    for name, first in zip(states, network[3:], strict=True):
        assert np.array_equal(getattr(trace, name)[0], first)
    passed = MODULES[cell].backward(trace)
    assert all(np.array_equal(getattr(passed, name)[0], getattr(passed, f"{name}_0")) for name in states)
    paths = {} if cell == "rnn" else MODULES[cell].paths(trace)
    sizes = path_sizes(paths) if paths else {}
    for array in [*arrays(trace).values(), passed.x, output_errors(trace), *paths.values(), *sizes.values()]:
        assert len(array) == 7 and np.isfinite(array[1:]).all()
        assert np.isnan(array[0]).all() or any(array is getattr(trace, name) for name in states)


@pytest.mark.parametrize("cell", CELLS)
def test_a_batch_is_a_mean_zeros_are_the_default_and_types_are_kept(cell):
    network = case(cell, 2, 4, 2, 5, 6, (3,))
    alone = [gradients(cell, (network[0], *(array[b] for array in network[1:]))) for b in range(3)]
    together = gradients(cell, network)
    for name in ("W_hy", MODULES[cell].Parameters._fields[0]):
        mean = np.mean([getattr(of_row, name) for of_row in alone], axis=0)
        assert relative_error(getattr(together, name), mean) < 1e-12
    assert relative_error(together.h_0, np.stack([of_row.h_0 for of_row in alone]) / 3) < 1e-12
    zero = (*network[:3], *(np.zeros((3, 4)) for _ in STATES[cell]))
    by_default, from_zeros = (arrays(gradients(cell, given)) for given in (network[:3], zero))
    assert all(np.array_equal(by_default[name], from_zeros[name], equal_nan=True) for name in from_zeros)
    small = MODULES[cell].Parameters(*(None if w is None else w.astype(np.float32) for w in network[0]))
    in_float32 = gradients(cell, (small, network[1].astype(np.float32), network[2]))
    assert {gradient.dtype for gradient in arrays(in_float32).values()} == {np.dtype(np.float32)}
    whole = MODULES[cell].Parameters(*(None if w is None else np.ones_like(w, dtype=int) for w in network[0]))
    assert gradients(cell, (whole, np.ones((5, 2), dtype=int), network[2][0, :5])).W_hy.dtype == float


# the mistakes: what is wrong, a text as it stands in the module, and the text with the mistake
RNN_MISTAKES = {
    "φ′ is dropped": ("delta[t] = (1 - h[t] * h[t]) * d_h[t]", "delta[t] = d_h[t]"),
    "φ′ of the wrong step": ("(1 - h[t] * h[t]) * d_h[t]", "(1 - h[t - 1] * h[t - 1]) * d_h[t]"),
    "W_hh is dropped": ("(delta[t + 1] @ W_hh if", "(delta[t + 1] if"),
    "W_hh has its transpose forgotten": ("(delta[t + 1] @ W_hh if", "(delta[t + 1] @ W_hh.T if"),
    "W_hy has its transpose forgotten": ("e[t] @ W_hy +", "e[t] @ W_hy.T +"),
    "W_xh has its transpose forgotten": ("x=delta @ W_xh", "x=delta @ W_xh.T"),
    "the gradient is transposed": ("outer_total(delta, previous(h))", "outer_total(previous(h), delta)"),
    "the immediate derivative for the total": ("+ (delta[t + 1] @ W_hh if inside else 0)", ""),
    "h_t for h_{t−1}": ("outer_total(delta, previous(h))", "outer_total(delta, h)"),
    "the factors of each Jacobian are exchanged": (
        "(delta[t + 1] @ W_hh if",
        "((1 - h[t + 1] * h[t + 1]) * (d_h[t + 1] @ W_hh) if t < len(x) - 1 and",
    ),
    "the target is not subtracted": ("(trace.y_hat - trace.y)", "trace.y_hat"),
    "the loss of every step counts 1": ("(trace.step_weights * (", "(np.ones(len(trace.y)) * ("),
}
LSTM_MISTAKES = {
    "two gates are exchanged": ("np.concatenate([W_f, W_i,", "np.concatenate([W_i, W_f,"),
    "the gradients of two gates are exchanged": ('zip(("W_f", "W_i",', 'zip(("W_i", "W_f",'),
    "the cell path lacks f": ("f[t + 1] * d_c[t + 1]", "d_c[t + 1]"),
    "f of the wrong step": ("f[t + 1] * d_c[t + 1]", "f[t] * d_c[t + 1]"),
    "the cell path is forgotten": (" + f[t + 1] * d_c[t + 1]", ""),
    "the path through o is forgotten": ("W_i, W_c, W_o])", "W_i, W_c, 0 * W_o])"),
    "the path through f is forgotten": ("np.concatenate([W_f,", "np.concatenate([0 * W_f,"),
    "c_t for c_{t−1}": ("d_c[t] * c[t - 1] * f[t]", "d_c[t] * c[t] * f[t]"),
    "σ′ is dropped": ("c_tilde[t] * i[t] * (1 - i[t])", "c_tilde[t]"),
    "σ′ for tanh′": ("i[t] * (1 - c_tilde[t] * c_tilde[t])", "i[t] * c_tilde[t] * (1 - c_tilde[t])"),
    "tanh′ of the cell is dropped": ("* (1 - tanh_c[t] * tanh_c[t]) +", "+"),
    "c_t for tanh(c_t)": ("d_h[t] * tanh_c[t] * o[t]", "d_h[t] * c[t] * o[t]"),
    "W has its transpose forgotten": ("W_i, W_c, W_o])", "W_i, np.hstack([W_c[:, :3].T, W_c[:, 3:]]), W_o])"),
    "the immediate derivative for the total": ("@ W_hy + delta[t + 1] @ W_h", "@ W_hy"),
    "h_t for h_{t−1}": ("[previous(h), x]", "[h, x]"),
}
GRU_MISTAKES = {
    "two gates are exchanged": (
        "delta_z[t + 1] @ W_zh + delta_r[t + 1] @ W_rh",
        "delta_z[t + 1] @ W_rh + delta_r[t + 1] @ W_zh",
    ),
    "the gradients of two gates are exchanged": ("W_z=outer_total(delta_z, v)", "W_z=outer_total(delta_r, v)"),
    "1 − z is dropped": ("return (1 - z[t + 1]) * d_h[t + 1]", "return d_h[t + 1]"),
    "z for 1 − z": ("return (1 - z[t + 1]) * d_h[t + 1]", "return z[t + 1] * d_h[t + 1]"),
    "the old state is not subtracted": ("d_h[t] * (h_tilde[t] - h[t - 1]) * z[t]", "d_h[t] * h_tilde[t] * z[t]"),
    "z is dropped": ("d_h[t] * z[t] * (1 - h_tilde[t]", "d_h[t] * (1 - h_tilde[t]"),
    "σ′ is dropped": ("(h_tilde[t] - h[t - 1]) * z[t] * (1 - z[t])", "(h_tilde[t] - h[t - 1])"),
    "the path through r is forgotten": (" + delta_r[t + 1] @ W_rh", ""),
    "the path through the candidate is forgotten": (" + u[t + 1]", ""),
    "the immediate derivative for the total": ("trace.parameters.W_hy + from_later(t)", "trace.parameters.W_hy"),
    "W_z has its transpose forgotten": ("delta_z[t + 1] @ W_zh", "delta_z[t + 1] @ W_zh.T"),
    "the reset gate in the other place": (
        'before = extended(trace.z), trace.r, trace.h_tilde, trace.reset == "before"',
        'before = extended(trace.z), trace.r, trace.h_tilde, trace.reset == "after"',
    ),
}
PLACED = {
    "gru before": {
        "W_hh has its transpose forgotten": (
            "u[t] = r[t] * (delta_h[t] @ W_hh)",
            "u[t] = r[t] * (delta_h[t] @ W_hh.T)",
        ),
        "r is dropped": ("u[t] = r[t] * (", "u[t] = ("),
        "r is dropped in the gradient": ("(r * previous(h), delta_h)", "(previous(h), delta_h)"),
    },
    "gru after": {
        "W_hh has its transpose forgotten": ("(r[t] * delta_h[t]) @ W_hh", "(r[t] * delta_h[t]) @ W_hh.T"),
        "r after the product": ("(r[t] * delta_h[t]) @ W_hh", "r[t] * (delta_h[t] @ W_hh)"),
        "r is dropped in the gradient": ("(previous(h), r * delta_h)", "(previous(h), delta_h)"),
        "the bias inside is forgotten": (
            "_product(trace.parameters, previous(",
            "_product(trace.parameters._replace(b_hh=None), previous(",
        ),
    },
}
MISTAKES = [("rnn", *item) for item in RNN_MISTAKES.items()]
MISTAKES += [("lstm", *item) for item in LSTM_MISTAKES.items()]
MISTAKES += [(cell, *item) for cell in PLACED for item in (GRU_MISTAKES | PLACED[cell]).items()]


@pytest.mark.parametrize("cell, lines", [pytest.param(c, lines, id=f"{c}: {what}") for c, what, lines in MISTAKES])
def test_a_mistake_is_seen(cell, lines):
    network = case(cell, 7, 3, 3, 3, 5, (2,))  # square weights, so that a forgotten transpose fits
    expected = by_differences(cell, network)
    assert worst(gradients(cell, network), expected) < 1e-9
    mistaken = gradients(cell, network, with_mistake(MODULES[cell], *lines))
    assert worst(mistaken, {name: of for name, of in expected.items() if getattr(mistaken, name) is not None}) > 1e-3


FORWARD_MISTAKES = [
    ("lstm", "two gates are exchanged", ("f[t] * c[t - 1] + i[t] *", "i[t] * c[t - 1] + f[t] *")),
    ("lstm", "two weights are exchanged", ("sigmoid(v @ W_f.T + b_f)", "sigmoid(v @ W_i.T + b_f)")),
    ("lstm", "the state comes last", ("np.concatenate([h[t - 1], x[t]]", "np.concatenate([x[t], h[t - 1]]")),
    ("gru after", "z keeps", ("(1 - z[t]) * h[t - 1] + z[t]", "z[t] * h[t - 1] + (1 - z[t])")),
    ("gru after", "the reset gate in the other place", ('if reset == "before":', 'if reset == "after":')),
    ("gru after", "a missing bias", ("0 if parameters.b_hh is None else parameters.b_hh", "0")),
]


@pytest.mark.parametrize("cell, lines", [pytest.param(c, lines, id=f"{c}: {n}") for c, n, lines in FORWARD_MISTAKES])
def test_a_mistake_in_the_forward_pass_is_seen(cell, lines):
    network = case(cell, 7, 3, 3, 3, 5, (2,))
    expected = by_torch_nn(cell, network)
    assert worst(gradients(cell, network), expected) < 1e-9
    assert worst(gradients(cell, network, with_mistake(MODULES[cell], *lines)), expected) > 1e-3


WIDTH = r"\(hidden_size \+ input_size\)"


@pytest.mark.parametrize(
    "cell, change, says",
    [
        ("rnn", {"W_xh": np.zeros((3, 3))}, r"W_xh has shape \(3, 3\): axis 1 \(input_size\) is 3 and should be 2"),
        ("rnn", {"W_hh": np.zeros((3, 4))}, r"W_hh has shape \(3, 4\): axis 1 \(hidden_size\) is 4 and should be 3"),
        ("rnn", {"W_hh": np.zeros(3)}, r"W_hh has shape \(3,\)"),
        ("rnn", {"W_hy": np.zeros((4, 2))}, r"W_hy has shape \(4, 2\): axis 1 \(hidden_size\) is 2 and should be 3"),
        ("rnn", {"b_h": np.zeros((3, 1))}, r"b_h has shape \(3, 1\); 1 axes are expected: \(hidden_size\)"),
        ("rnn", {"b_y": np.zeros(3)}, r"b_y has shape \(3,\): axis 0 \(vocab_size\) is 3 and should be 4"),
        ("rnn", {"inputs": np.zeros(2)}, r"inputs have shape \(2,\); \(…, time, input_size\)"),
        ("rnn", {"inputs": np.zeros((2, 0, 2))}, "no axis of length 0"),
        (
            "rnn",
            {"targets": np.zeros((2, 4), int)},
            r"targets has shape \(2, 4\): axis 1 \(time\) is 4 and should be 5",
        ),
        ("rnn", {"targets": np.full((2, 5), 4)}, "int64 from 4 to 4; integers from 0 to 3"),
        ("rnn", {"targets": np.zeros((2, 5))}, "float64 from 0.0 to 0.0; integers"),
        ("rnn", {"h_0": np.zeros((3, 3))}, r"h_0 has shape \(3, 3\): axis 0 \(batch\) is 3 and should be 2"),
        ("rnn", {"step_weights": np.ones(4)}, r"step_weights has shape \(4,\): axis 0 \(time\) is 4 and should be 5"),
        ("lstm", {"W_i": np.zeros((3, 4))}, rf"W_i has shape \(3, 4\): axis 1 {WIDTH} is 4 and should be 5"),
        (
            "lstm",
            {"W_o": np.zeros(3)},
            r"W_o has shape \(3,\); 2 axes are expected: \(hidden_size, hidden_size \+ input",
        ),
        ("lstm", {"b_o": np.zeros(4)}, r"b_o has shape \(4,\): axis 0 \(hidden_size\) is 4 and should be 3"),
        ("lstm", {"c_0": np.zeros((2, 4))}, r"c_0 has shape \(2, 4\): axis 1 \(hidden_size\) is 4 and should be 3"),
        ("gru after", {"b_hh": np.zeros(2)}, r"b_hh has shape \(2,\): axis 0 \(hidden_size\) is 2 and should be 3"),
        ("gru before", {"b_hh": np.zeros(3)}, 'with reset="before" nothing uses it; add it to b_h'),
        ("gru before", {"reset": "never"}, "reset is 'never'; it can be one of before, after"),
    ],
)
def test_bad_input_is_named(cell, change, says):
    parameters, inputs, targets, *first = case(cell, 9, 3, 2, 4, 5, (2,))
    arguments = {"inputs": inputs, "targets": targets} | dict(zip(STATES[cell], first, strict=True)) | OPTIONS[cell]
    arguments |= {name: value for name, value in change.items() if name not in parameters._fields}
    weights = {name: value for name, value in change.items() if name in parameters._fields}
    with pytest.raises(ValueError, match=says):
        MODULES[cell].forward(parameters._replace(**weights), **arguments)
