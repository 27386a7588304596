"""Whole sequences of a GRU as one operation, with the backward pass derived by hand.

Autograd records every operation of every step and walks back through all of them. Here a sequence is one operation,
which keeps its gates. In the backward pass the error δ of a gate is ∂L/∂h_t times a factor that depends only on what
was kept. So the factors of all steps are computed at once, the walk back multiplies them by what arrives, and one
product at the end gives the gradient of the recurrent weights.

Everything is time-major: (time, batch, size). Sizes are not checked here; the cells do that.
"""

import torch

sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input  # (e, s) ↦ e s (1 − s)
tanh_backward = torch.ops.aten.tanh_backward.grad_input  # (e, s) ↦ e (1 − s²)


def refuse_graph() -> None:
    """Raise RuntimeError where autograd is to record the backward pass, in order to differentiate it again."""
    if torch.is_grad_enabled():
        raise RuntimeError(
            "the backward pass derived by hand cannot be differentiated again (create_graph=True); "
            "use unroll(..., plain=True)"
        )


def flat(sequence: torch.Tensor) -> torch.Tensor:
    """Return all steps of all sequences as rows: (time, batch, size) → (time · batch, size)."""
    return sequence.reshape(-1, sequence.shape[-1])


def steps(*sequences: torch.Tensor) -> list[tuple[torch.Tensor, ...]]:
    """Return the steps of each sequence as views: (time, …) → a (…) for each step."""
    return [sequence.unbind(0) for sequence in sequences]


def transposed(weights: torch.Tensor, projected: torch.Tensor) -> torch.Tensor:
    """Return the transposed weights, (hidden, rows), as a contiguous copy where that saves time.

    A CPU multiplies faster by the copy, which pays for itself after about ten steps. For small batches nothing is
    copied: the products would be added up in another order, and so rounded differently.

    Args:
        weights: (rows, hidden).
        projected: the projected inputs of the sequences, (time, batch, …).
    """
    time, batch = projected.shape[:2]
    return weights.T.contiguous() if time > 10 and batch >= 16 else weights.T


class GRUResetAfter(torch.autograd.Function):
    """All steps of a GRU whose reset gate acts after the recurrent product.

        z, r = σ(projected_t + W_hh h_{t−1})                        (:eq:`eq-gru-update`, :eq:`eq-gru-reset`)
        m = W_hh h_{t−1} + b_hh                                     of the candidate's block
        h̃ = tanh(projected_t + r ⊙ m)
        h_t = (1 − z) ⊙ h_{t−1} + z ⊙ h̃                             (:eq:`eq-gru-state`)

    and the backward pass, where d_h is the derivative of the loss with respect to h_t:

        δ_z = d_h ⊙ (h̃ − h_{t−1}) ⊙ z (1 − z)
        δ_h̃ = d_h ⊙ z ⊙ (1 − h̃²)
        δ_m = δ_h̃ ⊙ r
        δ_r = δ_h̃ ⊙ m ⊙ r (1 − r)
        d_h_{t−1} = ∂⁺L/∂h_{t−1} + d_h ⊙ (1 − z) + W_hhᵀ [δ_z, δ_r, δ_m]
    """

    @staticmethod
    def forward(ctx, projected, W_hh, b_hh, h_0):
        """Map (time, batch, 3 hidden), (3 hidden, hidden), (hidden), (batch, hidden) to h_1 … h_T and the last h."""
        time, batch, hidden = *projected.shape[:2], h_0.shape[-1]
        states = projected.new_empty(time + 1, batch, hidden)  # h_0 … h_T
        states[0] = h_0
        recurrent, candidates = projected.clone(), torch.empty_like(states[1:])  # z, r and m; h̃
        recurrent[..., 2 * hidden :] = b_hh
        h, candidate, x, a = steps(states, candidates, projected[..., 2 * hidden :], recurrent)
        z_and_r, z, r, m = steps(recurrent[..., : 2 * hidden], *recurrent.chunk(3, -1))
        W_hh_T = transposed(W_hh, projected)
        for t in range(time):  # step t + 1, counted from 1
            a[t].addmm_(h[t], W_hh_T)
            z_and_r[t].sigmoid_()
            torch.addcmul(x[t], r[t], m[t], out=candidate[t]).tanh_()
            torch.lerp(h[t], candidate[t], z[t], out=h[t + 1])
        ctx.save_for_backward(W_hh, recurrent, candidates, states)
        return states[1:], h[-1].clone()

    @staticmethod
    def backward(ctx, d_states, d_h):
        """Return the derivatives with respect to the arguments of `forward`."""
        refuse_graph()
        W_hh, recurrent, candidates, states = ctx.saved_tensors
        time, _, hidden = candidates.shape
        deltas = torch.empty_like(recurrent)  # δ_z, δ_r, δ_m; at first the factors, in which d_h is still missing
        (z, r, m), (delta_z, delta_r, delta_m) = recurrent.chunk(3, -1), deltas.chunk(3, -1)
        delta_candidate = tanh_backward(z, candidates, grad_input=torch.empty_like(candidates))
        sigmoid_backward(candidates - states[:-1], z, grad_input=delta_z)
        sigmoid_backward(delta_candidate * m, r, grad_input=delta_r)
        torch.mul(delta_candidate, r, out=delta_m)
        by_gate = deltas.unflatten(-1, (3, hidden))  # (time, batch, 3, hidden)
        incoming, keep, by_gate, delta, candidate = steps(d_states, 1 - z, by_gate, deltas, delta_candidate)
        d_h = incoming[-1] + d_h
        for t in reversed(range(time)):
            by_gate[t].mul_(d_h.unsqueeze(1))
            candidate[t].mul_(d_h)
            d_h = torch.addcmul(incoming[t - 1], d_h, keep[t]) if t > 0 else d_h * keep[t]
            d_h.addmm_(delta[t], W_hh)
        d_W_hh, d_b_hh = flat(deltas).T @ flat(states[:-1]), delta_m.sum((0, 1))
        delta_m.copy_(delta_candidate)  # the projected input enters the candidate directly, not through the gate
        return deltas, d_W_hh, d_b_hh, d_h


class GRUResetBefore(torch.autograd.Function):
    """All steps of a GRU whose reset gate acts before the recurrent product.

        z, r = σ(projected_t + W_hh h_{t−1})                        (:eq:`eq-gru-update`, :eq:`eq-gru-reset`)
        h̃ = tanh(projected_t + W_hh (r ⊙ h_{t−1}))                  of the candidate's block
        h_t = (1 − z) ⊙ h_{t−1} + z ⊙ h̃                             (:eq:`eq-gru-state`)

    and the backward pass, where d_h is the derivative of the loss with respect to h_t:

        δ_z = d_h ⊙ (h̃ − h_{t−1}) ⊙ z (1 − z)
        δ_h̃ = d_h ⊙ z ⊙ (1 − h̃²)
        d_rh = W_hhᵀ δ_h̃                                            for r ⊙ h_{t−1}, with the candidate's block
        δ_r = d_rh ⊙ h_{t−1} ⊙ r (1 − r)
        d_h_{t−1} = ∂⁺L/∂h_{t−1} + d_h ⊙ (1 − z) + d_rh ⊙ r + W_hhᵀ [δ_z, δ_r]
    """

    @staticmethod
    def forward(ctx, projected, W_hh, h_0):
        """Map (time, batch, 3 hidden), (3 hidden, hidden), (batch, hidden) to h_1 … h_T and the last h."""
        time, batch, hidden = *projected.shape[:2], h_0.shape[-1]
        states = projected.new_empty(time + 1, batch, hidden)  # h_0 … h_T
        states[0] = h_0
        gates, resets = projected.clone(), torch.empty_like(states[1:])  # z, r and h̃; r ⊙ h_{t−1}
        h, reset, z_and_r, z, r, candidate = steps(states, resets, gates[..., : 2 * hidden], *gates.chunk(3, -1))
        W_both_T, W_candidate_T = (transposed(part, projected) for part in W_hh.split([2 * hidden, hidden]))
        for t in range(time):  # step t + 1, counted from 1
            z_and_r[t].addmm_(h[t], W_both_T).sigmoid_()
            candidate[t].addmm_(torch.mul(r[t], h[t], out=reset[t]), W_candidate_T).tanh_()
            torch.lerp(h[t], candidate[t], z[t], out=h[t + 1])
        ctx.save_for_backward(W_hh, gates, states, resets)
        return states[1:], h[-1].clone()

    @staticmethod
    def backward(ctx, d_states, d_h):
        """Return the derivatives with respect to the arguments of `forward`."""
        refuse_graph()
        W_hh, gates, states, resets = ctx.saved_tensors
        time, _, hidden = resets.shape
        deltas = torch.empty_like(gates)  # at first the factors, in which d_h and d_rh are still missing
        (z, r, candidate), (delta_z, delta_r, delta_candidate) = gates.chunk(3, -1), deltas.chunk(3, -1)
        sigmoid_backward(candidate - states[:-1], z, grad_input=delta_z)
        sigmoid_backward(states[:-1], r, grad_input=delta_r)
        tanh_backward(z, candidate, grad_input=delta_candidate)
        delta_both, W_both, W_candidate = deltas[..., : 2 * hidden], W_hh[: 2 * hidden], W_hh[2 * hidden :]  # z and r
        from_h = deltas.unflatten(-1, (3, hidden))[..., ::2, :]  # δ_z, δ_h̃: (time, batch, 2, hidden)
        incoming, keep, r, from_h, from_rh = steps(d_states, 1 - z, r, from_h, delta_r)
        both, candidate = steps(delta_both, delta_candidate)
        d_h = incoming[-1] + d_h
        for t in reversed(range(time)):
            from_h[t].mul_(d_h.unsqueeze(1))
            d_rh = candidate[t] @ W_candidate
            from_rh[t].mul_(d_rh)
            d_h = torch.addcmul(incoming[t - 1], d_h, keep[t]) if t > 0 else d_h * keep[t]
            d_h.addcmul_(d_rh, r[t]).addmm_(both[t], W_both)
        d_W_hh = torch.cat([flat(delta_both).T @ flat(states[:-1]), flat(delta_candidate).T @ flat(resets)])
        return deltas, d_W_hh, d_h
