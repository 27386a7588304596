"""Search for the most probable text with several hypotheses at a time: beam search."""

import math
from typing import Any, NamedTuple

import torch

from unrolled.cells import select
from unrolled.decoding.sampling import Model, check_stop, predict
from unrolled.models import EncoderDecoder, evaluating


class Hypothesis(NamedTuple):
    """A text that the search found, (n,), its stop symbol included; and its score, ln p(text | prompt) / n^α, in nats.

    >>> Hypothesis(torch.tensor([3, 0]), score=-1.5).tokens.tolist()
    [3, 0]
    """

    tokens: torch.Tensor
    score: float


def beam_search(
    model: Model,
    prompt: torch.Tensor,
    *,
    length: int,
    width: int,
    alpha: float = 1.0,
    stop: int | None = None,
    state: Any = None,
) -> list[Hypothesis]:
    """Return, for each prompt, the best continuation that a beam of ``width`` hypotheses finds.

    At every step each hypothesis is extended by every symbol, and the most probable extensions are the new beam:

        ln p(w_1 … w_n) = ln p(w_1 … w_{n−1}) + ln p(w_n | prompt, w_1 … w_{n−1})

    A hypothesis that has ended leaves the beam. The result is the ended hypothesis with the highest score,

        score(w_1 … w_n) = ln p(w_1 … w_n) / n^α

    This is the simpler normalisation of Wu et al. 2016, section 7; the other has (5 + n) / 6 in place of n.

    A beam of width 1 decodes greedily; one of width V^length, with V symbols, overlooks nothing. The state is carried:
    every symbol of a hypothesis is read once.

    Args:
        model, prompt, stop: as for `generate`; the model may be an encoder–decoder, too.
        length: the largest number of symbols to write; a hypothesis of that length ends there.
        width: the number of hypotheses to keep for each prompt.
        alpha: α; 0 searches for the most probable text, which is often a short one, and 1 for the text with the lowest
            loss per symbol.
        state: the state before the prompt; None is the model's initial one. An encoder–decoder begins with the state
            that its ``encode`` returns, and with the start symbol as its prompt.

    >>> def model(tokens, state=None):  # after 0 comes 1 (0.6) or 2 (0.4); after 1 anything; after 2 always 0
    ...     p = torch.tensor([[0.0, 0.6, 0.4], [0.34, 0.33, 0.33], [1.0, 0.0, 0.0]])
    ...     return p[tokens].log(), tokens[:, -1:]
    >>> for width in (1, 2):
    ...     (best,) = beam_search(model, torch.tensor([[0]]), length=2, width=width, alpha=0)
    ...     print(best.tokens.tolist(), round(math.exp(best.score), 3))
    [1, 0] 0.204
    [2, 0] 0.4
    """
    if min(width, length) < 1 or not alpha >= 0:
        raise ValueError(f"width is {width}, length {length} and alpha {alpha}; give 1, 1 and 0, or more")
    best = [Hypothesis(torch.empty(0, dtype=torch.int64), -math.inf)] * len(prompt)
    row = torch.arange(len(prompt))[:, None]
    tokens = prompt
    written = torch.empty(len(prompt), 1, 0, dtype=torch.int64)  # (batch, beam, n): at first one empty hypothesis
    log_p = torch.zeros(len(prompt), 1, dtype=torch.float64)  # (batch, beam); −∞ for a hypothesis that has left
    for n in range(1, length + 1):
        logits, state = predict(model, tokens, state)  # (batch · beam, vocab)
        beam, vocab_size = log_p.shape[1], logits.shape[1]
        check_stop(stop, vocab_size)
        next_log_p = torch.log_softmax(logits, dim=-1).view(-1, beam, vocab_size)  # (batch, beam, vocab)
        extended = log_p[..., None] + next_log_p
        log_p, order = extended.flatten(1).sort(descending=True, stable=True)  # (batch, beam · vocab)
        log_p, order = log_p[:, :width], order[:, :width]
        parent, symbol = order // vocab_size, order % vocab_size  # (batch, beam)
        written = torch.cat([written[row, parent], symbol[..., None]], dim=2)
        tokens, state = symbol.reshape(-1, 1), select(state, (row * beam + parent).flatten().tolist())

        ended = torch.full_like(symbol, n == length, dtype=torch.bool)
        if stop is not None:
            ended |= symbol.eq(stop)
        scores, places = torch.where(ended, log_p / n**alpha, -math.inf).max(dim=1)  # (batch,), places in the beam
        for index, score in enumerate(scores.tolist()):
            if score > best[index].score:
                best[index] = Hypothesis(written[index, places[index]], score)

        to_beat = log_p.new_tensor([[hypothesis.score] for hypothesis in best])  # (batch, 1)
        log_p = log_p.masked_fill(ended | (log_p / length**alpha <= to_beat), -math.inf)  # what cannot win any more
        if log_p.isneginf().all():
            break
    return best


def translate(
    model: EncoderDecoder, sources: torch.Tensor, lengths: torch.Tensor, *, start: int, width: int = 1, **options
) -> list[Hypothesis]:
    """Return the target that a beam finds for each source; a beam of width 1 decodes greedily.

    Args:
        model: the model, put into evaluation mode for the call.
        sources: tokens, (batch, n).
        lengths: the number of symbols in each source without its pads, (batch,).
        start: what the decoder reads before the first symbol.
        width: the number of hypotheses to keep for each source.
        **options: ``length``, ``stop`` and ``alpha`` as for `beam_search`.

    >>> model = EncoderDecoder(5, 6, hidden_size=8, attention="dot")
    >>> sources, lengths = torch.tensor([[1, 2, 3], [4, 0, 0]]), torch.tensor([3, 1])
    >>> targets = translate(model, sources, lengths, start=0, stop=1, length=4, width=3)
    >>> len(targets), all(1 <= len(hypothesis.tokens) <= 4 for hypothesis in targets)
    (2, True)
    """
    with torch.no_grad(), evaluating(model):
        state = model.encode(sources, lengths)
    return beam_search(model, torch.full((len(sources), 1), start), width=width, state=state, **options)
