"""What every model of symbols shares: how it was made and its device; and what given symbols cost a language model."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.nn.functional import cross_entropy

from unrolled.cells import State
from unrolled.text import check_range, symbol_numbers


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Put a model into evaluation mode for the length of the ``with`` block; a model without modes stays as it is.

    Example:
        >>> dropout = nn.Dropout(0.5)
        >>> with evaluating(dropout):
        ...     dropout.training
        False
        >>> dropout.training
        True
    """
    was_training = getattr(model, "training", False)
    if was_training:
        model.eval()
    try:
        yield
    finally:
        if was_training:
            model.train()


class Network(nn.Module):
    """The base of all models that read symbols.

    Attributes:
        vocab_size: V, the number of symbols; None where a model does not say.
        embedding: E, the vectors of the symbols.
        arguments: the positional and the keyword arguments that the model was made with. A call of
            ``type(model)(*arguments[0], **arguments[1])`` makes another model like it, with fresh weights.

    Example:
        >>> from unrolled.models import Tagger
        >>> Tagger(7, 3, hidden_size=16).arguments
        ((7, 3), {'hidden_size': 16})
    """

    vocab_size: int | None = None
    embedding: nn.Embedding

    def __new__(cls, *positional, **keywords):
        model = super().__new__(cls)
        model.__dict__["arguments"] = (positional, keywords)  # nn.Module takes no attributes before its __init__
        return model

    @property
    def device(self) -> torch.device:
        """The device that the weights are on."""
        return next(self.parameters()).device

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return E[w], the vectors of symbols, (batch, time, embedding_size), for symbol numbers (batch, time).

        The embedding itself notices a number that is too large, so that no training has to wait for a check.
        """
        return look_up(self.embedding, tokens)


class NeuralModel(Network):
    """The base of the neural language models: each maps ``(tokens, state)`` to logits and the next state.

    Example:
        >>> from unrolled.models import LanguageModel
        >>> model = LanguageModel(7, hidden_size=16)
        >>> nats, state = model.costs(torch.tensor([[0, 1, 2]]), torch.tensor([[1, 2, 3]]))
        >>> nats.shape, state.shape
        (torch.Size([1, 3]), torch.Size([1, 16]))
    """

    @torch.no_grad()
    def costs(
        self, inputs: torch.Tensor, targets: torch.Tensor, state: State | None = None
    ) -> tuple[torch.Tensor, State]:
        """Return what each target costs, −ln p(target | inputs so far), in evaluation mode, and the last state.

        Args:
            inputs: symbol numbers, (batch, time).
            targets: the symbol that follows each input, (batch, time).
            state: the state before the first input; None is the initial state.

        Returns:
            Nats, (batch, time), float64 on the CPU, and the state after the last input.
        """
        inputs, targets = symbol_numbers(inputs), symbol_numbers(targets, name="targets")
        if targets.shape != inputs.shape:
            raise ValueError(
                f"targets have shape {tuple(targets.shape)} and inputs {tuple(inputs.shape)}; one is wrong"
            )
        check_range(inputs, self.vocab_size, "inputs")
        with evaluating(self):
            logits, state = self(inputs, state)
        check_range(targets, logits.shape[-1], "targets")
        # (batch, time, vocab) → (batch, vocab, time), where PyTorch expects the classes
        return functional.cross_entropy(logits.mT, targets.to(logits.device), reduction="none").double().cpu(), state

    def mean_cost(
        self, inputs: torch.Tensor, targets: torch.Tensor, state: State | None = None
    ) -> tuple[torch.Tensor, State]:
        """Return the mean of what the targets cost, for a training to minimise, and the last state, as `costs` does."""
        logits, state = self(inputs, state)
        return cross_entropy(logits.flatten(0, 1), targets.flatten()), state


def look_up(embedding: nn.Embedding, tokens: torch.Tensor, name: str = "tokens") -> torch.Tensor:
    """Return the vectors of symbols from a table, as `Network.embed` does; the name is for the message."""
    try:
        return embedding(tokens)
    except IndexError:
        check_range(tokens, embedding.num_embeddings, name)
        raise
