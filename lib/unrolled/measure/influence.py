"""See what each prediction of a language model depends on, by changing one symbol at a time."""

from __future__ import annotations

import torch

from unrolled.decoding import evaluating
from unrolled.decoding.sampling import Model


@torch.no_grad()
def symbol_influence(model: Model, tokens: torch.Tensor) -> torch.Tensor:
    """Return by how much each prediction changes when one symbol does, nats, float64, (time, time).

        influence[t, s] = max_v |ln p_t(v) − ln p̃_t(v)|

    Here p_t is the prediction after symbol t of the text, and p̃_t the same where symbol s is another one. A language
    model may not look ahead, so there is nothing above the diagonal but rounding: about 1e-6 in float32. Below it, one
    sees how far back the model looks. The model is in evaluation mode for the duration.

    Args:
        model: any language model, or a function that maps tokens, (batch, time), to logits and a state.
        tokens: symbol numbers, (time,). Symbol v is changed into v + 1, the last one into 0.

    Raises:
        ValueError: tokens without one axis, or none at all.
    """
    if tokens.ndim != 1 or not len(tokens):
        raise ValueError(f"tokens have shape {tuple(tokens.shape)}; one axis is expected: (time,), not empty")
    with evaluating(model):
        vocab_size = model(tokens[None, :1])[0].shape[-1]
        changed = tokens.repeat(len(tokens), 1)  # (time, time): row s has another symbol at s
        changed.diagonal().add_(1).remainder_(vocab_size)
        logits, _ = model(torch.cat([tokens[None], changed]))  # (1 + time, time, vocab): side by side, rounded alike
    log_p = torch.log_softmax(logits.double().cpu(), dim=-1)
    return (log_p[1:] - log_p[0]).abs().amax(dim=-1).T
