"""Search for the most probable text, several hypotheses at a time: beam search."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from unrolled.cells import select
from unrolled.decoding.sampling import Model, predict


class Hypothesis(NamedTuple):
    """A text that was found, and how good it is.

    Attributes:
        tokens: symbol numbers, (n,), the stop symbol among them if it ends on it.
        score: ln p(tokens | prompt) / n^α, in nats, where n is the length of the text.
    """

    tokens: torch.Tensor
    score: float


def beam_search(
    model: Model, prompt: torch.Tensor, *, length: int, width: int, alpha: float = 1.0, stop: int | None = None
) -> list[Hypothesis]:
    """Return the best text after each prompt that a beam of `width` hypotheses finds.

    At every step each hypothesis is extended by each symbol, and the most probable of all extensions are the new beam:

        ln p(w_1 … w_n) = ln p(w_1 … w_{n−1}) + ln p(w_n | prompt, w_1 … w_{n−1})

    One that has come to its end leaves the beam. The best of those is the result, measured by

        score(w_1 … w_n) = ln p(w_1 … w_n) / n^α

    which is the plainer normalisation in Wu et al. 2016, section 7; the other has (5 + n) / 6 in place of n.

    A beam of one decodes greedily; one of V^length, where there are V symbols, overlooks nothing. A hypothesis is given
    up where it could not win even if all that is to come were certain, which changes no result. The state is carried:
    every symbol of a hypothesis is read once.

    Args:
        model: the model that writes: an n-gram, a window network, a recurrent network.
        prompt: what has been written so far, (batch, time), at least one symbol.
        length: how many symbols to write at most; a hypothesis that is so long ends there.
        width: how many hypotheses to keep for each prompt.
        alpha: α: 0 looks for the most probable text, which is often a short one; 1 for the one with the lowest cost
            per symbol.
        stop: the symbol that ends a text, and is its last; None: nothing does.

    Returns:
        One hypothesis for each prompt.

    Raises:
        ValueError: a width or a length below 1, an alpha that is not 0 or more, or what `decoding.predict` raises.
    """
    if min(width, length) < 1:
        raise ValueError(f"width is {width} and length is {length}; both must be 1 or more")
    if not alpha >= 0:
        raise ValueError(f"alpha is {alpha}; it must be 0 or more")
    best = [Hypothesis(torch.empty(0, dtype=torch.int64), -math.inf)] * len(prompt)
    row = torch.arange(len(prompt))[:, None]
    tokens, state = prompt, None
    written = torch.empty(len(prompt), 1, 0, dtype=torch.int64)  # (batch, beam, n): at first only the empty hypothesis
    log_p = torch.zeros(len(prompt), 1, dtype=torch.float64)  # (batch, beam), minus infinity where one has left
    for n in range(1, length + 1):
        logits, state = predict(model, tokens, state)  # (batch · beam, vocab)
        beam, vocab_size = log_p.shape[1], logits.shape[1]
        extended = log_p[..., None] + torch.log_softmax(logits, dim=-1).view(-1, beam, vocab_size)
        log_p, order = extended.flatten(1).sort(descending=True, stable=True)  # (batch, beam · vocab)
        log_p, order = log_p[:, :width], order[:, :width]
        parent, symbol = order // vocab_size, order % vocab_size  # (batch, beam)
        written = torch.cat([written[row, parent], symbol[..., None]], dim=2)
        tokens, state = symbol.reshape(-1, 1), select(state, (row * beam + parent).flatten().tolist())

        ended = torch.full_like(symbol, n == length, dtype=torch.bool)
        if stop is not None:
            ended |= symbol.eq(stop)
        score, which = torch.where(ended, log_p / n**alpha, -math.inf).max(dim=1)  # (batch,)
        for text, found in enumerate(score.tolist()):
            if found > best[text].score:
                best[text] = Hypothesis(written[text, which[text]], found)

        to_beat = log_p.new_tensor([[hypothesis.score] for hypothesis in best])  # (batch, 1)
        log_p = log_p.masked_fill(ended | (log_p / length**alpha <= to_beat), -math.inf)
        if log_p.isneginf().all():
            break
    return best
