"""The GRU's backward pass by hand, in NumPy, with the reset gate in either place, and the paths from state to state."""

from typing import NamedTuple

import numpy as np

from unrolled.bptt.common import Gradients, Trace, by_step, outer, output_errors, predict, previous, sigmoid, total

RESETS = ("before", "after")


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
        >>> weights = Parameters(*[np.ones((2, 3))] * 3, *[np.zeros(2)] * 3, np.zeros((3, 2)), np.zeros(3))
        >>> loss, trace = forward(weights, inputs=[[1.0], [0.0]], targets=[0, 2])
        >>> backward(trace).W_h.shape, paths(trace)["reset"].shape
        ((2, 3), (3, 2, 2))
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

    What is not said here is as in `bptt.rnn.forward`: the predictions, the loss, arguments and results.

    Args:
        reset: where the reset gate acts: ``"before"`` the product, as in Chung et al. (2014), or ``"after"``, as in
            PyTorch.
    """
    if reset not in RESETS:
        raise ValueError(f"reset is {reset!r}; it can be one of {', '.join(RESETS)}")
    if reset == "before" and parameters.b_hh is not None:
        raise ValueError('b_hh is given, but with reset="before" nothing uses it; add it to b_h')
    x, y, step_weights, h = by_step(parameters, inputs, targets, step_weights, h_0)
    W_z, W_r, W_h, b_z, b_r, b_h, _, _, _ = parameters
    W_hh, W_xh = np.split(W_h, [len(W_h)], axis=1)
    z, r, h_tilde = np.zeros((3, *h.shape), h.dtype)
    for t in range(1, len(x)):
        v = np.concatenate([h[t - 1], x[t]], axis=-1)  # [h_{t−1}, x_t]
        z[t] = sigmoid(v @ W_z.T + b_z)  # eq-gru-update
        r[t] = sigmoid(v @ W_r.T + b_r)  # eq-gru-reset
        if reset == "before":
            h_tilde[t] = np.tanh((r[t] * h[t - 1]) @ W_hh.T + x[t] @ W_xh.T + b_h)  # eq-gru-state
        else:
            h_tilde[t] = np.tanh(x[t] @ W_xh.T + b_h + r[t] * _product(parameters, h[t - 1]))  # eq-gru-after
        h[t] = (1 - z[t]) * h[t - 1] + z[t] * h_tilde[t]  # eq-gru-state
    return predict(parameters, x, y, step_weights, h, z=z, r=r, h_tilde=h_tilde, reset=reset)


def _product(parameters: Parameters, h: np.ndarray) -> np.ndarray:
    """Return W_hh h + b_hh, the product that a reset gate after it scales, (…, hidden_size)."""
    W_hh = parameters.W_h[:, : len(parameters.W_h)]
    return h @ W_hh.T + (0 if parameters.b_hh is None else parameters.b_hh)


def backward(trace: Trace) -> Gradients:
    """Carry the derivative of the loss back through time.

    δ^z_t, δ^r_t, δ^h_t are the total derivatives with respect to the pre-activations of the gates and the candidate.
    W_{z,h} is the part of W_z that multiplies h_{t−1}, and W_{z,x} the part that multiplies x_t; likewise for W_r.

        e_t = ω_t (ŷ_t − y_t)                                                       (:eq:`eq-bptt-output`)
        ∂L/∂h_t = W_hyᵀ e_t + (1 − z_{t+1}) ⊙ ∂L/∂h_{t+1} + W_{z,h}ᵀ δ^z_{t+1}
            + W_{r,h}ᵀ δ^r_{t+1} + u_{t+1}                                          (:eq:`eq-gru-delta-h`)
        δ^z_t = ∂L/∂h_t ⊙ (h̃_t − h_{t−1}) ⊙ z_t ⊙ (1 − z_t)                         (:eq:`eq-gru-delta-update`)
        δ^h_t = ∂L/∂h_t ⊙ z_t ⊙ (1 − h̃_t ⊙ h̃_t)                                     (:eq:`eq-gru-delta-candidate`)

    Terms with index T + 1 are zero. u_t is what the candidate sends back; s_t is what W_hh multiplies, and q_t the
    gradient at its product. With the reset gate before the product:

        u_t = r_t ⊙ (W_hhᵀ δ^h_t),  s_t = r_t ⊙ h_{t−1},  q_t = δ^h_t               (:eq:`eq-gru-delta-reset`)
        δ^r_t = (W_hhᵀ δ^h_t) ⊙ h_{t−1} ⊙ r_t ⊙ (1 − r_t)                           (:eq:`eq-gru-delta-reset`)

    With the reset gate after it:

        u_t = W_hhᵀ (r_t ⊙ δ^h_t),  s_t = h_{t−1},  q_t = r_t ⊙ δ^h_t               (:eq:`eq-gru-delta-after`)
        δ^r_t = δ^h_t ⊙ (W_hh h_{t−1} + b_hh) ⊙ r_t ⊙ (1 − r_t)                     (:eq:`eq-gru-delta-after`)

    In both cases:

        ∂L/∂W_g = Σ_t δ^g_t [h_{t−1}, x_t]ᵀ  for g = z, r                           (:eq:`eq-gru-gradients`)
        ∂L/∂W_hh = Σ_t q_t s_tᵀ,  ∂L/∂b_hh = Σ_t q_t                                (:eq:`eq-gru-gradients`)
        ∂L/∂W_xh = Σ_t δ^h_t x_tᵀ,  ∂L/∂b_g = Σ_t δ^g_t  for g = z, r, h            (:eq:`eq-gru-gradients`)
        ∂L/∂h_0 = the sum of :eq:`eq-gru-delta-h` at t = 0, without its first term   (:eq:`eq-gru-gradients`)
        ∂L/∂x_t = W_{z,x}ᵀ δ^z_t + W_{r,x}ᵀ δ^r_t + W_xhᵀ δ^h_t                      (:eq:`eq-gru-gradients`)

    The derivatives with respect to W_hy and b_y are those of :eq:`eq-gradients`. Argument and result are as in
    `bptt.rnn.backward`.
    """
    (W_zh, W_zx), (W_rh, W_rx), (W_hh, W_xh) = (np.split(W, [len(W)], axis=1) for W in trace.parameters[:3])
    x, h, e = trace.x, trace.h, output_errors(trace)  # eq-bptt-output
    r, h_tilde, before, W_hy = trace.r, trace.h_tilde, trace.reset == "before", trace.parameters.W_hy
    products = _product(trace.parameters, previous(h))  # W_hh h_{t−1} + b_hh
    z = np.append(trace.z, 0 * trace.z[:1], axis=0)  # at 0 … T + 1, as the next five
    d_h, delta_z, delta_r, delta_h, u = np.zeros((5, *z.shape), z.dtype)  # d_h[t] is ∂L/∂h_t

    def from_later(t: int) -> np.ndarray:
        """Return what comes back to h_t from step t + 1."""
        return (1 - z[t + 1]) * d_h[t + 1] + delta_z[t + 1] @ W_zh + delta_r[t + 1] @ W_rh + u[t + 1]  # eq-gru-delta-h

    for t in range(len(x) - 1, 0, -1):
        d_h[t] = e[t] @ W_hy + from_later(t)  # eq-gru-delta-h
        delta_z[t] = d_h[t] * (h_tilde[t] - h[t - 1]) * z[t] * (1 - z[t])  # eq-gru-delta-update
        delta_h[t] = d_h[t] * z[t] * (1 - h_tilde[t] * h_tilde[t])  # eq-gru-delta-candidate
        if before:
            u[t] = r[t] * (delta_h[t] @ W_hh)  # eq-gru-delta-reset
            delta_r[t] = (delta_h[t] @ W_hh) * h[t - 1] * r[t] * (1 - r[t])  # eq-gru-delta-reset
        else:
            u[t] = (r[t] * delta_h[t]) @ W_hh  # eq-gru-delta-after
            delta_r[t] = delta_h[t] * products[t] * r[t] * (1 - r[t])  # eq-gru-delta-after
    d_h[0] = from_later(0)  # eq-gru-gradients
    d_h, delta_z, delta_r, delta_h = (a[:-1] for a in (d_h, delta_z, delta_r, delta_h))  # T + 1 has done its part
    v = np.concatenate([previous(h), x], axis=-1)  # [h_{t−1}, x_t]
    s, q = (r * previous(h), delta_h) if before else (previous(h), r * delta_h)
    return Gradients(
        W_z=outer(delta_z, v),  # eq-gru-gradients
        W_r=outer(delta_r, v),  # eq-gru-gradients
        W_h=np.concatenate([outer(q, s), outer(delta_h, x)], axis=1),  # eq-gru-gradients: W_hh, W_xh
        b_z=total(delta_z),  # eq-gru-gradients
        b_r=total(delta_r),  # eq-gru-gradients
        b_h=total(delta_h),  # eq-gru-gradients
        W_hy=outer(e, h),  # eq-gradients
        b_y=total(e),  # eq-gradients
        b_hh=None if before else total(q),  # eq-gru-gradients
        h_0=d_h[0],
        x=delta_z @ W_zx + delta_r @ W_rx + delta_h @ W_xh,  # eq-gru-gradients
        h=d_h,
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
        The paths ``"direct"``, ``"update"``, ``"candidate"`` (C_t) and ``"reset"`` (R_t), (time + 1, …, hidden_size,
        hidden_size) each. Their sum at [t] is J_t; [0] is zero.
    """
    W_zh, W_rh, W_hh = (W[:, : len(W)] for W in trace.parameters[:3])
    z, r, h_tilde, h_before = trace.z, trace.r, trace.h_tilde, previous(trace.h)
    k = (z * (1 - h_tilde * h_tilde))[..., None]  # scales rows: (time + 1, …, hidden, 1)
    if trace.reset == "before":
        candidate = k * W_hh * r[..., None, :]
        reset = k * W_hh @ ((h_before * r * (1 - r))[..., None] * W_rh)
    else:
        candidate = k * r[..., None] * W_hh
        reset = k * (_product(trace.parameters, h_before) * r * (1 - r))[..., None] * W_rh
    direct = (1 - z)[..., None] * np.eye(z.shape[-1], dtype=int)  # diag(1 − z_t)
    direct[0] = 0  # there is no step 0
    update = ((h_tilde - h_before) * z * (1 - z))[..., None] * W_zh
    return {"direct": direct, "update": update, "candidate": candidate, "reset": reset}
