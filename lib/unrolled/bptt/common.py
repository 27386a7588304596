"""What the backward passes share: arrays indexed by t, the output layer with its loss, and sums over all steps.

Callers give sequences as rows, (…, time, size), where … is empty for one sequence and (batch,) for several. From here
on the steps are the first axis, (time + 1, …, size), so that h[t] is h_t. What has no step 0 is zero there.
"""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np


class Trace(SimpleNamespace):
    """What a forward pass keeps for the backward pass, indexed by t: h[t] is h_t, and what has no step 0 is zero there.

    Attributes:
        parameters: the weights.
        x: the inputs x_1 … x_T, (time + 1, …, input_size).
        y: the targets y_1 … y_T, one-hot, (time + 1, …, vocab_size).
        step_weights: ω_1 … ω_T, the weight of each step's loss, (time + 1,).
        h: h_0 … h_T, (time + 1, …, hidden_size).
        y_hat: ŷ_1 … ŷ_T, (time + 1, …, vocab_size).
        c, f, i, c_tilde, o, tanh_c: of the LSTM, c_t, f_t, i_t, c̃_t, o_t and tanh(c_t), of the shape of h.
        z, r, h_tilde: of the GRU, z_t, r_t and h̃_t, of the shape of h.
        reset: of the GRU, where the reset gate acts, ``"before"`` the product or ``"after"``.

    Example:
        >>> from unrolled.bptt import lstm
        >>> weights = lstm.Parameters(*[np.ones((2, 3))] * 4, *[np.zeros(2)] * 4, np.ones((3, 2)), np.zeros(3))
        >>> _, trace = lstm.forward(weights, inputs=[[1.0], [0.0]], targets=[0, 2])
        >>> trace.x[1].tolist(), trace.h[0].tolist(), trace.y_hat.shape
        ([1.0], [0.0, 0.0], (3, 3))
    """


class Gradients(SimpleNamespace):
    """The total derivatives of the loss, each under the name of the array that it is taken with respect to.

    Attributes:
        W_xh, W_hh, …, b_y: with respect to the weights, named and shaped as in the cell's `Parameters`.
        h_0, c_0: with respect to the states before the first step, (…, hidden_size); c_0 of the LSTM only.
        x: with respect to x_1 … x_T, (time + 1, …, input_size), at [t].
        h, c: with respect to h_0 … h_T and c_0 … c_T, (time + 1, …, hidden_size), at [t]; c of the LSTM only.

    Example:
        >>> from unrolled.bptt import rnn
        >>> weights = rnn.Parameters(np.ones((2, 1)), np.eye(2), np.ones((3, 2)), np.zeros(2), np.zeros(3))
        >>> gradients = rnn.backward(rnn.forward(weights, inputs=[[1.0], [0.0]], targets=[0, 2])[1])
        >>> gradients.W_hh.shape == weights.W_hh.shape, gradients.h.shape
        (True, (3, 2))
    """


def sigmoid(a: np.ndarray) -> np.ndarray:
    """Return σ(a) = 1 / (1 + e^−a), elementwise, in a form that cannot overflow; `a` may be complex."""
    return (1 + np.tanh(a / 2)) / 2


def by_step(
    parameters: NamedTuple,
    inputs: np.ndarray,
    targets: np.ndarray,
    step_weights: np.ndarray | None,
    *states: np.ndarray | None,
) -> tuple[np.ndarray, ...]:
    """Return the arguments of a forward pass indexed by t; those that are left out become what they stand for.

    Args:
        parameters: the weights; the first one has hidden_size rows. None stands for one that the network does not have.
        inputs: x_1 … x_T, (…, time, input_size).
        targets: the tokens to predict, integers, (…, time).
        step_weights: ω_1 … ω_T, (time,); 1/T each if None.
        states: the states before the first step, (…, hidden_size); zeros if None.

    Returns:
        x, (time + 1, …, input_size); y, the targets as one-hot vectors, (time + 1, …, vocab_size); the step weights,
        (time + 1,); and for each state an array, (time + 1, …, hidden_size), with that state in row 0, else zeros.
    """
    inputs, targets = np.asarray(inputs), np.asarray(targets)
    hidden_size, vocab_size = len(parameters[0]), len(parameters.W_hy)
    if inputs.ndim < 2 or targets.shape != inputs.shape[:-1]:
        shapes = f"inputs have shape {inputs.shape} and targets {targets.shape}"
        raise ValueError(f"{shapes}; (…, time, input_size) and (…, time) are expected")
    if targets.min() < 0 or targets.max() >= vocab_size:
        raise ValueError(f"targets run from {targets.min()} to {targets.max()}; W_hy has {vocab_size} rows, from 0")
    T = targets.shape[-1]
    step_weights = np.full(T, 1 / T) if step_weights is None else step_weights
    given = [array for array in (inputs, *states, *parameters) if array is not None]
    dtype = np.result_type(np.float32, *given)  # integers become float64
    x, y = (np.moveaxis(rows, -2, 0) for rows in (inputs, np.eye(vocab_size)[targets]))  # (time, …, size)
    first = (np.insert(np.asarray(array, dtype), 0, 0, axis=0) for array in (x, y, step_weights))
    carried = np.zeros((len(states), T + 1, *targets.shape[:-1], hidden_size), dtype)
    for array, state in zip(carried, states, strict=True):
        array[0] = 0 if state is None else state
    return *first, *carried


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
    logits = logits - logits.real.max(axis=-1, keepdims=True)  # leaves the probabilities as they are; no overflow
    log_y_hat = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    y_hat = np.exp(log_y_hat)
    y_hat[0] = 0  # h_0 predicts nothing
    L = -(y * log_y_hat).sum(axis=-1)  # eq-bptt-loss: L_t at [t], (time + 1, …)
    trace = Trace(parameters=parameters, x=x, y=y, step_weights=step_weights, h=h, **gates, y_hat=y_hat)
    return np.tensordot(step_weights, L, axes=1).mean(), trace  # eq-bptt-loss: Σ_t ω_t L_t


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


def previous(a: np.ndarray) -> np.ndarray:
    """Return a_{t−1} at [t], and zero at [0]: (time + 1, …, size), as `a`."""
    return np.concatenate([0 * a[:1], a[:-1]])


def outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return Σ a bᵀ over all steps and sequences: (…, m) and (…, n) → (m, n)."""
    return a.reshape(-1, a.shape[-1]).T @ b.reshape(-1, b.shape[-1])  # (m, …) by (…, n)


def total(a: np.ndarray) -> np.ndarray:
    """Return Σ a over all steps and sequences: (…, size) → (size,)."""
    return a.reshape(-1, a.shape[-1]).sum(axis=0)


def path_sizes(paths: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the spectral norm of every path's Jacobian at every step, and of their sum.

    Args:
        paths: the paths by name, (time + 1, …, hidden_size, hidden_size) each, from `bptt.lstm.paths` or
            `bptt.gru.paths`.

    Returns:
        The norms under the same names, (time + 1, …), and the norm of the sum under ``"all"``. Paths can cancel, so
        that is at most the sum of the norms.
    """
    matrices = paths | {"all": sum(paths.values())}
    return {name: np.linalg.norm(path, 2, axis=(-2, -1)) for name, path in matrices.items()}
