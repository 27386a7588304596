"""Any recurrent network, unrolled in symbols: SymPy derives its gradient in three ways, to be compared exactly.

    network = Network(hidden=2, inputs=2, symbols=3, steps=3)
    (a) network.brute("W_hh")         the loss written out as one formula, and differentiated
    (b) network.recursion("W_hh")     the derivative in the state carried back from step to step
    (c) network.double_sum("W_hh")    every pair of steps, with the product of the Jacobians between them
    difference(a, b)                  a matrix of zeros

Written-out gradients are too large to compare: `sympy.simplify` does not finish. But all their functions are applied to
the same few arguments, the nodes of the network. Each node gets a symbol, and with the rules tanh′ = 1 − tanh²,
σ′ = σ (1 − σ) and exp′ = exp every gradient becomes a polynomial in symbols. Equal polynomials have equal expansions.
"""

from collections.abc import Callable, Iterable
from types import ModuleType

import numpy as np
import sympy as sp

from unrolled.bptt import Trace
from unrolled.symbolic.polynomials import symbol_matrix


def _column(matrix: sp.Matrix) -> sp.Matrix:
    """Return all entries of a matrix in one column, row after row."""
    return matrix.reshape(matrix.rows * matrix.cols, 1)  # (rows, columns) → (rows · columns, 1)


class Recurrence:
    """A recurrent network, unrolled, with a symbol for every weight, every input and every target.

        h_t = the states after step t, stacked, from h_{t−1} and x_t
        ŷ_t = softmax(ℓ_t),  ℓ_t = W_hy h_t + b_y                     (:eq:`eq-output`)
        L = Σ_t L_t / T,  L_t = −Σ_i y_{t,i} ln ŷ_{t,i} = ln Σ_i exp ℓ_{t,i} − Σ_i y_{t,i} ℓ_{t,i}

    In an LSTM h_t here stands for h_t above c_t, of which only h_t makes the logits. The last form of L_t holds if the
    targets y_t add up to 1 (:eq:`eq-softmax-gradient`). The loss is *written out*, with σ, tanh and exp nested down to
    the weights; all else is *in nodes*, with a symbol for each value of a σ or tanh and for each ŷ_{t,i}. W stands for
    any of the `variables`. A cell is a subclass: it names its module and states, and says what a step computes.

    Args:
        hidden: h, the size of a state. With hidden = inputs = 1 everything but the outputs is scalar.
        inputs: d, the size of an input.
        symbols: V, the size of the vocabulary.
        steps: T. Formulas grow fast: three units and four steps are much.

    Attributes:
        parameters: the `Parameters` of the module, made of SymPy matrices.
        x: x_1 … x_T, inputs × 1 each, in a dictionary by t, like all that follow.
        y: the targets y_1 … y_T, symbols × 1 each.
        y_hat: ŷ_1 … ŷ_T in nodes, symbols × 1 each.
        state: h_0 … h_T in nodes; h_0 has symbols of its own.
        loss: L written out.
    """

    MODULE: ModuleType  # the code by hand
    STATES = ("h_0",)
    NODES: tuple[str, ...] = ()  # the trace's arrays that are nodes, beside the states

    def __init__(self, hidden: int = 1, inputs: int = 1, symbols: int = 2, steps: int = 3):
        self.hidden, self.steps = hidden, steps
        shapes = {"W_xh": (hidden, inputs), "W_hh": (hidden, hidden), "W_hy": (symbols, hidden), "b_y": (symbols, 1)}
        of_gates = {"W": (hidden, hidden + inputs), "b": (hidden, 1)}
        self.parameters = self.MODULE.Parameters(
            **{name: symbol_matrix(name, *shapes.get(name, of_gates[name[0]])) for name in self._names()}
        )
        times = range(1, steps + 1)
        self.x = {t: symbol_matrix(f"x_{t}", inputs) for t in times}
        self.y = {t: symbol_matrix(f"y_{t}", symbols) for t in times}
        self.y_hat = {t: symbol_matrix(f"y_hat_{t}", symbols) for t in times}
        self.loss, self._nodes = sp.Integer(0), {}
        written = sp.Matrix.vstack(*(symbol_matrix(name, hidden) for name in self.STATES))
        self.state = {0: written}
        for t in times:
            written = self._advance(t, written)
            self.state[t] = written.xreplace(self._nodes)
            self.loss += self._loss(t, written) / steps

    def _names(self) -> Iterable[str]:
        """Return the names of the parameters that this network has."""
        return self.MODULE.Parameters._fields

    def _node(self, name: str, phi: Callable[[sp.Expr], sp.Expr], a: sp.Matrix) -> sp.Matrix:
        """Return φ(a) written out, and remember the symbols that stand for it."""
        values = a.applyfunc(phi)
        self._nodes.update(zip(values, symbol_matrix(name, *a.shape), strict=True))
        return values

    def _advance(self, t: int, previous: sp.Matrix) -> sp.Matrix:
        """Return h_t from h_{t−1}, with ``self._node(name, φ, a)`` for every φ(a): the equations of the cell."""
        raise NotImplementedError

    def _loss(self, t: int, state: sp.Matrix) -> sp.Expr:
        """Return L_t from h_t, and remember ŷ_{t,i} Z_t for exp ℓ_{t,i}, where Z_t is Σ_i exp ℓ_{t,i}."""
        logits = self.parameters.W_hy * state[: self.hidden, :] + self.parameters.b_y  # eq-output
        Z, total = sp.Symbol(f"Z_{t}"), sum(logits.applyfunc(sp.exp))
        self._nodes[total] = Z
        for logit, y_hat in zip(logits, self.y_hat[t], strict=True):
            self._nodes |= {sp.exp(logit): y_hat * Z, sp.exp(-logit): 1 / (y_hat * Z)}  # the second if V = 1
        return sp.log(total) - self.y[t].dot(logits)  # eq-softmax-gradient

    def variables(self, name: str) -> sp.Matrix:
        """Return the symbols of a weight, of a state before the first step, or of an input x_1, x_2, …"""
        variables = {weight: getattr(self.parameters, weight) for weight in self._names()}
        variables |= {state: symbol_matrix(state, self.hidden) for state in self.STATES}
        return (variables | {f"x_{t}": self.x[t] for t in self.x})[name]

    # (a) by brute differentiation

    def brute(self, name: str) -> sp.Matrix:
        """Return ∂L/∂W, of the shape of W: the written-out loss, differentiated.

        Args:
            name: W, as in `variables`.
        """
        return self.variables(name).applyfunc(lambda variable: sp.diff(self.loss, variable)).xreplace(self._nodes)

    # one step with everything before it held fixed: immediate derivatives

    def _held(self, t: int) -> sp.Matrix:
        """Return symbols in the place of h_t, which depend on nothing else."""
        return symbol_matrix(f"held_{t}", self.state[0].rows)

    def _released(self, t: int, derivative: sp.Matrix) -> sp.Matrix:
        """Return a derivative in nodes, with h_t in the place of what was held."""
        return derivative.xreplace(self._nodes).xreplace(dict(zip(self._held(t), self.state[t], strict=True)))

    def _through_step(self, t: int, W: sp.Matrix) -> sp.Matrix:
        """Return ∂⁺h_t/∂W, with a column for each entry of W; W may be what is held for h_{t−1}."""
        return self._released(t - 1, self._advance(t, self._held(t - 1)).jacobian(_column(W)))

    def _through_prediction(self, t: int, W: sp.Matrix) -> sp.Matrix:
        """Return ∂⁺L_t/∂W / T, of the shape of W; W may be what is held for h_t."""
        share = self._loss(t, self._held(t)) / self.steps
        derivative = W.applyfunc(lambda variable: sp.expand(sp.diff(share, variable).xreplace(self._nodes)))
        return self._released(t, derivative)

    def _through_predictions(self, name: str) -> sp.Matrix:
        """Return Σ_t ∂⁺L_t/∂W / T, with the states held fixed: zero unless W is W_hy or b_y."""
        W = self.variables(name)
        return sum((self._through_prediction(t, W) for t in self.x), sp.zeros(*W.shape))

    def immediate(self, name: str, t: int) -> sp.Matrix:
        """Return ∂⁺h_t/∂W, with h_{t−1} held fixed and a column for each entry of W, row after row.

        At t = 0 only the initial states have a derivative that is not zero: the identity.
        """
        W = self.variables(name)
        return self._through_step(t, W) if t > 0 else self.state[0].jacobian(_column(W))

    def jacobian(self, t: int) -> sp.Matrix:
        """Return J_t = ∂h_t/∂h_{t−1}; for the vanilla cell, diag(1 − h_t ⊙ h_t) W_hh (:eq:`eq-jacobian`)."""
        return self._through_step(t, self._held(t - 1))

    def immediate_loss(self, t: int) -> sp.Matrix:
        """Return ∂⁺L/∂h_t: through the prediction at step t alone, W_hyᵀ e_t (:eq:`eq-immediate-loss`)."""
        return self._through_prediction(t, self._held(t))

    # (b) the recursion

    def state_gradient(self, t: int) -> sp.Matrix:
        """Return the total derivative ∂L/∂h_t: through step t and all later ones.

        ∂L/∂h_t = ∂⁺L/∂h_t + J_{t+1}ᵀ ∂L/∂h_{t+1}      (:eq:`eq-delta-h`)
        """
        own = self.immediate_loss(t) if t > 0 else sp.zeros(*self.state[0].shape)
        return own if t == self.steps else own + self.jacobian(t + 1).T * self.state_gradient(t + 1)

    def recursion(self, name: str) -> sp.Matrix:
        """Return ∂L/∂W, of the shape of W: Σ_t (∂⁺h_t/∂W)ᵀ ∂L/∂h_t + Σ_t ∂⁺L_t/∂W / T.

        The last sum is zero unless W is W_hy or b_y.
        """
        total = self._through_predictions(name)
        for t in range(self.steps + 1):
            total += (self.immediate(name, t).T * self.state_gradient(t)).reshape(*total.shape)
        return total

    # (c) the double sum

    def product(self, t: int, s: int) -> sp.Matrix:
        """Return ∂h_t/∂h_s = J_t J_{t−1} ⋯ J_{s+1}, with the latest step on the left."""
        result = sp.eye(self.state[0].rows)
        for step in range(t, s, -1):
            result = result * self.jacobian(step)
        return result

    def double_sum(self, name: str) -> sp.Matrix:
        """Return ∂L/∂W, of the shape of W: Σ_t Σ_{s≤t} (J_t ⋯ J_{s+1} ∂⁺h_s/∂W)ᵀ ∂⁺L/∂h_t + Σ_t ∂⁺L_t/∂W / T.

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
        weights = {name: w[:, 0] if name[0] == "b" else w for name, w in weights.items()}
        columns = {"x": self.x, "y": self.y, "y_hat": self.y_hat}
        columns |= {name: {t: symbol_matrix(f"{name}_{t}", self.hidden) for t in self.x} for name in self.NODES}
        for place, name in enumerate(self.STATES):
            part = slice(place * self.hidden, (place + 1) * self.hidden)
            columns[name[0]] = {t: state[part, :] for t, state in self.state.items()}
        arrays = {"step_weights": np.array([0] + [sp.Rational(1, self.steps)] * self.steps, dtype=object)}
        for name, of_step in columns.items():
            missing = [0] * len(of_step[1])  # where there is no step 0
            rows = [list(of_step.get(t, missing)) for t in range(self.steps + 1)]
            arrays[name] = np.array(rows, dtype=object)  # (time + 1, size)
        return Trace(parameters=self.MODULE.Parameters(**weights), **arrays)
