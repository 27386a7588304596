"""Let a language model write."""

from __future__ import annotations

from typing import Any, Protocol

import torch

from unrolled.vocabulary import Vocabulary, WordVocabulary


class Model(Protocol):
    """What can write: anything that maps rows of text and a state to logits and the next state."""

    def __call__(self, tokens: torch.Tensor, state: Any = None) -> tuple[torch.Tensor, Any]:
        """Return the logits of the symbol after each, (batch, time, vocab_size), and the last state."""


@torch.no_grad()
def sample(
    model: Model,
    vocabulary: Vocabulary | WordVocabulary,
    *,
    prompt: str | list[str],
    length: int,
    temperature: float = 1.0,
    seed: int = 0,
) -> str | list[str]:
    """Return the prompt and `length` symbols more, each drawn from the model's own prediction.

    The state is carried: every symbol is read once.

    Args:
        model: the model that writes: an n-gram, a window network, a recurrent network.
        vocabulary: the symbols it was trained on.
        prompt: what has been written so far, at least one symbol: a text, or a list of words.
        length: how many symbols to add.
        temperature: the logits are divided by it: below 1 bolder, above 1 wilder.
        seed: same seed, same text, on the same machine.

    Raises:
        ValueError: an empty prompt, a symbol unknown to the vocabulary, or a temperature that is not positive.
    """
    if temperature <= 0:
        raise ValueError(f"temperature is {temperature}; it must be above 0")
    generator = torch.Generator().manual_seed(seed)
    tokens = vocabulary.encode(prompt).view(1, -1)
    written, state = [], None
    for _ in range(length):
        logits, state = model(tokens, state)
        chances = torch.softmax(logits[0, -1].double().cpu() / temperature, dim=0)  # (vocab_size,)
        number = int(torch.multinomial(chances, 1, generator=generator))
        written.append(number)
        tokens = torch.tensor([[number]])
    return prompt + vocabulary.decode(written)
