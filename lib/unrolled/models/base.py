"""What every neural language model shares: how it was made, its device, and what given symbols cost it."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from unrolled import cells


class NeuralModel(nn.Module):
    """The base of the neural language models: each maps ``(tokens, state)`` to logits and the next state.

    Attributes:
        arguments: the positional and the keyword arguments that the model was made with. A call of
            ``type(model)(*arguments[0], **arguments[1])`` makes another model like it, with fresh weights.

    Example:
        >>> from unrolled.models import LanguageModel
        >>> model = LanguageModel(7, hidden_size=16)
        >>> model.arguments
        ((7,), {'hidden_size': 16})
        >>> nats, state = model.costs(torch.tensor([[0, 1, 2]]), torch.tensor([[1, 2, 3]]))
        >>> nats.shape, state.shape
        (torch.Size([1, 3]), torch.Size([1, 16]))
    """

    def __new__(cls, *positional, **keywords):
        model = super().__new__(cls)
        model.__dict__["arguments"] = (positional, keywords)  # nn.Module takes no attributes before its __init__
        return model

    @property
    def device(self) -> torch.device:
        """The device that the weights are on."""
        return next(self.parameters()).device

    @torch.no_grad()
    def costs(
        self, inputs: torch.Tensor, targets: torch.Tensor, state: cells.State | None = None
    ) -> tuple[torch.Tensor, cells.State]:
        """Return what each target costs, −ln p(target | inputs up to its place), and the last state.

        The model is put into evaluation mode for the call.

        Args:
            inputs: symbol numbers, (batch, time).
            targets: the symbol that follows each input, (batch, time).
            state: the state before the first input; None is the initial state.

        Returns:
            Nats, (batch, time), float64 on the CPU, and the state after the last input.

        Raises:
            ValueError: what the model's ``forward`` raises.
        """
        was_training = self.training
        self.eval()
        logits, state = self(inputs, state)
        self.train(was_training)
        # (batch, time, vocab) → (batch, vocab, time), where PyTorch expects the classes
        return cross_entropy(logits.mT, targets.to(logits.device), reduction="none").double().cpu(), state


def check_tokens(tokens: torch.Tensor) -> None:
    """Raise ValueError, naming the shape, unless tokens have two axes, (batch, time), and at least one step."""
    if tokens.ndim != 2 or not tokens.shape[1]:
        raise ValueError(
            f"tokens have shape {tuple(tokens.shape)}; two axes are expected: (batch, time), with at least one step"
        )
