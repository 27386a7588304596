"""Let a language model write: draw each symbol from the model's prediction, sharpened or cut off.

    greedy          top_k=1             always the most probable symbol
    temperature     temperature=0.8     below 1 probable symbols gain, above 1 improbable ones do
    top-k           top_k=10            one of the k most probable symbols (Fan et al. 2018)
    nucleus         top_p=0.9           one of the fewest symbols with probability p together (Holtzman et al. 2020)

Several can be combined; they act in this order. The state is carried: every symbol is read once.
"""

import math
from collections.abc import Callable
from typing import Any

import torch

from unrolled.models import evaluating
from unrolled.text import Vocabulary, WordVocabulary, check_range, symbol_numbers

Model = Callable[..., tuple[torch.Tensor, Any]]
"""What can write: anything that maps tokens and a state to logits, (batch, time, vocab_size), and the next state."""


def distribution(
    logits: torch.Tensor, *, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> torch.Tensor:
    """Return the probabilities with which the next symbol is drawn, (…, vocab_size).

        p = softmax(logits / temperature), zero for the symbols that are not kept

    Args:
        logits: (…, vocab_size).
        temperature: below 1 probable symbols become more probable still, above 1 less so.
        top_k: k, how many of the most probable symbols to keep (Fan et al. 2018); None keeps all. Of equally probable
            symbols those with the smaller numbers are kept, here and in the nucleus.
        top_p: p, the probability to keep; None keeps all. The nucleus is the smallest set of most probable symbols
            whose probabilities sum to at least p (Holtzman et al. 2020): the symbol with which the sum reaches p
            belongs to it.

    >>> distribution(torch.tensor([0.2, 0.8]).log(), temperature=2)
    tensor([0.3333, 0.6667])
    >>> distribution(torch.tensor([0.1, 0.4, 0.3, 0.2]).log(), top_p=0.6)
    tensor([0.0000, 0.5714, 0.4286, 0.0000])
    """
    if not 1e-30 < temperature < math.inf or (top_k is not None and top_k < 1) or not (top_p is None or 0 < top_p <= 1):
        raise ValueError(
            f"temperature is {temperature}, top_k {top_k} and top_p {top_p}; give a finite temperature above 0 (greedy "
            "decoding is top_k=1), a top_k of 1 or more, and a top_p above 0 and at most 1"
        )
    logits = logits / temperature
    if top_k is None and top_p is None:
        return torch.softmax(logits, dim=-1)
    order = logits.argsort(dim=-1, descending=True, stable=True)  # (…, vocab), the most probable first
    if top_k is not None:
        logits = logits.scatter(-1, order[..., top_k:], -torch.inf)
    if top_p is not None and top_p < 1:
        p = torch.softmax(logits, dim=-1).gather(-1, order)
        before = p.cumsum(dim=-1) - p  # the sum over the more probable symbols
        logits = logits.scatter(-1, order, logits.gather(-1, order).masked_fill(before >= top_p, -torch.inf))
    return torch.softmax(logits, dim=-1)


@torch.no_grad()
def predict(model: Model, tokens: torch.Tensor, state: Any = None) -> tuple[torch.Tensor, Any]:
    """Return the logits of the symbol after the last one, (batch, vocab_size), float64 on the CPU, and the last state.

    The model reads tokens, (batch, time), in evaluation mode; a state of None is the initial one.

    >>> from unrolled.models import LanguageModel
    >>> logits, state = predict(LanguageModel(5, hidden_size=8), torch.tensor([[0, 3, 1]]))
    >>> logits.shape, logits.dtype, state.shape
    (torch.Size([1, 5]), torch.float64, torch.Size([1, 8]))
    """
    tokens = symbol_numbers(tokens, name="the symbols of the prompt")
    if state is None:  # what is drawn later on needs no check
        check_range(tokens, getattr(model, "vocab_size", None), "the symbols of the prompt")
    with evaluating(model):
        logits, state = model(tokens, state)
    logits = logits[:, -1].double().cpu()
    if logits.isnan().any():
        raise ValueError("some of the model's logits are not numbers; train it again, with a smaller learning rate")
    return logits, state


def check_stop(stop: int | None, vocab_size: int) -> None:
    """Refuse the number of no symbol, after which nothing would ever end."""
    if stop is not None and stop not in range(vocab_size):
        raise ValueError(f"stop is {stop}; the vocabulary has the symbols 0 to {vocab_size - 1}")


def generate(
    model: Model, prompt: torch.Tensor, *, length: int, stop: int | None = None, seed: int = 0, **options
) -> list[torch.Tensor]:
    """Return what the model writes after each prompt: tokens, (length,), or fewer in a row that has ended.

    Each row draws its own random numbers, so it writes what it would write alone.

    Args:
        model: the model that writes: an n-gram model, a window network, a recurrent network.
        prompt: the text so far, tokens, (batch, time), at least one in each row.
        length: the number of symbols to write.
        stop: the token that ends a row, as its last one; with None only the length does.
        seed: the seed of the first row; the next one has seed + 1. On one machine, the same seed gives the same text.
        **options: the keywords of `distribution`; without any, symbols are drawn from the model's own prediction.

    >>> def model(tokens, state=None):  # after symbol n comes n + 1, after 3 comes 0
    ...     return torch.eye(4)[(tokens + 1) % 4].log(), state
    >>> generate(model, torch.tensor([[0], [2]]), length=5, stop=0)
    [tensor([1, 2, 3, 0]), tensor([3, 0])]
    """
    if length < 0:
        raise ValueError(f"length is {length}; it must be 0 or more")
    generators = [torch.Generator().manual_seed(seed + row) for row in range(len(prompt))]
    lengths, running = torch.zeros(len(prompt), dtype=torch.int64), torch.ones(len(prompt), dtype=torch.bool)
    tokens, state, written = prompt, None, [torch.empty(len(prompt), 0, dtype=torch.int64)]
    for _ in range(length):
        logits, state = predict(model, tokens, state)
        check_stop(stop, logits.shape[1])
        probabilities = distribution(logits, **options)  # (batch, vocab)
        draws = [torch.multinomial(p, 1, generator=own) for p, own in zip(probabilities, generators, strict=True)]
        tokens = torch.stack(draws)  # (batch, 1)
        written.append(tokens)
        lengths += running
        if stop is not None:
            running &= tokens[:, 0].ne(stop)
        if not running.any():
            break
    rows = torch.cat(written, dim=1)  # (batch, time); what a row wrote after its stop symbol is cut off
    return [row[:end] for row, end in zip(rows, lengths.tolist(), strict=True)]


def sample(
    model: Model,
    vocabulary: Vocabulary | WordVocabulary,
    *,
    prompt: str | list[str],
    length: int,
    stop: str | None = None,
    **options,
) -> str | list[str]:
    """Return a prompt with what `generate` writes after it: a text, or a list of words.

    Args:
        model: as for `generate`.
        vocabulary: the symbols that it was trained on.
        prompt: the text so far, at least one symbol: a text for characters, a list for words.
        length: the number of symbols to add.
        stop: the symbol that ends the text, as its last symbol; with None only the length does.
        **options: ``temperature``, ``top_k`` and ``top_p`` as for `distribution`, ``seed`` as for `generate`.

    >>> def model(tokens, state=None):  # after each letter comes the next one
    ...     return torch.eye(4)[(tokens + 1) % 4].log(), state
    >>> sample(model, Vocabulary("abcd"), prompt="cd", length=6)
    'cdabcdab'
    """
    for place, symbol in enumerate([*prompt, *([] if stop is None else [stop])]):
        if symbol not in vocabulary:
            raise ValueError(f"{symbol!r} at position {place} is not among the {len(vocabulary)} symbols; replace it")
    number = None if stop is None else vocabulary[stop]
    (written,) = generate(model, vocabulary.encode(prompt).view(1, -1), length=length, stop=number, **options)
    return prompt + vocabulary.decode(written)
