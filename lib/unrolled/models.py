"""Language models: from symbol numbers to logits over the next symbol."""

from __future__ import annotations

import torch
from torch import nn

from unrolled import cells


class OurRNN(nn.Module):
    """The book's cell, unrolled; the same interface as every core: ``(inputs, state) -> (states, state)``."""

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__()
        self.cell = cells.RNNCell(input_size, hidden_size)

    def forward(self, inputs: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Map (batch, time, input_size) and (batch, hidden_size) to (batch, time, hidden_size) and the last state."""
        return cells.unroll(self.cell, inputs, state)


class TorchRNN(nn.Module):
    """``torch.nn.RNN`` behind the same interface, its layer axis hidden."""

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__()
        self.rnn = nn.RNN(input_size, hidden_size, batch_first=True)

    def forward(self, inputs: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Map (batch, time, input_size) and (batch, hidden_size) to (batch, time, hidden_size) and the last state."""
        cells.check_state(state, inputs, self.rnn.hidden_size)
        states, last = self.rnn(inputs, state.unsqueeze(0))  # (1, batch, hidden): PyTorch's layer axis comes first
        return states, last.squeeze(0)


CORES = {"rnn": OurRNN, "torch-rnn": TorchRNN}


class LanguageModel(nn.Module):
    """Predict the next symbol from all symbols so far: embedding → recurrent core → logits.

        x_t = E[w_t]                           (:eq:`eq-embedding`)
        h_t = core(x_t, h_{t−1})               (:eq:`eq-rnn`)
        logits_t = W_hy h_t + b_y              (:eq:`eq-output`)

    Args:
        vocab_size: V, the number of symbols.
        embedding_size: d, the length of a symbol's vector.
        hidden_size: h, the length of the state.
        core: ``"rnn"`` for the book's own cell, ``"torch-rnn"`` for PyTorch's.
        learn_initial_state: train h_0 with the weights instead of leaving it at zero.

    Raises:
        ValueError: an unknown core.
    """

    def __init__(
        self,
        vocab_size: int,
        *,
        embedding_size: int = 32,
        hidden_size: int = 128,
        core: str = "rnn",
        learn_initial_state: bool = False,
    ):
        super().__init__()
        if core not in CORES:
            raise ValueError(f"core is {core!r}; it can be one of {', '.join(CORES)}")
        self.vocab_size, self.hidden_size = vocab_size, hidden_size
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        self.core = CORES[core](embedding_size, hidden_size)
        self.output = nn.Linear(hidden_size, vocab_size)  # W_hy, b_y
        self.h_0 = nn.Parameter(torch.zeros(hidden_size), requires_grad=learn_initial_state)

    @property
    def device(self) -> torch.device:
        """The device that the weights are on."""
        return self.h_0.device

    def initial_state(self, batch: int) -> torch.Tensor:
        """Return the state before the first symbol, (batch, hidden_size)."""
        return self.h_0.expand(batch, -1)

    def hidden_states(
        self, tokens: torch.Tensor, state: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the state after every symbol, (batch, time, hidden_size), and the last one, (batch, hidden_size).

        Args:
            tokens: symbol numbers, (batch, time).
            state: the state before the first of them, (batch, hidden_size); the initial one where None.

        Raises:
            ValueError: tokens without two axes, or a state that does not fit.
        """
        if tokens.ndim != 2:
            raise ValueError(f"tokens have shape {tuple(tokens.shape)}; two axes are expected: (batch, time)")
        if state is None:
            state = self.initial_state(tokens.shape[0])
        return self.core(self.embedding(tokens), state)

    def forward(self, tokens: torch.Tensor, state: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the logits of the symbol after each, (batch, time, vocab_size), and the last state.

        Takes and raises what `hidden_states` does.
        """
        states, state = self.hidden_states(tokens, state)
        return self.output(states), state
