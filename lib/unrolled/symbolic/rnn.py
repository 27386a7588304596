"""Backpropagation through time derived by SymPy: three ways to the same gradient, whose difference is exactly 0.

    network = Network(hidden=2, inputs=2, symbols=3, steps=3)
    (a) network.brute("W_hh")         the loss written out as one formula, and differentiated
    (b) network.recursion("W_hh")     δ_t carried back from step to step
    (c) network.double_sum("W_hh")    every pair of steps, with the product of the Jacobians between them
    difference(a, b)                  a matrix of zeros

`symbolic.recurrence` says what a node is, and holds all that does not depend on the cell.
"""

import sympy as sp

from unrolled import bptt
from unrolled.symbolic.recurrence import Node, Recurrence


class Network(Recurrence):
    """A vanilla network, unrolled, with a symbol for every weight, every input and every target.

        a_t = W_xh x_t + W_hh h_{t−1} + b_h,  h_t = tanh(a_t)         (:eq:`eq-rnn`)

    Arguments, attributes and errors are those of `Recurrence`. In nodes, each h_{t,i} has a symbol.

    Example:
        >>> network = Network(hidden=1, inputs=1, symbols=2, steps=2)
        >>> network.jacobian(2)  # ∂h_2/∂h_1
        Matrix([[W_hh*(1 - h_2**2)]])
        >>> from unrolled.symbolic import difference
        >>> difference(network.brute("W_hh"), network.recursion("W_hh"))
        Matrix([[0]])
    """

    MODULE = bptt.rnn

    def _advance(self, t: int, previous: sp.Matrix, node: Node) -> sp.Matrix:
        """Return h_t from h_{t−1}."""
        a = self.parameters.W_xh * self.x[t] + self.parameters.W_hh * previous + self.parameters.b_h  # eq-rnn
        return node(f"h_{t}", sp.tanh, a)  # eq-rnn
