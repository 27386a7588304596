"""What the backward passes by hand share: checks, the output layer with its loss, and the sizes of paths.

Sequences are rows: inputs are (…, time, input_size), where … is nothing for one sequence or (batch,) for several.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

OUTPUT_AXES = {"W_hy": ("vocab_size", "hidden_size"), "b_y": ("vocab_size",)}


class Scored(Protocol):
    """A trace of any cell: what `output_errors` needs of it.

    Attributes:
        targets: the symbols to predict, (…, time).
        step_weights: c_1 … c_T, what each step's loss counts, (time,).
        probabilities: ŷ_1 … ŷ_T, (…, time, vocab_size).
    """

    targets: np.ndarray
    step_weights: np.ndarray
    probabilities: np.ndarray


def sigmoid(a: np.ndarray) -> np.ndarray:
    """Return σ(a) = 1 / (1 + e^−a), elementwise, in a form that cannot overflow; complex numbers are allowed."""
    return (1 + np.tanh(a / 2)) / 2


def check_shapes(
    parameters: NamedTuple,
    axes: dict[str, tuple[str, ...]],
    inputs: np.ndarray,
    targets: np.ndarray,
    states: dict[str, np.ndarray],
) -> None:
    """Raise ValueError, naming the array and its axis, unless weights, inputs, targets and states fit together.

    Args:
        parameters: the weights; one that is None is passed over. The first one tells the hidden size, by its rows.
        axes: for each weight the names of its axes: "hidden_size", "input_size", "hidden_size + input_size",
            "vocab_size".
        inputs: (…, time, input_size).
        targets: (…, time), integers.
        states: those before the first step by their names, (…, hidden_size) each.
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
    for name, (array, wanted) in expected.items():
        shape = np.shape(array)
        if len(shape) != len(wanted):
            names = ", ".join(axis for axis, _ in wanted)
            raise ValueError(f"{name} has shape {shape}; {len(wanted)} axes are expected: ({names})")
        for place, ((axis, right), found) in enumerate(zip(wanted, shape, strict=True)):
            if found != right:
                raise ValueError(f"{name} has shape {shape}: axis {place} ({axis}) is {found} and should be {right}")
    if not np.issubdtype(targets.dtype, np.integer) or targets.min() < 0 or targets.max() >= vocab_size:
        found = f"{targets.dtype} from {targets.min()} to {targets.max()}"
        raise ValueError(f"targets are {found}; integers from 0 to {vocab_size - 1} are expected")


def begin(
    parameters: NamedTuple,
    axes: dict[str, tuple[str, ...]],
    inputs: np.ndarray,
    targets: np.ndarray,
    step_weights: np.ndarray | None,
    **states: np.ndarray | None,
) -> tuple[np.ndarray, ...]:
    """Check what a forward pass is given, and make room for its states.

    The arithmetic is that of the arrays' own type, float64 where they are integers.

    Args:
        parameters, axes, inputs, targets: as in `check_shapes`.
        step_weights: c_1 … c_T, (time,); 1/T each where None.
        states: those before the first step by their names, (…, hidden_size); zeros where None.

    Returns:
        inputs, targets and step_weights as arrays; then for each state an array (…, time + 1, hidden_size) with the
        given one at step 0, and nothing yet at the others.

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
    room = [np.empty((*state.shape[:-1], T + 1, state.shape[-1]), dtype) for state in states.values()]
    for array, state in zip(room, states.values(), strict=True):
        array[..., 0, :] = state
    return inputs, targets, step_weights.astype(dtype), *room


def by_step(array: np.ndarray) -> np.ndarray:
    """Return a view with the steps first: (…, time, size) → (time, …, size)."""
    return np.moveaxis(array, -2, 0)


def rows(array: np.ndarray) -> np.ndarray:
    """Return all steps of all sequences under each other: (…, time, size) → (… · time, size)."""
    return array.reshape(-1, array.shape[-1])


def diagonal(vectors: np.ndarray) -> np.ndarray:
    """Return diag(v) for every vector v, (…, size) → (…, size, size)."""
    return vectors[..., None] * np.eye(vectors.shape[-1], dtype=vectors.dtype)


def score(
    parameters: NamedTuple, states: np.ndarray, targets: np.ndarray, step_weights: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the loss of the predictions, nats, and the predictions.

        ŷ_t = softmax(W_hy h_t + b_y)               (:eq:`eq-output`)
        L = Σ_t c_t L_t,  L_t = −ln ŷ_t[target]

    Args:
        parameters: the weights, W_hy and b_y among them.
        states: h_0 … h_T, (…, time + 1, hidden_size).
        targets: the symbols to predict, (…, time).
        step_weights: c_1 … c_T, (time,).

    Returns:
        L, its mean over the sequences where there are several, and ŷ_1 … ŷ_T, (…, time, vocab_size).
    """
    logits = states[..., 1:, :] @ parameters.W_hy.T + parameters.b_y  # eq-output
    logits = logits - logits.real.max(axis=-1, keepdims=True)  # changes no probability, and exp cannot overflow
    log_probabilities = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    L = -np.take_along_axis(log_probabilities, targets[..., None], axis=-1)[..., 0]  # (…, time): L_t
    return (L @ step_weights).mean(), np.exp(log_probabilities)


def output_errors(trace: Scored) -> np.ndarray:
    """Return e_t = c_t (ŷ_t − onehot(target)), the loss by the logits, (…, time, vocab_size) (:eq:`eq-bptt-output`).

    Where there are several sequences, the loss is their mean, and each error is divided by their number.
    """
    one_hot = np.eye(trace.probabilities.shape[-1], dtype=trace.probabilities.dtype)[trace.targets]  # (…, time, vocab)
    sequences = trace.targets.size // len(trace.step_weights)
    return (trace.probabilities - one_hot) * trace.step_weights[:, None] / sequences  # eq-bptt-output


def path_sizes(paths: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the spectral norm of every path's Jacobian at every step, and of their sum.

    Args:
        paths: the paths by their names, (…, time, h, h) each, as from `bptt.lstm.paths` or `bptt.gru.paths`.

    Returns:
        The norms under the same names, (…, time), and that of the sum under ``"all"``: as paths can cancel, it is at
        most the sum of the norms.
    """
    matrices = paths | {"all": sum(paths.values())}
    return {name: np.linalg.norm(matrix, 2, axis=(-2, -1)) for name, matrix in matrices.items()}
