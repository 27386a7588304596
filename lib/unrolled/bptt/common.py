"""What the backward passes share: the checks at the door, the output layer with its loss, and the sizes of paths.

Callers give sequences as rows, (…, time, size), where … is empty for one sequence and (batch,) for several. From the
door on, the steps are the first axis, (time + 1, …, size), so that h[t] is h_t. Row 0 is NaN where there is no step 0.
"""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

OUTPUT_AXES = {"W_hy": ("vocab_size", "hidden_size"), "b_y": ("vocab_size",)}


class Trace(SimpleNamespace):
    """What a forward pass keeps for the backward pass, indexed by t: h[t] is h_t, and what has no step 0 is NaN there.

    Attributes:
        parameters: the weights.
        x: the inputs x_1 … x_T, (time + 1, …, input_size).
        y: the targets y_1 … y_T, one-hot, (time + 1, …, vocab_size).
        step_weights: ω_1 … ω_T, the weight of each step's loss, (time + 1,).
        h: h_0 … h_T, (time + 1, …, hidden_size).
        y_hat: ŷ_1 … ŷ_T, (time + 1, …, vocab_size).
        c: of the LSTM, c_0 … c_T, (time + 1, …, hidden_size).
        f, i, c_tilde, o, tanh_c: of the LSTM, f_t, i_t, c̃_t, o_t and tanh(c_t) for t = 1 … T, of the same shape.
        z, r, h_tilde: of the GRU, z_t, r_t, h̃_t for t = 1 … T, of the same shape.
        reset: of the GRU, where the reset gate acts, ``"before"`` the product or ``"after"``.

    Example:
        >>> from unrolled.bptt import lstm
        >>> weights = lstm.Parameters(*[np.ones((2, 3))] * 4, *[np.zeros(2)] * 4, np.ones((3, 2)), np.zeros(3))
        >>> _, trace = lstm.forward(weights, inputs=[[1.0], [0.0]], targets=[0, 2])
        >>> trace.x[1].tolist(), trace.h[0].tolist(), trace.y_hat.shape
        ([1.0], [0.0, 0.0], (3, 3))
        >>> np.array_equal(trace.c[1], trace.f[1] * trace.c[0] + trace.i[1] * trace.c_tilde[1])
        True
    """


class Gradients(SimpleNamespace):
    """The total derivatives of the loss, each under the name of the array that it is taken with respect to.

    Attributes:
        W_xh, W_hh, …, b_y: with respect to the weights, named and shaped as in the cell's `Parameters`.
        h_0, c_0: with respect to the states before the first step, (…, hidden_size); c_0 of the LSTM only.
        x: with respect to x_1 … x_T, (time + 1, …, input_size), at [t]; NaN at [0].
        h, c: with respect to h_0 … h_T and c_0 … c_T, (time + 1, …, hidden_size), at [t]; c of the LSTM only.

    Example:
        >>> from unrolled.bptt import rnn
        >>> weights = rnn.Parameters(np.ones((2, 1)), np.eye(2), np.ones((3, 2)), np.zeros(2), np.zeros(3))
        >>> gradients = rnn.backward(rnn.forward(weights, inputs=[[1.0], [0.0]], targets=[0, 2])[1])
        >>> gradients.W_hh.shape == weights.W_hh.shape, gradients.h.shape
        (True, (3, 2))
    """


def sigmoid(a: np.ndarray) -> np.ndarray:
    """Return σ(a) = 1 / (1 + e^−a), elementwise, in a form that cannot overflow; `a` may be complex.

    Example:
        >>> sigmoid(np.array([-1000.0, 0.0, 1000.0])).tolist()
        [0.0, 0.5, 1.0]
    """
    return (1 + np.tanh(a / 2)) / 2


def prepare(
    parameters: NamedTuple,
    axes: dict[str, tuple[str, ...]],
    inputs: np.ndarray,
    targets: np.ndarray,
    step_weights: np.ndarray | None,
    **states: np.ndarray | None,
) -> tuple[np.ndarray, ...]:
    """Check the arguments of a forward pass, and index them by t; integers become float64.

    Args:
        parameters: the weights; None stands for one that the network does not have. The first one has hidden_size rows.
        axes: the names of each weight's axes: "hidden_size", "input_size", "hidden_size + input_size" or "vocab_size".
        inputs: x_1 … x_T, (…, time, input_size).
        targets: the symbols to predict, integers, (…, time).
        step_weights: ω_1 … ω_T, (time,); 1/T each if None.
        states: the states before the first step, by name, (…, hidden_size); zeros if None.

    Returns:
        x, (time + 1, …, input_size); y, the targets as one-hot vectors, (time + 1, …, vocab_size); the step weights,
        (time + 1,); and for each state an array, (time + 1, …, hidden_size), in which only row 0 is not NaN.

    Raises:
        ValueError: an array that does not fit, with its name and axis, or targets outside the vocabulary.
    """
    inputs, targets = np.asarray(inputs), np.asarray(targets)
    if inputs.ndim < 2 or 0 in inputs.shape:
        raise ValueError(f"inputs have shape {inputs.shape}; (…, time, input_size), no axis of length 0, is expected")
    *lead, T, input_size = inputs.shape
    hidden_size, vocab_size = (len(np.atleast_1d(weight)) for weight in (parameters[0], parameters.W_hy))
    sizes = {"hidden_size": hidden_size, "input_size": input_size, "vocab_size": vocab_size}
    sizes["hidden_size + input_size"] = hidden_size + input_size
    lead = [("batch", size) for size in lead]
    for name, weight in parameters._asdict().items():
        if weight is not None:
            _check_shape(name, weight, [(axis, sizes[axis]) for axis in axes[name]])
    _check_shape("targets", targets, [*lead, ("time", T)])
    if not np.issubdtype(targets.dtype, np.integer) or targets.min() < 0 or targets.max() >= vocab_size:
        values = f"{targets.dtype} from {targets.min()} to {targets.max()}"
        raise ValueError(f"targets are {values}; integers from 0 to {vocab_size - 1} are expected")
    step_weights = np.full(T, 1 / T) if step_weights is None else step_weights
    _check_shape("step_weights", step_weights, [("time", T)])
    zeros = np.zeros((*inputs.shape[:-2], hidden_size), inputs.dtype)
    states = {name: zeros if state is None else state for name, state in states.items()}
    for name, state in states.items():
        _check_shape(name, state, [*lead, ("hidden_size", hidden_size)])
    dtype = np.result_type(inputs, *states.values(), *(weight for weight in parameters if weight is not None))
    dtype = dtype if np.issubdtype(dtype, np.inexact) else np.dtype(float)
    x, y = (np.moveaxis(rows, -2, 0) for rows in (inputs, np.eye(vocab_size)[targets]))  # (time, …, size)
    given = (np.insert(np.asarray(array, dtype), 0, np.nan, axis=0) for array in (x, y, step_weights))
    computed = [np.full((T + 1, *np.shape(state)), np.nan, dtype) for state in states.values()]
    for array, state in zip(computed, states.values(), strict=True):
        array[0] = state
    return *given, *computed


def _check_shape(name: str, array: np.ndarray, axes: list[tuple[str, int]]) -> None:
    """Check an array's shape against the names and sizes of its axes."""
    shape = np.shape(array)
    if len(shape) != len(axes):
        names = ", ".join(axis for axis, _ in axes)
        raise ValueError(f"{name} has shape {shape}; {len(axes)} axes are expected: ({names})")
    for number, ((axis, expected), size) in enumerate(zip(axes, shape, strict=True)):
        if size != expected:
            raise ValueError(f"{name} has shape {shape}: axis {number} ({axis}) is {size} and should be {expected}")


def predict(
    parameters: NamedTuple, x: np.ndarray, y: np.ndarray, step_weights: np.ndarray, h: np.ndarray, **gates: np.ndarray
) -> tuple[float, Trace]:
    """Return the loss of the predictions in nats, averaged over the sequences if there are several, and the trace.

        ŷ_t = softmax(W_hy h_t + b_y)                      (:eq:`eq-output`)
        L = Σ_t ω_t L_t,  L_t = −Σ_i y_{t,i} ln ŷ_{t,i}    (:eq:`eq-bptt-loss`)

    Args:
        parameters, x, y, step_weights, h: as in `Trace`; W_hy and b_y are among the parameters.
        gates: the attributes that only this cell's trace has.
    """
    logits = h @ parameters.W_hy.T + parameters.b_y  # eq-output
    logits[0] = np.nan  # h_0 predicts nothing
    logits = logits - logits.real.max(axis=-1, keepdims=True)  # leaves the probabilities as they are; no overflow
    log_y_hat = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    L = -(y * log_y_hat).sum(axis=-1)  # eq-bptt-loss: L_t at [t], (time + 1, …)
    trace = Trace(parameters=parameters, x=x, y=y, step_weights=step_weights, h=h, **gates, y_hat=np.exp(log_y_hat))
    return (L[1:].T @ step_weights[1:]).mean(), trace


def output_errors(trace: Trace) -> np.ndarray:
    """Return e_t = ω_t (ŷ_t − y_t), the derivative of the loss in the logits of step t (:eq:`eq-bptt-output`).

    With several sequences it is divided by their number, since the loss is their mean.

    Args:
        trace: what the `forward` of any cell returned.

    Returns:
        e_1 … e_T at [1] … [T], (time + 1, …, vocab_size).
    """
    sequences = trace.y[0, ..., 0].size
    return (trace.step_weights * (trace.y_hat - trace.y).T).T / sequences  # eq-bptt-output


def blank(a: np.ndarray) -> np.ndarray:
    """Return an array like `a` in which nothing is computed yet: NaN, or 0 among symbols."""
    return np.full_like(a, 0 if a.dtype == object else np.nan)


def previous(a: np.ndarray) -> np.ndarray:
    """Return a_{t−1} at [t], and what `blank` puts at [0]: (time + 1, …, size), as `a`."""
    return np.concatenate([blank(a[:1]), a[:-1]])


def extended(a: np.ndarray) -> np.ndarray:
    """Return a_0 … a_T, and a_{T+1} = 0 behind them: (time + 1, …, size) → (time + 2, …, size)."""
    return np.concatenate([a, np.zeros_like(a[:1])])


def outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the sum of a bᵀ over all axes but the last: (…, m) and (…, n) → (m, n)."""
    return a.reshape(-1, a.shape[-1]).T @ b.reshape(-1, b.shape[-1])  # (m, …) by (…, n)


def outer_total(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return Σ_t a_t b_tᵀ from t = 1, over all sequences: (time + 1, …, m) and (time + 1, …, n) → (m, n)."""
    return outer(a[1:], b[1:])


def total(a: np.ndarray) -> np.ndarray:
    """Return Σ_t a_t from t = 1, over all sequences: (time + 1, …, size) → (size,)."""
    return a[1:].reshape(-1, a.shape[-1]).sum(axis=0)  # (time, …, size) → (time · …, size)


def path_sizes(paths: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the spectral norm of every path's Jacobian at every step, and of their sum.

    Args:
        paths: the paths by name, (time + 1, …, hidden_size, hidden_size) each, from `bptt.lstm.paths` or
            `bptt.gru.paths`.

    Returns:
        The norms under the same names, (time + 1, …), NaN at [0], and the norm of the sum under ``"all"``. Paths can
        cancel, so that is at most the sum of the norms.

    Example:
        >>> one_step = np.stack([np.full((2, 2), np.nan), np.eye(2)])  # J_1 at [1]
        >>> {name: norms.tolist() for name, norms in path_sizes({"direct": one_step, "gate": -0.5 * one_step}).items()}
        {'direct': [nan, 1.0], 'gate': [nan, 0.5], 'all': [nan, 0.5]}
    """
    matrices = paths | {"all": sum(paths.values())}
    norms = {name: np.linalg.norm(path[1:], 2, axis=(-2, -1)) for name, path in matrices.items()}
    return {name: np.insert(norm, 0, np.nan, axis=0) for name, norm in norms.items()}
