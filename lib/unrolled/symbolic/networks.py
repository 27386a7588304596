"""A vanilla network, an LSTM and a GRU by SymPy: what one step of each computes.

`bptt.lstm.backward(network.trace())` runs the code by hand on the symbols of a network; `symbolic.recurrence` has all
that does not depend on the cell.
"""

from collections.abc import Iterable

import sympy as sp

from unrolled import bptt
from unrolled.symbolic.polynomials import sigma
from unrolled.symbolic.recurrence import Recurrence


class Network(Recurrence):
    """A vanilla network, unrolled, with a symbol for every weight, every input and every target.

        h_t = tanh(W_xh x_t + W_hh h_{t−1} + b_h)         (:eq:`eq-rnn`)

    Arguments and attributes are those of `Recurrence`. In nodes, each h_{t,i} has a symbol.

    Example:
        >>> network = Network(hidden=1, inputs=1, symbols=2, steps=2)
        >>> network.jacobian(2)  # ∂h_2/∂h_1
        Matrix([[W_hh*(1 - h_2**2)]])
        >>> from unrolled.symbolic import difference
        >>> difference(network.brute("W_hh"), network.recursion("W_hh"))
        Matrix([[0]])
    """

    MODULE = bptt.rnn

    def _advance(self, t: int, previous: sp.Matrix) -> sp.Matrix:
        """Return h_t from h_{t−1}."""
        a = self.parameters.W_xh * self.x[t] + self.parameters.W_hh * previous + self.parameters.b_h  # eq-rnn
        return self._node(f"h_{t}", sp.tanh, a)  # eq-rnn


class _Gated(Recurrence):
    """What the networks of gated cells share: weights for [h_{t−1}, x_t]."""

    def _affine(self, gate: str, h: sp.Matrix, t: int) -> sp.Matrix:
        """Return W [h, x_t] + b with the weights of a gate, where h is a state or stands in for one, hidden × 1."""
        W, b = getattr(self.parameters, f"W_{gate}"), getattr(self.parameters, f"b_{gate}")
        return W * sp.Matrix.vstack(h, self.x[t]) + b


class LSTM(_Gated):
    """An LSTM network, unrolled, with a symbol for every weight, every input and every target.

    The equations are those of `bptt.lstm.forward`. Arguments and attributes are those of `Recurrence`; the state is h_t
    above c_t. The nodes are f, i, c_tilde, o and tanh_c; h_t and c_t are polynomials in them.

    Example:
        >>> network = LSTM(hidden=1, inputs=1, symbols=2, steps=1)
        >>> network.state[1]  # h_1 above c_1
        Matrix([
        [           o_1*tanh_c_1],
        [c_0*f_1 + c_tilde_1*i_1]])
    """

    MODULE, STATES = bptt.lstm, ("h_0", "c_0")
    NODES = ("f", "i", "c_tilde", "o", "tanh_c")

    def _advance(self, t: int, previous: sp.Matrix) -> sp.Matrix:
        """Return h_t above c_t, from h_{t−1} above c_{t−1}."""
        h, c = previous[: self.hidden, :], previous[self.hidden :, :]
        f = self._node(f"f_{t}", sigma, self._affine("f", h, t))  # eq-lstm-forget
        i = self._node(f"i_{t}", sigma, self._affine("i", h, t))  # eq-lstm-input
        c_tilde = self._node(f"c_tilde_{t}", sp.tanh, self._affine("c", h, t))  # eq-lstm-candidate
        c = f.multiply_elementwise(c) + i.multiply_elementwise(c_tilde)  # eq-lstm-cell
        o = self._node(f"o_{t}", sigma, self._affine("o", h, t))  # eq-lstm-output
        return sp.Matrix.vstack(o.multiply_elementwise(self._node(f"tanh_c_{t}", sp.tanh, c)), c)  # eq-lstm-output


class GRU(_Gated):
    """A GRU network, unrolled, with a symbol for every weight, every input and every target.

    The equations are those of `bptt.gru.forward`, for both places of the reset gate. Arguments and attributes are those
    of `Recurrence`, and `reset`, ``"before"`` or ``"after"`` the product. The nodes are z, r and h_tilde.

    Example:
        >>> network = GRU(hidden=1, inputs=1, symbols=2, steps=1)
        >>> network.state[1]
        Matrix([[h_0*(1 - z_1) + h_tilde_1*z_1]])
    """

    MODULE = bptt.gru
    NODES = ("z", "r", "h_tilde")

    def __init__(self, hidden: int = 1, inputs: int = 1, symbols: int = 2, steps: int = 3, reset: str = "before"):
        if reset not in bptt.gru.RESETS:
            raise ValueError(f"reset is {reset!r}; it can be one of {', '.join(bptt.gru.RESETS)}")
        self.reset = reset
        super().__init__(hidden, inputs, symbols, steps)

    def _names(self) -> Iterable[str]:
        """Return the names of the parameters: b_hh is among them only if the reset gate acts after the product."""
        return [name for name in super()._names() if name != "b_hh" or self.reset == "after"]

    def _advance(self, t: int, previous: sp.Matrix) -> sp.Matrix:
        """Return h_t from h_{t−1}."""
        z = self._node(f"z_{t}", sigma, self._affine("z", previous, t))  # eq-gru-update
        r = self._node(f"r_{t}", sigma, self._affine("r", previous, t))  # eq-gru-reset
        if self.reset == "before":
            a = self._affine("h", r.multiply_elementwise(previous), t)  # eq-gru-state
        else:
            product = self.parameters.W_h[:, : self.hidden] * previous + self.parameters.b_hh
            a = self._affine("h", sp.zeros(self.hidden, 1), t) + r.multiply_elementwise(product)  # eq-gru-after
        h_tilde = self._node(f"h_tilde_{t}", sp.tanh, a)
        kept = (sp.ones(self.hidden, 1) - z).multiply_elementwise(previous)
        return kept + z.multiply_elementwise(h_tilde)  # eq-gru-state

    def trace(self) -> bptt.Trace:
        """Return a trace of symbols that also says where the reset gate acts."""
        return bptt.Trace(**vars(super().trace()), reset=self.reset)
