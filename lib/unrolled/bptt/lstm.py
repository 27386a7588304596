"""The LSTM's backward pass by hand, in NumPy, and the paths from one cell state to the next.

Sequences are rows: inputs are (…, time, input_size), where … is empty for one sequence and (batch,) for several.
A comment names the equation that its line computes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unrolled.bptt.common import OUTPUT_AXES, by_step, diagonal, output_errors, predict, prepare, rows, sigmoid

AXES = (
    dict.fromkeys(("W_f", "W_i", "W_c", "W_o"), ("hidden_size", "hidden_size + input_size"))
    | dict.fromkeys(("b_f", "b_i", "b_c", "b_o"), ("hidden_size",))
    | OUTPUT_AXES
)


class Parameters(NamedTuple):
    """The weights of an LSTM network, stored (out, in).

    Attributes:
        W_f, W_i, W_c, W_o: weights of the forget gate, the input gate, the candidate and the output gate, (hidden_size,
            hidden_size + input_size): columns for h_{t−1}, then columns for x_t.
        b_f, b_i, b_c, b_o: their biases, (hidden_size,).
        W_hy: output weights, (vocab_size, hidden_size).
        b_y: bias of the logits, (vocab_size,).

    Example:
        >>> h, d, V = 2, 1, 3
        >>> weights = Parameters(*[np.zeros((h, h + d))] * 4, *[np.zeros(h)] * 4, np.zeros((V, h)), np.zeros(V))
        >>> weights.W_f.shape, weights.b_f.shape
        ((2, 3), (2,))
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


class Trace(NamedTuple):
    """What the forward pass keeps for the backward pass.

    Attributes:
        parameters: the weights.
        inputs: x_1 … x_T, (…, time, input_size).
        targets: the symbols to predict, (…, time).
        step_weights: the weight of each step's loss, (time,).
        states: h_0 … h_T, (…, time + 1, hidden_size).
        cells: c_0 … c_T, (…, time + 1, hidden_size).
        forget, input, candidate, output: f_t, i_t, c̃_t, o_t for t = 1 … T, (…, time, hidden_size).
        squashed: tanh(c_1) … tanh(c_T), (…, time, hidden_size).
        probabilities: ŷ_1 … ŷ_T, (…, time, vocab_size).

    Example:
        >>> weights = Parameters(*[np.ones((2, 3))] * 4, *[np.zeros(2)] * 4, np.ones((3, 2)), np.zeros(3))
        >>> _, trace = forward(weights, inputs=[[1.0], [0.0]], targets=[0, 2])
        >>> f, i, c = trace.forget[0], trace.input[0], trace.cells
        >>> np.array_equal(c[1], f * c[0] + i * trace.candidate[0])
        True
    """

    parameters: Parameters
    inputs: np.ndarray
    targets: np.ndarray
    step_weights: np.ndarray
    states: np.ndarray
    cells: np.ndarray
    forget: np.ndarray
    input: np.ndarray
    candidate: np.ndarray
    output: np.ndarray
    squashed: np.ndarray
    probabilities: np.ndarray


class Gradients(NamedTuple):
    """The total derivatives of the loss, each with the shape of the array it is taken with respect to.

    Attributes:
        W_f, W_i, W_c, W_o, b_f, b_i, b_c, b_o, W_hy, b_y: with respect to the weights, as in `Parameters`.
        h_0, c_0: with respect to the states before the first step, (…, hidden_size).
        inputs: with respect to x_1 … x_T, (…, time, input_size).
        states: with respect to h_1 … h_T, (…, time, hidden_size).
        cells: with respect to c_1 … c_T, (…, time, hidden_size).

    Example:
        >>> weights = Parameters(*[np.ones((2, 3))] * 4, *[np.zeros(2)] * 4, np.ones((3, 2)), np.zeros(3))
        >>> gradients = backward(forward(weights, inputs=[[1.0], [0.0]], targets=[0, 2])[1])
        >>> gradients.W_f.shape, gradients.c_0.shape, gradients.cells.shape
        ((2, 3), (2,), (2, 2))
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
    h_0: np.ndarray
    c_0: np.ndarray
    inputs: np.ndarray
    states: np.ndarray
    cells: np.ndarray


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

    The predictions and the loss are those of `bptt.rnn.forward`. Weights, inputs and states may be complex, so that the
    loss can be differentiated by a complex step.

    Args:
        parameters: the weights.
        inputs: x_1 … x_T, (…, time, input_size).
        targets: the symbols to predict, integers, (…, time).
        h_0: the hidden state before the first step, (…, hidden_size); zeros if None.
        c_0: the cell state before the first step, (…, hidden_size); zeros if None.
        step_weights: the weight of each step's loss, (time,). None gives 1/T each, the loss in nats per symbol.

    Returns:
        The loss L in nats, averaged over the sequences if there are several; and the trace, for `backward`.

    Raises:
        ValueError: arrays that do not fit together, or targets outside the vocabulary.

    Example:
        >>> weights = Parameters(*[np.ones((2, 3))] * 4, *[np.zeros(2)] * 4, np.zeros((3, 2)), np.zeros(3))
        >>> loss, _ = forward(weights, inputs=[[1.0], [0.0]], targets=[0, 2])
        >>> round(float(np.exp(loss)), 6)  # without output weights, three symbols are equally likely
        3.0
    """
    inputs, targets, step_weights, states, cells = prepare(
        parameters, AXES, inputs, targets, step_weights, h_0=h_0, c_0=c_0
    )
    W_f, W_i, W_c, W_o, b_f, b_i, b_c, b_o, _, _ = parameters
    gates = f, i, g, o, q = [np.empty_like(states[..., 1:, :]) for _ in range(5)]  # g is c̃, and q is tanh(c)
    # all (time, …, size): h[t] is h_t and c[t] is c_t, but x[t − 1] is x_t and f[t − 1] is f_t
    x, h, c, f, i, g, o, q = (by_step(array) for array in (inputs, states, cells, f, i, g, o, q))
    for t in range(1, len(h)):
        v = np.concatenate([h[t - 1], x[t - 1]], axis=-1)  # [h_{t−1}, x_t]
        f[t - 1] = sigmoid(v @ W_f.T + b_f)  # eq-lstm-forget
        i[t - 1] = sigmoid(v @ W_i.T + b_i)  # eq-lstm-input
        g[t - 1] = np.tanh(v @ W_c.T + b_c)  # eq-lstm-candidate
        c[t] = f[t - 1] * c[t - 1] + i[t - 1] * g[t - 1]  # eq-lstm-cell
        o[t - 1] = sigmoid(v @ W_o.T + b_o)  # eq-lstm-output
        q[t - 1] = np.tanh(c[t])
        h[t] = o[t - 1] * q[t - 1]  # eq-lstm-output
    loss, probabilities = predict(parameters, states, targets, step_weights)
    return loss, Trace(parameters, inputs, targets, step_weights, states, cells, *gates, probabilities)


def backward(trace: Trace) -> Gradients:
    """Carry the derivative of the loss back through time, along the hidden state and along the cell state.

    δ^f_t, δ^i_t, δ^c_t, δ^o_t are the total derivatives with respect to the pre-activations of the gates and the
    candidate. W_{f,h} is the part of W_f that multiplies h_{t−1}, and W_{f,x} the part that multiplies x_t; likewise
    for the others. ∂L/∂h_t holds c_t fixed; ∂L/∂c_t includes the path through h_t.

        e_t = (ŷ_t − onehot(target_t)), times the weight of step t                      (:eq:`eq-bptt-output`)
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

    Args:
        trace: what `forward` returned.

    Returns:
        The gradients. Those of the weights are summed over the sequences: since the loss is the mean over these, so are
        they.

    Example:
        >>> weights = Parameters(*[np.ones((2, 3))] * 4, *[np.zeros(2)] * 4, np.ones((3, 2)), np.zeros(3))
        >>> gradients = backward(forward(weights, inputs=[[1.0], [0.0]], targets=[0, 2])[1])
        >>> gradients.W_o.shape, gradients.inputs.shape, gradients.states.shape
        ((2, 3), (2, 1), (2, 2))
    """
    W_f, W_i, W_c, W_o, _, _, _, _, W_hy, _ = trace.parameters
    hidden_size, errors = len(W_f), output_errors(trace)  # eq-bptt-output
    by_state, by_cell = np.zeros_like(trace.states), np.zeros_like(trace.cells)
    pairs = np.concatenate([trace.states[..., :-1, :], trace.inputs], axis=-1)  # (…, time, hidden + input)
    deltas = [np.empty_like(trace.forget) for _ in range(4)]
    by_pair = np.empty(pairs.shape, by_state.dtype)
    # as in forward; d_h[t] is ∂L/∂h_t, but delta_f[t − 1] is δ^f_t, and d_v[t − 1] is ∂L/∂[h_{t−1}, x_t]
    c, e, d_h, d_c, d_v = (by_step(array) for array in (trace.cells, errors, by_state, by_cell, by_pair))
    delta_f, delta_i, delta_c, delta_o = (by_step(delta) for delta in deltas)
    gates = [by_step(gate) for gate in (trace.forget, trace.input, trace.candidate, trace.output, trace.squashed)]
    later_h = later_c = 0  # the parts of ∂L/∂h_t and ∂L/∂c_t that come back from step t + 1
    for t in range(len(e), 0, -1):
        f, i, g, o, q = (gate[t - 1] for gate in gates)  # g is c̃_t, and q is tanh(c_t)
        d_h[t] = e[t - 1] @ W_hy + later_h  # eq-lstm-delta-h
        d_c[t] = d_h[t] * o * (1 - q * q) + later_c  # eq-lstm-delta-cell
        delta_f[t - 1] = d_c[t] * c[t - 1] * f * (1 - f)  # eq-lstm-delta-forget
        delta_i[t - 1] = d_c[t] * g * i * (1 - i)  # eq-lstm-delta-input
        delta_c[t - 1] = d_c[t] * i * (1 - g * g)  # eq-lstm-delta-candidate
        delta_o[t - 1] = d_h[t] * q * o * (1 - o)  # eq-lstm-delta-output
        d_v[t - 1] = delta_f[t - 1] @ W_f + delta_i[t - 1] @ W_i  # eq-lstm-delta-h, eq-lstm-gradients
        d_v[t - 1] += delta_c[t - 1] @ W_c + delta_o[t - 1] @ W_o  # eq-lstm-delta-h, eq-lstm-gradients
        later_h, later_c = d_v[t - 1][..., :hidden_size], d_c[t] * f  # eq-lstm-delta-h, eq-lstm-delta-cell
    d_h[0], d_c[0] = later_h, later_c  # eq-lstm-gradients
    return Gradients(
        *(rows(delta).T @ rows(pairs) for delta in deltas),  # eq-lstm-gradients: W_f, W_i, W_c, W_o
        *(rows(delta).sum(axis=0) for delta in deltas),  # eq-lstm-gradients: b_f, b_i, b_c, b_o
        W_hy=rows(errors).T @ rows(trace.states[..., 1:, :]),  # eq-gradients
        b_y=rows(errors).sum(axis=0),  # eq-gradients
        h_0=by_state[..., 0, :],
        c_0=by_cell[..., 0, :],
        inputs=by_pair[..., hidden_size:],  # eq-lstm-gradients
        states=by_state[..., 1:, :],
        cells=by_cell[..., 1:, :],
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
        The paths ``"direct"``, ``"forget"``, ``"input"`` and ``"candidate"``, (…, time, hidden_size, hidden_size) each.
        Their sum is ∂c_t/∂c_{t−1}. At the first step only the direct path is not zero: h_0 is given and does not depend
        on c_0.

    Example:
        >>> weights = Parameters(*[np.ones((2, 3))] * 4, *[np.zeros(2)] * 4, np.ones((3, 2)), np.zeros(3))
        >>> _, trace = forward(weights, inputs=[[1.0], [0.0]], targets=[0, 2])
        >>> {name: matrices.shape for name, matrices in paths(trace).items()}
        {'direct': (2, 2, 2), 'forget': (2, 2, 2), 'input': (2, 2, 2), 'candidate': (2, 2, 2)}
    """
    f, i, g = trace.forget, trace.input, trace.candidate
    slope = np.zeros_like(f)  # ∂h_{t−1}/∂c_{t−1} for t = 1 … T
    slope[..., 1:, :] = (trace.output * (1 - trace.squashed * trace.squashed))[..., :-1, :]
    scales = {  # of the rows of each gate's weights for h_{t−1}
        "forget": (trace.cells[..., :-1, :] * f * (1 - f), trace.parameters.W_f),
        "input": (g * i * (1 - i), trace.parameters.W_i),
        "candidate": (i * (1 - g * g), trace.parameters.W_c),
    }
    through = {gate: scale[..., None] * W[:, : len(W)] * slope[..., None, :] for gate, (scale, W) in scales.items()}
    return {"direct": diagonal(f)} | through
