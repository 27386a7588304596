"""Let a language model write: draw each symbol from the model's prediction, sharpened or narrowed as one likes.

    greedy          top_k=1             the most probable symbol each time
    temperature     temperature=0.8     below 1 bolder, above 1 wilder
    top-k           top_k=10            one of the k most probable (Fan et al. 2018)
    nucleus         top_p=0.9           one of the fewest that have the probability p together (Holtzman et al. 2020)

Several may be given; they act in this order. The state is carried: every symbol is read once. What looks further ahead
than one symbol is in `beam`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch

from unrolled.text import Vocabulary, WordVocabulary


class Model(Protocol):
    """What can write: anything that maps rows of text and a state to logits and the next state."""

    def __call__(self, tokens: torch.Tensor, state: Any = None) -> tuple[torch.Tensor, Any]:
        """Return the logits of the symbol after each, (batch, time, vocab_size), and the last state."""


@contextmanager
def evaluating(model: Model) -> Iterator[None]:
    """Have a model in evaluation mode for the length of the ``with`` block, where it is one that can be trained."""
    was_training = getattr(model, "training", False)
    if was_training:
        model.eval()
    try:
        yield
    finally:
        if was_training:
            model.train()


def keep_top_k(logits: torch.Tensor, top_k: int) -> torch.Tensor:
    """Return the logits, minus infinity for all but the k most probable symbols (Fan et al. 2018).

    Of equally probable symbols the one with the smaller number goes first.

    Args:
        logits: (…, vocab_size); log-probabilities will do, for they are logits too.
        top_k: k, how many to keep; all where there are no more.

    Raises:
        ValueError: k is below 1.
    """
    if top_k < 1:
        raise ValueError(f"top_k is {top_k}; it must be 1 or more")
    order = logits.argsort(dim=-1, descending=True, stable=True)  # (…, vocab), the most probable first
    return logits.scatter(-1, order[..., top_k:], -torch.inf)


def keep_nucleus(logits: torch.Tensor, top_p: float) -> torch.Tensor:
    """Return the logits, minus infinity outside the nucleus (Holtzman et al. 2020).

    The nucleus is the smallest set of most probable symbols that have the probability p together: the symbol with which
    p is reached belongs to it.

    Args:
        logits: (…, vocab_size); log-probabilities will do, for they are logits too.
        top_p: p, how much probability to keep at least; all symbols where it is 1.

    Raises:
        ValueError: p is not above 0, or it is above 1.
    """
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p is {top_p}; it must be above 0 and at most 1")
    order = logits.argsort(dim=-1, descending=True, stable=True)  # (…, vocab), the most probable first
    p = torch.softmax(logits, dim=-1).gather(-1, order)
    before = p.cumsum(dim=-1) - p  # what the more probable ones have together
    outside = (before >= top_p) & (top_p < 1)  # where p is 1 none is, however the sum was rounded
    return logits.masked_fill(torch.zeros_like(outside).scatter(-1, order, outside), -torch.inf)


def distribution(
    logits: torch.Tensor, *, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> torch.Tensor:
    """Return the probabilities that the next symbol is drawn with, (…, vocab_size).

        p = softmax(logits / temperature), zero for what is not kept

    Args:
        logits: (…, vocab_size).
        temperature: below 1 the probable becomes more probable, above 1 less; towards 0 nothing else is left.
        top_k: keep so many symbols; all where None.
        top_p: keep the nucleus of this probability; all where None.

    Raises:
        ValueError: a temperature that is not positive, or what `keep_top_k` and `keep_nucleus` raise.
    """
    if not temperature > 0:
        raise ValueError(f"temperature is {temperature}; it must be above 0 (greedy decoding is top_k=1)")
    logits = logits / temperature
    if top_k is not None:
        logits = keep_top_k(logits, top_k)
    if top_p is not None:
        logits = keep_nucleus(logits, top_p)
    return torch.softmax(logits, dim=-1)


@torch.no_grad()
def predict(model: Model, tokens: torch.Tensor, state: Any = None) -> tuple[torch.Tensor, Any]:
    """Return the logits of the symbol after the last, float64 on the CPU, (batch, vocab_size), and the last state.

    The model is in evaluation mode for the duration.

    Args:
        model: the model that is asked.
        tokens: what it reads, (batch, time).
        state: the state before that; the initial one where None.

    Raises:
        ValueError: there is no symbol to read, or a logit is not a number.
    """
    if tokens.ndim != 2 or tokens.numel() == 0:
        raise ValueError(
            f"the prompt has shape {tuple(tokens.shape)}; (batch, time) is expected, with at least one symbol in a row"
        )
    with evaluating(model):
        logits, state = model(tokens, state)
    logits = logits[:, -1].double().cpu()
    if logits.isnan().any():
        raise ValueError("some of the model's logits are not numbers; train it again, with a smaller learning rate")
    return logits, state


def generate(
    model: Model, prompt: torch.Tensor, *, length: int, stop: int | None = None, seed: int = 0, **how
) -> list[torch.Tensor]:
    """Return what the model writes after each prompt, symbol numbers, (length,) or shorter where it came to a stop.

    Each row draws random numbers of its own, so it writes what it would write alone.

    Args:
        model: the model that writes: an n-gram, a window network, a recurrent network.
        prompt: what has been written so far, (batch, time), at least one symbol.
        length: how many symbols to write.
        stop: the symbol that ends a row, and is its last; None: nothing does.
        seed: of the first row; the next has seed + 1. Same seed, same text, on the same machine.
        **how: the keywords of `distribution`; without any, the model's own prediction is drawn from.

    Raises:
        ValueError: a negative length, or what `predict` and `distribution` raise.
    """
    if length < 0:
        raise ValueError(f"length is {length}; it must be 0 or more")
    generators = [torch.Generator().manual_seed(seed + row) for row in range(len(prompt))]
    lengths, running = torch.zeros(len(prompt), dtype=torch.int64), torch.ones(len(prompt), dtype=torch.bool)
    tokens, state, written = prompt, None, [torch.empty(len(prompt), 0, dtype=torch.int64)]
    for _ in range(length):
        logits, state = predict(model, tokens, state)
        chances = distribution(logits, **how)  # (batch, vocab)
        draws = [torch.multinomial(p, 1, generator=own) for p, own in zip(chances, generators, strict=True)]
        tokens = torch.stack(draws)  # (batch, 1)
        written.append(tokens)
        lengths += running
        if stop is not None:
            running &= tokens[:, 0].ne(stop)
        if not running.any():
            break
    rows = torch.cat(written, dim=1)  # (batch, time); a row that has stopped went on in vain
    return [row[:end] for row, end in zip(rows, lengths.tolist(), strict=True)]


def sample(
    model: Model,
    vocabulary: Vocabulary | WordVocabulary,
    *,
    prompt: str | list[str],
    length: int,
    stop: str | None = None,
    **how,
) -> str | list[str]:
    """Return a prompt and what `generate` writes after it: a text, or a list of words.

    Args:
        model: the model that writes: an n-gram, a window network, a recurrent network.
        vocabulary: the symbols it was trained on.
        prompt: what has been written so far, at least one symbol: a text, or a list of words.
        length: how many symbols to add.
        stop: the symbol that ends the text, and is its last; None: nothing does.
        **how: `temperature`, `top_k` and `top_p` as for `distribution`, `seed` as for `generate`.

    Raises:
        ValueError: an empty prompt, a symbol unknown to the vocabulary, or what `generate` raises.
    """
    if stop is not None and stop not in vocabulary:
        raise ValueError(f"stop is {stop!r}, which is not among the {len(vocabulary)} symbols of the vocabulary")
    number = None if stop is None else vocabulary[stop]
    (written,) = generate(model, vocabulary.encode(prompt).view(1, -1), length=length, stop=number, **how)
    return prompt + vocabulary.decode(written)
