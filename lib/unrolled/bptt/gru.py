"""The GRU's backward pass by hand, in NumPy, with the reset gate in either place, and the paths from state to state.

Sequences are rows: inputs are (…, time, input_size), where … is empty for one sequence and (batch,) for several.
A comment names the equation that its line computes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unrolled.bptt.common import OUTPUT_AXES, by_step, diagonal, output_errors, predict, prepare, rows, sigmoid

RESETS = ("before", "after")
AXES = (
    dict.fromkeys(("W_z", "W_r", "W_h"), ("hidden_size", "hidden_size + input_size"))
    | dict.fromkeys(("b_z", "b_r", "b_h", "b_hh"), ("hidden_size",))
    | OUTPUT_AXES
)


class Parameters(NamedTuple):
    """The weights of a GRU network, stored (out, in).

    Attributes:
        W_z, W_r, W_h: weights of the update gate, the reset gate and the candidate, (hidden_size, hidden_size +
            input_size): columns for h_{t−1}, then columns for x_t. The two parts of W_h are called W_hh and W_xh.
        b_z, b_r, b_h: their biases, (hidden_size,).
        W_hy: output weights, (vocab_size, hidden_size).
        b_y: bias of the logits, (vocab_size,).
        b_hh: if the reset gate acts after the product, the bias inside that product, (hidden_size,), None for zeros;
            if it acts before, None.

    Example:
        >>> h, d, V = 2, 1, 3
        >>> weights = Parameters(*[np.zeros((h, h + d))] * 3, *[np.zeros(h)] * 3, np.zeros((V, h)), np.zeros(V))
        >>> weights.W_h.shape, weights.b_hh is None
        ((2, 3), True)
    """

    W_z: np.ndarray
    W_r: np.ndarray
    W_h: np.ndarray
    b_z: np.ndarray
    b_r: np.ndarray
    b_h: np.ndarray
    W_hy: np.ndarray
    b_y: np.ndarray
    b_hh: np.ndarray | None = None


class Trace(NamedTuple):
    """What the forward pass keeps for the backward pass.

    Attributes:
        parameters: the weights.
        placement: where the reset gate acts, ``"before"`` the product or ``"after"``.
        inputs: x_1 … x_T, (…, time, input_size).
        targets: the symbols to predict, (…, time).
        step_weights: ω_1 … ω_T, the weight of each step's loss, (time,).
        states: h_0 … h_T, (…, time + 1, hidden_size).
        update, reset, candidate: z_t, r_t, h̃_t for t = 1 … T, (…, time, hidden_size).
        probabilities: ŷ_1 … ŷ_T, (…, time, vocab_size).

    Example:
        >>> weights = Parameters(*[np.ones((2, 3))] * 3, *[np.zeros(2)] * 3, np.ones((3, 2)), np.zeros(3))
        >>> _, trace = forward(weights, inputs=[[1.0], [0.0]], targets=[0, 2])
        >>> z, h, candidate = trace.update[0], trace.states, trace.candidate[0]
        >>> np.array_equal(h[1], (1 - z) * h[0] + z * candidate)
        True
    """

    parameters: Parameters
    placement: str
    inputs: np.ndarray
    targets: np.ndarray
    step_weights: np.ndarray
    states: np.ndarray
    update: np.ndarray
    reset: np.ndarray
    candidate: np.ndarray
    probabilities: np.ndarray


class Gradients(NamedTuple):
    """The total derivatives of the loss, each with the shape of the array it is taken with respect to.

    Attributes:
        W_z, W_r, W_h, b_z, b_r, b_h, W_hy, b_y: with respect to the weights, as in `Parameters`.
        b_hh: with respect to b_hh, (hidden_size,); None if the reset gate acts before the product.
        h_0: with respect to the state before the first step, (…, hidden_size).
        inputs: with respect to x_1 … x_T, (…, time, input_size).
        states: with respect to h_1 … h_T, (…, time, hidden_size).

    Example:
        >>> weights = Parameters(*[np.ones((2, 3))] * 3, *[np.zeros(2)] * 3, np.ones((3, 2)), np.zeros(3))
        >>> gradients = backward(forward(weights, inputs=[[1.0], [0.0]], targets=[0, 2])[1])
        >>> gradients.W_z.shape, gradients.inputs.shape, gradients.b_hh is None
        ((2, 3), (2, 1), True)
    """

    W_z: np.ndarray
    W_r: np.ndarray
    W_h: np.ndarray
    b_z: np.ndarray
    b_r: np.ndarray
    b_h: np.ndarray
    W_hy: np.ndarray
    b_y: np.ndarray
    b_hh: np.ndarray | None
    h_0: np.ndarray
    inputs: np.ndarray
    states: np.ndarray


def forward(
    parameters: Parameters,
    inputs: np.ndarray,
    targets: np.ndarray,
    h_0: np.ndarray | None = None,
    *,
    reset: str = "before",
    step_weights: np.ndarray | None = None,
) -> tuple[float, Trace]:
    """Run the network and price its predictions.

        z_t = σ(W_z [h_{t−1}, x_t] + b_z)                           (:eq:`eq-gru-update`)
        r_t = σ(W_r [h_{t−1}, x_t] + b_r)                           (:eq:`eq-gru-reset`)
        h̃_t = tanh(W_h [r_t ⊙ h_{t−1}, x_t] + b_h)                  before the product (:eq:`eq-gru-state`)
        h̃_t = tanh(W_xh x_t + b_h + r_t ⊙ (W_hh h_{t−1} + b_hh))    after it (:eq:`eq-gru-after`)
        h_t = (1 − z_t) ⊙ h_{t−1} + z_t ⊙ h̃_t                       (:eq:`eq-gru-state`)

    The predictions and the loss are those of `bptt.rnn.forward`. Weights, inputs and states may be complex, so that the
    loss can be differentiated by a complex step.

    Args:
        parameters: the weights.
        inputs: x_1 … x_T, (…, time, input_size).
        targets: the symbols to predict, integers, (…, time).
        h_0: the state before the first step, (…, hidden_size); zeros if None.
        reset: where the reset gate acts: ``"before"`` the product, as in Chung et al. (2014), or ``"after"``, as in
            PyTorch.
        step_weights: ω_1 … ω_T, (time,). None gives 1/T each, the loss in nats per symbol.

    Returns:
        The loss L in nats, averaged over the sequences if there are several; and the trace, for `backward`.

    Raises:
        ValueError: arrays that do not fit together, targets outside the vocabulary, an unknown `reset`, or a b_hh with
            ``reset="before"``.

    Example:
        >>> weights = Parameters(*[np.ones((2, 3))] * 3, *[np.zeros(2)] * 3, np.zeros((3, 2)), np.zeros(3))
        >>> loss, _ = forward(weights, inputs=[[1.0], [0.0]], targets=[0, 2])
        >>> round(float(np.exp(loss)), 6)  # without output weights, three symbols are equally likely
        3.0
    """
    if reset not in RESETS:
        raise ValueError(f"reset is {reset!r}; it can be one of {', '.join(RESETS)}")
    if reset == "before" and parameters.b_hh is not None:
        raise ValueError('b_hh is given, but with reset="before" nothing uses it; add it to b_h')
    inputs, targets, step_weights, states = prepare(parameters, AXES, inputs, targets, step_weights, h_0=h_0)
    W_z, W_r, W_h, b_z, b_r, b_h, _, _, b_hh = parameters
    W_hh, W_xh = np.split(W_h, [len(W_h)], axis=1)
    gates = z, r, g = [np.empty_like(states[..., 1:, :]) for _ in range(3)]  # g is h̃
    # all (time, …, size): h[t] is h_t, but x[t − 1] is x_t and z[t − 1] is z_t
    x, h, z, r, g = (by_step(array) for array in (inputs, states, z, r, g))
    for t in range(1, len(h)):
        v = np.concatenate([h[t - 1], x[t - 1]], axis=-1)  # [h_{t−1}, x_t]
        z[t - 1] = sigmoid(v @ W_z.T + b_z)  # eq-gru-update
        r[t - 1] = sigmoid(v @ W_r.T + b_r)  # eq-gru-reset
        if reset == "before":
            a = (r[t - 1] * h[t - 1]) @ W_hh.T + x[t - 1] @ W_xh.T + b_h  # eq-gru-state
        else:
            a = x[t - 1] @ W_xh.T + b_h + r[t - 1] * _product(parameters, h[t - 1])  # eq-gru-after
        g[t - 1] = np.tanh(a)
        h[t] = (1 - z[t - 1]) * h[t - 1] + z[t - 1] * g[t - 1]  # eq-gru-state
    loss, probabilities = predict(parameters, states, targets, step_weights)
    return loss, Trace(parameters, reset, inputs, targets, step_weights, states, *gates, probabilities)


def _product(parameters: Parameters, h: np.ndarray) -> np.ndarray:
    """Return W_hh h + b_hh, the product that a reset gate after it scales, (…, hidden_size)."""
    W_hh = parameters.W_h[:, : len(parameters.W_h)]
    return h @ W_hh.T + (0 if parameters.b_hh is None else parameters.b_hh)


def backward(trace: Trace) -> Gradients:
    """Carry the derivative of the loss back through time.

    δ^z_t, δ^r_t, δ^h_t are the total derivatives with respect to the pre-activations of the gates and the candidate.
    W_{z,h} is the part of W_z that multiplies h_{t−1}, and W_{z,x} the part that multiplies x_t; likewise for W_r.

        e_t = ω_t (ŷ_t − onehot(target_t))                                          (:eq:`eq-bptt-output`)
        ∂L/∂h_t = W_hyᵀ e_t + (1 − z_{t+1}) ⊙ ∂L/∂h_{t+1} + W_{z,h}ᵀ δ^z_{t+1}
            + W_{r,h}ᵀ δ^r_{t+1} + u_{t+1}                                          (:eq:`eq-gru-delta-h`)
        δ^z_t = ∂L/∂h_t ⊙ (h̃_t − h_{t−1}) ⊙ z_t ⊙ (1 − z_t)                         (:eq:`eq-gru-delta-update`)
        δ^h_t = ∂L/∂h_t ⊙ z_t ⊙ (1 − h̃_t ⊙ h̃_t)                                     (:eq:`eq-gru-delta-candidate`)

    Terms with index T + 1 are zero. Through the candidate, u_t reaches h_{t−1} and δ^r_t the reset gate. With the reset
    gate before the product:

        u_t = r_t ⊙ (W_hhᵀ δ^h_t)                                                   (:eq:`eq-gru-delta-reset`)
        δ^r_t = (W_hhᵀ δ^h_t) ⊙ h_{t−1} ⊙ r_t ⊙ (1 − r_t)                           (:eq:`eq-gru-delta-reset`)
        ∂L/∂W_hh = Σ_t δ^h_t (r_t ⊙ h_{t−1})ᵀ                                       (:eq:`eq-gru-gradients`)

    With the reset gate after it:

        u_t = W_hhᵀ (r_t ⊙ δ^h_t)                                                   (:eq:`eq-gru-delta-after`)
        δ^r_t = δ^h_t ⊙ (W_hh h_{t−1} + b_hh) ⊙ r_t ⊙ (1 − r_t)                     (:eq:`eq-gru-delta-after`)
        ∂L/∂W_hh = Σ_t (r_t ⊙ δ^h_t) h_{t−1}ᵀ,  ∂L/∂b_hh = Σ_t r_t ⊙ δ^h_t          (:eq:`eq-gru-delta-after`)

    In both cases:

        ∂L/∂W_g = Σ_t δ^g_t [h_{t−1}, x_t]ᵀ  for g = z, r                           (:eq:`eq-gru-gradients`)
        ∂L/∂W_xh = Σ_t δ^h_t x_tᵀ,  ∂L/∂b_g = Σ_t δ^g_t  for g = z, r, h            (:eq:`eq-gru-gradients`)
        ∂L/∂h_0 = the sum of :eq:`eq-gru-delta-h` at t = 0, without its first term   (:eq:`eq-gru-gradients`)
        ∂L/∂x_t = W_{z,x}ᵀ δ^z_t + W_{r,x}ᵀ δ^r_t + W_xhᵀ δ^h_t                      (:eq:`eq-gru-gradients`)

    The derivatives with respect to W_hy and b_y are those of :eq:`eq-gradients`.

    Args:
        trace: what `forward` returned.

    Returns:
        The gradients. Those of the weights are summed over the sequences: since the loss is the mean over these, so are
        they.

    Example:
        >>> weights = Parameters(*[np.ones((2, 3))] * 3, *[np.zeros(2)] * 3, np.ones((3, 2)), np.zeros(3), np.zeros(2))
        >>> gradients = backward(forward(weights, inputs=[[1.0], [0.0]], targets=[0, 2], reset="after")[1])
        >>> gradients.W_h.shape, gradients.b_hh.shape, gradients.states.shape
        ((2, 3), (2,), (2, 2))
    """
    (W_z_h, W_z_x), (W_r_h, W_r_x), (W_hh, W_xh) = (np.split(W, [len(W)], axis=1) for W in trace.parameters[:3])
    before, errors = trace.placement == "before", output_errors(trace)  # eq-bptt-output
    previous, reset, by_state = trace.states[..., :-1, :], trace.reset, np.zeros_like(trace.states)
    products = None if before else by_step(_product(trace.parameters, previous))
    deltas = [np.empty_like(reset) for _ in range(3)]
    # as in forward; d_h[t] is ∂L/∂h_t, but delta_z[t − 1] is δ^z_t
    h, e, d_h, delta_z, delta_r, delta_h = (by_step(array) for array in (trace.states, errors, by_state, *deltas))
    gates = [by_step(gate) for gate in (trace.update, reset, trace.candidate)]
    later = 0  # the part of ∂L/∂h_t that comes back from step t + 1
    for t in range(len(e), 0, -1):
        z, r, g = (gate[t - 1] for gate in gates)  # g is h̃_t
        d_h[t] = e[t - 1] @ trace.parameters.W_hy + later  # eq-gru-delta-h
        delta_z[t - 1] = d_h[t] * (g - h[t - 1]) * z * (1 - z)  # eq-gru-delta-update
        delta_h[t - 1] = d_h[t] * z * (1 - g * g)  # eq-gru-delta-candidate
        if before:
            back = delta_h[t - 1] @ W_hh
            u = r * back  # eq-gru-delta-reset
            delta_r[t - 1] = back * h[t - 1] * r * (1 - r)  # eq-gru-delta-reset
        else:
            u = (r * delta_h[t - 1]) @ W_hh  # eq-gru-delta-after
            delta_r[t - 1] = delta_h[t - 1] * products[t - 1] * r * (1 - r)  # eq-gru-delta-after
        later = (1 - z) * d_h[t] + delta_z[t - 1] @ W_z_h + delta_r[t - 1] @ W_r_h + u  # eq-gru-delta-h
    d_h[0] = later  # eq-gru-gradients
    pairs = np.concatenate([previous, trace.inputs], axis=-1)  # (…, time, hidden + input)
    *of_gates, of_candidate = deltas
    inner, used = (of_candidate, reset * previous) if before else (reset * of_candidate, previous)
    by_W_hh = rows(inner).T @ rows(used)  # eq-gru-gradients, or eq-gru-delta-after
    by_W_xh = rows(of_candidate).T @ rows(trace.inputs)  # eq-gru-gradients
    return Gradients(
        *(rows(delta).T @ rows(pairs) for delta in of_gates),  # eq-gru-gradients: W_z, W_r
        np.concatenate([by_W_hh, by_W_xh], axis=1),  # W_h
        *(rows(delta).sum(axis=0) for delta in deltas),  # eq-gru-gradients: b_z, b_r, b_h
        W_hy=rows(errors).T @ rows(trace.states[..., 1:, :]),  # eq-gradients
        b_y=rows(errors).sum(axis=0),  # eq-gradients
        b_hh=None if before else rows(inner).sum(axis=0),  # eq-gru-delta-after
        h_0=by_state[..., 0, :],
        inputs=sum(delta @ W for delta, W in zip(deltas, (W_z_x, W_r_x, W_xh), strict=True)),  # eq-gru-gradients
        states=by_state[..., 1:, :],
    )


def paths(trace: Trace) -> dict[str, np.ndarray]:
    """Return J_t = ∂h_t/∂h_{t−1} path by path: the direct path, and one through each gate and the candidate.

    Let k_t = z_t ⊙ (1 − h̃_t ⊙ h̃_t), the derivative of h_t with respect to the candidate's pre-activation. Then

        J_t = diag(1 − z_t) + diag((h̃_t − h_{t−1}) ⊙ z_t ⊙ (1 − z_t)) W_{z,h} + C_t + R_t   (:eq:`eq-gru-jacobian`)
        reset before the product:  C_t = diag(k_t) W_hh diag(r_t)
                                   R_t = diag(k_t) W_hh diag(h_{t−1} ⊙ r_t ⊙ (1 − r_t)) W_{r,h}
        reset after it:            C_t = diag(k_t ⊙ r_t) W_hh
                                   R_t = diag(k_t ⊙ (W_hh h_{t−1} + b_hh) ⊙ r_t ⊙ (1 − r_t)) W_{r,h}

    Args:
        trace: what `forward` returned.

    Returns:
        The paths ``"direct"``, ``"update"``, ``"candidate"`` (C_t) and ``"reset"`` (R_t), (…, time, hidden_size,
        hidden_size) each. Their sum is J_t.

    Example:
        >>> weights = Parameters(*[np.ones((2, 3))] * 3, *[np.zeros(2)] * 3, np.ones((3, 2)), np.zeros(3))
        >>> _, trace = forward(weights, inputs=[[1.0], [0.0]], targets=[0, 2])
        >>> {name: matrices.shape for name, matrices in paths(trace).items()}
        {'direct': (2, 2, 2), 'update': (2, 2, 2), 'candidate': (2, 2, 2), 'reset': (2, 2, 2)}
    """
    W_z, W_r, W_hh = (W[:, : len(W)] for W in trace.parameters[:3])
    h, z, r, g = trace.states[..., :-1, :], trace.update, trace.reset, trace.candidate
    through = (z * (1 - g * g))[..., None]  # k_t, which scales rows: (…, time, hidden, 1)
    if trace.placement == "before":
        candidate = through * W_hh * r[..., None, :]
        reset = through * W_hh @ ((h * r * (1 - r))[..., None] * W_r)
    else:
        candidate = through * r[..., None] * W_hh
        reset = through * (_product(trace.parameters, h) * r * (1 - r))[..., None] * W_r
    return {
        "direct": diagonal(1 - z),
        "update": ((g - h) * z * (1 - z))[..., None] * W_z,
        "candidate": candidate,
        "reset": reset,
    }
