"""The LSTM and the GRU by SymPy: their gradients and Jacobians derived, and the code by hand run on symbols.

    network = LSTM(hidden=2, inputs=2, symbols=2, steps=2)
    network.brute("W_f")                        the loss written out, and differentiated
    network.recursion("W_f")                    the derivative carried back from step to step
    bptt.lstm.backward(network.trace()).W_f     what the code by hand computes on symbols

`symbolic.difference` compares the three.
"""

from collections.abc import Iterable, Sequence

import sympy as sp

from unrolled import bptt
from unrolled.symbolic.polynomials import sigma
from unrolled.symbolic.recurrence import Node, Recurrence


class Gated(Recurrence):
    """What the networks of gated cells share: weights for [h_{t−1}, x_t]."""

    def _affine(self, gate: str, h: sp.Matrix, t: int) -> sp.Matrix:
        """Return W [h, x_t] + b with the weights of a gate, where h is a state or stands in for one, hidden × 1."""
        W, b = getattr(self.parameters, f"W_{gate}"), getattr(self.parameters, f"b_{gate}")
        return W * sp.Matrix.vstack(h, self.x[t]) + b


class LSTM(Gated):
    """An LSTM network, unrolled, with a symbol for every weight, every input and every target.

        f_t = σ(W_f [h_{t−1}, x_t] + b_f)           (:eq:`eq-lstm-forget`)
        i_t = σ(W_i [h_{t−1}, x_t] + b_i)           (:eq:`eq-lstm-input`)
        c̃_t = tanh(W_c [h_{t−1}, x_t] + b_c)        (:eq:`eq-lstm-candidate`)
        c_t = f_t ⊙ c_{t−1} + i_t ⊙ c̃_t             (:eq:`eq-lstm-cell`)
        o_t = σ(W_o [h_{t−1}, x_t] + b_o)           (:eq:`eq-lstm-output`)
        h_t = o_t ⊙ tanh(c_t)                       (:eq:`eq-lstm-output`)

    Arguments, attributes and errors are those of `Recurrence`; its state is h_t above c_t. The nodes are f, i, c_tilde,
    o and tanh_c; h_t and c_t are polynomials in them.

    Example:
        >>> network = LSTM(hidden=1, inputs=1, symbols=2, steps=1)
        >>> network.state[1]  # h_1 above c_1
        Matrix([
        [           o_1*tanh_c_1],
        [c_0*f_1 + c_tilde_1*i_1]])
        >>> by_hand = bptt.lstm.backward(network.trace()).b_o[0]
        >>> from unrolled.symbolic import difference
        >>> difference(sp.Matrix([by_hand]), network.brute("b_o"))
        Matrix([[0]])
    """

    MODULE, STATES = bptt.lstm, ("h_0", "c_0")
    NODES = ("f", "i", "c_tilde", "o", "tanh_c")

    def _advance(self, t: int, previous: sp.Matrix, node: Node) -> sp.Matrix:
        """Return h_t above c_t, from h_{t−1} above c_{t−1}."""
        h, c = previous[: self.hidden, :], previous[self.hidden :, :]
        f = node(f"f_{t}", sigma, self._affine("f", h, t))  # eq-lstm-forget
        i = node(f"i_{t}", sigma, self._affine("i", h, t))  # eq-lstm-input
        c_tilde = node(f"c_tilde_{t}", sp.tanh, self._affine("c", h, t))  # eq-lstm-candidate
        c = f.multiply_elementwise(c) + i.multiply_elementwise(c_tilde)  # eq-lstm-cell
        o = node(f"o_{t}", sigma, self._affine("o", h, t))  # eq-lstm-output
        return sp.Matrix.vstack(o.multiply_elementwise(node(f"tanh_c_{t}", sp.tanh, c)), c)  # eq-lstm-output


class GRU(Gated):
    """A GRU network, unrolled, with a symbol for every weight, every input and every target.

        z_t = σ(W_z [h_{t−1}, x_t] + b_z)                           (:eq:`eq-gru-update`)
        r_t = σ(W_r [h_{t−1}, x_t] + b_r)                           (:eq:`eq-gru-reset`)
        h̃_t = tanh(W_h [r_t ⊙ h_{t−1}, x_t] + b_h)                  before the product (:eq:`eq-gru-state`)
        h̃_t = tanh(W_xh x_t + b_h + r_t ⊙ (W_hh h_{t−1} + b_hh))    after it (:eq:`eq-gru-after`)
        h_t = (1 − z_t) ⊙ h_{t−1} + z_t ⊙ h̃_t                       (:eq:`eq-gru-state`)

    Arguments and attributes are those of `Recurrence`. The nodes are z, r and h_tilde, and h_t is a polynomial in them.
    W_hh and W_xh are the two parts of W_h.

    Args:
        reset: where the reset gate acts, ``"before"`` the product or ``"after"`` it.

    Raises:
        ValueError: an unknown `reset`, or what `Recurrence` raises.

    Example:
        >>> network = GRU(hidden=1, inputs=1, symbols=2, steps=1)
        >>> network.state[1]
        Matrix([[h_0*(1 - z_1) + h_tilde_1*z_1]])
        >>> by_hand = bptt.gru.backward(network.trace()).b_z[0]
        >>> from unrolled.symbolic import difference
        >>> difference(sp.Matrix([by_hand]), network.brute("b_z"))
        Matrix([[0]])
    """

    MODULE = bptt.gru
    NODES = ("z", "r", "h_tilde")

    def __init__(
        self,
        hidden: int = 1,
        inputs: int = 1,
        symbols: int = 2,
        steps: int = 3,
        reset: str = "before",
        step_weights: Sequence | None = None,
    ):
        if reset not in bptt.gru.RESETS:
            raise ValueError(f"reset is {reset!r}; it can be one of {', '.join(bptt.gru.RESETS)}")
        self.reset = reset
        super().__init__(hidden, inputs, symbols, steps, step_weights)

    def _names(self) -> Iterable[str]:
        """Return the names of the parameters: b_hh is among them only if the reset gate acts after the product."""
        return [name for name in super()._names() if name != "b_hh" or self.reset == "after"]

    def _advance(self, t: int, previous: sp.Matrix, node: Node) -> sp.Matrix:
        """Return h_t from h_{t−1}."""
        h = previous
        z = node(f"z_{t}", sigma, self._affine("z", h, t))  # eq-gru-update
        r = node(f"r_{t}", sigma, self._affine("r", h, t))  # eq-gru-reset
        if self.reset == "before":
            a = self._affine("h", r.multiply_elementwise(h), t)  # eq-gru-state
        else:
            product = self.parameters.W_h[:, : self.hidden] * h + self.parameters.b_hh
            a = self._affine("h", sp.zeros(self.hidden, 1), t) + r.multiply_elementwise(product)  # eq-gru-after
        h_tilde = node(f"h_tilde_{t}", sp.tanh, a)
        kept = (sp.ones(self.hidden, 1) - z).multiply_elementwise(h)
        return kept + z.multiply_elementwise(h_tilde)  # eq-gru-state

    def trace(self) -> bptt.Trace:
        """Return a trace of symbols that also says where the reset gate acts."""
        return bptt.Trace(**vars(super().trace()), reset=self.reset)
