"""Where the reset gate acts, and the Jacobians of the gated cells: their paths add up to autograd's."""

import numpy as np
import pytest
import torch

from by_hand import CELLS, MODULES, OPTIONS, case, gradients, tensors, torch_step, worst
from unrolled import bptt
from unrolled.bptt import path_sizes, relative_error

GATED = CELLS[1:]


def test_the_bias_inside_the_reset_gate_may_be_left_out():
    parameters, *data = case("gru after", 3, 3, 2, 3, 5)
    without, zero = (gradients("gru after", (parameters._replace(b_hh=b), *data)) for b in (None, np.zeros(3)))
    assert worst(without, {name: getattr(zero, name) for name in (*parameters._fields, "h_0")}) == 0


# the Jacobians and their paths


def trace_of(cell, seed=5, h=4, T=6, lead=()):
    network = case(cell, seed, h, 3, 3, T, lead)
    return network, MODULES[cell].forward(*network, **OPTIONS[cell])[1]


def step_jacobians(cell, network, trace):
    """Return the Jacobian of the whole state after step t with respect to that before it, at [t], by autograd."""
    w, x = tensors(network[0], trace.x)
    size = trace.h.shape[-1]

    def step(stacked, t):
        return torch.cat(torch_step(cell, w, x[t], stacked.split(size)))

    stacked = torch.tensor(np.concatenate([trace.h, trace.c], axis=-1) if cell == "lstm" else trace.h)
    steps = range(1, len(x))
    jacobians = [torch.autograd.functional.jacobian(lambda s, t=t: step(s, t), stacked[t - 1]) for t in steps]
    return np.insert(np.stack(jacobians), 0, np.nan, axis=0)


@pytest.mark.parametrize("seed", range(3))
def test_the_paths_of_the_cell_state_add_up_to_autograds_jacobian(seed):
    network, trace = trace_of("lstm", seed)
    parts, (w, x) = bptt.lstm.paths(trace), tensors(network[0], trace.x)
    for t in range(2, 7):  # the first step, whose h_0 is given, comes below
        held = torch.tensor(trace.o[t - 1])
        right = torch.autograd.functional.jacobian(
            lambda c, t=t, held=held: torch_step("lstm", w, x[t], (held * torch.tanh(c), c))[1],
            torch.tensor(trace.c[t - 1]),
        )
        assert relative_error(sum(parts.values())[t], right.numpy()) < 1e-12
    assert all(not parts[gate][1].any() for gate in ("forget", "input", "candidate"))
    assert relative_error(parts["direct"][1], step_jacobians("lstm", network, trace)[1][4:, 4:]) < 1e-12


GATES = {"forget": "f", "input": "i", "candidate": "c"}


@pytest.mark.parametrize("gate", GATES)
def test_a_path_is_what_is_lost_when_its_gate_no_longer_listens_to_the_hidden_state(gate):
    """The path through a gate is 0 if its weights for h_{t−1} are, the argument being what it was."""
    network, trace = trace_of("lstm")
    name, letter = f"W_{GATES[gate]}", GATES[gate]
    parts, (w, x) = bptt.lstm.paths(trace), tensors(network[0], trace.x)
    t, held = 4, torch.tensor(trace.o[3])
    deaf = w[name].detach().clone()
    deaf[:, :4] = 0
    bias = w[f"b_{letter}"] + w[name][:, :4] @ torch.tensor(trace.h[t - 1])
    deafened = w | {name: deaf, f"b_{letter}": bias}
    right = torch.autograd.functional.jacobian(
        lambda c: torch_step("lstm", deafened, x[t], (held * torch.tanh(c), c))[1], torch.tensor(trace.c[t - 1])
    )
    others = sum(path for other, path in parts.items() if other != gate)[t]
    assert relative_error(others, right.numpy()) < 1e-12 and np.linalg.norm(parts[gate][t]) > 1e-3


@pytest.mark.parametrize("cell", GATED[1:])
@pytest.mark.parametrize("seed", range(3))
def test_the_grus_paths_add_up_to_autograds_jacobian(cell, seed):
    network, trace = trace_of(cell, seed)
    parts, right = bptt.gru.paths(trace), step_jacobians(cell, network, trace)
    assert relative_error(sum(parts.values())[1:], right[1:]) < 1e-12
    parameters, size = network[0], 4
    for path, name in {"update": "W_z", "reset": "W_r"}.items():  # each is 0 if its gate does not listen to the state
        W = getattr(parameters, name).copy()
        W[:, :size] = 0
        changed = bptt.Trace(**vars(trace) | {"parameters": parameters._replace(**{name: W})})
        deaf = bptt.gru.paths(changed)
        assert not deaf[path][1:].any() and parts[path][1:].any()
        assert all(np.array_equal(deaf[other], parts[other], equal_nan=True) for other in parts if other != path)


@pytest.mark.parametrize("cell", GATED)
def test_sizes_are_largest_singular_values(cell):
    _, trace = trace_of(cell, lead=(2,))
    parts = MODULES[cell].paths(trace)
    sizes = path_sizes(parts)
    for name, matrices in (parts | {"all": sum(parts.values())}).items():
        assert relative_error(sizes[name], np.linalg.svd(matrices, compute_uv=False)[..., 0]) < 1e-12
    gate = trace.f if cell == "lstm" else 1 - trace.z
    assert relative_error(sizes["direct"][1:], gate[1:].max(axis=-1)) < 1e-12  # of a diagonal matrix
