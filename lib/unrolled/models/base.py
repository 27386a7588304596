"""Language models: from symbol numbers to logits over the next symbol."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from unrolled import cells


class NeuralModel(nn.Module):
    """What the neural models share: each maps ``(tokens, state)`` to logits and a state, and prices given symbols.

    Attributes:
        arguments: those it was made with, by place and by name: ``type(model)(*arguments[0], **arguments[1])`` is made
            in the same way, with other weights.
    """

    def __new__(cls, *by_place, **by_name):
        model = super().__new__(cls)
        model.__dict__["arguments"] = (by_place, by_name)  # before nn.Module is ready to take attributes
        return model

    @property
    def device(self) -> torch.device:
        """The device that the weights are on."""
        return next(self.parameters()).device

    @torch.no_grad()
    def costs(
        self, inputs: torch.Tensor, targets: torch.Tensor, state: cells.State | None = None
    ) -> tuple[torch.Tensor, cells.State]:
        """Return −ln p(target | inputs up to its place), float64 on the CPU, (batch, time), and the last state.

        The model is in evaluation mode for the duration.

        Args:
            inputs: symbol numbers, (batch, time).
            targets: the symbols to price, (batch, time).
            state: the state before the first input; the initial one where None.
        """
        was_training = self.training
        self.eval()
        logits, state = self(inputs, state)
        self.train(was_training)
        # (batch, time, vocab) → (batch, vocab, time), where PyTorch wants the classes
        return cross_entropy(logits.mT, targets.to(logits.device), reduction="none").double().cpu(), state


def check_tokens(tokens: torch.Tensor) -> None:
    """Raise ValueError, naming the shape, unless tokens have two axes and at least one step."""
    if tokens.ndim != 2 or not tokens.shape[1]:
        raise ValueError(
            f"tokens have shape {tuple(tokens.shape)}; two axes are expected: (batch, time), with at least one step"
        )
