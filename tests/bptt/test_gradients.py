"""The gradients by hand equal autograd's, PyTorch's own cells' and differences'."""

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
from unrolled.bptt import output_errors, relative_error

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
    """Row t belongs to step t, and what has no step 0 is zero there, so that sums over all rows are right."""
    network = case(cell, 3, 4, 2, 5, 6, (3,))
    _, trace = MODULES[cell].forward(*network, **OPTIONS[cell])
    assert np.array_equal(trace.x[2], network[1][:, 1]) and np.array_equal(trace.y[2].argmax(axis=-1), network[2][:, 1])
    states = [name[0] for name in STATES[cell]]
    passed = MODULES[cell].backward(trace)
    for name, first in zip(states, network[3:], strict=True):
        assert np.array_equal(getattr(trace, name)[0], first)
        assert np.array_equal(getattr(passed, name)[0], getattr(passed, f"{name}_0"))
    paths = {} if cell == "rnn" else MODULES[cell].paths(trace)
    by_step = {name: array for name, array in arrays(trace).items() if name not in states}
    for array in [*by_step.values(), passed.x, output_errors(trace), *paths.values()]:
        assert len(array) == 7 and not array[0].any() and array[1:].any()


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
    assert all(np.array_equal(by_default[name], from_zeros[name]) for name in from_zeros)
    small = MODULES[cell].Parameters(*(None if w is None else w.astype(np.float32) for w in network[0]))
    in_float32 = gradients(cell, (small, network[1].astype(np.float32), network[2]))
    assert {gradient.dtype for gradient in arrays(in_float32).values()} == {np.dtype(np.float32)}
    whole = MODULES[cell].Parameters(*(None if w is None else np.ones_like(w, dtype=int) for w in network[0]))
    assert gradients(cell, (whole, np.ones((5, 2), dtype=int), network[2][0, :5])).W_hy.dtype == float


@pytest.mark.parametrize(
    "cell, change, says",
    [
        ("rnn", {"inputs": np.zeros(2)}, r"inputs have shape \(2,\) and targets \(2, 5\); \(…, time, input_size\)"),
        ("lstm", {"targets": np.zeros(5, int)}, r"inputs have shape \(2, 5, 2\) and targets \(5,\)"),
        ("rnn", {"targets": np.full((2, 5), 4)}, "targets run from 4 to 4; W_hy has 4 rows, from 0"),
        ("gru after", {"targets": np.full((2, 5), -1)}, "targets run from -1 to -1"),
        ("gru before", {"b_hh": np.zeros(3)}, 'with reset="before" nothing uses it; add it to b_h'),
        ("gru before", {"reset": "never"}, "reset is 'never'; it can be one of before, after"),
        ("rnn", {"truncate": 0}, "truncate is 0; it must be 1 or more"),
    ],
)
def test_what_would_be_silent_and_wrong_is_refused(cell, change, says):
    parameters, inputs, targets, *_ = case(cell, 9, 3, 2, 4, 5, (2,))
    arguments = {"inputs": inputs, "targets": targets} | OPTIONS[cell] | change
    weights = {name: arguments.pop(name) for name in change if name in parameters._fields}
    truncate = {"truncate": arguments.pop("truncate")} if "truncate" in change else {}
    with pytest.raises(ValueError, match=says):
        MODULES[cell].backward(MODULES[cell].forward(parameters._replace(**weights), **arguments)[1], **truncate)
