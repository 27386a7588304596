"""What the backward passes share: the checks, the output layer with its loss, and the sizes of paths.

Sequences are rows: inputs are (…, time, input_size), where … is empty for one sequence and (batch,) for several.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

OUTPUT_AXES = {"W_hy": ("vocab_size", "hidden_size"), "b_y": ("vocab_size",)}


class Scored(Protocol):
    """What `output_errors` needs from the trace of any cell.

    Attributes:
        targets: the symbols to predict, (…, time).
        step_weights: ω_1 … ω_T, the weight of each step's loss, (time,).
        probabilities: ŷ_1 … ŷ_T, (…, time, vocab_size).
    """

    targets: np.ndarray
    step_weights: np.ndarray
    probabilities: np.ndarray


def sigmoid(a: np.ndarray) -> np.ndarray:
    """Return σ(a) = 1 / (1 + e^−a), elementwise, in a form that cannot overflow; `a` may be complex.

    Example:
        >>> sigmoid(np.array([-1000.0, 0.0, 1000.0])).tolist()
        [0.0, 0.5, 1.0]
    """
    return (1 + np.tanh(a / 2)) / 2


def check_shapes(
    parameters: NamedTuple,
    axes: dict[str, tuple[str, ...]],
    inputs: np.ndarray,
    targets: np.ndarray,
    states: dict[str, np.ndarray],
) -> None:
    """Check that weights, inputs, targets and states fit together.

    Args:
        parameters: the weights; None stands for one that the network does not have. The first one has hidden_size rows.
        axes: the names of each weight's axes: "hidden_size", "input_size", "hidden_size + input_size" or "vocab_size".
        inputs: (…, time, input_size).
        targets: (…, time), integers.
        states: the states before the first step, by name, (…, hidden_size) each.

    Raises:
        ValueError: an array does not fit; the message names it and the axis.
    """
    if inputs.ndim < 2 or 0 in inputs.shape:
        raise ValueError(
            f"inputs have shape {inputs.shape}; (…, time, input_size) is expected, and no axis of length 0"
        )
    *lead, time, input_size = inputs.shape
    hidden_size, vocab_size = (len(np.atleast_1d(weight)) for weight in (parameters[0], parameters.W_hy))
    sizes = {
        "hidden_size": hidden_size,
        "input_size": input_size,
        "hidden_size + input_size": hidden_size + input_size,
        "vocab_size": vocab_size,
    }
    lead = [("batch", size) for size in lead]
    expected = {
        name: (weight, [(axis, sizes[axis]) for axis in axes[name]])
        for name, weight in parameters._asdict().items()
        if weight is not None
    }
    expected["targets"] = targets, [*lead, ("time", time)]
    expected |= {name: (state, [*lead, ("hidden_size", hidden_size)]) for name, state in states.items()}
    for name, (array, named_sizes) in expected.items():
        shape = np.shape(array)
        if len(shape) != len(named_sizes):
            names = ", ".join(axis for axis, _ in named_sizes)
            raise ValueError(f"{name} has shape {shape}; {len(named_sizes)} axes are expected: ({names})")
        for number, ((axis, right), size) in enumerate(zip(named_sizes, shape, strict=True)):
            if size != right:
                raise ValueError(f"{name} has shape {shape}: axis {number} ({axis}) is {size} and should be {right}")
    if not np.issubdtype(targets.dtype, np.integer) or targets.min() < 0 or targets.max() >= vocab_size:
        values = f"{targets.dtype} from {targets.min()} to {targets.max()}"
        raise ValueError(f"targets are {values}; integers from 0 to {vocab_size - 1} are expected")


def prepare(
    parameters: NamedTuple,
    axes: dict[str, tuple[str, ...]],
    inputs: np.ndarray,
    targets: np.ndarray,
    step_weights: np.ndarray | None,
    **states: np.ndarray | None,
) -> tuple[np.ndarray, ...]:
    """Check the arguments of a forward pass, and allocate the arrays of its states.

    The arithmetic is done in the arrays' own type, and in float64 where they are integers.

    Args:
        parameters, axes, inputs, targets: as in `check_shapes`.
        step_weights: ω_1 … ω_T, (time,); 1/T each if None.
        states: the states before the first step, by name, (…, hidden_size); zeros if None.

    Returns:
        inputs, targets and step_weights as arrays; then, for each state, an array (…, time + 1, hidden_size) that holds
        the given state at step 0 and is uninitialised at the other steps.

    Raises:
        ValueError: arrays that do not fit together, or targets outside the vocabulary.
    """
    inputs, targets = np.asarray(inputs), np.asarray(targets)
    T = inputs.shape[-2] if inputs.ndim > 1 else 0
    zeros = np.zeros((*inputs.shape[:-2], len(np.atleast_1d(parameters[0]))), inputs.dtype)
    states = {name: zeros if state is None else np.asarray(state) for name, state in states.items()}
    check_shapes(parameters, axes, inputs, targets, states)
    step_weights = np.full(T, 1 / T) if step_weights is None else np.asarray(step_weights)
    if step_weights.shape != (T,):
        raise ValueError(f"step_weights have shape {step_weights.shape}; one for each step is expected: ({T},)")
    dtype = np.result_type(inputs, *states.values(), *(weight for weight in parameters if weight is not None))
    dtype = dtype if np.issubdtype(dtype, np.inexact) else np.dtype(float)
    arrays = [np.empty((*state.shape[:-1], T + 1, state.shape[-1]), dtype) for state in states.values()]
    for array, state in zip(arrays, states.values(), strict=True):
        array[..., 0, :] = state
    return inputs, targets, step_weights.astype(dtype), *arrays


def by_step(array: np.ndarray) -> np.ndarray:
    """Return a view with the steps first: (…, time, size) → (time, …, size)."""
    return np.moveaxis(array, -2, 0)


def rows(array: np.ndarray) -> np.ndarray:
    """Return all steps of all sequences stacked as rows: (…, time, size) → (… · time, size)."""
    return array.reshape(-1, array.shape[-1])


def diagonal(vectors: np.ndarray) -> np.ndarray:
    """Return diag(v) for every vector v: (…, size) → (…, size, size)."""
    return vectors[..., None] * np.eye(vectors.shape[-1], dtype=vectors.dtype)


def predict(
    parameters: NamedTuple, states: np.ndarray, targets: np.ndarray, step_weights: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the loss of the predictions in nats, and the predictions.

        ŷ_t = softmax(W_hy h_t + b_y)               (:eq:`eq-output`)
        L = Σ_t ω_t L_t,  L_t = −ln ŷ_t[target]

    Args:
        parameters: the weights, W_hy and b_y among them.
        states: h_0 … h_T, (…, time + 1, hidden_size).
        targets: the symbols to predict, (…, time).
        step_weights: ω_1 … ω_T, (time,).

    Returns:
        L, averaged over the sequences if there are several, and ŷ_1 … ŷ_T, (…, time, vocab_size).
    """
    logits = states[..., 1:, :] @ parameters.W_hy.T + parameters.b_y  # eq-output
    logits = logits - logits.real.max(axis=-1, keepdims=True)  # leaves the probabilities as they are; no overflow
    log_probabilities = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    L = -np.take_along_axis(log_probabilities, targets[..., None], axis=-1)[..., 0]  # (…, time): L_t
    return (L @ step_weights).mean(), np.exp(log_probabilities)


def output_errors(trace: Scored) -> np.ndarray:
    """Return e_t = ω_t (ŷ_t − onehot(target)), the gradient of the loss in the logits (:eq:`eq-bptt-output`).

    With several sequences the loss is their mean, and each error is divided by their number.

    Args:
        trace: what the `forward` of any cell returned.

    Returns:
        e_1 … e_T, (…, time, vocab_size).
    """
    one_hot = np.eye(trace.probabilities.shape[-1], dtype=trace.probabilities.dtype)[trace.targets]  # (…, time, vocab)
    sequences = trace.targets.size // len(trace.step_weights)
    return (trace.probabilities - one_hot) * trace.step_weights[:, None] / sequences  # eq-bptt-output


def path_sizes(paths: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the spectral norm of every path's Jacobian at every step, and of their sum.

    Args:
        paths: the paths by name, (…, time, hidden_size, hidden_size) each, from `bptt.lstm.paths` or `bptt.gru.paths`.

    Returns:
        The norms under the same names, (…, time), and the norm of the sum under ``"all"``. Paths can cancel, so that is
        at most the sum of the norms.

    Example:
        >>> opposed = {"direct": np.eye(2)[None], "gate": -0.5 * np.eye(2)[None]}  # one step, two units
        >>> {name: norms.tolist() for name, norms in path_sizes(opposed).items()}
        {'direct': [1.0], 'gate': [0.5], 'all': [0.5]}
    """
    matrices = paths | {"all": sum(paths.values())}
    return {name: np.linalg.norm(matrix, 2, axis=(-2, -1)) for name, matrix in matrices.items()}
