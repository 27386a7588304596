"""The GRU's backward pass by hand, in NumPy, with the reset gate in either place, and the paths from state to state.

Sequences are rows: inputs are (…, time, input_size), where … is nothing for one sequence or (batch,) for several.
A comment names the equation that its line computes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unrolled.bptt.common import OUTPUT_AXES, begin, by_step, diagonal, output_errors, rows, score, sigmoid

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
            input_size): first the part for h_{t−1}, then that for x_t. The parts of W_h are called W_hh and W_xh.
        b_z, b_r, b_h: their biases, (hidden_size,).
        W_hy: output weights, (vocab_size, hidden_size).
        b_y: bias of the logits, (vocab_size,).
        b_hh: with the reset gate after the product, the bias that it acts on, (hidden_size,), zeros where None; with
            the gate before, None.
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
        step_weights: c_1 … c_T, what each step's loss counts, (time,).
        states: h_0 … h_T, (…, time + 1, hidden_size).
        update, reset, candidate: z_t, r_t, h̃_t for t = 1 … T, (…, time, hidden_size).
        probabilities: ŷ_1 … ŷ_T, (…, time, vocab_size).
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
    """The total derivatives of the loss, each with the shape of what it is taken by.

    Attributes:
        W_z, W_r, W_h, b_z, b_r, b_h, W_hy, b_y: by the weights, as in `Parameters`.
        b_hh: by b_hh, (hidden_size,), where the reset gate acts after the product; None where before.
        h_0: by the state before the first step, (…, hidden_size).
        inputs: by x_1 … x_T, (…, time, input_size).
        states: by h_1 … h_T, (…, time, hidden_size).
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

    The predictions and the loss are those of `bptt.rnn.forward`. Complex weights, inputs or states are allowed, for
    differentiation by a complex step.

    Args:
        parameters: the weights.
        inputs: x_1 … x_T, (…, time, input_size).
        targets: the symbols to predict, integers, (…, time).
        h_0: the state before the first step, (…, hidden_size); zeros where None.
        reset: where the reset gate acts: ``"before"`` the product, as in Chung et al. (2014), or ``"after"``, as in
            PyTorch.
        step_weights: what each step's loss counts, (time,). None: 1/T each, the loss in nats per symbol.

    Returns:
        The loss L, nats, its mean over the sequences where there are several; and the trace, for `backward`.

    Raises:
        ValueError: arrays that do not fit together, targets outside the vocabulary, an unknown place of the reset gate,
            or a b_hh that it does not act on.
    """
    if reset not in RESETS:
        raise ValueError(f"reset is {reset!r}; it can be one of {', '.join(RESETS)}")
    if reset == "before" and parameters.b_hh is not None:
        raise ValueError('b_hh is given, but with reset="before" there is no place for it; add it to b_h')
    inputs, targets, step_weights, states = begin(parameters, AXES, inputs, targets, step_weights, h_0=h_0)
    W_z, W_r, W_h, b_z, b_r, b_h, _, _, b_hh = parameters
    W_hh, W_xh = np.split(W_h, [len(W_h)], axis=1)
    gates = z, r, g = [np.empty_like(states[..., 1:, :]) for _ in range(3)]  # g is h̃
    # all of them (time, …, size); h[t] is h_t, but x[t − 1] is x_t and z[t − 1] is z_t
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
    loss, probabilities = score(parameters, states, targets, step_weights)
    return loss, Trace(parameters, reset, inputs, targets, step_weights, states, *gates, probabilities)


def _product(parameters: Parameters, h: np.ndarray) -> np.ndarray:
    """Return W_hh h + b_hh, which the reset gate is multiplied by where it acts after the product, (…, hidden_size)."""
    W_hh = parameters.W_h[:, : len(parameters.W_h)]
    return h @ W_hh.T + (0 if parameters.b_hh is None else parameters.b_hh)


def backward(trace: Trace) -> Gradients:
    """Carry the derivative of the loss back through time.

    δ^z_t, δ^r_t, δ^h_t are the total derivatives by what goes into the nonlinearity of each gate and of the candidate.
    W_{z,h} is the part of W_z that h_{t−1} is multiplied by, and W_{z,x} that of x_t; so for W_r.

        e_t = the loss by the logits                                                (:eq:`eq-bptt-output`)
        ∂L/∂h_t = W_hyᵀ e_t + (1 − z_{t+1}) ⊙ ∂L/∂h_{t+1} + W_{z,h}ᵀ δ^z_{t+1}
            + W_{r,h}ᵀ δ^r_{t+1} + u_{t+1}                                          (:eq:`eq-gru-delta-h`)
        δ^z_t = ∂L/∂h_t ⊙ (h̃_t − h_{t−1}) ⊙ z_t ⊙ (1 − z_t)                         (:eq:`eq-gru-delta-update`)
        δ^h_t = ∂L/∂h_t ⊙ z_t ⊙ (1 − h̃_t ⊙ h̃_t)                                     (:eq:`eq-gru-delta-candidate`)

    What bears the index T + 1 is 0. The candidate sends u_t to h_{t−1} and δ^r_t to the reset gate. Before the product:

        u_t = r_t ⊙ (W_hhᵀ δ^h_t)                                                   (:eq:`eq-gru-delta-reset`)
        δ^r_t = (W_hhᵀ δ^h_t) ⊙ h_{t−1} ⊙ r_t ⊙ (1 − r_t)                           (:eq:`eq-gru-delta-reset`)
        ∂L/∂W_hh = Σ_t δ^h_t (r_t ⊙ h_{t−1})ᵀ                                       (:eq:`eq-gru-gradients`)

    After the product:

        u_t = W_hhᵀ (r_t ⊙ δ^h_t)                                                   (:eq:`eq-gru-delta-after`)
        δ^r_t = δ^h_t ⊙ (W_hh h_{t−1} + b_hh) ⊙ r_t ⊙ (1 − r_t)                     (:eq:`eq-gru-delta-after`)
        ∂L/∂W_hh = Σ_t (r_t ⊙ δ^h_t) h_{t−1}ᵀ,  ∂L/∂b_hh = Σ_t r_t ⊙ δ^h_t          (:eq:`eq-gru-delta-after`)

    And in both,

        ∂L/∂W_g = Σ_t δ^g_t [h_{t−1}, x_t]ᵀ  for g = z, r                           (:eq:`eq-gru-gradients`)
        ∂L/∂W_xh = Σ_t δ^h_t x_tᵀ,  ∂L/∂b_g = Σ_t δ^g_t  for g = z, r, h            (:eq:`eq-gru-gradients`)
        ∂L/∂h_0 = the sum of :eq:`eq-gru-delta-h` at t = 0, without its first term   (:eq:`eq-gru-gradients`)
        ∂L/∂x_t = W_{z,x}ᵀ δ^z_t + W_{r,x}ᵀ δ^r_t + W_xhᵀ δ^h_t                      (:eq:`eq-gru-gradients`)

    The derivatives by W_hy and b_y are those of :eq:`eq-gradients`.

    Args:
        trace: what `forward` returned.

    Returns:
        The gradients. Those by the weights are summed over the sequences; as the loss is a mean over these, so are
        they.
    """
    (W_z_h, W_z_x), (W_r_h, W_r_x), (W_hh, W_xh) = (np.split(W, [len(W)], axis=1) for W in trace.parameters[:3])
    before, errors = trace.placement == "before", output_errors(trace)  # eq-bptt-output
    previous, reset, by_state = trace.states[..., :-1, :], trace.reset, np.zeros_like(trace.states)
    products = None if before else by_step(_product(trace.parameters, previous))
    deltas = [np.empty_like(reset) for _ in range(3)]
    # as in forward; d_h[t] is ∂L/∂h_t, but delta_z[t − 1] is δ^z_t
    h, e, d_h, delta_z, delta_r, delta_h = (by_step(array) for array in (trace.states, errors, by_state, *deltas))
    gates = [by_step(gate) for gate in (trace.update, reset, trace.candidate)]
    later = 0  # what comes back from step t + 1 to h_t
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
    """Return J_t = ∂h_t/∂h_{t−1} in full, path by path: the direct one, and one through each gate and the candidate.

    With k_t = z_t ⊙ (1 − h̃_t ⊙ h̃_t), what the candidate's argument counts,

        J_t = diag(1 − z_t) + diag((h̃_t − h_{t−1}) ⊙ z_t ⊙ (1 − z_t)) W_{z,h} + C_t + R_t   (:eq:`eq-gru-jacobian`)
        before the product:  C_t = diag(k_t) W_hh diag(r_t)
                             R_t = diag(k_t) W_hh diag(h_{t−1} ⊙ r_t ⊙ (1 − r_t)) W_{r,h}
        after it:            C_t = diag(k_t ⊙ r_t) W_hh
                             R_t = diag(k_t ⊙ (W_hh h_{t−1} + b_hh) ⊙ r_t ⊙ (1 − r_t)) W_{r,h}

    Args:
        trace: what `forward` returned.

    Returns:
        The paths ``"direct"``, ``"update"``, ``"candidate"`` (C_t) and ``"reset"`` (R_t), (…, time, hidden_size,
        hidden_size) each. Their sum is J_t.
    """
    W_z, W_r, W_hh = (W[:, : len(W)] for W in trace.parameters[:3])
    h, z, r, g = trace.states[..., :-1, :], trace.update, trace.reset, trace.candidate
    through = (z * (1 - g * g))[..., None]  # k_t, which scales rows
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
