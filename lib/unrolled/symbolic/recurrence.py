"""Any recurrent network, unrolled in symbols: SymPy derives its gradient in three ways, to be compared exactly.

A cell is given by what one step computes; `symbolic.rnn` and `symbolic.gated` define theirs. The rest is shared.

Written-out gradients are too large to compare: `sympy.simplify` does not finish. But all their functions are applied to
the same few arguments, the nodes of the network. Each node gets a symbol, and with the rules tanh′ = 1 − tanh²,
σ′ = σ (1 − σ) and exp′ = exp every gradient becomes a polynomial in symbols. Equal polynomials have equal expansions.
"""

from collections.abc import Callable, Iterable, Sequence
from types import ModuleType

import numpy as np
import sympy as sp

from unrolled.bptt import Trace
from unrolled.symbolic.polynomials import symbol_matrix

LARGEST = {"hidden": 3, "inputs": 3, "symbols": 3, "steps": 4}
Node = Callable[[str, Callable[[sp.Expr], sp.Expr], sp.Matrix], sp.Matrix]


def _column(matrix: sp.Matrix) -> sp.Matrix:
    """Return all entries of a matrix in one column, row after row."""
    return matrix.reshape(matrix.rows * matrix.cols, 1)  # (rows, columns) → (rows · columns, 1)


def _writer(nodes: dict[sp.Expr, sp.Expr], meanings: dict[sp.Expr, sp.Expr]) -> Node:
    """Return what writes φ(a) out, and records which symbols stand for it, and what they mean."""

    def node(name: str, phi: Callable[[sp.Expr], sp.Expr], a: sp.Matrix) -> sp.Matrix:
        values, symbols = a.applyfunc(phi), symbol_matrix(name, *a.shape)
        nodes.update(zip(values, symbols, strict=True))
        meanings.update(zip(symbols, values, strict=True))
        return values

    return node


class Recurrence:
    """A recurrent network, unrolled, with a symbol for every weight, every input and every target.

        h_t = the states after step t, stacked, from h_{t−1} and x_t
        ŷ_t = softmax(ℓ_t),  ℓ_t = W_hy h_t + b_y                     (:eq:`eq-output`)
        L = Σ_t ω_t L_t,  L_t = −Σ_i y_{t,i} ln ŷ_{t,i} = ln Σ_i exp ℓ_{t,i} − Σ_i y_{t,i} ℓ_{t,i}

    In an LSTM h_t here stands for h_t above c_t, of which only h_t makes the logits. The last form of L_t holds if the
    targets y_t add up to 1 (:eq:`eq-softmax-gradient`). Expressions come in two forms: *written out*, with σ, tanh and
    exp nested down to the weights (`loss`), and *in nodes*, with a symbol for each value of a σ or tanh and for each
    ŷ_{t,i} (all else). `written_out` turns the second form into the first. W stands for any of the `variables`.

    A cell is a subclass: it names its `MODULE`, its `STATES` and its `NODES`, and defines `_advance`.

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
        y_hat: ŷ_1 … ŷ_T in nodes, symbols × 1 each.
        state: h_0 … h_T in nodes; h_0 has symbols of its own.
        loss: L written out.

    Raises:
        ValueError: a size out of range, or a wrong number of step weights.
    """

    MODULE: ModuleType  # the code by hand: its Parameters and AXES
    STATES = ("h_0",)
    NODES: tuple[str, ...] = ()  # the trace's arrays that are nodes, beside the states

    def __init__(
        self, hidden: int = 1, inputs: int = 1, symbols: int = 2, steps: int = 3, step_weights: Sequence | None = None
    ):
        for name, size in {"hidden": hidden, "inputs": inputs, "symbols": symbols, "steps": steps}.items():
            if not 1 <= size <= LARGEST[name]:
                raise ValueError(f"{name} is {size}; it can be 1 to {LARGEST[name]}: formulas grow fast")
        if step_weights is not None and len(step_weights) != steps:
            raise ValueError(f"there are {len(step_weights)} step_weights for {steps} steps; one for each is expected")
        self.hidden, self.steps = hidden, steps
        weights = [sp.Rational(1, steps)] * steps if step_weights is None else [sp.Rational(w) for w in step_weights]
        self.step_weights = dict(enumerate(weights, start=1))
        sizes = {"hidden_size": hidden, "input_size": inputs, "vocab_size": symbols}
        sizes["hidden_size + input_size"] = hidden + inputs
        self.parameters = self.MODULE.Parameters(
            **{name: symbol_matrix(name, *(sizes[axis] for axis in self.MODULE.AXES[name])) for name in self._names()}
        )
        times = range(1, steps + 1)
        self.x = {t: symbol_matrix(f"x_{t}", inputs) for t in times}
        self.y = {t: symbol_matrix(f"y_{t}", symbols) for t in times}
        self.y_hat = {t: symbol_matrix(f"y_hat_{t}", symbols) for t in times}
        self.state = {0: sp.Matrix.vstack(*(symbol_matrix(name, hidden) for name in self.STATES))}
        self.loss, written = sp.Integer(0), self.state[0]
        self._nodes, self._meanings = {}, {}
        for t in times:
            written = self._advance(t, written, _writer(self._nodes, self._meanings))
            self.state[t] = self._advance(t, self.state[t - 1], lambda name, phi, a: symbol_matrix(name, *a.shape))
            loss, nodes, meanings = self._predict(t, written)
            self.loss += self.step_weights[t] * loss
            self._nodes |= nodes
            self._meanings |= meanings

    def _names(self) -> Iterable[str]:
        """Return the names of the parameters that this network has."""
        return self.MODULE.Parameters._fields

    def _advance(self, t: int, previous: sp.Matrix, node: Node) -> sp.Matrix:
        """Return h_t from h_{t−1}, with ``node(name, φ, a)`` for every φ(a): the equations of the cell."""
        raise NotImplementedError

    def _predict(self, t: int, state: sp.Matrix) -> tuple[sp.Expr, dict[sp.Expr, sp.Expr], dict[sp.Expr, sp.Expr]]:
        """Return L_t from h_t, its exponentials in nodes, and what these nodes stand for.

        Z_t is Σ_i exp ℓ_{t,i}, so that exp ℓ_{t,i} is ŷ_{t,i} Z_t.
        """
        logits = self.parameters.W_hy * state[: self.hidden, :] + self.parameters.b_y  # eq-output
        exponentials, Z = logits.applyfunc(sp.exp), sp.Symbol(f"Z_{t}")
        total = sum(exponentials)
        nodes, meanings = {total: Z}, {Z: total}
        for logit, y_hat in zip(logits, self.y_hat[t], strict=True):
            nodes |= {sp.exp(logit): y_hat * Z, sp.exp(-logit): 1 / (y_hat * Z)}  # the second if V = 1
            meanings[y_hat] = sp.exp(logit) / total
        return sp.log(total) - self.y[t].dot(logits), nodes, meanings  # eq-softmax-gradient

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
        """Return a written-out expression in nodes, with Z_t for Σ_i exp ℓ_{t,i}."""
        return expression.xreplace(self._nodes)

    def written_out(self, expression: sp.Expr | sp.Matrix) -> sp.Expr | sp.Matrix:
        """Return an expression in nodes with every node written out, down to the weights."""
        return expression.xreplace(self._meanings)

    # (a) by brute differentiation

    def brute(self, name: str) -> sp.Matrix:
        """Return ∂L/∂W in nodes, of the shape of W: the written-out loss, differentiated.

        Args:
            name: W, as in `variables`.
        """
        return self.in_nodes(self.variables(name).applyfunc(lambda variable: sp.diff(self.loss, variable)))

    # one step with everything before it held fixed: immediate derivatives

    def _held(self) -> sp.Matrix:
        """Return symbols in the place of a state, which depend on nothing else."""
        return symbol_matrix("held", *self.state[0].shape)

    def _through_step(self, t: int, W: sp.Matrix) -> sp.Matrix:
        """Return ∂⁺h_t/∂W in nodes, with a column for each entry of W; W may be `_held()`, which is h_{t−1} here."""
        held, nodes = self._held(), {}
        derivative = self._advance(t, held, _writer(nodes, {})).jacobian(_column(W)).xreplace(nodes)
        return derivative.xreplace(dict(zip(held, self.state[t - 1], strict=True)))

    def _through_prediction(self, t: int, W: sp.Matrix) -> sp.Matrix:
        """Return ω_t ∂⁺L_t/∂W in nodes, of the shape of W; W may be `_held()`, which is h_t here."""
        held = self._held()
        L_t, nodes, _ = self._predict(t, held)
        weighted = self.step_weights[t] * L_t
        derivative = W.applyfunc(lambda variable: sp.expand(sp.diff(weighted, variable).xreplace(nodes)))
        return derivative.xreplace(dict(zip(held, self.state[t], strict=True)))

    def immediate(self, name: str, t: int) -> sp.Matrix:
        """Return ∂⁺h_t/∂W in nodes, with h_{t−1} held fixed and a column for each entry of W, row after row.

        At t = 0 only the initial states have a derivative that is not zero: the identity.
        """
        W = self.variables(name)
        return self._through_step(t, W) if t > 0 else self.state[0].jacobian(_column(W))

    def jacobian(self, t: int) -> sp.Matrix:
        """Return J_t = ∂h_t/∂h_{t−1} in nodes; for the vanilla cell, diag(1 − h_t ⊙ h_t) W_hh (:eq:`eq-jacobian`)."""
        return self._through_step(t, self._held())

    def immediate_loss(self, t: int) -> sp.Matrix:
        """Return ∂⁺L/∂h_t in nodes: through the prediction at step t alone, W_hyᵀ e_t (:eq:`eq-immediate-loss`)."""
        return self._through_prediction(t, self._held())

    def _through_predictions(self, name: str) -> sp.Matrix:
        """Return Σ_t ω_t ∂⁺L_t/∂W in nodes, with the states held fixed: zero unless W is W_hy or b_y."""
        W = self.variables(name)
        return sum((self._through_prediction(t, W) for t in self.x), sp.zeros(*W.shape))

    # (b) the recursion

    def state_gradient(self, t: int) -> sp.Matrix:
        """Return the total derivative ∂L/∂h_t in nodes: through step t and all later ones.

        ∂L/∂h_t = ∂⁺L/∂h_t + J_{t+1}ᵀ ∂L/∂h_{t+1}      (:eq:`eq-delta-h`)
        """
        own = self.immediate_loss(t) if t > 0 else sp.zeros(*self.state[0].shape)
        return own if t == self.steps else own + self.jacobian(t + 1).T * self.state_gradient(t + 1)

    def recursion(self, name: str) -> sp.Matrix:
        """Return ∂L/∂W in nodes, of the shape of W: Σ_t (∂⁺h_t/∂W)ᵀ ∂L/∂h_t + Σ_t ω_t ∂⁺L_t/∂W.

        The last sum is zero unless W is W_hy or b_y.
        """
        total = self._through_predictions(name)
        for t in range(self.steps + 1):
            total += (self.immediate(name, t).T * self.state_gradient(t)).reshape(*total.shape)
        return total

    # (c) the double sum

    def product(self, t: int, s: int) -> sp.Matrix:
        """Return ∂h_t/∂h_s = J_t J_{t−1} ⋯ J_{s+1} in nodes, with the latest step on the left.

        Raises:
            ValueError: not 0 ≤ s ≤ t ≤ T.
        """
        if not 0 <= s <= t <= self.steps:
            raise ValueError(f"t is {t} and s is {s}; 0 ≤ s ≤ t ≤ {self.steps} is expected")
        result = sp.eye(self.state[0].rows)
        for step in range(t, s, -1):
            result = result * self.jacobian(step)
        return result

    def double_sum(self, name: str) -> sp.Matrix:
        """Return ∂L/∂W in nodes, of the shape of W: Σ_t Σ_{s≤t} (J_t ⋯ J_{s+1} ∂⁺h_s/∂W)ᵀ ∂⁺L/∂h_t + Σ_t ω_t ∂⁺L_t/∂W.

        The double sum is :eq:`eq-double-sum`; the last sum is zero unless W is W_hy or b_y.
        """
        total = self._through_predictions(name)
        for t in range(1, self.steps + 1):
            for s in range(t + 1):
                path = self.product(t, s) * self.immediate(name, s)
                total += (path.T * self.immediate_loss(t)).reshape(*total.shape)
        return total

    # the code by hand on symbols

    def trace(self) -> Trace:
        """Return a trace of symbols instead of numbers, for the `backward` of `MODULE`."""
        weights = {name: np.array(self.variables(name).tolist(), dtype=object) for name in self._names()}
        weights = {name: w if len(self.MODULE.AXES[name]) == 2 else w[:, 0] for name, w in weights.items()}
        columns = {"x": self.x, "y": self.y, "y_hat": self.y_hat}
        columns |= {name: {t: symbol_matrix(f"{name}_{t}", self.hidden) for t in self.x} for name in self.NODES}
        for place, name in enumerate(self.STATES):
            part = slice(place * self.hidden, (place + 1) * self.hidden)
            columns[name[0]] = {t: state[part, :] for t, state in self.state.items()}
        return Trace(
            parameters=self.MODULE.Parameters(**weights),
            step_weights=np.array([sp.nan, *self.step_weights.values()], dtype=object),
            **{name: self._by_step(of_step) for name, of_step in columns.items()},
        )

    def _by_step(self, columns: dict[int, sp.Matrix]) -> np.ndarray:
        """Return the columns as rows by t, (time + 1, size), with NaN at [0] if there is no step 0."""
        missing = [sp.nan] * len(columns[1])
        return np.array([list(columns.get(t, missing)) for t in range(self.steps + 1)], dtype=object)
