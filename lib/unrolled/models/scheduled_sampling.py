"""Train a language model on its own mistakes: scheduled sampling."""

from __future__ import annotations

import torch

from unrolled.cells import State
from unrolled.models.base import check_tokens
from unrolled.models.recurrent import LanguageModel


class ScheduledSampling(LanguageModel):
    """Read, while training, now and then a symbol of its own instead of the text's (Bengio et al. 2015).

        ε = max(least, 1 − (1 − least) · calls / ramp)      how often the text is trusted
        u_t = w_t with probability ε, else a draw from the prediction after u_1, …, u_{t−1}
        loss: as always, of w_{t+1} after u_1, …, u_t

    The first symbol of a window is always the text's, since nothing in the window predicts it. No gradient flows
    through the draws. So the inputs can be drawn first, step by step and without gradient, and then be read like any
    text. When the model is evaluated, it reads the text alone.

    Args:
        vocab_size: V, the number of symbols.
        least: the probability that the text is trusted with in the end.
        ramp: after how many calls in training that is reached.
        **options: the other arguments of `LanguageModel`, but for dropout: with it, the two readings would differ.

    Attributes:
        calls: how many there were in training so far.

    Raises:
        ValueError: a `least` outside 0 … 1, a ramp below 1, any dropout, or what `LanguageModel` raises.
    """

    def __init__(self, vocab_size: int, *, least: float, ramp: int, **options):
        if not 0 <= least <= 1:
            raise ValueError(f"least is {least}; it is a probability, from 0 to 1")
        if ramp < 1:
            raise ValueError(f"ramp is {ramp}; it must be 1 or more")
        if options.get("dropout", 0.0):
            raise ValueError(f"dropout is {options['dropout']}; symbols are drawn here by a model without dropout")
        super().__init__(vocab_size, **options)
        self.least, self.ramp = least, ramp
        self.register_buffer("calls", torch.tensor(0))  # kept with the weights, so that a run goes on where it was

    @property
    def trust(self) -> float:
        """ε, as it is now."""
        return max(self.least, 1 - (1 - self.least) * int(self.calls) / self.ramp)

    @torch.no_grad()
    def mixed(self, tokens: torch.Tensor, state: State | None = None) -> torch.Tensor:
        """Return u, symbol numbers, (batch, time), for the text's tokens of the same shape and the state before it.

        Raises what `LanguageModel.forward` does.
        """
        check_tokens(tokens)
        trusted = torch.rand(tokens.shape, device=tokens.device) < self.trust
        read = [tokens[:, :1]]
        for t in range(1, tokens.shape[1]):
            logits, state = super().forward(read[-1], state)  # (batch, 1, vocab)
            drawn = torch.multinomial(logits[:, 0].softmax(dim=-1), 1).to(tokens.device)  # (batch, 1)
            read.append(torch.where(trusted[:, t : t + 1], tokens[:, t : t + 1], drawn))
        return torch.cat(read, dim=1)

    def forward(self, tokens: torch.Tensor, state: State | None = None) -> tuple[torch.Tensor, State]:
        """Return the logits of the symbol after each, (batch, time, vocab_size), and the last state.

        Takes and raises what `LanguageModel.forward` does.
        """
        if self.training:
            if self.trust < 1:
                tokens = self.mixed(tokens, state)
            self.calls += 1
        return super().forward(tokens, state)
