"""Score a language model on a text, always by the same protocol.

*Streaming, total over total.* Every token of the text is predicted once, from everything before it in its stream; the
nats are summed over all tokens and divided by their number once, at the end. Perplexities of batches are never
averaged. For speed the text is read as a few parallel streams. Each but the first begins without a past, which costs
context for a few tokens of the whole text.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from unrolled.text import check_range, symbol_numbers


class Model(Protocol):
    """What can be scored: anything that prices the tokens in rows of text and returns its last state."""

    def costs(self, inputs: torch.Tensor, targets: torch.Tensor, state: Any = None) -> tuple[torch.Tensor, Any]:
        """Return −ln p(target | inputs up to its position), (batch, time), and the last state."""


@dataclass(frozen=True)
class Score:
    """What a model paid for a text.

    Attributes:
        nats: the sum of −ln p over the tokens.
        symbols: the number of predicted tokens.

    Example:
        >>> score = Score(nats=30.0, symbols=20)
        >>> score.nats_per_symbol, round(score.perplexity, 2), round(score.bits_per_symbol, 2)
        (1.5, 4.48, 2.16)
    """

    nats: float
    symbols: int

    @property
    def nats_per_symbol(self) -> float:
        """The cross-entropy in nats (:eq:`eq-perplexity`)."""
        return self.nats / self.symbols

    @property
    def perplexity(self) -> float:
        """The effective number of choices (:eq:`eq-perplexity`)."""
        nats = self.nats_per_symbol
        return math.exp(nats) if nats < 700 else math.inf  # the largest float is e to the 709.8

    @property
    def bits_per_symbol(self) -> float:
        """The cross-entropy in bits: bits per character where the tokens are characters."""
        return self.nats_per_symbol / math.log(2)

    def per(self, units: int) -> "Score":
        """Return the same nats shared among other units of the same text, of which it has this many (:eq:`eq-units`).

        A character model that paid for all characters of a text has paid for its words as well:
        ``score.per(len(words)).perplexity`` is its perplexity per word.
        """
        return Score(self.nats, units)


def token_nats(
    model: Model,
    tokens: torch.Tensor,
    *,
    start: int | None = None,
    window: int | None = None,
    streams: int = 32,
    instead: torch.Tensor | None = None,
) -> np.ndarray:
    """Return what each token of a text cost the model: −ln p(token | its past), in order.

    Args:
        model: an n-gram model, a window network, a recurrent network: anything with the method of `Model`.
        tokens: the text, (length,).
        start: the token that precedes the text. Without it the first token has no past and is not scored.
        window: the number of tokens after which the state is reset, as if it had never been carried; None carries it
            throughout.
        streams: the number of parallel streams; used only without a window.
        instead: other tokens to score after the same past, (length,).

    Returns:
        Nats, float64, (length,) with a `start`, otherwise (length − 1,).

    Example:
        >>> from unrolled.ngram import Counts, KneserNey
        >>> model = KneserNey(Counts([0, 1, 0, 1, 2], vocab_size=3, order=2), discount=0.5)
        >>> token_nats(model, torch.tensor([0, 1, 2])).round(2).tolist()
        [0.21, 0.98]
    """
    tokens = symbol_numbers(tokens, ("length",), empty=True)
    instead = tokens if instead is None else symbol_numbers(instead, ("length",), "instead", empty=True)
    check_range(torch.cat([tokens, instead]), getattr(model, "vocab_size", None))
    if start is not None:
        tokens = torch.cat([tokens.new_tensor([start]), tokens])
        instead = torch.cat([tokens[:1], instead])
    scored = len(tokens) - 1
    if scored < 1 or len(instead) != len(tokens):
        raise ValueError(
            f"there are {scored} tokens to score and {len(instead) - 1} instead; give 1 or more, and as many"
        )
    length = min(window, scored) if window is not None else math.ceil(scored / streams)
    rows = math.ceil(scored / length)
    padding = tokens.new_zeros(rows * length - scored)  # only fills the last row; its cost is cut off below
    inputs = torch.cat([tokens[:-1], padding]).view(rows, length)  # (rows · length,) → (rows, length)
    targets = torch.cat([instead[1:], padding]).view(rows, length)
    nats = torch.empty(rows, length, dtype=torch.float64)
    for first_row in range(0, rows, 256):
        state, batch = None, slice(first_row, first_row + 256)
        for first_step in range(0, length, 128):
            steps = slice(first_step, first_step + 128)
            nats[batch, steps], state = model.costs(inputs[batch, steps], targets[batch, steps], state)
    return nats.flatten()[:scored].numpy()


def evaluate(model: Model, tokens: torch.Tensor, **options) -> Score:
    """Return the model's score on a text; the options are the keyword arguments of `token_nats`."""
    nats = token_nats(model, tokens, **options)
    return Score(float(nats.sum()), len(nats))


def mixed(nats: np.ndarray, others: np.ndarray, share: float) -> np.ndarray:
    """Return what each token costs a mixture of two models: p = (1 − share) p_1 + share p_2 (Mikolov et al. 2010).

    Args:
        nats: what each token costs the first, (length,).
        others: what it costs the second, (length,).
        share: the weight of the second, 0 to 1.
    """
    with np.errstate(divide="ignore"):  # of the logarithm of 0
        return -np.logaddexp(np.log1p(-share) - nats, np.log(share) - others)
