"""Score a language model on a text, always by the same protocol.

*Streaming, total over total.* Every symbol of the text is predicted once, from everything before it in its stream; the
nats are summed over all symbols and divided by their number once, at the end. Perplexities of batches are never
averaged. For speed the text is read as a few parallel streams. Each but the first begins without a past, which costs
context for a few symbols of the whole text.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from unrolled.text import symbol_numbers


class Model(Protocol):
    """What can be scored: anything that prices the symbols in rows of text and returns its last state."""

    def costs(self, inputs: torch.Tensor, targets: torch.Tensor, state: Any = None) -> tuple[torch.Tensor, Any]:
        """Return −ln p(target | inputs up to its position), (batch, time), and the last state."""


@dataclass(frozen=True)
class Score:
    """What a model paid for a text.

    Attributes:
        nats: the sum of −ln p over the symbols.
        symbols: the number of predicted symbols.

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
        return math.exp(self.nats_per_symbol)

    @property
    def bits_per_symbol(self) -> float:
        """The cross-entropy in bits: bits per character where the symbols are characters."""
        return self.nats_per_symbol / math.log(2)

    def per(self, units: int) -> "Score":
        """Return the same cost in other units of the same text (:eq:`eq-units`).

        A character model that paid for all characters of a text has paid for its words as well:
        ``score.per(len(words)).perplexity`` is its perplexity per word.

        Args:
            units: the number of these units in the scored text.

        Raises:
            ValueError: the number is below 1.

        Example:
            >>> round(Score(nats=30.0, symbols=20).per(5).perplexity, 1)  # 20 characters, 5 words
            403.4
        """
        if units < 1:
            raise ValueError(f"units is {units}; the text must have at least one")
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
    """Return what each symbol of a text cost the model: −ln p(symbol | its past), in order.

    Args:
        model: an n-gram model, a window network, a recurrent network: anything with the method of `Model`.
        tokens: symbol numbers, (length,).
        start: the symbol that precedes the text. Without it the first symbol has no past and is not scored.
        window: the number of symbols after which the state is reset, as if it had never been carried; None carries it
            throughout.
        streams: the number of parallel streams; used only without a window.
        instead: other symbols to score after the same past, (length,).

    Returns:
        Nats, float64, (length,) with a `start`, otherwise (length − 1,).

    Raises:
        ValueError: nothing to score, or what is no symbol; a window or a number of streams below 1; or an `instead` of
            another length.

    Example:
        >>> from unrolled.ngram import Counts, KneserNey
        >>> model = KneserNey(Counts([0, 1, 0, 1, 2], vocab_size=3, order=2), discount=0.5)
        >>> token_nats(model, torch.tensor([0, 1, 2])).round(2).tolist()
        [0.21, 0.98]
    """
    tokens = symbol_numbers(tokens, ("length",), empty=True)
    instead = tokens if instead is None else symbol_numbers(instead, ("length",), "instead", empty=True)
    if instead.shape != tokens.shape:
        raise ValueError(f"instead has shape {tuple(instead.shape)} and tokens {tuple(tokens.shape)}; they must agree")
    if start is not None:
        tokens = torch.cat([tokens.new_tensor([start]), tokens])
        instead = torch.cat([tokens[:1], instead])
    scored = len(tokens) - 1
    if scored < 1:
        raise ValueError("there is no symbol to score; give a text of two symbols, or one and a start")
    if streams < 1 or (window is not None and window < 1):
        raise ValueError(f"window is {window} and streams is {streams}; both must be 1 or more")
    length = min(window, scored) if window else math.ceil(scored / streams)
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
    """Return the model's score on a text.

    Args:
        model, tokens: as in `token_nats`.
        options: the keyword arguments of `token_nats`.

    Raises:
        ValueError: what `token_nats` raises.

    Example:
        >>> from unrolled.ngram import AddK, Counts
        >>> unigrams = AddK(Counts([0, 1, 2], vocab_size=3, order=1))
        >>> score = evaluate(unigrams, torch.tensor([2, 1, 0, 2, 2]), start=0)
        >>> round(score.perplexity, 6), score.symbols
        (3.0, 5)
    """
    nats = token_nats(model, tokens, **options)
    return Score(float(nats.sum()), len(nats))


def mixed(nats: np.ndarray, others: np.ndarray, share: float) -> np.ndarray:
    """Return what each symbol costs a mixture of two models: p = (1 − share) p_1 + share p_2 (Mikolov et al. 2010).

    Args:
        nats: what each symbol costs the first, (length,).
        others: what it costs the second, (length,).
        share: the weight of the second, 0 to 1.

    >>> mixed(-np.log([0.5, 0.1]), -np.log([0.1, 0.5]), 0.5).round(2)  # 0.3 for both
    array([1.2, 1.2])
    """
    with np.errstate(divide="ignore"):  # of the logarithm of 0
        return -np.logaddexp(np.log1p(-share) - nats, np.log(share) - others)
