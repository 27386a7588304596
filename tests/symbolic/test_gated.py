"""The gated cells' gradients derived by SymPy equal the code by hand exactly, symbol by symbol."""

from functools import cache

import numpy as np
import pytest
import sympy as sp

from by_hand import CELLS as ALL_CELLS
from by_hand import MODULES, OPTIONS, STATES, case
from by_symbols import equal
from unrolled import bptt
from unrolled.symbolic import GRU, LSTM, Network
from unrolled.symbolic.polynomials import sigma, symbol_matrix

CELLS = {"lstm": LSTM, "gru before": GRU, "gru after": lambda *sizes: GRU(*sizes, reset="after")}
TWO_UNITS, THREE_STEPS = (2, 1, 2, 2), (1, 1, 2, 3)


@cache
def network(cell, sizes):
    return CELLS[cell](*sizes)


@cache
def by_hand(cell, sizes):
    return MODULES[cell].backward(network(cell, sizes).trace())


def names(cell):
    weights = [name for name in MODULES[cell].Parameters._fields if (cell, name) != ("gru before", "b_hh")]
    return weights + (["h_0", "c_0"] if cell == "lstm" else ["h_0"])


SMALL = [(cell, (1, 1, 2, 2), name) for cell in CELLS for name in names(cell)]
LARGE = [("lstm", "W_f"), ("lstm", "c_0"), ("gru before", "W_h"), ("gru after", "b_hh")]


@pytest.mark.parametrize("cell, sizes, name", SMALL + [(cell, TWO_UNITS, name) for cell, name in LARGE])
def test_brute_differentiation_the_recursion_the_double_sum_and_the_code_by_hand_are_one(cell, sizes, name):
    derived, brute = network(cell, sizes), network(cell, sizes).brute(name)
    assert any(brute) and not brute.has(sp.tanh, sigma, sp.exp, sp.log)
    assert equal(derived.recursion(name), brute) and equal(derived.double_sum(name), brute)
    assert equal(getattr(by_hand(cell, sizes), name), brute)


@pytest.mark.parametrize("cell, name", [("lstm", "b_f"), ("gru before", "b_r"), ("gru after", "b_r")])
def test_they_are_one_over_three_steps(cell, name):
    assert equal(getattr(by_hand(cell, THREE_STEPS), name), network(cell, THREE_STEPS).recursion(name))


@pytest.mark.parametrize("cell", CELLS)
def test_the_inputs_and_states_have_the_derivatives_that_the_code_gives_them(cell):
    derived, gradients = network(cell, TWO_UNITS), by_hand(cell, TWO_UNITS)
    assert equal(gradients.x[1], derived.brute("x_1"))
    states = np.concatenate([gradients.h, gradients.c], axis=1) if cell == "lstm" else gradients.h
    for t in (1, 2):
        right = derived.state_gradient(t)
        if cell == "lstm":  # SymPy's derivative in c_t holds h_t fixed; the code's includes the path through h_t
            slope = sp.diag(*slopes(derived, t))
            through = right[:2, :]
            right = sp.Matrix.vstack(through, right[2:, :] + slope * through)
        assert equal(states[t], right)


# the Jacobians


def gate(derived, name, t):
    """Return the symbols of a gate or candidate at step t, hidden × 1."""
    return symbol_matrix(f"{name}_{t}", derived.hidden)


def slopes(derived, t):
    """Return o_t ⊙ (1 − tanh²(c_t)), the derivative of h_t in c_t with o_t fixed, hidden × 1."""
    return gate(derived, "o", t).multiply_elementwise(gate(derived, "tanh_c", t).applyfunc(lambda q: 1 - q**2))


def cell_jacobian(derived, t):
    """Return ∂c_t/∂c_{t−1} in full, from the whole state's: also through h_{t−1}, with o_{t−1} fixed, if t > 1."""
    h, jacobian = derived.hidden, derived.jacobian(t)
    by_h, by_c = jacobian[h:, :h], jacobian[h:, h:]
    return by_c if t == 1 else by_c + by_h * sp.diag(*slopes(derived, t - 1))


def test_the_paths_of_the_lstms_cell_state_add_up_to_its_jacobian():
    derived = network("lstm", TWO_UNITS)
    parts = bptt.lstm.paths(derived.trace())
    for t in (1, 2):
        assert equal(sum(parts.values())[t], cell_jacobian(derived, t))


@pytest.mark.parametrize("cell", ["gru before", "gru after"])
def test_the_grus_jacobians_are_those_of_the_code(cell):
    derived = network(cell, (2, 2, 2, 2))
    parts = bptt.gru.paths(derived.trace())
    for t in (1, 2):
        assert equal(sum(parts.values())[t], derived.jacobian(t))


def test_in_a_single_unit_the_paths_can_be_read():
    derived = network("lstm", THREE_STEPS)
    f, i, c_tilde = (gate(derived, name, 2)[0] for name in ("f", "i", "c_tilde"))
    c_1 = derived.state[1][1]
    W_f, W_i, W_c = (derived.variables(f"W_{gate}")[0] for gate in "fic")
    gates = c_1 * f * (1 - f) * W_f + c_tilde * i * (1 - i) * W_i + i * (1 - c_tilde**2) * W_c
    assert equal(cell_jacobian(derived, 2), sp.Matrix([f + gates * slopes(derived, 1)[0]]))


def test_sigma_has_the_derivative_of_what_it_stands_for():
    a = sp.Symbol("a")
    written = 1 / (1 + sp.exp(-a))
    assert sp.simplify(sp.diff(sigma(a), a).subs(sigma(a), written) - sp.diff(written, a)) == 0


# the loss


@pytest.mark.parametrize("cell", ALL_CELLS)
def test_the_loss_is_that_of_the_forward_pass_by_hand(cell):
    parameters, inputs, targets, *states = arguments = case(cell, 0, 2, 1, 2, 2)
    derived = Network(*TWO_UNITS) if cell == "rnn" else network(cell, TWO_UNITS)
    values = {name: weight for name, weight in parameters._asdict().items() if weight is not None}
    values |= dict(zip(STATES[cell], states, strict=True)) | {f"x_{t}": inputs[t - 1] for t in derived.x}
    symbols = [(derived.variables(name), value) for name, value in values.items()]
    symbols += [(derived.y[t], np.eye(2)[targets[t - 1]]) for t in derived.y]
    numbers = {s: v for matrix, value in symbols for s, v in zip(matrix, np.ravel(value), strict=True)}
    loss = sp.lambdify(list(numbers), derived.loss, [{"sigma": bptt.sigmoid}, "numpy"])
    assert loss(*numbers.values()) == pytest.approx(MODULES[cell].forward(*arguments, **OPTIONS[cell])[0], rel=1e-12)


def test_an_unknown_place_of_the_reset_gate_is_named():
    with pytest.raises(ValueError, match="reset is 'never'; it can be one of before, after"):
        GRU(reset="never")
