"""Backpropagation through time derived by SymPy: three ways to the same gradient, and their difference, exactly 0.

    network = Network(hidden=2, inputs=2, symbols=3, steps=3)
    (a) network.brute("W_hh")         the loss written out as one formula and differentiated
    (b) network.recursion("W_hh")     δ_t carried back from step to step
    (c) network.double_sum("W_hh")    every pair of steps, with the product of the Jacobians between them
    difference(a, b)                  a matrix of zeros

How the difference is taken, and what a node is, `symbolic_recurrence` says, which holds all that does not depend on the
cell.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from unrolled.bptt.rnn import AXES, Parameters
from unrolled.symbolic.polynomials import difference, sigma
from unrolled.symbolic.recurrence import Node, Recurrence

__all__ = ["ACTIVATIONS", "Network", "difference"]

# each activation φ of a symbol
ACTIVATIONS = {"tanh": sp.tanh, "sigmoid": sigma, "identity": lambda a: a}


class Network(Recurrence):
    """A vanilla network, unrolled, with a symbol for every weight, every input and every target.

        a_t = W_xh x_t + W_hh h_{t−1} + b_h,  h_t = φ(a_t)            (:eq:`eq-rnn`)

    What follows from h_t is as in `Recurrence`; there s_t is h_t here. In nodes, each h_{t,i} has a symbol; but under
    the identity there is nothing to abbreviate in a state, and h_t stays the polynomial that it is.

    Args:
        hidden, inputs, symbols, steps, step_weights: as in `Recurrence`.
        activation: φ: ``"tanh"``, ``"sigmoid"`` or ``"identity"``.

    Attributes:
        activation: the name of φ.
        h: h_0 … h_T in nodes, hidden × 1 each, in a dictionary by t; h_0 is made of symbols of its own.

    Raises:
        ValueError: an unknown activation, or what `Recurrence` raises.
    """

    PARAMETERS, AXES = Parameters, AXES

    def __init__(
        self,
        hidden: int = 1,
        inputs: int = 1,
        symbols: int = 2,
        steps: int = 3,
        activation: str = "tanh",
        step_weights: Sequence | None = None,
    ):
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation is {activation!r}; it can be one of {', '.join(ACTIVATIONS)}")
        self.activation = activation
        super().__init__(hidden, inputs, symbols, steps, step_weights)
        self.h = self.s

    def _advance(self, t: int, previous: sp.Matrix, node: Node) -> sp.Matrix:
        """Return h_t from h_{t−1}."""
        a = self.parameters.W_xh * self.x[t] + self.parameters.W_hh * previous + self.parameters.b_h  # eq-rnn
        return a if self.activation == "identity" else node(f"h_{t}", ACTIVATIONS[self.activation], a)  # eq-rnn

    def slope(self, t: int) -> sp.Matrix:
        """Return φ′(a_t) in nodes, hidden × 1: the derivative rule of φ, found by differentiating it."""
        phi = ACTIVATIONS[self.activation]
        a, h = sp.symbols("a h")
        rule = sp.expand(sp.diff(phi(a), a).xreplace({phi(a): h}))
        return self.h[t].applyfunc(lambda h_i: rule.subs(h, h_i))

    def delta(self, t: int) -> sp.Matrix:
        """Return δ_t = ∂L/∂a_t = φ′(a_t) ⊙ ∂L/∂h_t in nodes, hidden × 1 (:eq:`eq-delta`)."""
        return self.slope(t).multiply_elementwise(self.state_gradient(t))
