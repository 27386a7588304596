"""Any recurrent network, unrolled in symbols: SymPy derives its gradient in three ways, to be compared exactly.

A cell is given by what one step computes; `symbolic.rnn` and `symbolic.gated` define theirs. The rest is shared.

Written-out gradients are too large to compare: `sympy.simplify` does not finish. But all their functions are applied to
the same few arguments, the nodes of the network. Each node gets a symbol, and with the rules tanh′ = 1 − tanh²,
σ′ = σ (1 − σ) and exp′ = exp every gradient becomes a polynomial in symbols. Equal polynomials have equal expansions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np
import sympy as sp

from unrolled.symbolic.polynomials import symbol_matrix

LARGEST = {"hidden": 3, "inputs": 3, "symbols": 3, "steps": 4}
Node = Callable[[str, Callable[[sp.Expr], sp.Expr], sp.Matrix], sp.Matrix]


def _column(matrix: sp.Matrix) -> sp.Matrix:
    """Return all entries of a matrix in one column, row after row."""
    return matrix.reshape(matrix.rows * matrix.cols, 1)  # (rows, columns) → (rows · columns, 1)


def _array(matrix: sp.Matrix) -> np.ndarray:
    """Return a matrix as an array of symbols."""
    return np.array(matrix.tolist(), dtype=object)


def stack(columns: Iterable[sp.Matrix]) -> np.ndarray:
    """Return one column for each step as the rows of an array, (time, size)."""
    return np.array([list(column) for column in columns], dtype=object)


class Recurrence:
    """A recurrent network, unrolled, with a symbol for every weight, every input and every target.

        s_t = the states after step t, stacked, from s_{t−1} and x_t
        o_t = W_hy h_t + b_y,  ŷ_t = softmax(o_t)                     (:eq:`eq-output`)
        L = Σ_t ω_t L_t,  L_t = −Σ_i y_{t,i} ln ŷ_{t,i} = ln Σ_i exp o_{t,i} − Σ_i y_{t,i} o_{t,i}

    For a cell with one state, s_t is h_t; otherwise h_t comes first. The last form of L_t holds if the targets y_t add
    up to 1. Expressions come in two forms: *written out*, with σ, tanh and exp nested down to the weights (`states`,
    `loss`), and *in nodes*, with a symbol for each value of a σ or tanh and for each ŷ_{t,i} (all gradients).
    `written_out` turns the second form into the first.

    A cell is a subclass: it names its `MODULE` and its `STATES`, and defines `_advance`.

    Args:
        hidden: h, the size of a state, up to 3. With hidden = inputs = 1 everything but the outputs is scalar.
        inputs: d, the size of an input, up to 3.
        symbols: V, the size of the vocabulary, up to 3.
        steps: T, up to 4.
        step_weights: ω_1 … ω_T, the weight of each step's loss; floats are read as exact binary fractions. None gives
            1/T each, as in `bptt.rnn.forward`.

    Attributes:
        hidden: h.
        steps: T.
        parameters: the `Parameters` of the module, made of SymPy matrices.
        step_weights: ω_1 … ω_T, in a dictionary by t, like all that follow.
        x: x_1 … x_T, inputs × 1 each.
        y: the targets y_1 … y_T, symbols × 1 each.
        p: ŷ_1 … ŷ_T in nodes, symbols × 1 each: p_{t,i} stands for ŷ_{t,i}.
        s: s_0 … s_T in nodes; s_0 has symbols of its own.
        states: s_0 … s_T written out.
        loss: L written out.

    Raises:
        ValueError: a size out of range, or a wrong number of step weights.
    """

    MODULE: ModuleType  # the code by hand: its Parameters, AXES and Trace
    STATES = ("h_0",)

    def __init__(
        self, hidden: int = 1, inputs: int = 1, symbols: int = 2, steps: int = 3, step_weights: Sequence | None = None
    ):
        for name, size in {"hidden": hidden, "inputs": inputs, "symbols": symbols, "steps": steps}.items():
            if not 1 <= size <= LARGEST[name]:
                raise ValueError(f"{name} is {size}; it can be 1 to {LARGEST[name]}: formulas grow fast")
        if step_weights is not None and len(step_weights) != steps:
            raise ValueError(f"there are {len(step_weights)} step_weights for {steps} steps; one for each is expected")
        self.hidden, self.steps = hidden, steps
        weights = [sp.Rational(1, steps)] * steps if step_weights is None else [sp.Rational(c) for c in step_weights]
        self.step_weights = dict(enumerate(weights, start=1))
        sizes = {"hidden_size": hidden, "input_size": inputs, "vocab_size": symbols}
        sizes["hidden_size + input_size"] = hidden + inputs
        self.parameters = self.MODULE.Parameters(
            **{name: symbol_matrix(name, *(sizes[axis] for axis in self.MODULE.AXES[name])) for name in self._names()}
        )
        times = range(1, steps + 1)
        self.x = {t: symbol_matrix(f"x_{t}", inputs) for t in times}
        self.y = {t: symbol_matrix(f"y_{t}", symbols) for t in times}
        self.p = {t: symbol_matrix(f"p_{t}", symbols) for t in times}
        self.s = {0: sp.Matrix.vstack(*(symbol_matrix(name, hidden) for name in self.STATES))}
        self.states, losses = {0: self.s[0]}, []
        self._nodes, self._meanings = {}, {}
        for t in times:
            self.states[t] = self._advance(t, self.states[t - 1], self._write)
            self.s[t] = self._advance(t, self.s[t - 1], lambda name, phi, a: symbol_matrix(name, *a.shape))
            o = self._logits(self.states[t])
            losses.append(self.step_weights[t] * self._step_loss(t, o))
            self._nodes |= self._softmax_nodes(t, o)
            self._meanings |= self._softmax_meanings(t, o)
        self.loss = sum(losses)

    def _names(self) -> Iterable[str]:
        """Return the names of the parameters that this network has."""
        return self.MODULE.Parameters._fields

    def _advance(self, t: int, previous: sp.Matrix, node: Node) -> sp.Matrix:
        """Return s_t from s_{t−1}, with ``node(name, φ, a)`` for every φ(a): the equations of the cell."""
        raise NotImplementedError

    def _write(self, name: str, phi: Callable[[sp.Expr], sp.Expr], a: sp.Matrix) -> sp.Matrix:
        """Return φ(a) written out, and record which symbols stand for it."""
        values, symbols = a.applyfunc(phi), symbol_matrix(name, *a.shape)
        self._nodes |= dict(zip(values, symbols, strict=True))
        self._meanings |= dict(zip(symbols, values, strict=True))
        return values

    def _logits(self, state: sp.Matrix) -> sp.Matrix:
        """Return o_t from s_t."""
        return self.parameters.W_hy * state[: self.hidden, :] + self.parameters.b_y  # eq-output

    def _step_loss(self, t: int, o: sp.Matrix) -> sp.Expr:
        """Return L_t from o_t."""
        return sp.log(sum(o.applyfunc(sp.exp))) - self.y[t].dot(o)

    def _softmax_meanings(self, t: int, o: sp.Matrix) -> dict[sp.Expr, sp.Expr]:
        """Return what Z_t stands for, Σ_i exp o_i, and what each ŷ_{t,i} stands for, exp o_i / Σ_i exp o_i."""
        values = o.applyfunc(sp.exp)
        total = sum(values)
        return {sp.Symbol(f"Z_{t}"): total} | dict(zip(self.p[t], values / total, strict=True))

    def _softmax_nodes(self, t: int, o: sp.Matrix) -> dict[sp.Expr, sp.Expr]:
        """Return the parts of softmax(o) in nodes: Σ_i exp o_i is Z_t, and exp o_i is ŷ_{t,i} Z_t."""
        total, nodes = sp.Symbol(f"Z_{t}"), {}
        for o_i, p_i in zip(o, self.p[t], strict=True):
            nodes |= {sp.exp(o_i): p_i * total, sp.exp(-o_i): 1 / (p_i * total)}  # the second if V = 1
        return {sum(o.applyfunc(sp.exp)): total} | nodes

    def variables(self, name: str) -> sp.Matrix:
        """Return the symbols of a weight, of a state before the first step, or of an input x_1, x_2, …

        Raises:
            ValueError: the network has no variable of this name.
        """
        variables = {weight: getattr(self.parameters, weight) for weight in self._names()}
        variables |= {state: symbol_matrix(state, self.hidden) for state in self.STATES}
        variables |= {f"x_{t}": self.x[t] for t in self.x}
        if name not in variables:
            raise ValueError(f"{name!r} is not in this network; it has {', '.join(variables)}")
        return variables[name]

    def in_nodes(self, expression: sp.Expr | sp.Matrix) -> sp.Expr | sp.Matrix:
        """Return a written-out expression in nodes, with Z_t for Σ_i exp o_{t,i}."""
        return expression.xreplace(self._nodes)

    def written_out(self, expression: sp.Expr | sp.Matrix) -> sp.Expr | sp.Matrix:
        """Return an expression in nodes with every node written out, down to the weights."""
        return expression.xreplace(self._meanings)

    # (a) by brute differentiation

    def brute(self, name: str) -> sp.Matrix:
        """Return ∂L/∂θ in nodes, of the shape of θ: the written-out loss, differentiated.

        Args:
            name: θ, as in `variables`.
        """
        theta = self.variables(name)
        return self.in_nodes(theta.applyfunc(lambda variable: sp.diff(self.loss, variable)))

    # one step with everything before it held fixed: immediate derivatives

    def _local(self, t: int, previous: sp.Matrix, theta: sp.Matrix) -> sp.Matrix:
        """Return ∂s_t/∂θ in nodes, where s_t is computed from `previous`, whose symbols remain."""
        nodes = {}

        def node(name: str, phi: Callable[[sp.Expr], sp.Expr], a: sp.Matrix) -> sp.Matrix:
            values = a.applyfunc(phi)
            nodes.update(zip(values, symbol_matrix(name, *a.shape), strict=True))
            return values

        return self._advance(t, previous, node).jacobian(_column(theta)).xreplace(nodes)

    def _held(self) -> sp.Matrix:
        """Return symbols in the place of a state, which depend on nothing else."""
        return symbol_matrix("held", *self.s[0].shape)

    def immediate(self, name: str, t: int) -> sp.Matrix:
        """Return ∂⁺s_t/∂θ in nodes, with s_{t−1} held fixed and a column for each entry of θ, row after row.

        At t = 0 only the initial states have a derivative that is not zero: the identity.
        """
        theta = self.variables(name)
        if t == 0:
            return self.s[0].jacobian(_column(theta))
        held = self._held()
        return self._local(t, held, theta).xreplace(dict(zip(held, self.s[t - 1], strict=True)))

    def jacobian(self, t: int) -> sp.Matrix:
        """Return J_t = ∂s_t/∂s_{t−1} in nodes; for the vanilla cell, diag(1 − h_t ⊙ h_t) W_hh (:eq:`eq-jacobian`)."""
        held = self._held()
        return self._local(t, held, held).xreplace(dict(zip(held, self.s[t - 1], strict=True)))

    def immediate_loss(self, t: int) -> sp.Matrix:
        """Return ∂⁺L/∂s_t in nodes: through the prediction at step t alone, W_hyᵀ e_t."""
        state = self._held()
        return self._local_loss(t, state, state)

    def _local_loss(self, t: int, state: sp.Matrix, theta: sp.Matrix) -> sp.Matrix:
        """Return the derivative of ω_t L_t(state) with respect to θ, in nodes, of the shape of θ."""
        o = self._logits(state)
        nodes, loss = self._softmax_nodes(t, o), self.step_weights[t] * self._step_loss(t, o)
        local = theta.applyfunc(lambda variable: sp.expand(sp.diff(loss, variable).xreplace(nodes)))
        return local.xreplace(dict(zip(state, self.s[t], strict=True)))

    # (b) the recursion

    def state_gradient(self, t: int) -> sp.Matrix:
        """Return the total derivative ∂L/∂s_t in nodes: through step t and all later ones.

        ∂L/∂s_t = ∂⁺L/∂s_t + J_{t+1}ᵀ ∂L/∂s_{t+1}      (:eq:`eq-delta-h`)
        """
        own = self.immediate_loss(t) if t > 0 else sp.zeros(*self.s[0].shape)
        return own if t == self.steps else own + self.jacobian(t + 1).T * self.state_gradient(t + 1)

    def recursion(self, name: str) -> sp.Matrix:
        """Return ∂L/∂θ in nodes, of the shape of θ: Σ_t (∂⁺s_t/∂θ)ᵀ ∂L/∂s_t + Σ_t ω_t ∂⁺L_t/∂θ.

        The last sum is zero unless θ is W_hy or b_y.
        """
        total = self._through_outputs(name)
        for t in range(self.steps + 1):
            total += (self.immediate(name, t).T * self.state_gradient(t)).reshape(*total.shape)
        return total

    def _through_outputs(self, name: str) -> sp.Matrix:
        """Return Σ_t ω_t ∂⁺L_t/∂θ in nodes, with the states held fixed: zero unless θ is W_hy or b_y."""
        theta = self.variables(name)
        held = self._held()
        return sum((self._local_loss(t, held, theta) for t in self.x), sp.zeros(*theta.shape))

    # (c) the double sum

    def product(self, t: int, k: int) -> sp.Matrix:
        """Return ∂s_t/∂s_k = J_t J_{t−1} ⋯ J_{k+1} in nodes, with the latest step on the left.

        Raises:
            ValueError: not 0 ≤ k ≤ t ≤ T.
        """
        if not 0 <= k <= t <= self.steps:
            raise ValueError(f"t is {t} and k is {k}; 0 ≤ k ≤ t ≤ {self.steps} is expected")
        result = sp.eye(self.s[0].rows)
        for step in range(t, k, -1):
            result = result * self.jacobian(step)
        return result

    def double_sum(self, name: str) -> sp.Matrix:
        """Return ∂L/∂θ in nodes, of the shape of θ: Σ_t Σ_{k≤t} (J_t ⋯ J_{k+1} ∂⁺s_k/∂θ)ᵀ ∂⁺L/∂s_t + Σ_t ω_t ∂⁺L_t/∂θ.

        The double sum is :eq:`eq-double-sum`; the last sum is zero unless θ is W_hy or b_y.
        """
        total = self._through_outputs(name)
        for t in range(1, self.steps + 1):
            for k in range(t + 1):
                path = self.product(t, k) * self.immediate(name, k)
                total += (path.T * self.immediate_loss(t)).reshape(*total.shape)
        return total

    # the code by hand on symbols

    def targets(self, symbols: Sequence[int]) -> dict[sp.Expr, int]:
        """Return the values of the targets' symbols, for ``xreplace``: y_{t,i} is 1 if i is the symbol at step t."""
        return {y: int(i == symbols[t - 1]) for t in self.y for i, y in enumerate(self.y[t])}

    def trace(self, symbols: Sequence[int]) -> NamedTuple:
        """Return a trace of symbols instead of numbers, for the `backward` of `MODULE`.

        Args:
            symbols: the targets, integers, one for each step.
        """
        weights = {name: _array(self.variables(name)) for name in self._names()}
        weights = {name: w if len(self.MODULE.AXES[name]) == 2 else w[:, 0] for name, w in weights.items()}
        return self.MODULE.Trace(
            parameters=self.MODULE.Parameters(**weights),
            inputs=stack(self.x.values()),
            targets=np.array(symbols),
            step_weights=np.array(list(self.step_weights.values()), dtype=object),
            states=stack(s[: self.hidden, :] for s in self.s.values()),
            probabilities=stack(self.p.values()),
            **self._cell_values(),
        )

    def _cell_values(self) -> dict[str, np.ndarray | str]:
        """Return the fields that only this cell's trace has."""
        return {}
