"""The LSTM and the GRU by SymPy: their gradients and Jacobians derived, and the code by hand run on symbols.

    network = LSTM(hidden=2, inputs=2, symbols=2, steps=2)
    network.brute("W_f")                                  the loss written out and differentiated
    network.recursion("W_f")                              the derivative carried back from step to step
    bptt.lstm.backward(network.trace([0, 1])).W_f     what the code by hand computes, where numbers are symbols

`polynomials.difference` compares the three. The first two hold for any targets y, the third for those that it
is given; `targets` puts them into the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import sympy as sp

from unrolled import bptt
from unrolled.symbolic.polynomials import sigma, symbol_matrix
from unrolled.symbolic.recurrence import Node, Recurrence


def _array(matrix: sp.Matrix) -> np.ndarray:
    """Return a matrix as an array of symbols."""
    return np.array(matrix.tolist(), dtype=object)


def _stack(columns: Iterable[sp.Matrix]) -> np.ndarray:
    """Return one column for each step as the rows of an array, (time, size)."""
    return np.array([list(column) for column in columns], dtype=object)


class Gated(Recurrence):
    """What the networks of gated cells share: their nodes by name, and traces of symbols for the code by hand."""

    def _affine(self, gate: str, state: sp.Matrix, t: int) -> sp.Matrix:
        """Return W [h, x_t] + b with the weights of a gate, for h a state or something in its place, hidden × 1."""
        W, b = getattr(self.parameters, f"W_{gate}"), getattr(self.parameters, f"b_{gate}")
        return W * sp.Matrix.vstack(state, self.x[t]) + b

    def gate(self, name: str, t: int) -> sp.Matrix:
        """Return the symbols of a gate's values at step t, or of a candidate's, hidden × 1."""
        return symbol_matrix(f"{name}_{t}", self.hidden)

    def targets(self, symbols: Sequence[int]) -> dict[sp.Expr, int]:
        """Return what replaces the targets' symbols, in ``expression.xreplace(…)``: y_{t,i} is 1 if t's symbol is i."""
        return {y: int(i == symbols[t - 1]) for t in self.y for i, y in enumerate(self.y[t])}

    def _arrays(self, symbols: Sequence[int]) -> dict[str, object]:
        """Return what the traces of all cells hold, as arrays of symbols."""
        weights = {name: _array(self.variables(name)) for name in self._names()}
        weights = {name: w if len(self.AXES[name]) == 2 else w[:, 0] for name, w in weights.items()}
        return {
            "parameters": self.PARAMETERS(**weights),
            "inputs": _stack(self.x.values()),
            "targets": np.array(symbols),
            "step_weights": np.array(list(self.c.values()), dtype=object),
            "states": _stack(s[: self.hidden, :] for s in self.s.values()),
            "probabilities": _stack(self.p.values()),
        }

    def _gates(self, name: str) -> np.ndarray:
        """Return the symbols of a gate at all steps, (time, hidden)."""
        return _stack(self.gate(name, t) for t in self.x)


class LSTM(Gated):
    """An LSTM network, unrolled, with a symbol for every weight, every input and every target.

        f_t = σ(W_f [h_{t−1}, x_t] + b_f)           (:eq:`eq-lstm-forget`)
        i_t = σ(W_i [h_{t−1}, x_t] + b_i)           (:eq:`eq-lstm-input`)
        c̃_t = tanh(W_c [h_{t−1}, x_t] + b_c)        (:eq:`eq-lstm-candidate`)
        c_t = f_t ⊙ c_{t−1} + i_t ⊙ c̃_t             (:eq:`eq-lstm-cell`)
        o_t = σ(W_o [h_{t−1}, x_t] + b_o)           (:eq:`eq-lstm-output`)
        h_t = o_t ⊙ tanh(c_t)                       (:eq:`eq-lstm-output`)

    Arguments and attributes are those of `Recurrence`; s_t is h_t above c_t. The nodes are f, i, g (for c̃), o
    and q, which is tanh(c_t); h_t and c_t are polynomials of them.
    """

    PARAMETERS, AXES, STATES = bptt.lstm.Parameters, bptt.lstm.AXES, ("h_0", "c_0")

    def _advance(self, t: int, previous: sp.Matrix, node: Node) -> sp.Matrix:
        """Return h_t above c_t, from h_{t−1} above c_{t−1}."""
        h, c = previous[: self.hidden, :], previous[self.hidden :, :]
        f = node(f"f_{t}", sigma, self._affine("f", h, t))  # eq-lstm-forget
        i = node(f"i_{t}", sigma, self._affine("i", h, t))  # eq-lstm-input
        g = node(f"g_{t}", sp.tanh, self._affine("c", h, t))  # eq-lstm-candidate
        c = f.multiply_elementwise(c) + i.multiply_elementwise(g)  # eq-lstm-cell
        o = node(f"o_{t}", sigma, self._affine("o", h, t))  # eq-lstm-output
        return sp.Matrix.vstack(o.multiply_elementwise(node(f"q_{t}", sp.tanh, c)), c)  # eq-lstm-output

    def cell_jacobian(self, t: int) -> sp.Matrix:
        """Return ∂c_t/∂c_{t−1} in full, in nodes, hidden × hidden (:eq:`eq-lstm-cell-jacobian`).

        c_{t−1} acts on c_t directly, and through h_{t−1} = o_{t−1} ⊙ tanh(c_{t−1}) on every gate; o_{t−1}, which does
        not depend on it, is held. At t = 1 only the direct path is there: h_0 is given.
        """
        if t == 1:
            return self.jacobian(1)[self.hidden :, self.hidden :]
        c, q = symbol_matrix("held", self.hidden), self.gate("q", t - 1)
        h = self.gate("o", t - 1).multiply_elementwise(c.applyfunc(sp.tanh))
        derived = self._local(t, sp.Matrix.vstack(h, c), c)[self.hidden :, :]
        earlier = self.s[t - 1][self.hidden :, :]
        nodes = dict(zip(c.applyfunc(sp.tanh), q, strict=True)) | dict(zip(c, earlier, strict=True))
        return derived.xreplace(nodes)

    def trace(self, symbols: Sequence[int]) -> bptt.lstm.Trace:
        """Return a trace of symbols in place of numbers, for `bptt.lstm.backward`, `paths` and `jacobians`.

        Args:
            symbols: the targets, integers, one for each step.
        """
        gates = {"forget": "f", "input": "i", "candidate": "g", "output": "o", "squashed": "q"}
        return bptt.lstm.Trace(
            **self._arrays(symbols),
            **{name: self._gates(letter) for name, letter in gates.items()},
            cells=_stack(s[self.hidden :, :] for s in self.s.values()),
        )


class GRU(Gated):
    """A GRU network, unrolled, with a symbol for every weight, every input and every target.

        z_t = σ(W_z [h_{t−1}, x_t] + b_z)                           (:eq:`eq-gru-update`)
        r_t = σ(W_r [h_{t−1}, x_t] + b_r)                           (:eq:`eq-gru-reset`)
        h̃_t = tanh(W_h [r_t ⊙ h_{t−1}, x_t] + b_h)                  before the product (:eq:`eq-gru-state`)
        h̃_t = tanh(W_xh x_t + b_h + r_t ⊙ (W_hh h_{t−1} + b_hh))    after it (:eq:`eq-gru-after`)
        h_t = (1 − z_t) ⊙ h_{t−1} + z_t ⊙ h̃_t                       (:eq:`eq-gru-state`)

    Arguments and attributes are those of `Recurrence`; s_t is h_t. The nodes are z, r and g (for h̃), and h_t is a
    polynomial of them. W_hh and W_xh are the two parts of W_h.

    Args:
        reset: where the reset gate acts, ``"before"`` the product or ``"after"``.

    Raises:
        ValueError: an unknown place of the reset gate, or what `Recurrence` raises.
    """

    PARAMETERS, AXES = bptt.gru.Parameters, bptt.gru.AXES

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
        """Return the names of the parameters: b_hh is one only where the reset gate acts after the product."""
        return [name for name in self.PARAMETERS._fields if name != "b_hh" or self.reset == "after"]

    def _advance(self, t: int, previous: sp.Matrix, node: Node) -> sp.Matrix:
        """Return h_t from h_{t−1}."""
        z = node(f"z_{t}", sigma, self._affine("z", previous, t))  # eq-gru-update
        r = node(f"r_{t}", sigma, self._affine("r", previous, t))  # eq-gru-reset
        if self.reset == "before":
            a = self._affine("h", r.multiply_elementwise(previous), t)  # eq-gru-state
        else:
            product = self.parameters.W_h[:, : self.hidden] * previous + self.parameters.b_hh
            a = self._affine("h", sp.zeros(self.hidden, 1), t) + r.multiply_elementwise(product)  # eq-gru-after
        g = node(f"g_{t}", sp.tanh, a)
        kept = (sp.ones(self.hidden, 1) - z).multiply_elementwise(previous)
        return kept + z.multiply_elementwise(g)  # eq-gru-state

    def trace(self, symbols: Sequence[int]) -> bptt.gru.Trace:
        """Return a trace of symbols in place of numbers, for `bptt.gru.backward` and `paths`.

        Args:
            symbols: the targets, integers, one for each step.
        """
        gates = {"update": "z", "reset": "r", "candidate": "g"}
        return bptt.gru.Trace(
            **self._arrays(symbols),
            **{name: self._gates(letter) for name, letter in gates.items()},
            placement=self.reset,
        )
