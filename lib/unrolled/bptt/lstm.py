"""The LSTM's backward pass by hand, in NumPy, and the paths from one cell state to the next."""

from typing import NamedTuple

import numpy as np

from unrolled.bptt.common import Gradients, Trace, by_step, outer, output_errors, predict, previous, sigmoid, total


class Parameters(NamedTuple):
    """The weights of an LSTM network, stored (out, in).

    Attributes:
        W_f, W_i, W_c, W_o: weights of the forget gate, the input gate, the candidate and the output gate, (hidden_size,
            hidden_size + input_size): columns for h_{t−1}, then columns for x_t.
        b_f, b_i, b_c, b_o: their biases, (hidden_size,).
        W_hy: output weights, (vocab_size, hidden_size).
        b_y: bias of the logits, (vocab_size,).

    Example:
        >>> weights = Parameters(*[np.ones((2, 3))] * 4, *[np.zeros(2)] * 4, np.zeros((3, 2)), np.zeros(3))
        >>> loss, trace = forward(weights, inputs=[[1.0], [0.0]], targets=[0, 2])
        >>> backward(trace).W_f.shape, paths(trace)["forget"].shape
        ((2, 3), (3, 2, 2))
    """

    W_f: np.ndarray
    W_i: np.ndarray
    W_c: np.ndarray
    W_o: np.ndarray
    b_f: np.ndarray
    b_i: np.ndarray
    b_c: np.ndarray
    b_o: np.ndarray
    W_hy: np.ndarray
    b_y: np.ndarray


def forward(
    parameters: Parameters,
    inputs: np.ndarray,
    targets: np.ndarray,
    h_0: np.ndarray | None = None,
    c_0: np.ndarray | None = None,
    *,
    step_weights: np.ndarray | None = None,
) -> tuple[float, Trace]:
    """Run the network and price its predictions.

        f_t = σ(W_f [h_{t−1}, x_t] + b_f)           (:eq:`eq-lstm-forget`)
        i_t = σ(W_i [h_{t−1}, x_t] + b_i)           (:eq:`eq-lstm-input`)
        c̃_t = tanh(W_c [h_{t−1}, x_t] + b_c)        (:eq:`eq-lstm-candidate`)
        c_t = f_t ⊙ c_{t−1} + i_t ⊙ c̃_t             (:eq:`eq-lstm-cell`)
        o_t = σ(W_o [h_{t−1}, x_t] + b_o)           (:eq:`eq-lstm-output`)
        h_t = o_t ⊙ tanh(c_t)                       (:eq:`eq-lstm-output`)

    What is not said here is as in `bptt.rnn.forward`: the predictions, the loss, arguments and results.

    Args:
        c_0: the cell state before the first step, (…, hidden_size); zeros if None.
    """
    x, y, step_weights, h, c = by_step(parameters, inputs, targets, step_weights, h_0, c_0)
    W_f, W_i, W_c, W_o, b_f, b_i, b_c, b_o, _, _ = parameters
    f, i, c_tilde, o, tanh_c = np.zeros((5, *h.shape), h.dtype)
    for t in range(1, len(x)):
        v = np.concatenate([h[t - 1], x[t]], axis=-1)  # [h_{t−1}, x_t]
        f[t] = sigmoid(v @ W_f.T + b_f)  # eq-lstm-forget
        i[t] = sigmoid(v @ W_i.T + b_i)  # eq-lstm-input
        c_tilde[t] = np.tanh(v @ W_c.T + b_c)  # eq-lstm-candidate
        c[t] = f[t] * c[t - 1] + i[t] * c_tilde[t]  # eq-lstm-cell
        o[t] = sigmoid(v @ W_o.T + b_o)  # eq-lstm-output
        tanh_c[t] = np.tanh(c[t])
        h[t] = o[t] * tanh_c[t]  # eq-lstm-output
    return predict(parameters, x, y, step_weights, h, c=c, f=f, i=i, c_tilde=c_tilde, o=o, tanh_c=tanh_c)


def backward(trace: Trace) -> Gradients:
    """Carry the derivative of the loss back through time, along the hidden state and along the cell state.

    δ^f_t, δ^i_t, δ^c_t, δ^o_t are the total derivatives with respect to the pre-activations of the gates and the
    candidate. W_{f,h} is the part of W_f that multiplies h_{t−1}, and W_{f,x} the part that multiplies x_t; likewise
    for the others. ∂L/∂h_t holds c_t fixed; ∂L/∂c_t includes the path through h_t.

        e_t = ω_t (ŷ_t − y_t)                                                           (:eq:`eq-bptt-output`)
        ∂L/∂h_t = W_hyᵀ e_t + Σ_{g=f,i,c,o} W_{g,h}ᵀ δ^g_{t+1}                          (:eq:`eq-lstm-delta-h`)
        ∂L/∂c_t = ∂L/∂h_t ⊙ o_t ⊙ (1 − tanh²(c_t)) + f_{t+1} ⊙ ∂L/∂c_{t+1}              (:eq:`eq-lstm-delta-cell`)
        δ^f_t = ∂L/∂c_t ⊙ c_{t−1} ⊙ f_t ⊙ (1 − f_t)                                     (:eq:`eq-lstm-delta-forget`)
        δ^i_t = ∂L/∂c_t ⊙ c̃_t ⊙ i_t ⊙ (1 − i_t)                                         (:eq:`eq-lstm-delta-input`)
        δ^c_t = ∂L/∂c_t ⊙ i_t ⊙ (1 − c̃_t ⊙ c̃_t)                                         (:eq:`eq-lstm-delta-candidate`)
        δ^o_t = ∂L/∂h_t ⊙ tanh(c_t) ⊙ o_t ⊙ (1 − o_t)                                   (:eq:`eq-lstm-delta-output`)
        ∂L/∂W_g = Σ_t δ^g_t [h_{t−1}, x_t]ᵀ,  ∂L/∂b_g = Σ_t δ^g_t  for g = f, i, c, o    (:eq:`eq-lstm-gradients`)
        ∂L/∂h_0 = Σ_g W_{g,h}ᵀ δ^g_1,  ∂L/∂c_0 = f_1 ⊙ ∂L/∂c_1                          (:eq:`eq-lstm-gradients`)
        ∂L/∂x_t = Σ_g W_{g,x}ᵀ δ^g_t                                                    (:eq:`eq-lstm-gradients`)

    Terms with index T + 1 are zero. The derivatives with respect to W_hy and b_y are those of :eq:`eq-gradients`.
    Argument and result are as in `bptt.rnn.backward`.
    """
    W_f, W_i, W_c, W_o, *_, W_hy, _ = trace.parameters
    x, h, c, e = trace.x, trace.h, trace.c, output_errors(trace)  # eq-bptt-output
    i, c_tilde, o, tanh_c = trace.i, trace.c_tilde, trace.o, trace.tanh_c
    f = np.append(trace.f, 0 * trace.f[:1], axis=0)  # at 0 … T + 1, as the next three
    d_h, d_c = np.zeros((2, *f.shape), f.dtype)  # d_h[t] is ∂L/∂h_t
    delta = np.concatenate([0 * f] * 4, axis=-1)  # delta[t] has all δ^g_t side by side
    delta_f, delta_i, delta_c, delta_o = np.split(delta, 4, axis=-1)  # views of delta
    W_h, W_x = np.split(np.concatenate([W_f, W_i, W_c, W_o]), [len(W_f)], axis=1)  # all W_{g,h}, and all W_{g,x}
    for t in range(len(x) - 1, 0, -1):
        d_h[t] = e[t] @ W_hy + delta[t + 1] @ W_h  # eq-lstm-delta-h
        d_c[t] = d_h[t] * o[t] * (1 - tanh_c[t] * tanh_c[t]) + f[t + 1] * d_c[t + 1]  # eq-lstm-delta-cell
        delta_f[t] = d_c[t] * c[t - 1] * f[t] * (1 - f[t])  # eq-lstm-delta-forget
        delta_i[t] = d_c[t] * c_tilde[t] * i[t] * (1 - i[t])  # eq-lstm-delta-input
        delta_c[t] = d_c[t] * i[t] * (1 - c_tilde[t] * c_tilde[t])  # eq-lstm-delta-candidate
        delta_o[t] = d_h[t] * tanh_c[t] * o[t] * (1 - o[t])  # eq-lstm-delta-output
    d_h[0], d_c[0] = delta[1] @ W_h, f[1] * d_c[1]  # eq-lstm-gradients
    d_h, d_c, delta = d_h[:-1], d_c[:-1], delta[:-1]  # what has the index T + 1 has done its part
    v = np.concatenate([previous(h), x], axis=-1)  # [h_{t−1}, x_t]
    return Gradients(
        **dict(zip(("W_f", "W_i", "W_c", "W_o"), np.split(outer(delta, v), 4), strict=True)),  # eq-lstm-gradients
        **dict(zip(("b_f", "b_i", "b_c", "b_o"), np.split(total(delta), 4), strict=True)),  # eq-lstm-gradients
        W_hy=outer(e, h),  # eq-gradients
        b_y=total(e),  # eq-gradients
        h_0=d_h[0],
        c_0=d_c[0],
        x=delta @ W_x,  # eq-lstm-gradients
        h=d_h,
        c=d_c,
    )


def paths(trace: Trace) -> dict[str, np.ndarray]:
    """Return ∂c_t/∂c_{t−1} path by path: along the cell state, and through h_{t−1} and each gate.

        ∂c_t/∂c_{t−1} = diag(f_t) + (diag(c_{t−1} ⊙ f_t ⊙ (1 − f_t)) W_{f,h} + diag(c̃_t ⊙ i_t ⊙ (1 − i_t)) W_{i,h}
            + diag(i_t ⊙ (1 − c̃_t ⊙ c̃_t)) W_{c,h}) diag(o_{t−1} ⊙ (1 − tanh²(c_{t−1})))  (:eq:`eq-lstm-cell-jacobian`)

    The last factor is ∂h_{t−1}/∂c_{t−1}. It holds o_{t−1} fixed, since no step computes its output gate from its own
    cell state. But o_{t−1} depends on c_{t−2} through h_{t−2}, so the product of these Jacobians over several steps is
    not the derivative of a cell state with respect to an earlier one. That takes the Jacobians of the whole state,
    `measure.gradients.state_jacobians`.

    Args:
        trace: what `forward` returned.

    Returns:
        The paths ``"direct"``, ``"forget"``, ``"input"`` and ``"candidate"``, (time + 1, …, hidden_size, hidden_size)
        each. Their sum at [t] is ∂c_t/∂c_{t−1}; [0] is zero. At the first step only the direct path is not zero: h_0 is
        given and does not depend on c_0.
    """
    f, i, c_tilde = trace.f, trace.i, trace.c_tilde
    slope = previous(trace.o * (1 - trace.tanh_c * trace.tanh_c))  # ∂h_{t−1}/∂c_{t−1} at [t]; o_0 is zero
    scales = {  # of the rows of each gate's weights for h_{t−1}
        "forget": (previous(trace.c) * f * (1 - f), trace.parameters.W_f),
        "input": (c_tilde * i * (1 - i), trace.parameters.W_i),
        "candidate": (i * (1 - c_tilde * c_tilde), trace.parameters.W_c),
    }
    through = {gate: scale[..., None] * W[:, : len(W)] * slope[..., None, :] for gate, (scale, W) in scales.items()}
    return {"direct": f[..., None] * np.eye(f.shape[-1], dtype=int)} | through  # diag(f_t)
