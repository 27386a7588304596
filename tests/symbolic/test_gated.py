"""The gated cells' gradients derived by SymPy equal the code by hand exactly, symbol by symbol, and mistakes show."""

from functools import cache

import numpy as np
import pytest
import sympy as sp

from mistakes import with_mistake
from unrolled import bptt
from unrolled.bptt import path_sizes, relative_error
from unrolled.symbolic import GRU, LSTM, difference
from unrolled.symbolic.polynomials import sigma

CELLS = {"lstm": LSTM, "gru before": GRU, "gru after": lambda *sizes: GRU(*sizes, reset="after")}
MODULES = {"lstm": bptt.lstm, "gru before": bptt.gru, "gru after": bptt.gru}
TWO_UNITS, THREE_STEPS = (2, 1, 2, 2), (1, 1, 2, 3)
TARGETS = [1, 0, 1]


@cache
def network(cell, sizes):
    return CELLS[cell](*sizes)


@cache
def brute(cell, sizes, name):
    return network(cell, sizes).brute(name).as_immutable()


@cache
def by_hand(cell, sizes):
    return MODULES[cell].backward(network(cell, sizes).trace(TARGETS[: sizes[3]]))


def names(cell):
    weights = [name for name in MODULES[cell].Parameters._fields if (cell, name) != ("gru before", "b_hh")]
    return weights + (["h_0", "c_0"] if cell == "lstm" else ["h_0"])


def is_zero(matrix) -> bool:
    return all(entry == 0 for entry in matrix)


def equal(array, matrix) -> bool:
    """Return whether an array of symbols is a matrix, exactly."""
    return is_zero(difference(sp.Matrix(array.reshape(matrix.shape).tolist()), matrix))


def for_targets(cell, sizes, name):
    """Return the brute derivative for the targets of `by_hand`."""
    return brute(cell, sizes, name).xreplace(network(cell, sizes).targets(TARGETS[: sizes[3]]))


@pytest.mark.parametrize("cell, name", [(cell, name) for cell in CELLS for name in names(cell)])
def test_brute_differentiation_the_recursion_and_the_code_by_hand_are_one(cell, name):
    found = network(cell, TWO_UNITS).recursion(name)
    assert is_zero(difference(found, brute(cell, TWO_UNITS, name)))
    assert not is_zero(found) and not found.has(sp.tanh, sigma, sp.exp, sp.log)
    assert equal(getattr(by_hand(cell, TWO_UNITS), name), for_targets(cell, TWO_UNITS, name))


@pytest.mark.parametrize("cell, name", [(cell, name) for cell in CELLS for name in names(cell) if name[0] != "W"])
def test_they_are_one_over_three_steps(cell, name):
    found = network(cell, THREE_STEPS).recursion(name)
    assert is_zero(difference(found, brute(cell, THREE_STEPS, name)))
    assert equal(getattr(by_hand(cell, THREE_STEPS), name), for_targets(cell, THREE_STEPS, name))


def test_they_are_one_for_two_units_over_three_steps():
    sizes = (2, 1, 2, 3)
    found = network("lstm", sizes).recursion("c_0")
    assert is_zero(difference(found, brute("lstm", sizes, "c_0")))
    assert equal(by_hand("lstm", sizes).c_0, for_targets("lstm", sizes, "c_0"))


@pytest.mark.parametrize("cell, name", [("lstm", "b_f"), ("lstm", "c_0"), ("gru before", "b_r"), ("gru after", "b_hh")])
def test_the_double_sum_is_the_same(cell, name):
    assert is_zero(difference(network(cell, TWO_UNITS).double_sum(name), brute(cell, TWO_UNITS, name)))


@pytest.mark.parametrize("cell", CELLS)
def test_the_inputs_and_states_have_the_derivatives_that_the_code_gives_them(cell):
    derived, found = network(cell, TWO_UNITS), by_hand(cell, TWO_UNITS)
    targets = derived.targets(TARGETS[:2])
    assert equal(found.inputs[0], derived.brute("x_1").xreplace(targets))
    states = np.concatenate([found.states, found.cells], axis=1) if cell == "lstm" else found.states
    for t in (1, 2):
        right = derived.state_gradient(t).xreplace(targets)
        if cell == "lstm":  # there c_t is held in the derivative by h_t, and h_t in that by c_t; here only the first
            slope = sp.diag(*(o * (1 - q**2) for o, q in zip(derived.gate("o", t), derived.gate("q", t), strict=True)))
            through = right[:2, :]
            right = sp.Matrix.vstack(through, right[2:, :] + slope * through)
        assert equal(states[t - 1], right)


# the Jacobians


def test_the_lstms_jacobians_are_those_of_the_code():
    derived = network("lstm", (2, 1, 2, 3))
    trace = derived.trace(TARGETS)
    parts, both = bptt.lstm.paths(trace), bptt.lstm.jacobians(trace)
    for t in (1, 2, 3):
        assert equal(sum(parts.values())[t - 1], derived.cell_jacobian(t))
        assert equal(both[t - 1], derived.jacobian(t))


@pytest.mark.parametrize("cell", ["gru before", "gru after"])
def test_the_grus_jacobians_are_those_of_the_code(cell):
    derived = network(cell, (2, 2, 2, 2))
    parts = bptt.gru.paths(derived.trace(TARGETS[:2]))
    for t in (1, 2):
        assert equal(sum(parts.values())[t - 1], derived.jacobian(t))


def test_a_chain_of_cell_states_is_the_derivative_of_a_cell_state_by_its_own_start_only_in_full():
    """c_2 by c_0 is the lower right block of J_2 J_1, not the product of the two blocks."""
    derived = network("lstm", TWO_UNITS)
    right = derived.in_nodes(derived.states[2][2:, :].jacobian(derived.variables("c_0")))
    assert is_zero(difference(derived.product(2, 0)[2:, 2:], right))
    forgets = [sp.diag(*derived.gate("f", t)) for t in (2, 1)]
    assert not is_zero(difference(forgets[0] * forgets[1], right))
    assert is_zero(difference(derived.cell_jacobian(2) * derived.cell_jacobian(1), right))  # h_0 does not depend on c_0


def test_in_a_single_unit_the_paths_can_be_read():
    derived = network("lstm", THREE_STEPS)
    f, i, g, o, q = (derived.gate(name, 2)[0] for name in "figoq")
    o_1, q_1, c_1 = derived.gate("o", 1)[0], derived.gate("q", 1)[0], derived.s[1][1]
    W_f, W_i, W_c = (derived.variables(f"W_{gate}")[0] for gate in "fic")
    gates = c_1 * f * (1 - f) * W_f + g * i * (1 - i) * W_i + i * (1 - g**2) * W_c
    assert is_zero(difference(derived.cell_jacobian(2), sp.Matrix([f + gates * o_1 * (1 - q_1**2)])))


def test_sigma_has_the_derivative_of_what_it_stands_for():
    a = sp.Symbol("a")
    written = 1 / (1 + sp.exp(-a))
    assert sp.simplify(sp.diff(sigma(a), a).subs(sigma(a), written) - sp.diff(written, a)) == 0


# mistakes in the code, seen by symbols
MISTAKES = [
    ("lstm", "two gates are exchanged", ("@ W_f + delta_i[t - 1] @ W_i", "@ W_i + delta_i[t - 1] @ W_f"), "h_0"),
    ("lstm", "the cell path lacks f", ("d_c[t] * f  # eq-lstm-delta-h", "d_c[t]  # eq-lstm-delta-h"), "c_0"),
    ("lstm", "the cell path is forgotten", ("(1 - q * q) + later_c", "(1 - q * q)"), "c_0"),
    ("lstm", "the path through o is forgotten", (" + delta_o[t - 1] @ W_o", ""), "h_0"),
    ("lstm", "W is transposed", ("delta_c[t - 1] @ W_c", "delta_c[t - 1] @ np.c_[W_c[:, :2].T, W_c[:, 2:]]"), "h_0"),
    ("lstm", "the immediate derivative for the total", ("@ W_hy + later_h", "@ W_hy"), "b_f"),
    ("gru before", "1 − z is dropped", ("later = (1 - z) * d_h[t]", "later = d_h[t]"), "h_0"),
    ("gru before", "z for 1 − z", ("later = (1 - z) * d_h[t]", "later = z * d_h[t]"), "h_0"),
    ("gru before", "the other place", ('errors = trace.placement == "before"', "errors = False"), "b_r"),
    ("gru after", "r after the product", ("u = (r * delta_h[t - 1]) @ W_hh", "u = r * (delta_h[t - 1] @ W_hh)"), "h_0"),
    ("gru after", "the immediate derivative for the total", ("parameters.W_hy + later", "parameters.W_hy"), "b_hh"),
]  # fmt: skip


@pytest.mark.parametrize("cell, lines, name", [pytest.param(c, l, n, id=f"{c}: {what}") for c, what, l, n in MISTAKES])
def test_a_mistake_in_the_code_is_seen(cell, lines, name):
    mutant = with_mistake(MODULES[cell], *lines)
    found = mutant.backward(network(cell, TWO_UNITS).trace(TARGETS[:2]))
    assert not equal(getattr(found, name), for_targets(cell, TWO_UNITS, name))


class Untransposed(LSTM):
    """The Jacobian is used where its transpose belongs."""

    def jacobian(self, t):
        return super().jacobian(t).T


class Immediate(LSTM):
    """The immediate derivative of the loss is taken for the total one."""

    def state_gradient(self, t):
        return self.immediate_loss(t) if t > 0 else sp.zeros(*self.s[0].shape)


class Highway(LSTM):
    """Only f leads from cell state to cell state, and nothing leads there from the hidden state."""

    def jacobian(self, t):
        jacobian = super().jacobian(t)
        jacobian[self.hidden :, : self.hidden] = sp.zeros(self.hidden, self.hidden)
        return jacobian


class Carousel(LSTM):
    """The forget gate is missing in the cell path."""

    def jacobian(self, t):
        jacobian = super().jacobian(t)
        jacobian[self.hidden :, self.hidden :] = sp.eye(self.hidden)
        return jacobian


@pytest.mark.parametrize("mistaken", [Untransposed, Immediate, Highway, Carousel])
def test_a_mistake_in_the_derivation_is_seen(mistaken):
    derived = mistaken(*THREE_STEPS)
    assert not is_zero(difference(derived.recursion("b_f"), brute("lstm", THREE_STEPS, "b_f")))


@pytest.mark.parametrize("mistaken", [Highway, Carousel])
def test_two_steps_cannot_see_what_leads_to_the_cell_state(mistaken):
    """The step that makes h_2 takes c_1 itself; ∂c_2/∂s_1 is asked for only if there is a third."""
    derived = mistaken(*TWO_UNITS)
    assert is_zero(difference(derived.recursion("b_f"), brute("lstm", TWO_UNITS, "b_f")))


@pytest.mark.parametrize("cell", ["gru before", "gru after"])
def test_the_other_placement_has_other_derivatives(cell):
    other = {"gru before": "gru after", "gru after": "gru before"}[cell]
    assert not is_zero(difference(network(other, TWO_UNITS).recursion("b_r"), brute(cell, TWO_UNITS, "b_r")))


# running what was derived


@pytest.mark.parametrize("cell", CELLS)
def test_derived_functions_equal_the_code_by_hand(cell):
    h, d, V, T = sizes = (2, 2, 2, 3)
    derived, module, random = network(cell, sizes), MODULES[cell], np.random.default_rng(0)
    weights = {}
    for name in names(cell)[: -len(derived.STATES)]:
        shape = {"W_hy": (V, h), "b_y": (V,)}.get(name, (h, h + d) if name[0] == "W" else (h,))
        weights[name] = random.normal(size=shape)
    states = [random.normal(size=h) for _ in derived.STATES]
    arguments = module.Parameters(**weights), random.normal(size=(T, d)), np.array(TARGETS), *states
    options = {} if cell == "lstm" else {"reset": cell.split()[1]}
    loss, trace = module.forward(*arguments, **options)
    found = module.backward(trace)
    assert derived.function(derived.in_nodes(derived.loss))(*arguments) == pytest.approx(loss, rel=1e-12)
    for name in names(cell):
        values = derived.function(derived.recursion(name))(*arguments)
        right = getattr(found, name)
        assert relative_error(values.reshape(right.shape), right) < 1e-12
    own = sum(module.paths(trace).values())
    for t in (1, 2, 3):
        jacobian = derived.cell_jacobian(t) if cell == "lstm" else derived.jacobian(t)
        values = derived.function(jacobian)(*arguments)
        assert relative_error(values, own[t - 1]) < 1e-12
        assert np.linalg.norm(values, 2) == pytest.approx(path_sizes(module.paths(trace))["all"][t - 1])


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="reset is 'never'; it can be one of before, after"):
        GRU(reset="never")
    with pytest.raises(ValueError, match="'b_hh' is not in this network; it has W_z, W_r"):
        network("gru before", THREE_STEPS).brute("b_hh")
    with pytest.raises(ValueError, match="steps is 5; it can be 1 to 4"):
        LSTM(steps=5)
    run = network("lstm", THREE_STEPS).function(sp.Integer(1))
    weights = bptt.lstm.Parameters(*[np.zeros((1, 3))] * 4, *[np.zeros(1)] * 4, np.zeros((2, 1)), np.zeros(2))
    with pytest.raises(ValueError, match=r"have shapes \[\(1, 3\).* this network was derived for \[\(1, 2\)"):
        run(weights, np.zeros((3, 2)), np.zeros(3, int))
