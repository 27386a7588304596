"""Score a language model: one protocol, named.

*Streaming, total over total.* Every symbol of the text is predicted once, from everything before it in its
stream; the nats are added up over all of them and divided by their number, once, at the end. A mean of
perplexities over batches is never taken. To use the machine well, the text is read as a few parallel streams:
each but the first begins without a past, which costs a few symbols' worth of context in the whole text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch


class Model(Protocol):
    """What can be scored: anything that prices the symbols of rows of text and says in what state it ends."""

    def costs(self, inputs: torch.Tensor, targets: torch.Tensor, state: Any = None) -> tuple[torch.Tensor, Any]:
        """Return −ln p(target | inputs up to its place), (batch, time), and the last state."""


@dataclass(frozen=True)
class Score:
    """What a model paid for a text.

    Attributes:
        nats: the sum of −ln p over the symbols.
        symbols: how many symbols were predicted.
    """

    nats: float
    symbols: int

    @property
    def nats_per_symbol(self) -> float:
        """The cross-entropy (:eq:`eq-perplexity`)."""
        return self.nats / self.symbols

    @property
    def perplexity(self) -> float:
        """The effective number of choices (:eq:`eq-perplexity`)."""
        return math.exp(self.nats_per_symbol)

    @property
    def bits_per_symbol(self) -> float:
        """The cross-entropy in bits: bits per character where the symbols are characters."""
        return self.nats_per_symbol / math.log(2)

    def per(self, units: int) -> Score:
        """Return the same cost, shared among other units of the same text (:eq:`eq-units`).

        A model of characters paid for all of a text's characters, so it paid for the text's words:
        ``score.per(len(words)).perplexity`` is its perplexity per word.

        Args:
            units: how many of them the scored text has.

        Raises:
            ValueError: there is not even one.
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
    """Return what each symbol cost the model: −ln p(symbol | its past), in order.

    Args:
        model: an n-gram, a window network, a recurrent network: whatever has `Model`'s method.
        tokens: symbol numbers, (length,).
        start: the symbol that stands before the text. Without it the first symbol has no past at all and is
            not scored.
        window: forget all that was read after every so many symbols (how a model does that never carried a
            state); None carries it throughout.
        streams: parallel streams, where the state is carried.
        instead: other symbols to score, (length,): what would each have cost after the same past?

    Returns:
        Nats, float64, (length,) with a `start`, else (length − 1,).

    Raises:
        ValueError: nothing to score, a window or a number of streams below 1, or an `instead` of another length.
    """
    if instead is None:
        instead = tokens
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
    inputs = torch.cat([tokens[:-1], padding]).view(rows, length)
    targets = torch.cat([instead[1:], padding]).view(rows, length)
    nats = torch.empty(rows, length, dtype=torch.float64)
    for some in range(0, rows, 256):
        state, here = None, slice(some, some + 256)
        for at in range(0, length, 128):
            columns = slice(at, at + 128)
            nats[here, columns], state = model.costs(inputs[here, columns], targets[here, columns], state)
    return nats.flatten()[:scored].numpy()


def evaluate(model: Model, tokens: torch.Tensor, **how) -> Score:
    """Return the model's score on a text by the protocol above; the keywords are `token_nats`'s."""
    nats = token_nats(model, tokens, **how)
    return Score(float(nats.sum()), len(nats))
