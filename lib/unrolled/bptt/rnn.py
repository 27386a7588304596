"""Backpropagation through time by hand, in NumPy: the vanilla network's loss and the derivative by all it depends on.

Sequences are rows: inputs are (…, time, input_size), where … is nothing for one sequence or (batch,) for several.
A comment names the equation that its line computes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unrolled.bptt.common import OUTPUT_AXES, begin, by_step, output_errors, rows, score, sigmoid

# each activation φ(a), and its derivative φ′(a) written with h = φ(a), so that a need not be kept
ACTIVATIONS = {
    "tanh": (np.tanh, lambda h: 1 - h * h),
    "sigmoid": (sigmoid, lambda h: h * (1 - h)),
    "identity": (lambda a: a, np.ones_like),
}

# the axes of each weight, for `check_shapes`
AXES = {
    "W_xh": ("hidden_size", "input_size"),
    "W_hh": ("hidden_size", "hidden_size"),
    "b_h": ("hidden_size",),
} | OUTPUT_AXES


class Parameters(NamedTuple):
    """The weights of a vanilla network, stored (out, in).

    Attributes:
        W_xh: input weights, (hidden_size, input_size).
        W_hh: recurrent weights, (hidden_size, hidden_size).
        W_hy: output weights, (vocab_size, hidden_size).
        b_h: bias of the state, (hidden_size,).
        b_y: bias of the logits, (vocab_size,).
    """

    W_xh: np.ndarray
    W_hh: np.ndarray
    W_hy: np.ndarray
    b_h: np.ndarray
    b_y: np.ndarray


class Trace(NamedTuple):
    """What the forward pass keeps for the backward pass.

    Attributes:
        parameters: the weights.
        activation: the name of φ.
        inputs: x_1 … x_T, (…, time, input_size).
        targets: the symbols to predict, (…, time).
        step_weights: c_1 … c_T, what each step's loss counts, (time,).
        states: h_0 … h_T, (…, time + 1, hidden_size).
        probabilities: ŷ_1 … ŷ_T, (…, time, vocab_size).
    """

    parameters: Parameters
    activation: str
    inputs: np.ndarray
    targets: np.ndarray
    step_weights: np.ndarray
    states: np.ndarray
    probabilities: np.ndarray


class Gradients(NamedTuple):
    """The total derivatives of the loss, each with the shape of what it is taken by.

    Attributes:
        W_xh, W_hh, W_hy, b_h, b_y: by the weights, as in `Parameters`.
        h_0: by the state before the first step, (…, hidden_size).
        inputs: by x_1 … x_T, (…, time, input_size).
        states: by h_1 … h_T, (…, time, hidden_size).
    """

    W_xh: np.ndarray
    W_hh: np.ndarray
    W_hy: np.ndarray
    b_h: np.ndarray
    b_y: np.ndarray
    h_0: np.ndarray
    inputs: np.ndarray
    states: np.ndarray


def forward(
    parameters: Parameters,
    inputs: np.ndarray,
    targets: np.ndarray,
    h_0: np.ndarray | None = None,
    *,
    activation: str = "tanh",
    step_weights: np.ndarray | None = None,
) -> tuple[float, Trace]:
    """Run the network and price its predictions.

        h_t = φ(W_xh x_t + W_hh h_{t−1} + b_h)      (:eq:`eq-rnn`)
        ŷ_t = softmax(W_hy h_t + b_y)               (:eq:`eq-output`)
        L = Σ_t c_t L_t,  L_t = −ln ŷ_t[target]

    The arithmetic is that of the arrays' own type, float64 where they are integers. Complex weights, inputs or states
    are allowed, so that the loss can be differentiated by a complex step (Squire & Trapp 1998).

    Args:
        parameters: the weights.
        inputs: x_1 … x_T, (…, time, input_size).
        targets: the symbols to predict, integers, (…, time).
        h_0: the state before the first step, (…, hidden_size); zeros where None.
        activation: φ: ``"tanh"``, ``"sigmoid"`` or ``"identity"``.
        step_weights: c_1 … c_T, (time,). None: 1/T each, the loss in nats per symbol. (0, …, 0, 1): the last step's
            alone.

    Returns:
        The loss L, nats, its mean over the sequences where there are several; and the trace, for `backward`.

    Raises:
        ValueError: arrays that do not fit together, targets outside the vocabulary, or an unknown activation.
    """
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation is {activation!r}; it can be one of {', '.join(ACTIVATIONS)}")
    phi, _ = ACTIVATIONS[activation]
    inputs, targets, step_weights, states = begin(parameters, AXES, inputs, targets, step_weights, h_0=h_0)
    W_xh, W_hh, _, b_h, _ = parameters
    x, h = by_step(inputs), by_step(states)  # (time, …, size): h[t] is h_t, and x[t − 1] is x_t
    for t in range(1, len(h)):
        h[t] = phi(x[t - 1] @ W_xh.T + h[t - 1] @ W_hh.T + b_h)  # eq-rnn
    loss, probabilities = score(parameters, states, targets, step_weights)
    return loss, Trace(parameters, activation, inputs, targets, step_weights, states, probabilities)


def backward(trace: Trace, truncate: int | None = None) -> Gradients:
    """Carry the derivative of the loss back through time (Werbos 1990).

    All derivatives are total ones. δ_t is the derivative by a_t = W_xh x_t + W_hh h_{t−1} + b_h.

        e_t = c_t (ŷ_t − onehot(target_t))              (:eq:`eq-bptt-output`)
        ∂L/∂h_t = W_hyᵀ e_t + W_hhᵀ δ_{t+1}             (:eq:`eq-delta-h`), with δ_{T+1} = 0
        δ_t = φ′(a_t) ⊙ ∂L/∂h_t                         (:eq:`eq-delta`)
        ∂L/∂W_hh = Σ_t δ_t h_{t−1}ᵀ                     (:eq:`eq-grad-W-hh`)
        ∂L/∂W_xh = Σ_t δ_t x_tᵀ                         (:eq:`eq-gradients`)
        ∂L/∂b_h = Σ_t δ_t                               (:eq:`eq-gradients`)
        ∂L/∂W_hy = Σ_t e_t h_tᵀ                         (:eq:`eq-gradients`)
        ∂L/∂b_y = Σ_t e_t                               (:eq:`eq-gradients`)
        ∂L/∂h_0 = W_hhᵀ δ_1                             (:eq:`eq-gradients`)
        ∂L/∂x_t = W_xhᵀ δ_t                             (:eq:`eq-gradients`)

    With ``truncate=k`` the sequence is cut into windows of k steps, 1 … k, k + 1 … 2k and so on (the last may be
    shorter). The state is carried from window to window, but no derivative is: δ_{t+1} counts as 0 where t is the last
    step of a window. The result lacks exactly those terms of the double sum (:eq:`eq-double-sum`) whose t and k lie in
    different windows. It is the mean of the gradients that `training.train` computes window by window, if the weights
    stay as they are, T is a multiple of k, and every step counts the same.

    Args:
        trace: what `forward` returned.
        truncate: the length k of a window; None: the whole sequence is one.

    Returns:
        The gradients. Those by the weights are summed over the sequences; as the loss is a mean over these, so are
        they.

    Raises:
        ValueError: `truncate` is below 1.
    """
    if truncate is not None and truncate < 1:
        raise ValueError(f"truncate is {truncate}; it must be 1 or more, or None for the full gradient")
    W_xh, W_hh, W_hy, _, _ = trace.parameters
    _, slope = ACTIVATIONS[trace.activation]
    *lead, T, _ = trace.inputs.shape
    states, errors = trace.states, output_errors(trace)
    deltas = np.zeros((*lead, T + 2, len(W_hh)), states.dtype)
    by_state = np.zeros_like(states)
    # all of them (time, …, size); h[t] is h_t and delta[t] is δ_t, but e[t − 1] is e_t
    h, e, delta, d_h = (by_step(array) for array in (states, errors, deltas, by_state))
    for t in range(T, 0, -1):
        inside = truncate is None or t % truncate != 0  # t + 1 is in the same window
        d_h[t] = e[t - 1] @ W_hy + (delta[t + 1] @ W_hh if inside else 0)  # eq-delta-h
        delta[t] = slope(h[t]) * d_h[t]  # eq-delta
    d_h[0] = delta[1] @ W_hh  # eq-gradients
    deltas = deltas[..., 1 : T + 1, :]  # δ_1 … δ_T
    return Gradients(
        W_xh=rows(deltas).T @ rows(trace.inputs),  # eq-gradients
        W_hh=rows(deltas).T @ rows(states[..., :-1, :]),  # eq-grad-W-hh
        W_hy=rows(errors).T @ rows(states[..., 1:, :]),  # eq-gradients
        b_h=rows(deltas).sum(axis=0),  # eq-gradients
        b_y=rows(errors).sum(axis=0),  # eq-gradients
        h_0=by_state[..., 0, :],
        inputs=deltas @ W_xh,  # eq-gradients
        states=by_state[..., 1:, :],
    )


def double_sum(trace: Trace) -> np.ndarray:
    """Return the terms of ∂L/∂W_hh, one for each pair of steps: what step t's loss owes to the use of W_hh at step k.

        J_t = ∂h_t/∂h_{t−1} = diag(φ′(a_t)) W_hh
        ∂L/∂W_hh = Σ_t Σ_{k≤t} diag(φ′(a_k)) (J_t ⋯ J_{k+1})ᵀ W_hyᵀ e_t h_{k−1}ᵀ        (:eq:`eq-double-sum`)

    This is the slow way, T (T + 1) / 2 terms where `backward` needs T: for looking at the terms, not for training.

    Args:
        trace: what `forward` returned.

    Returns:
        The terms, (time, time, hidden_size, hidden_size), at [t − 1, k − 1]; zeros where k > t.

    Source: Pascanu et al. (2013), equations 4 and 5, with the product in the order that makes it a Jacobian.
    """
    W_xh, W_hh, W_hy, _, _ = trace.parameters
    _, slope = ACTIVATIONS[trace.activation]
    T = len(trace.step_weights)
    h, e = by_step(trace.states), by_step(output_errors(trace))
    terms = np.zeros((T, T, *W_hh.shape), trace.states.dtype)
    for t in range(1, T + 1):
        back = e[t - 1] @ W_hy  # (…, hidden): ∂⁺L/∂h_t, through step t's own prediction
        for k in range(t, 0, -1):  # here back is (J_t ⋯ J_{k+1})ᵀ ∂⁺L/∂h_t
            delta = slope(h[k]) * back
            terms[t - 1, k - 1] = rows(delta).T @ rows(h[k - 1])  # eq-double-sum
            back = delta @ W_hh  # one more factor: J_kᵀ
    return terms
