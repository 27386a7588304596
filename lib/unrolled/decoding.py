"""Let a language model write."""

from __future__ import annotations

import torch

from unrolled.models import LanguageModel
from unrolled.vocabulary import Vocabulary


@torch.no_grad()
def sample(
    model: LanguageModel,
    vocabulary: Vocabulary,
    *,
    prompt: str,
    length: int,
    temperature: float = 1.0,
    seed: int = 0,
) -> str:
    """Return the prompt and `length` symbols more, each drawn from the model's own prediction.

    The state is carried: every symbol is read once.

    Args:
        model: the model that writes.
        vocabulary: the symbols it was trained on.
        prompt: what has been written so far, at least one symbol.
        length: how many symbols to add.
        temperature: the logits are divided by it: below 1 bolder, above 1 wilder.
        seed: same seed, same text, on the same machine.

    Raises:
        ValueError: an empty prompt, a symbol unknown to the vocabulary, or a temperature that is not positive.
    """
    if temperature <= 0:
        raise ValueError(f"temperature is {temperature}; it must be above 0")
    generator = torch.Generator().manual_seed(seed)
    tokens = vocabulary.encode(prompt).to(model.device).view(1, -1)
    written, state = [], None
    for _ in range(length):
        logits, state = model(tokens, state)
        chances = torch.softmax(logits[0, -1].double().cpu() / temperature, dim=0)  # (vocab_size,)
        number = int(torch.multinomial(chances, 1, generator=generator))
        written.append(number)
        tokens = torch.tensor([[number]], device=model.device)
    return prompt + vocabulary.decode(written)
