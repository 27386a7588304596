"""Backpropagation through time by hand, in NumPy: the vanilla network's loss and all its gradients."""

from typing import NamedTuple

import numpy as np

from unrolled.bptt.common import Gradients, Trace, by_step, outer, output_errors, predict, previous, total


class Parameters(NamedTuple):
    """The weights of a vanilla network, stored (out, in).

    Attributes:
        W_xh: input weights, (hidden_size, input_size).
        W_hh: recurrent weights, (hidden_size, hidden_size).
        W_hy: output weights, (vocab_size, hidden_size).
        b_h: bias of the state, (hidden_size,).
        b_y: bias of the logits, (vocab_size,).

    Example:
        >>> weights = Parameters(np.ones((2, 1)), np.eye(2), np.zeros((3, 2)), np.zeros(2), np.zeros(3))
        >>> loss, trace = forward(weights, inputs=[[1.0], [0.0]], targets=[0, 2])
        >>> round(float(np.exp(loss)), 6)  # without output weights, three tokens are equally likely
        3.0
        >>> backward(trace).W_hy.shape
        (3, 2)
    """

    W_xh: np.ndarray
    W_hh: np.ndarray
    W_hy: np.ndarray
    b_h: np.ndarray
    b_y: np.ndarray


def forward(
    parameters: Parameters,
    inputs: np.ndarray,
    targets: np.ndarray,
    h_0: np.ndarray | None = None,
    *,
    step_weights: np.ndarray | None = None,
) -> tuple[float, Trace]:
    """Run the network and price its predictions.

        h_t = tanh(W_xh x_t + W_hh h_{t−1} + b_h)   (:eq:`eq-rnn`)
        ŷ_t = softmax(W_hy h_t + b_y)               (:eq:`eq-output`)
        L = Σ_t ω_t L_t,  L_t = −Σ_i y_{t,i} ln ŷ_{t,i}    (:eq:`eq-bptt-loss`)

    The arithmetic is done in the arrays' own type, and in float64 where they are integers. Weights, inputs and states
    may be complex, so that the loss can be differentiated by a complex step (Squire & Trapp 1998).

    Args:
        parameters: the weights.
        inputs: x_1 … x_T, (…, time, input_size).
        targets: the tokens to predict, integers, (…, time).
        h_0: the state before the first step, (…, hidden_size); zeros if None.
        step_weights: ω_1 … ω_T, (time,). None gives 1/T each, the loss in nats per token; (0, …, 0, 1) keeps only the
            last step's loss.

    Returns:
        The loss L in nats, averaged over the sequences if there are several; and the trace, for `backward`.
    """
    x, y, step_weights, h = by_step(parameters, inputs, targets, step_weights, h_0)
    W_xh, W_hh, _, b_h, _ = parameters
    for t in range(1, len(x)):
        h[t] = np.tanh(x[t] @ W_xh.T + h[t - 1] @ W_hh.T + b_h)  # eq-rnn
    return predict(parameters, x, y, step_weights, h)


def backward(trace: Trace, truncate: int | None = None) -> Gradients:
    """Carry the derivative of the loss back through time (Werbos 1990).

    All derivatives are total ones; δ_t is the derivative with respect to a_t = W_xh x_t + W_hh h_{t−1} + b_h.

        e_t = ω_t (ŷ_t − y_t)                           (:eq:`eq-bptt-output`)
        ∂L/∂h_t = W_hyᵀ e_t + W_hhᵀ δ_{t+1}             (:eq:`eq-delta-h`), with δ_{T+1} = 0
        δ_t = (1 − h_t ⊙ h_t) ⊙ ∂L/∂h_t                 (:eq:`eq-delta`)
        ∂L/∂W_hh = Σ_t δ_t h_{t−1}ᵀ                     (:eq:`eq-grad-W-hh`)
        ∂L/∂W_xh = Σ_t δ_t x_tᵀ                         (:eq:`eq-gradients`)
        ∂L/∂b_h = Σ_t δ_t                               (:eq:`eq-gradients`)
        ∂L/∂W_hy = Σ_t e_t h_tᵀ                         (:eq:`eq-gradients`)
        ∂L/∂b_y = Σ_t e_t                               (:eq:`eq-gradients`)
        ∂L/∂h_0 = W_hhᵀ δ_1                             (:eq:`eq-gradients`)
        ∂L/∂x_t = W_xhᵀ δ_t                             (:eq:`eq-gradients`)

    With ``truncate=n`` the sequence is cut into windows of n steps, 1 … n, n + 1 … 2n and so on (the last may be
    shorter). The state is carried from window to window, but no derivative is: δ_{t+1} is taken to be zero if t is the
    last step of a window. The result lacks exactly those terms of the double sum (:eq:`eq-double-sum`) whose t and s
    lie in different windows. It is the mean of the gradients that `training.train` computes window by window, provided
    that the weights stay fixed, T is a multiple of n and all steps have the same weight.

    Args:
        trace: what `forward` returned.
        truncate: the length n of a window; None makes the whole sequence one window.

    Returns:
        The gradients. Those of the weights are summed over the sequences: since the loss is the mean over these, so are
        they.
    """
    if truncate is not None and truncate < 1:
        raise ValueError(f"truncate is {truncate}; it must be 1 or more, or None for the full gradient")
    W_xh, W_hh, W_hy, _, _ = trace.parameters
    x, h, e = trace.x, trace.h, output_errors(trace)  # eq-bptt-output
    d_h, delta = np.zeros((2, len(h) + 1, *h.shape[1:]), h.dtype)  # at 0 … T + 1; d_h[t] is ∂L/∂h_t
    for t in range(len(x) - 1, 0, -1):
        inside = truncate is None or t % truncate != 0  # t + 1 is in the same window
        d_h[t] = e[t] @ W_hy + (delta[t + 1] @ W_hh if inside else 0)  # eq-delta-h
        delta[t] = (1 - h[t] * h[t]) * d_h[t]  # eq-delta
    d_h[0] = delta[1] @ W_hh  # eq-gradients
    d_h, delta = d_h[:-1], delta[:-1]  # what has the index T + 1 has done its part
    return Gradients(
        W_xh=outer(delta, x),  # eq-gradients
        W_hh=outer(delta, previous(h)),  # eq-grad-W-hh
        W_hy=outer(e, h),  # eq-gradients
        b_h=total(delta),  # eq-gradients
        b_y=total(e),  # eq-gradients
        h_0=d_h[0],
        x=delta @ W_xh,  # eq-gradients
        h=d_h,
    )


def double_sum(trace: Trace) -> np.ndarray:
    """Return ∂L/∂W_hh term by term: the share of it that leads from the loss at step t to the use of W_hh at step s.

        J_t = ∂h_t/∂h_{t−1} = diag(1 − h_t ⊙ h_t) W_hh
        ∂L/∂W_hh = Σ_t Σ_{s≤t} diag(1 − h_s ⊙ h_s) (J_t ⋯ J_{s+1})ᵀ W_hyᵀ e_t h_{s−1}ᵀ        (:eq:`eq-double-sum`)

    There are T (T + 1) / 2 terms, where `backward` needs T steps: this is for inspecting the terms, not for training.

    Args:
        trace: what `forward` returned.

    Returns:
        The terms, (time + 1, time + 1, hidden_size, hidden_size), at [t, s]; zeros where s > t and at step 0.

    Source: Pascanu et al. (2013), equations 4 and 5, with the product in the order that makes it a Jacobian.
    """
    _, W_hh, W_hy, _, _ = trace.parameters
    h, e = trace.h, output_errors(trace)
    terms = np.zeros((len(h), len(h), *W_hh.shape), h.dtype)
    for t in range(1, len(h)):
        back = e[t] @ W_hy  # ∂⁺L/∂h_t, through step t's own prediction
        for s in range(t, 0, -1):  # back is (J_t ⋯ J_{s+1})ᵀ ∂⁺L/∂h_t
            delta = (1 - h[s] * h[s]) * back
            terms[t, s] = outer(delta, h[s - 1])  # eq-double-sum
            back = delta @ W_hh  # one more factor: J_sᵀ
    return terms
