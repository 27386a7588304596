"""Backpropagation through time derived by SymPy: three ways to the same gradient, and their difference, exactly 0.

    network = Network(hidden=2, inputs=2, symbols=3, steps=3)
    (a) network.brute("W_hh")         the loss written out as one formula and differentiated
    (b) network.recursion("W_hh")     δ_t carried back from step to step
    (c) network.double_sum("W_hh")    every pair of steps, with the product of the Jacobians between them
    difference(a, b)                  a matrix of zeros

Written out, such formulas are too large to compare: `sympy.simplify` does not come back. But all their functions are
applied to the same few arguments, the nodes of the network. Each node gets a symbol (h_{t,i}, ŷ_{t,i}), and with the
rules tanh′ = 1 − tanh², σ′ = σ (1 − σ), exp′ = exp, every gradient becomes a polynomial in symbols. Equal polynomials
have equal expansions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import sympy as sp

from unrolled.backprop import Parameters, check_shapes

# each activation φ of a symbol, and how its parts are written where h stands for φ(a)
ACTIVATIONS = {
    "tanh": (sp.tanh, lambda a, h: {sp.tanh(a): h}),
    "sigmoid": (lambda a: 1 / (1 + sp.exp(-a)), lambda a, h: {1 + sp.exp(-a): 1 / h, sp.exp(-a): 1 / h - 1}),
    "identity": (lambda a: a, lambda a, h: {}),
}
LARGEST = {"hidden": 3, "inputs": 3, "symbols": 3, "steps": 4}


def _symbols(name: str, rows: int, columns: int = 1) -> sp.Matrix:
    """Return a matrix of symbols, indexed from 1; a 1 × 1 matrix holds the bare name, and a column needs one index."""
    if rows == columns == 1:
        return sp.Matrix([sp.Symbol(name)])
    return sp.Matrix(
        rows, columns, lambda i, j: sp.Symbol(f"{name}_{i + 1}" if columns == 1 else f"{name}_{i + 1}{j + 1}")
    )


def _rows(matrix: sp.Matrix) -> sp.Matrix:
    """Return all entries of a matrix in one column, row after row."""
    return matrix.reshape(matrix.rows * matrix.cols, 1)


def difference(a: sp.Matrix, b: sp.Matrix) -> sp.Matrix:
    """Return a − b, expanded: all zeros if and only if the two are the same polynomial in their symbols.

    Raises:
        ValueError: the shapes differ.
    """
    if a.shape != b.shape:
        raise ValueError(f"the shapes are {a.shape} and {b.shape}; they must be the same to be compared")
    return (a - b).applyfunc(sp.expand)


class Network:
    """A vanilla network, unrolled, with a symbol for every weight, every input and every target.

        a_t = W_xh x_t + W_hh h_{t−1} + b_h,  h_t = φ(a_t)            (:eq:`eq-rnn`)
        o_t = W_hy h_t + b_y,  ŷ_t = softmax(o_t)                     (:eq:`eq-output`)
        L = Σ_t c_t L_t,  L_t = −Σ_i y_{t,i} ln ŷ_{t,i} = ln Σ_i exp o_{t,i} − Σ_i y_{t,i} o_{t,i}

    The last form of L_t holds where the targets y_t add up to 1. Expressions of two kinds are in use: *written out*,
    with tanh and exp in one another, down to the weights (`states`, `loss`), and *in nodes*, with a symbol for each
    h_{t,i} and ŷ_{t,i} (all gradients). `in_nodes` and `written_out` lead from one to the other. Under the identity
    there is nothing to abbreviate in a state, and h_t stays the polynomial that it is.

    Args:
        hidden: h, the length of the state, up to 3. With hidden = inputs = 1 all is scalar, except for the outputs.
        inputs: d, the length of an input, up to 3.
        symbols: V, the size of the vocabulary, up to 3.
        steps: T, up to 4.
        activation: φ: ``"tanh"``, ``"sigmoid"`` or ``"identity"``.
        step_weights: c_1 … c_T, what each step's loss counts; floats are taken for the binary fractions that they are.
            None: 1/T each, as in `backprop.forward`.

    Attributes:
        steps: T.
        activation: the name of φ.
        parameters: a `backprop.Parameters` of SymPy matrices.
        c: c_1 … c_T, in a dictionary by t, as all that follows.
        x: x_1 … x_T, inputs × 1 each.
        y: the targets y_1 … y_T, symbols × 1 each.
        h: h_0 … h_T in nodes, hidden × 1 each; h_0 is made of symbols of its own.
        p: ŷ_1 … ŷ_T in nodes, symbols × 1 each: p_{t,i} stands for ŷ_{t,i}.
        states: h_0 … h_T written out, hidden × 1 each.
        losses: L_1 … L_T written out.
        loss: L written out.

    Raises:
        ValueError: a size out of range, an unknown activation, or a wrong number of step weights.
    """

    def __init__(
        self,
        hidden: int = 1,
        inputs: int = 1,
        symbols: int = 2,
        steps: int = 3,
        activation: str = "tanh",
        step_weights: Sequence | None = None,
    ):
        for name, size in {"hidden": hidden, "inputs": inputs, "symbols": symbols, "steps": steps}.items():
            if not 1 <= size <= LARGEST[name]:
                raise ValueError(f"{name} is {size}; it can be 1 to {LARGEST[name]}: formulas grow fast")
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation is {activation!r}; it can be one of {', '.join(ACTIVATIONS)}")
        if step_weights is not None and len(step_weights) != steps:
            raise ValueError(f"there are {len(step_weights)} step_weights for {steps} steps; one for each is expected")
        self.steps, self.activation = steps, activation
        weights = [sp.Rational(1, steps)] * steps if step_weights is None else [sp.Rational(c) for c in step_weights]
        self.c = dict(enumerate(weights, start=1))
        self.parameters = Parameters(
            _symbols("W_xh", hidden, inputs),
            _symbols("W_hh", hidden, hidden),
            _symbols("W_hy", symbols, hidden),
            _symbols("b_h", hidden),
            _symbols("b_y", symbols),
        )
        phi, fold = ACTIVATIONS[activation]
        times = range(1, steps + 1)
        self.x = {t: _symbols(f"x_{t}", inputs) for t in times}
        self.y = {t: _symbols(f"y_{t}", symbols) for t in times}
        self.p = {t: _symbols(f"p_{t}", symbols) for t in times}
        self.h = {0: _symbols("h_0", hidden)}
        self.states, self.losses = {0: self.h[0]}, {}
        self._nodes, self._meanings = {}, {}
        for t in times:
            a = self._preactivation(t, self.states[t - 1])
            self.states[t] = a.applyfunc(phi)
            self.h[t] = self.states[t] if activation == "identity" else _symbols(f"h_{t}", hidden)
            for a_i, h_i, state_i in zip(a, self.h[t], self.states[t], strict=True):
                self._nodes |= fold(a_i, h_i)
                self._meanings[h_i] = state_i
            o = self._logits(self.states[t])
            self.losses[t] = self._step_loss(t, o)
            self._nodes |= self._softmax_nodes(t, o)
            total = sum(o.applyfunc(sp.exp))
            self._meanings |= {sp.Symbol(f"Z_{t}"): total}
            self._meanings |= {p_i: sp.exp(o_i) / total for p_i, o_i in zip(self.p[t], o, strict=True)}
        self.loss = sum(self.c[t] * self.losses[t] for t in times)

    def _preactivation(self, t: int, previous: sp.Matrix) -> sp.Matrix:
        """Return a_t from h_{t−1}."""
        return self.parameters.W_xh * self.x[t] + self.parameters.W_hh * previous + self.parameters.b_h  # eq-rnn

    def _logits(self, state: sp.Matrix) -> sp.Matrix:
        """Return o_t from h_t."""
        return self.parameters.W_hy * state + self.parameters.b_y  # eq-output

    def _step_loss(self, t: int, o: sp.Matrix) -> sp.Expr:
        """Return L_t from o_t."""
        return sp.log(sum(o.applyfunc(sp.exp))) - self.y[t].dot(o)

    def _softmax_nodes(self, t: int, o: sp.Matrix) -> dict[sp.Expr, sp.Expr]:
        """Return how the parts of softmax(o) are written in nodes: Σ_i exp o_i is Z_t, and exp o_i is ŷ_{t,i} Z_t."""
        total = sp.Symbol(f"Z_{t}")
        return {sum(o.applyfunc(sp.exp)): total} | {
            sp.exp(o_i): p_i * total for o_i, p_i in zip(o, self.p[t], strict=True)
        }

    def variables(self, name: str) -> sp.Matrix:
        """Return the symbols of W_xh, W_hh, W_hy, b_h, b_y, h_0, or of the input x_1, x_2, …

        Raises:
            ValueError: there is no such thing in this network.
        """
        every = self.parameters._asdict() | {"h_0": self.h[0]} | {f"x_{t}": self.x[t] for t in self.x}
        if name not in every:
            raise ValueError(f"{name!r} is not in this network; it has {', '.join(every)}")
        return every[name]

    def in_nodes(self, expression: sp.Expr | sp.Matrix) -> sp.Expr | sp.Matrix:
        """Return what was written out with a symbol for each h_{t,i} and ŷ_{t,i} (and Z_t for Σ_i exp o_{t,i})."""
        return expression.xreplace(self._nodes)

    def written_out(self, expression: sp.Expr | sp.Matrix) -> sp.Expr | sp.Matrix:
        """Return what was in nodes with every h_{t,i} and ŷ_{t,i} written out, down to the weights."""
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

    def slope(self, t: int) -> sp.Matrix:
        """Return φ′(a_t) in nodes, hidden × 1: the derivative rule of φ, found by differentiating it."""
        phi, fold = ACTIVATIONS[self.activation]
        a, h = sp.symbols("a h")
        rule = sp.expand(sp.diff(phi(a), a).xreplace(fold(a, h)))
        return self.h[t].applyfunc(lambda h_i: rule.subs(h, h_i))

    def immediate(self, name: str, t: int) -> sp.Matrix:
        """Return ∂⁺h_t/∂θ in nodes, hidden × (the entries of θ, row after row): h_{t−1} counts as a constant.

        Of h_0 it is the derivative that is not 0: by itself, the unit matrix.
        """
        by = _rows(self.variables(name))
        if t == 0:
            return self.h[0].jacobian(by)
        previous = _symbols("held", *self.h[0].shape)  # symbols that depend on nothing
        local = self._preactivation(t, previous).jacobian(by)
        return sp.diag(*self.slope(t)) * local.xreplace(dict(zip(previous, self.h[t - 1], strict=True)))

    def jacobian(self, t: int) -> sp.Matrix:
        """Return J_t = ∂h_t/∂h_{t−1} = diag(φ′(a_t)) W_hh in nodes, hidden × hidden (:eq:`eq-jacobian`)."""
        previous = _symbols("held", *self.h[0].shape)
        return sp.diag(*self.slope(t)) * self._preactivation(t, previous).jacobian(previous)

    def immediate_loss(self, t: int) -> sp.Matrix:
        """Return ∂⁺L/∂h_t in nodes, hidden × 1: through step t's own prediction only, W_hyᵀ e_t."""
        state = _symbols("held", *self.h[0].shape)
        return self._local_loss(t, state, state)

    def _local_loss(self, t: int, state: sp.Matrix, by: sp.Matrix) -> sp.Matrix:
        """Return the derivative of c_t L_t(state), put in nodes, of the shape of what it is taken by."""
        o = self._logits(state)
        nodes, loss = self._softmax_nodes(t, o), self.c[t] * self._step_loss(t, o)
        local = by.applyfunc(lambda variable: sp.expand(sp.diff(loss, variable).xreplace(nodes)))
        return local.xreplace(dict(zip(state, self.h[t], strict=True)))

    # (b) the recursion

    def state_gradient(self, t: int) -> sp.Matrix:
        """Return ∂L/∂h_t in nodes, hidden × 1, the total derivative: through step t and all later ones.

        ∂L/∂h_t = ∂⁺L/∂h_t + J_{t+1}ᵀ ∂L/∂h_{t+1}      (:eq:`eq-delta-h`)
        """
        own = self.immediate_loss(t) if t > 0 else sp.zeros(*self.h[0].shape)
        return own if t == self.steps else own + self.jacobian(t + 1).T * self.state_gradient(t + 1)

    def delta(self, t: int) -> sp.Matrix:
        """Return δ_t = ∂L/∂a_t = φ′(a_t) ⊙ ∂L/∂h_t in nodes, hidden × 1 (:eq:`eq-delta`)."""
        return self.slope(t).multiply_elementwise(self.state_gradient(t))

    def recursion(self, name: str) -> sp.Matrix:
        """Return ∂L/∂θ in nodes, of the shape of θ: Σ_t (∂⁺h_t/∂θ)ᵀ ∂L/∂h_t, and through the outputs Σ_t ∂⁺L_t/∂θ."""
        total = self._through_outputs(name)
        for t in range(self.steps + 1):
            total += (self.immediate(name, t).T * self.state_gradient(t)).reshape(*total.shape)
        return total

    def _through_outputs(self, name: str) -> sp.Matrix:
        """Return Σ_t c_t ∂⁺L_t/∂θ in nodes, the states held fixed: zero unless θ is W_hy or b_y."""
        by = self.variables(name)
        held = _symbols("held", *self.h[0].shape)
        return sum((self._local_loss(t, held, by) for t in self.x), sp.zeros(*by.shape))

    # (c) the double sum

    def product(self, t: int, k: int) -> sp.Matrix:
        """Return ∂h_t/∂h_k = J_t J_{t−1} ⋯ J_{k+1} in nodes, hidden × hidden: the latest step stands on the left.

        Raises:
            ValueError: not 0 ≤ k ≤ t ≤ T.
        """
        if not 0 <= k <= t <= self.steps:
            raise ValueError(f"t is {t} and k is {k}; 0 ≤ k ≤ t ≤ {self.steps} is expected")
        result = sp.eye(self.h[0].rows)
        for step in range(t, k, -1):
            result = result * self.jacobian(step)
        return result

    def total(self, name: str, t: int) -> sp.Matrix:
        """Return ∂h_t/∂θ = Σ_k J_t ⋯ J_{k+1} ∂⁺h_k/∂θ in nodes, the total derivative, hidden × (the entries of θ)."""
        return sum((self.product(t, k) * self.immediate(name, k) for k in range(t)), self.immediate(name, t))

    def double_sum(self, name: str) -> sp.Matrix:
        """Return ∂L/∂θ in nodes, of the shape of θ: Σ_t Σ_{k≤t} (J_t ⋯ J_{k+1} ∂⁺h_k/∂θ)ᵀ ∂⁺L/∂h_t.

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
        """Return a NumPy function that computes an expression; what occurs in it more than once is computed once.

        Args:
            expression: in nodes or written out; an expression, or a matrix.

        Returns:
            A function of (parameters, inputs, targets, h_0), as `backprop.forward` takes them for one sequence: a
            `Parameters` of arrays, (time, input_size), (time,) integers, and (hidden_size,) or None for zeros. It
            returns an array of the matrix' shape, where a column has two axes too, or a number for an expression. It
            raises a ValueError where arrays do not fit together, or are not of the sizes of this network.
        """
        matrices = [*self.parameters, self.h[0], *self.x.values(), *self.y.values()]
        symbols = [symbol for matrix in matrices for symbol in matrix]
        run = sp.lambdify(symbols, self.written_out(expression), modules="numpy", cse=True)

        def evaluate(parameters: Parameters, inputs, targets, h_0=None) -> np.ndarray:
            inputs, targets = np.asarray(inputs), np.asarray(targets)
            h_0 = np.zeros(self.h[0].rows) if h_0 is None else np.asarray(h_0)
            expected = [matrix.shape for matrix in self.parameters[:3]], self.steps
            found = [np.shape(weight) for weight in parameters[:3]], len(inputs)
            if found != expected:
                raise ValueError(
                    f"W_xh, W_hh, W_hy have shapes {found[0]} and there are {found[1]} steps; "
                    f"this network was derived for {expected[0]} and {expected[1]}"
                )
            check_shapes(parameters, inputs, targets, h_0)
            one_hot = np.eye(len(parameters.b_y))[targets]  # (time, vocab)
            return run(*np.concatenate([np.ravel(array) for array in (*parameters, h_0, inputs, one_hot)]))

        return evaluate
