"""Any recurrent network, unrolled in symbols: SymPy derives its gradient in three ways, and compares them exactly.

A cell is given by what one step computes; `symbolic` and `symbolic_gated` give theirs. The rest is the same for all.

Written out, gradients are too large to compare: `sympy.simplify` does not come back. But all their functions are
applied to the same few arguments, the nodes of the network. Each node gets a symbol, and with the rules
tanh′ = 1 − tanh², σ′ = σ (1 − σ), exp′ = exp, every gradient becomes a polynomial in symbols. Equal polynomials have
equal expansions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import sympy as sp

from unrolled.bptt import sigmoid
from unrolled.bptt.common import check_shapes
from unrolled.symbolic.polynomials import symbol_matrix

LARGEST = {"hidden": 3, "inputs": 3, "symbols": 3, "steps": 4}
Node = Callable[[str, Callable[[sp.Expr], sp.Expr], sp.Matrix], sp.Matrix]


def _rows(matrix: sp.Matrix) -> sp.Matrix:
    """Return all entries of a matrix in one column, row after row."""
    return matrix.reshape(matrix.rows * matrix.cols, 1)


class Recurrence:
    """A recurrent network, unrolled, with a symbol for every weight, every input and every target.

        s_t = the states after step t, one under the other, from s_{t−1} and x_t
        o_t = W_hy h_t + b_y,  ŷ_t = softmax(o_t)                     (:eq:`eq-output`)
        L = Σ_t c_t L_t,  L_t = −Σ_i y_{t,i} ln ŷ_{t,i} = ln Σ_i exp o_{t,i} − Σ_i y_{t,i} o_{t,i}

    Of a cell with one state, s_t is h_t; h_t always stands first. The last form of L_t holds where the targets y_t add
    up to 1. Expressions of two kinds are in use: *written out*, with σ, tanh and exp in one another, down to the
    weights (`states`, `loss`), and *in nodes*, with a symbol for each value of a σ or tanh and for each ŷ_{t,i} (all
    gradients). `in_nodes` and `written_out` lead from one to the other. What is a polynomial in nodes, as under the
    identity, has no symbol of its own.

    A cell is a subclass: it names its `PARAMETERS`, their `AXES` and its `STATES`, and defines `_advance`.

    Args:
        hidden: h, the length of a state, up to 3. With hidden = inputs = 1 all is scalar, except for the outputs.
        inputs: d, the length of an input, up to 3.
        symbols: V, the size of the vocabulary, up to 3.
        steps: T, up to 4.
        step_weights: c_1 … c_T, what each step's loss counts; floats are taken for the binary fractions that they are.
            None: 1/T each, as in `bptt.rnn.forward`.

    Attributes:
        hidden: h.
        steps: T.
        parameters: a `PARAMETERS` of SymPy matrices.
        c: the step weights c_1 … c_T, in a dictionary by t, as all that follows.
        x: x_1 … x_T, inputs × 1 each.
        y: the targets y_1 … y_T, symbols × 1 each.
        p: ŷ_1 … ŷ_T in nodes, symbols × 1 each: p_{t,i} stands for ŷ_{t,i}.
        s: s_0 … s_T in nodes; s_0 is made of symbols of its own.
        states: s_0 … s_T written out.
        losses: L_1 … L_T written out.
        loss: L written out.

    Raises:
        ValueError: a size out of range, or a wrong number of step weights.
    """

    PARAMETERS: type[NamedTuple]
    AXES: dict[str, tuple[str, ...]]
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
        self.c = dict(enumerate(weights, start=1))
        sizes = {"hidden_size": hidden, "input_size": inputs, "vocab_size": symbols}
        sizes["hidden_size + input_size"] = hidden + inputs
        self.parameters = self.PARAMETERS(
            **{name: symbol_matrix(name, *(sizes[axis] for axis in self.AXES[name])) for name in self._names()}
        )
        times = range(1, steps + 1)
        self.x = {t: symbol_matrix(f"x_{t}", inputs) for t in times}
        self.y = {t: symbol_matrix(f"y_{t}", symbols) for t in times}
        self.p = {t: symbol_matrix(f"p_{t}", symbols) for t in times}
        self.s = {0: sp.Matrix.vstack(*(symbol_matrix(name, hidden) for name in self.STATES))}
        self.states, self.losses = {0: self.s[0]}, {}
        self._nodes, self._meanings, self._definitions = {}, {}, {}
        for t in times:
            self.states[t] = self._advance(t, self.states[t - 1], self._write)
            self.s[t] = self._advance(t, self.s[t - 1], self._define)
            o, total = self._logits(self.states[t]), sp.Symbol(f"Z_{t}")
            self.losses[t] = self._step_loss(t, o)
            self._nodes |= self._softmax_nodes(t, o)
            self._meanings |= self._softmax(t, o, sum(o.applyfunc(sp.exp)))
            self._definitions |= self._softmax(t, self._logits(self.s[t]), total)
        self.loss = sum(self.c[t] * self.losses[t] for t in times)

    def _names(self) -> Iterable[str]:
        """Return the names of the parameters that this network has."""
        return self.PARAMETERS._fields

    def _advance(self, t: int, previous: sp.Matrix, node: Node) -> sp.Matrix:
        """Return s_t from s_{t−1}, with ``node(name, φ, a)`` for every φ(a): the equations of the cell."""
        raise NotImplementedError

    def _write(self, name: str, phi: Callable[[sp.Expr], sp.Expr], a: sp.Matrix) -> sp.Matrix:
        """Return φ(a) written out, and keep what its symbols are."""
        values, symbols = a.applyfunc(phi), symbol_matrix(name, *a.shape)
        self._nodes |= dict(zip(values, symbols, strict=True))
        self._meanings |= dict(zip(symbols, values, strict=True))
        return values

    def _define(self, name: str, phi: Callable[[sp.Expr], sp.Expr], a: sp.Matrix) -> sp.Matrix:
        """Return the symbols of φ(a), and keep their definition by earlier ones."""
        symbols = symbol_matrix(name, *a.shape)
        self._definitions |= dict(zip(symbols, a.applyfunc(phi), strict=True))
        return symbols

    def _logits(self, state: sp.Matrix) -> sp.Matrix:
        """Return o_t from s_t."""
        return self.parameters.W_hy * state[: self.hidden, :] + self.parameters.b_y  # eq-output

    def _step_loss(self, t: int, o: sp.Matrix) -> sp.Expr:
        """Return L_t from o_t."""
        return sp.log(sum(o.applyfunc(sp.exp))) - self.y[t].dot(o)

    def _softmax(self, t: int, o: sp.Matrix, total: sp.Expr) -> dict[sp.Expr, sp.Expr]:
        """Return what Z_t is, Σ_i exp o_i, and what each ŷ_{t,i}, exp o_i / Z_t."""
        values = o.applyfunc(sp.exp)
        return {sp.Symbol(f"Z_{t}"): sum(values)} | dict(zip(self.p[t], values / total, strict=True))

    def _softmax_nodes(self, t: int, o: sp.Matrix) -> dict[sp.Expr, sp.Expr]:
        """Return how the parts of softmax(o) are written in nodes: Σ_i exp o_i is Z_t, and exp o_i is ŷ_{t,i} Z_t."""
        total, nodes = sp.Symbol(f"Z_{t}"), {}
        for o_i, p_i in zip(o, self.p[t], strict=True):
            nodes |= {sp.exp(o_i): p_i * total, sp.exp(-o_i): 1 / (p_i * total)}  # the second where V = 1
        return {sum(o.applyfunc(sp.exp)): total} | nodes

    def variables(self, name: str) -> sp.Matrix:
        """Return the symbols of a weight, of a state before the first step, or of the input x_1, x_2, …

        Raises:
            ValueError: there is no such thing in this network.
        """
        every = {weight: getattr(self.parameters, weight) for weight in self._names()}
        every |= {state: symbol_matrix(state, self.hidden) for state in self.STATES} | {
            f"x_{t}": self.x[t] for t in self.x
        }
        if name not in every:
            raise ValueError(f"{name!r} is not in this network; it has {', '.join(every)}")
        return every[name]

    def in_nodes(self, expression: sp.Expr | sp.Matrix) -> sp.Expr | sp.Matrix:
        """Return what was written out with a symbol for each node (and Z_t for Σ_i exp o_{t,i})."""
        return expression.xreplace(self._nodes)

    def written_out(self, expression: sp.Expr | sp.Matrix) -> sp.Expr | sp.Matrix:
        """Return what was in nodes with every node written out, down to the weights."""
        return expression.xreplace(self._meanings)

    # (a) by brute differentiation

    def brute(self, name: str) -> sp.Matrix:
        """Return ∂L/∂θ, of the shape of θ, the loss written out and differentiated; afterwards put in nodes.

        Args:
            name: θ, as in `variables`.
        """
        by = self.variables(name)
        return self.in_nodes(by.applyfunc(lambda variable: sp.diff(self.loss, variable)))

    # one step, everything before it held fixed: immediate derivatives

    def _local(self, t: int, previous: sp.Matrix, by: sp.Matrix) -> sp.Matrix:
        """Return the Jacobian of s_t, as computed from `previous`, in nodes; `previous` is left in it."""
        nodes = {}

        def node(name: str, phi: Callable[[sp.Expr], sp.Expr], a: sp.Matrix) -> sp.Matrix:
            values = a.applyfunc(phi)
            nodes.update(zip(values, symbol_matrix(name, *a.shape), strict=True))
            return values

        return self._advance(t, previous, node).jacobian(_rows(by)).xreplace(nodes)

    def _held(self) -> sp.Matrix:
        """Return symbols in the place of a state, which depend on nothing."""
        return symbol_matrix("held", *self.s[0].shape)

    def immediate(self, name: str, t: int) -> sp.Matrix:
        """Return ∂⁺s_t/∂θ in nodes, with a column for each entry of θ, row after row: s_{t−1} counts as a constant.

        Of s_0 it is the derivative that is not 0: by itself, the unit matrix.
        """
        by = self.variables(name)
        if t == 0:
            return self.s[0].jacobian(_rows(by))
        held = self._held()
        return self._local(t, held, by).xreplace(dict(zip(held, self.s[t - 1], strict=True)))

    def jacobian(self, t: int) -> sp.Matrix:
        """Return J_t = ∂s_t/∂s_{t−1} in nodes: of the vanilla cell diag(φ′(a_t)) W_hh (:eq:`eq-jacobian`)."""
        held = self._held()
        return self._local(t, held, held).xreplace(dict(zip(held, self.s[t - 1], strict=True)))

    def immediate_loss(self, t: int) -> sp.Matrix:
        """Return ∂⁺L/∂s_t in nodes: through step t's own prediction only, W_hyᵀ e_t."""
        state = self._held()
        return self._local_loss(t, state, state)

    def _local_loss(self, t: int, state: sp.Matrix, by: sp.Matrix) -> sp.Matrix:
        """Return the derivative of c_t L_t(state), put in nodes, of the shape of what it is taken by."""
        o = self._logits(state)
        nodes, loss = self._softmax_nodes(t, o), self.c[t] * self._step_loss(t, o)
        local = by.applyfunc(lambda variable: sp.expand(sp.diff(loss, variable).xreplace(nodes)))
        return local.xreplace(dict(zip(state, self.s[t], strict=True)))

    # (b) the recursion

    def state_gradient(self, t: int) -> sp.Matrix:
        """Return ∂L/∂s_t in nodes, the total derivative: through step t and all later ones.

        ∂L/∂s_t = ∂⁺L/∂s_t + J_{t+1}ᵀ ∂L/∂s_{t+1}      (:eq:`eq-delta-h`)
        """
        own = self.immediate_loss(t) if t > 0 else sp.zeros(*self.s[0].shape)
        return own if t == self.steps else own + self.jacobian(t + 1).T * self.state_gradient(t + 1)

    def recursion(self, name: str) -> sp.Matrix:
        """Return ∂L/∂θ in nodes, of the shape of θ: Σ_t (∂⁺s_t/∂θ)ᵀ ∂L/∂s_t, and through the outputs Σ_t ∂⁺L_t/∂θ."""
        total = self._through_outputs(name)
        for t in range(self.steps + 1):
            total += (self.immediate(name, t).T * self.state_gradient(t)).reshape(*total.shape)
        return total

    def _through_outputs(self, name: str) -> sp.Matrix:
        """Return Σ_t c_t ∂⁺L_t/∂θ in nodes, the states held fixed: zero unless θ is W_hy or b_y."""
        by = self.variables(name)
        held = self._held()
        return sum((self._local_loss(t, held, by) for t in self.x), sp.zeros(*by.shape))

    # (c) the double sum

    def product(self, t: int, k: int) -> sp.Matrix:
        """Return ∂s_t/∂s_k = J_t J_{t−1} ⋯ J_{k+1} in nodes: the latest step stands on the left.

        Raises:
            ValueError: not 0 ≤ k ≤ t ≤ T.
        """
        if not 0 <= k <= t <= self.steps:
            raise ValueError(f"t is {t} and k is {k}; 0 ≤ k ≤ t ≤ {self.steps} is expected")
        result = sp.eye(self.s[0].rows)
        for step in range(t, k, -1):
            result = result * self.jacobian(step)
        return result

    def total(self, name: str, t: int) -> sp.Matrix:
        """Return ∂s_t/∂θ = Σ_k J_t ⋯ J_{k+1} ∂⁺s_k/∂θ in nodes, the total derivative: a column for each of θ."""
        return sum((self.product(t, k) * self.immediate(name, k) for k in range(t)), self.immediate(name, t))

    def double_sum(self, name: str) -> sp.Matrix:
        """Return ∂L/∂θ in nodes, of the shape of θ: Σ_t Σ_{k≤t} (J_t ⋯ J_{k+1} ∂⁺s_k/∂θ)ᵀ ∂⁺L/∂s_t.

        This is :eq:`eq-double-sum`. To it belongs Σ_t c_t ∂⁺L_t/∂θ, which is zero unless θ is W_hy or b_y.
        """
        total = self._through_outputs(name)
        for t in range(1, self.steps + 1):
            for k in range(t + 1):
                path = self.product(t, k) * self.immediate(name, k)
                total += (path.T * self.immediate_loss(t)).reshape(*total.shape)
        return total

    # running what was derived

    def function(self, expression: sp.Expr | sp.Matrix) -> Callable[..., np.ndarray]:
        """Return a NumPy function that computes an expression, each node once.

        Args:
            expression: in nodes or written out; an expression, or a matrix.

        Returns:
            A function of (parameters, inputs, targets, *states), as the cell's own `forward` takes them for one
            sequence: a `PARAMETERS` of arrays, (time, input_size), (time,) integers, and for each state before the
            first step (hidden_size,); without them, zeros. It returns an array of the matrix' shape, where a column has
            two axes too, or a number for an expression. It raises a ValueError where arrays do not fit together, or
            are not of the sizes of this network.
        """
        names = list(self._names())
        matrices = [self.variables(name) for name in (*names, *self.STATES)] + [*self.x.values(), *self.y.values()]
        symbols, definitions = [symbol for matrix in matrices for symbol in matrix], list(self._definitions.items())
        modules, in_nodes = [{"sigma": sigmoid}, "numpy"], self.in_nodes(expression)
        run = sp.lambdify(symbols, in_nodes, modules, cse=lambda expressions: (definitions, expressions))

        def evaluate(parameters: NamedTuple, inputs, targets, *states) -> np.ndarray:
            inputs, targets = np.asarray(inputs), np.asarray(targets)
            states = [np.asarray(state) for state in states] or [np.zeros(self.hidden)] * len(self.STATES)
            weights = [getattr(parameters, name) for name in names]
            expected = [self._shape(name) for name in names], self.steps
            found = [np.shape(weight) for weight in weights], len(inputs)
            if found != expected:
                raise ValueError(
                    f"{', '.join(names)} have shapes {found[0]} and there are {found[1]} steps; "
                    f"this network was derived for {expected[0]} and {expected[1]}"
                )
            check_shapes(parameters, self.AXES, inputs, targets, dict(zip(self.STATES, states, strict=True)))
            one_hot = np.eye(len(parameters.b_y))[targets]  # (time, vocab)
            return run(*np.concatenate([np.ravel(array) for array in (*weights, *states, inputs, one_hot)]))

        return evaluate

    def _shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a weight as an array: that of its matrix, or its length."""
        return self.variables(name).shape[: len(self.AXES[name])]
