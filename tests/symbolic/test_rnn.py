"""Three derivations by SymPy and the code by hand agree exactly."""

from functools import cache

import pytest
import sympy as sp

from by_symbols import equal
from unrolled import bptt
from unrolled.symbolic import Network

NAMES = ["W_xh", "W_hh", "W_hy", "b_h", "b_y", "h_0"]
MATRICES = 2, 1, 2, 3  # sizes at which no two factors commute


def agree(network: Network, name: str) -> tuple[bool, bool]:
    """Return whether the recursion and the double sum each equal the brute derivative, exactly."""
    right = network.brute(name)
    return equal(network.recursion(name), right), equal(network.double_sum(name), right)


@pytest.mark.parametrize("name", [*NAMES, "x_1"])
def test_three_ways_are_one(name):
    assert agree(by_hand()[0], name) == (True, True)


@pytest.mark.parametrize("sizes", [(), (1, 1, 3, 4), (2, 1, 2, 4), (3, 3, 3, 2), (1, 1, 1, 1)])
def test_three_ways_are_one_at_other_sizes(sizes):
    assert agree(Network(*sizes), "W_hh") == (True, True)


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
        assert not sp.ImmutableMatrix(network.brute(name)).has(sp.tanh, sp.exp, sp.log)
    assert network.jacobian(2) == sp.diag(*(1 - h_i**2 for h_i in network.state[2])) * network.parameters.W_hh


def test_delta_is_the_gradient_of_one_steps_bias():
    network = Network(*MATRICES)
    delta = {
        t: network.state[t].applyfunc(lambda h: 1 - h**2).multiply_elementwise(network.state_gradient(t))
        for t in (1, 2, 3)
    }
    assert equal(sum(delta.values(), sp.zeros(2, 1)), network.brute("b_h"))
    assert equal(network.parameters.W_xh.T * delta[2], network.brute("x_2"))
