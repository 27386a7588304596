"""Three derivations by SymPy agree exactly, the proofs hold for any number of steps, and mistakes break both."""

import numpy as np
import pytest
import sympy as sp

from unrolled import bptt, symbolic
from unrolled.bptt import relative_error
from unrolled.symbolic import Network, difference
from unrolled.symbolic.proofs import F, J, X, g, t

NAMES = ["W_xh", "W_hh", "W_hy", "b_h", "b_y", "h_0"]
ACTIVATIONS = ["tanh", "sigmoid", "identity"]
transpose = sp.transpose


def is_zero(matrix: sp.Matrix) -> bool:
    return all(entry == 0 for entry in matrix)


def agree(network: Network, name: str) -> tuple[bool, bool]:
    """Return whether the recursion and the double sum each equal the brute derivative, exactly."""
    brute = network.brute(name)
    return tuple(is_zero(difference(way(name), brute)) for way in (network.recursion, network.double_sum))


@pytest.mark.parametrize("name", [*NAMES, "x_1"])
def test_three_ways_are_one(name):
    assert agree(Network(2, 2, 3, 3), name) == (True, True)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("activation", ACTIVATIONS[1:])
def test_three_ways_are_one_for_other_activations(activation, name):
    assert agree(Network(2, 1, 2, 3, activation), name) == (True, True)


@pytest.mark.parametrize(
    "network",
    [Network(), Network(steps=4, symbols=3), Network(2, 1, 2, 4), Network(3, 3, 3, 2), Network(1, 1, 1, 1)],
    ids=["scalar", "scalar, four steps", "four steps", "all of length three", "one of everything"],
)
def test_three_ways_are_one_at_other_sizes(network):
    assert agree(network, "W_hh") == (True, True)


def test_three_ways_are_one_for_any_weights_of_the_steps():
    network = Network(2, 1, 2, 3, step_weights=[0, 0.5, 2])
    assert network.c == {1: 0, 2: sp.Rational(1, 2), 3: 2}
    assert agree(network, "W_hh") == (True, True)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_nothing_is_left_written_out(activation):
    network = Network(2, 1, 2, 3, activation)
    assert network.loss.has(sp.exp) and network.loss.has(sp.log)
    for name in NAMES:
        assert not sp.ImmutableMatrix(network.brute(name)).has(sp.tanh, sp.exp, sp.log)
    gradient = network.brute("W_hh")
    assert is_zero(difference(network.in_nodes(network.written_out(gradient)), gradient))


@pytest.mark.parametrize("name", NAMES)
def test_the_total_derivative_of_a_state_is_its_derivative(name):
    network = Network(2, 1, 2, 3)
    variables = network.variables(name)
    by = variables.reshape(len(variables), 1)
    for step in range(4):
        brute = network.in_nodes(network.states[step].jacobian(by))
        assert is_zero(difference(network.total(name, step), brute))
    immediate = network.immediate(name, 2)
    if name in ("W_xh", "W_hh", "b_h"):  # both are there, and they differ
        assert not is_zero(immediate) and not is_zero(difference(immediate, network.total(name, 2)))


def test_the_product_of_jacobians_is_the_derivative_of_a_state_by_another():
    network = Network(2, 1, 2, 3)
    for last in range(4):  # ∂h_last/∂h_0
        assert is_zero(
            difference(network.product(last, 0), network.in_nodes(network.states[last].jacobian(network.h[0])))
        )
    h_2 = network.h[2]
    W = network.parameters.W_hh
    assert network.jacobian(2) == sp.diag(*(1 - h_i**2 for h_i in h_2)) * W
    assert Network(2, 1, 2, 3, "sigmoid").slope(1)[0] == sp.expand(sp.Symbol("h_1_1") * (1 - sp.Symbol("h_1_1")))


def test_delta_is_the_derivative_by_the_bias_of_one_step():
    network = Network(2, 1, 2, 3)
    assert is_zero(difference(sum((network.delta(s) for s in (1, 2, 3)), sp.zeros(2, 1)), network.brute("b_h")))
    assert is_zero(difference(network.parameters.W_xh.T * network.delta(2), network.brute("x_2")))


# mistakes


class Dropped(Network):
    """φ′ is dropped."""

    def jacobian(self, t):
        return self.parameters.W_hh

    def immediate(self, name, t):
        undone = sp.diag(*(1 / slope for slope in self.slope(t))) if t else sp.eye(self.hidden)
        return undone * super().immediate(name, t)


class Untransposed(Network):
    """The Jacobian is used where its transpose belongs."""

    def state_gradient(self, t):
        own = self.immediate_loss(t) if t > 0 else sp.zeros(*self.h[0].shape)
        return own if t == self.steps else own + self.jacobian(t + 1) * self.state_gradient(t + 1)

    def product(self, t, k):
        return super().product(t, k).T


class Reversed(Network):
    """The Jacobians are multiplied in the order of time: J_{k+1} ⋯ J_t."""

    def product(self, t, k):
        result = sp.eye(self.h[0].rows)
        for step in range(k + 1, t + 1):
            result = result * self.jacobian(step)
        return result


class Immediate(Network):
    """The immediate derivative of the loss or state is taken for the total one."""

    def state_gradient(self, t):
        return self.immediate_loss(t) if t > 0 else sp.zeros(*self.h[0].shape)

    def product(self, t, k):
        return super().product(t, k) if t == k else sp.zeros(self.h[0].rows)


@pytest.mark.parametrize("mistaken", [Dropped, Untransposed, Immediate])
@pytest.mark.parametrize("name", ["W_hh", "b_h", "h_0"])
def test_a_mistake_breaks_both(mistaken, name):
    assert agree(mistaken(2, 1, 2, 3), name) == (False, False)


@pytest.mark.parametrize("name", ["W_hh", "b_h", "h_0"])
def test_the_reversed_product_breaks_the_double_sum(name):
    assert agree(Reversed(2, 1, 2, 3), name) == (True, False)


@pytest.mark.parametrize(
    "mistaken, blind",
    [
        (Reversed, {"hidden": 1}),  # numbers commute
        (Untransposed, {"hidden": 1}),
        (Reversed, {"steps": 2}),  # one factor has no order
        (Reversed, {"activation": "identity"}),  # every factor is W_hh
        (Dropped, {"activation": "identity"}),
    ],
)
def test_some_networks_cannot_see_a_mistake(mistaken, blind):
    sizes = {"hidden": 2, "inputs": 1, "symbols": 2, "steps": 3} | blind
    assert agree(mistaken(**sizes), "W_hh") == (True, True)


def test_from_a_zero_state_three_steps_cannot_see_the_order_in_the_recurrent_weights():
    network = Reversed(2, 1, 2, 3)
    zero = dict.fromkeys(network.h[0], 0)
    wrong = difference(network.double_sum("W_hh"), network.brute("W_hh"))
    assert not is_zero(wrong) and is_zero(wrong.subs(zero))


# running what was derived


@pytest.mark.parametrize(
    "sizes, activation",
    [((1, 1, 3, 4), activation) for activation in ACTIVATIONS]
    + [((2, 1, 2, 4), "tanh"), ((2, 2, 2, 3), "sigmoid"), ((2, 2, 2, 4), "identity")],
)
def test_derived_functions_equal_the_code_by_hand(sizes, activation):
    h, d, V, T = sizes
    network = Network(*sizes, activation)
    random = np.random.default_rng(0)
    shapes = [(h, d), (h, h), (V, h), h, V]
    arguments = (
        bptt.rnn.Parameters(*(random.normal(size=shape) for shape in shapes)),
        random.normal(size=(T, d)),
        random.integers(0, V, size=T),
        random.normal(size=h),
    )
    loss, trace = bptt.rnn.forward(*arguments, activation=activation)
    by_hand = bptt.rnn.backward(trace)
    assert network.function(network.loss)(*arguments) == pytest.approx(loss, rel=1e-12)
    derived = {
        "W_xh": (network.recursion("W_xh"), by_hand.W_xh),
        "W_hh": (network.brute("W_hh"), by_hand.W_hh),
        "W_hy": (network.brute("W_hy"), by_hand.W_hy),
        "b_h": (network.double_sum("b_h"), by_hand.b_h),
        "b_y": (network.double_sum("b_y"), by_hand.b_y),
        "h_0": (network.recursion("h_0"), by_hand.h_0),
        "x_2": (network.double_sum("x_2"), by_hand.inputs[1]),
        "h_1": (network.state_gradient(1), by_hand.states[0]),
        "the state": (network.states[2], trace.states[2]),
    }
    for expression, right in derived.values():
        values = network.function(expression)(*arguments)
        assert values.shape == expression.shape
        assert relative_error(values.reshape(right.shape), right) < 1e-9


# proofs for any number of steps


def left(proof: dict) -> list[str]:
    """Return the parts of a proof that did not come to 0."""
    return [part for part, remainder in proof.items() if remainder != 0]


def test_the_closed_forms_are_proved_by_induction():
    assert left(symbolic.proofs.prove_backward()) == []
    assert left(symbolic.proofs.prove_forward()) == []
    assert left(symbolic.proofs.prove_same()) == []


@pytest.mark.parametrize(
    "recursion, parts",
    [
        (lambda own, jacobian, later: own + jacobian * later, ["step"]),  # a forgotten transpose
        (lambda own, jacobian, later: own + later * transpose(jacobian), ["step"]),  # a reversed product
        (lambda own, jacobian, later: own + later, ["step"]),  # a dropped factor
        (lambda own, jacobian, later: own, ["step"]),  # the immediate derivative for the total
        (lambda own, jacobian, later: own - transpose(jacobian) * later, ["step"]),
        (lambda own, jacobian, later: transpose(jacobian) * later, ["beginning", "step"]),
    ],
)
def test_a_false_recursion_is_not_proved(recursion, parts):
    assert left(symbolic.proofs.prove_backward(recursion)) == parts
    assert "between" in left(symbolic.proofs.prove_same(backward=recursion))


@pytest.mark.parametrize(
    "recursion, parts",
    [
        (lambda own, jacobian, earlier: own + transpose(jacobian) * earlier, ["step"]),
        (lambda own, jacobian, earlier: own + earlier * jacobian, ["step"]),
        (lambda own, jacobian, earlier: own + earlier, ["step"]),
        (lambda own, jacobian, earlier: own, ["step"]),
        (lambda own, jacobian, earlier: jacobian * earlier, ["beginning", "step"]),
    ],
)
def test_a_false_total_derivative_is_not_proved(recursion, parts):
    assert left(symbolic.proofs.prove_forward(recursion)) == parts
    assert "between" in left(symbolic.proofs.prove_same(forward=recursion))


def test_what_is_left_says_what_is_missing():
    missing = symbolic.proofs.prove_same(backward=lambda own, jacobian, later: own)["between"]
    assert missing == transpose(X(t)) * transpose(J(t + 1)) * symbolic.proofs.D(t + 1)
    assert not any(symbol.is_commutative for symbol in (F(t), g(t), X(t), J(t)))


# the linear network


def test_without_a_nonlinearity_the_product_is_a_power():
    network = Network(3, 1, 2, 4, "identity")
    for last in range(5):
        for first in range(last + 1):
            power = network.parameters.W_hh ** (last - first)
            assert is_zero(difference(network.product(last, first), power))


a, b, c, d, l = sp.symbols("a b c d lambda", nonzero=True)
HALF = sp.Rational(1, 2)
MATRICES = {
    "any 2 × 2": sp.Matrix([[a, b], [c, d]]),
    "symmetric": sp.Matrix([[a, b], [b, a]]),
    "rotation": sp.Matrix([[3, -4], [4, 3]]) / 5,
    "irrational": sp.Matrix([[1, 1], [1, 0]]),
    "singular": sp.Matrix([[1, 2], [2, 4]]),
    "any defective 2 × 2": sp.Matrix([[l + a * b, a**2], [-(b**2), l - a * b]]),
    "Jordan block": sp.Matrix([[l, 1, 0], [0, l, 1], [0, 0, l]]),
    "block and number": sp.Matrix([[HALF, 1, 0], [0, HALF, 0], [0, 0, 2]]),
}


@pytest.mark.parametrize("kind", MATRICES)
def test_a_power_is_proved_by_induction(kind):
    matrix = MATRICES[kind]
    claim = symbolic.proofs.power(matrix)
    assert all(is_zero(remainder) for remainder in symbolic.proofs.prove_power(matrix, claim).values())
    assert is_zero(
        (claim.subs(symbolic.proofs.n, 3) - matrix**3).applyfunc(lambda x: sp.numer(sp.together(sp.expand(x))).expand())
    )


def test_a_defective_matrix_has_a_factor_n():
    n = symbolic.proofs.n
    block = sp.Matrix([[l, 1], [0, l]])
    assert symbolic.proofs.power(block) == sp.Matrix([[l**n, n * l ** (n - 1)], [0, l**n]])
    without = sp.Matrix([[l**n, l ** (n - 1)], [0, l**n]])
    proof = symbolic.proofs.prove_power(block, without)
    assert not is_zero(proof["beginning"]) and not is_zero(proof["step"])


def test_a_false_power_is_not_proved():
    n = symbolic.proofs.n
    matrix = MATRICES["symmetric"]
    right = symbolic.proofs.power(matrix)
    proof = symbolic.proofs.prove_power(matrix, right.subs(n, n + 1))  # grows as it should, but begins too high
    assert not is_zero(proof["beginning"]) and is_zero(proof["step"])
    proof = symbolic.proofs.prove_power(matrix, right.subs(n, 2 * n))  # begins as it should, but grows too fast
    assert is_zero(proof["beginning"]) and not is_zero(proof["step"])


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: Network(4), "hidden is 4; it can be 1 to 3"),
        (lambda: Network(steps=5), "steps is 5; it can be 1 to 4"),
        (lambda: Network(activation="relu"), "'relu'; it can be one of tanh, sigmoid, identity"),
        (lambda: Network(steps=2, step_weights=[1]), "1 step_weights for 2 steps"),
        (lambda: Network().brute("W"), "'W' is not in this network; it has W_xh, W_hh"),
        (lambda: Network().product(1, 2), "t is 1 and k is 2; 0 ≤ k ≤ t ≤ 3"),
        (lambda: difference(sp.eye(2), sp.eye(3)), r"the shapes are \(2, 2\) and \(3, 3\)"),
        (lambda: symbolic.proofs.power(sp.ones(2, 3)), r"shape \(2, 3\); only a square one"),
        (lambda: symbolic.proofs.power(sp.Matrix([[0, 1], [0, 0]])), "eigenvalue 0 in a block of 2"),
    ],
)
def test_bad_input_is_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_arrays_of_other_sizes_are_named():
    run = Network(2, 1, 2, 3).function(sp.Integer(1))
    weights = bptt.rnn.Parameters(*(np.zeros(shape) for shape in [(3, 1), (3, 3), (2, 3), 3, 2]))
    with pytest.raises(
        ValueError, match=r"this network was derived for \[\(2, 1\), \(2, 2\), \(2, 2\), \(2,\), \(2,\)\] and 3"
    ):
        run(weights, np.zeros((3, 1)), np.zeros(3, int))
