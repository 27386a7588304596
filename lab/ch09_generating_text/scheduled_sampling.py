"""A recurrent language model that is trained on its own mistakes: scheduled sampling (chapter 9)."""

import torch

from unrolled.cells import State
from unrolled.models import KINDS, LanguageModel
from unrolled.text import check_range, symbol_numbers


class ScheduledSampling(LanguageModel):
    """In training, sometimes read a symbol that the model drew itself instead of the text's (Bengio et al. 2015).

        ε = max(least, 1 − (1 − least) · calls / ramp)      the probability of reading the text's symbol
        u_t = w_t with probability ε, otherwise a draw from the prediction after u_1, …, u_{t−1}
        loss: as always, that of w_{t+1} after u_1, …, u_t

    The first symbol of a window is always the text's, because nothing in the window predicts it. No gradient flows
    through the draws, so the inputs are drawn first, step by step and without a gradient, and then read like any text.
    In evaluation the model reads the text alone.

    Args:
        vocab_size: V, the number of symbols.
        least: the lowest value of ε.
        ramp: the number of calls in training after which it is reached.
        **options: the other arguments of `LanguageModel`, except dropout: with it, the two readings would differ.

    Attributes:
        calls: the number of calls in training so far.

    Raises:
        ValueError: `least` is outside 0 … 1, `ramp` is below 1, there is dropout, or what `LanguageModel` raises.

    Example:
        >>> model = ScheduledSampling(7, least=0.2, ramp=4, hidden_size=8)
        >>> tokens, trust = torch.randint(7, (2, 5)), []
        >>> for _ in range(6):
        ...     trust.append(round(model.trust, 2))
        ...     logits, state = model(tokens)
        >>> trust, logits.shape
        ([1.0, 0.8, 0.6, 0.4, 0.2, 0.2], torch.Size([2, 5, 7]))
    """

    def __init__(self, vocab_size: int, *, least: float, ramp: int, **options):
        if not 0 <= least <= 1:
            raise ValueError(f"least is {least}; it is a probability, from 0 to 1")
        if ramp < 1:
            raise ValueError(f"ramp is {ramp}; it must be 1 or more")
        if options.get("dropout", 0.0):
            raise ValueError(f"dropout is {options['dropout']}; scheduled sampling works without dropout: leave it out")
        super().__init__(vocab_size, **options)
        self.least, self.ramp = least, ramp
        self.register_buffer("calls", torch.tensor(0))  # saved with the weights, so that a run can be resumed

    @property
    def trust(self) -> float:
        """The current ε."""
        return max(self.least, 1 - (1 - self.least) * int(self.calls) / self.ramp)

    @torch.no_grad()
    def mixed(self, tokens: torch.Tensor, state: State | None = None) -> torch.Tensor:
        """Return u, the symbols to read, (batch, time).

        Args:
            tokens: the text's symbol numbers, (batch, time).
            state: the state before the first symbol; None is the initial state.

        Raises:
            ValueError: what `LanguageModel.forward` raises.
        """
        tokens = symbol_numbers(tokens)
        check_range(tokens, self.vocab_size)  # those that the model does not read, too
        trusted = torch.rand(tokens.shape, device=tokens.device) < self.trust  # (batch, time)
        read = [tokens[:, :1]]
        for t in range(1, tokens.shape[1]):
            logits, state = super().forward(read[-1], state)  # (batch, 1, vocab)
            drawn = torch.multinomial(logits[:, 0].softmax(dim=-1), 1).to(tokens.device)  # (batch, 1)
            read.append(torch.where(trusted[:, t : t + 1], tokens[:, t : t + 1], drawn))
        return torch.cat(read, dim=1)

    def forward(self, tokens: torch.Tensor, state: State | None = None) -> tuple[torch.Tensor, State]:
        """Return the logits of the symbol after each one, (batch, time, vocab_size), and the last state.

        The arguments and the errors are those of `LanguageModel.forward`.
        """
        if self.training:
            if self.trust < 1:
                tokens = self.mixed(tokens, state)
            self.calls += 1
        return super().forward(tokens, state)


KINDS[ScheduledSampling.__name__] = ScheduledSampling  # so that a configuration can name it, and a file hold it
