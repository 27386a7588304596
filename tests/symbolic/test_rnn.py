"""Three derivations by SymPy and the code by hand agree exactly, and mistakes break the agreement."""

from functools import cache

import pytest
import sympy as sp

from by_symbols import equal
from unrolled import bptt
from unrolled.symbolic import Network, difference

NAMES = ["W_xh", "W_hh", "W_hy", "b_h", "b_y", "h_0"]
MATRICES = 2, 1, 2, 3  # sizes at which no two factors commute


@cache
def brute(name: str) -> sp.Matrix:
    """Return the brute derivative at the sizes of `MATRICES`, which none of the mistakes below changes."""
    return Network(*MATRICES).brute(name)


def agree(network: Network, name: str, right: sp.Matrix | None = None) -> tuple[bool, bool]:
    """Return whether the recursion and the double sum each equal the brute derivative, exactly."""
    right = network.brute(name) if right is None else right
    return equal(network.recursion(name), right), equal(network.double_sum(name), right)


@pytest.mark.parametrize("name", [*NAMES, "x_1"])
def test_three_ways_are_one(name):
    assert agree(by_hand()[0], name) == (True, True)


@pytest.mark.parametrize("sizes", [(), (1, 1, 3, 4), (2, 1, 2, 4), (3, 3, 3, 2), (1, 1, 1, 1)])
def test_three_ways_are_one_at_other_sizes(sizes):
    assert agree(Network(*sizes), "W_hh") == (True, True)


def test_three_ways_are_one_for_any_weights_of_the_steps():
    network = Network(*MATRICES, step_weights=[0, 0.5, 2])
    assert network.step_weights == {1: 0, 2: sp.Rational(1, 2), 3: 2}
    assert agree(network, "W_hh") == (True, True)


@cache
def by_hand() -> tuple[Network, bptt.Trace, bptt.Gradients]:
    network = Network(2, 2, 3, 3)
    trace = network.trace()
    return network, trace, bptt.rnn.backward(trace)


@pytest.mark.parametrize("name", NAMES)
def test_the_code_by_hand_gives_the_same_on_symbols(name):
    network, _, gradients = by_hand()
    assert equal(getattr(gradients, name), network.recursion(name))


def test_the_code_by_hand_gives_the_same_for_inputs_states_and_the_terms_of_the_double_sum():
    network, trace, gradients = by_hand()
    for t in (1, 2, 3):
        assert equal(gradients.x[t], network.recursion(f"x_{t}"))
        assert equal(gradients.h[t], network.state_gradient(t))
    terms = bptt.rnn.double_sum(trace)
    for t, s in ((3, 1), (3, 3)):
        term = (network.product(t, s) * network.immediate("W_hh", s)).T * network.immediate_loss(t)
        assert equal(terms[t, s].reshape(-1), term)


def test_nothing_is_left_written_out():
    network = Network(*MATRICES)
    assert network.loss.has(sp.exp) and network.loss.has(sp.log)
    for name in NAMES:
        assert not sp.ImmutableMatrix(brute(name)).has(sp.tanh, sp.exp, sp.log)
    gradient = brute("W_hh")
    assert equal(network.in_nodes(network.written_out(gradient)), gradient)


@pytest.mark.parametrize("name", NAMES)
def test_the_immediate_derivatives_and_the_products_add_up_to_the_derivative_of_a_state(name):
    network = Network(*MATRICES)
    variables = network.variables(name)
    column = variables.reshape(len(variables), 1)
    for step in range(4):
        brute = network.in_nodes(network.written_out(network.state[step]).jacobian(column))
        paths = [network.product(step, s) * network.immediate(name, s) for s in range(step + 1)]
        assert equal(sum(paths, sp.zeros(*brute.shape)), brute)
    if name in ("W_xh", "W_hh", "b_h"):  # both are there, and they differ
        assert any(network.immediate(name, 2)) and any(network.product(2, 1) * network.immediate(name, 1))


def test_the_product_of_jacobians_is_the_derivative_of_a_state_with_respect_to_another():
    network = Network(*MATRICES)
    for last in range(4):  # ∂h_last/∂h_0
        derivative = network.written_out(network.state[last]).jacobian(network.state[0])
        assert equal(network.product(last, 0), network.in_nodes(derivative))
    assert network.jacobian(2) == sp.diag(*(1 - h_i**2 for h_i in network.state[2])) * network.parameters.W_hh


def test_delta_is_the_gradient_of_one_steps_bias():
    network = Network(*MATRICES)
    delta = {
        t: network.state[t].applyfunc(lambda h: 1 - h**2).multiply_elementwise(network.state_gradient(t))
        for t in (1, 2, 3)
    }
    assert equal(sum(delta.values(), sp.zeros(2, 1)), network.brute("b_h"))
    assert equal(network.parameters.W_xh.T * delta[2], network.brute("x_2"))


# mistakes


class Dropped(Network):
    """tanh′ is dropped."""

    def jacobian(self, t):
        return self.parameters.W_hh

    def immediate(self, name, t):
        undone = sp.diag(*(1 / (1 - h_i**2) for h_i in self.state[t])) if t else sp.eye(self.hidden)
        return undone * super().immediate(name, t)


class Untransposed(Network):
    """The Jacobian is used where its transpose belongs."""

    def state_gradient(self, t):
        own = self.immediate_loss(t) if t > 0 else sp.zeros(*self.state[0].shape)
        return own if t == self.steps else own + self.jacobian(t + 1) * self.state_gradient(t + 1)

    def product(self, t, s):
        return super().product(t, s).T


class Reversed(Network):
    """The Jacobians are multiplied in the order of time: J_{s+1} ⋯ J_t."""

    def product(self, t, s):
        result = sp.eye(self.state[0].rows)
        for step in range(s + 1, t + 1):
            result = result * self.jacobian(step)
        return result


class Immediate(Network):
    """The immediate derivative of the loss or state is taken for the total one."""

    def state_gradient(self, t):
        return self.immediate_loss(t) if t > 0 else sp.zeros(*self.state[0].shape)

    def product(self, t, s):
        return super().product(t, s) if t == s else sp.zeros(self.state[0].rows)


@pytest.mark.parametrize("mistaken", [Dropped, Untransposed, Immediate])
@pytest.mark.parametrize("name", ["W_hh", "b_h", "h_0"])
def test_a_mistake_breaks_both(mistaken, name):
    assert agree(mistaken(*MATRICES), name, brute(name)) == (False, False)


@pytest.mark.parametrize("name", ["W_hh", "b_h", "h_0"])
def test_the_reversed_product_breaks_the_double_sum(name):
    assert agree(Reversed(*MATRICES), name, brute(name)) == (True, False)


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: Network(4), "hidden is 4; it can be 1 to 3"),
        (lambda: Network(steps=5), "steps is 5; it can be 1 to 4"),
        (lambda: Network(steps=2, step_weights=[1]), "1 step_weights for 2 steps"),
        (lambda: Network().brute("W"), "'W' is not in this network; it has W_xh, W_hh"),
        (lambda: Network().product(1, 2), "t is 1 and s is 2; 0 ≤ s ≤ t ≤ 3"),
        (lambda: difference(sp.eye(2), sp.eye(3)), r"the shapes are \(2, 2\) and \(3, 3\)"),
    ],
)
def test_bad_input_is_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()
