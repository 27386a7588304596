"""The recurrent language model: embedding, recurrent core, output layer."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.func import functional_call

from unrolled.cells import State
from unrolled.models.base import NeuralModel
from unrolled.models.layers import Dropout, joined_states, make_stack, state_sizes
from unrolled.text import symbol_numbers


class LanguageModel(NeuralModel):
    """Predict the next symbol from all symbols so far: embedding → recurrent core → logits.

        x_t = dropout(s E[w_t])                (:eq:`eq-embedding`; s = 1 unless said otherwise)
        h_t = core(x_t, h_{t−1})               (:eq:`eq-rnn`, or a gated cell's equations)
        logits_t = W_hy dropout(h_t) + b_y     (:eq:`eq-output`)

    Dropout acts where Zaremba et al. 2014 apply it: on the embedding, between the layers and before the output, never
    on a recurrent connection. What a state hands on to the next step is spared even by `weight_drop`, which sets to
    zero some of the weights that read it (Merity et al. 2018).

    Args:
        vocab_size: V, the number of symbols.
        embedding_size: d, the length of a symbol's vector.
        hidden_size: h, the length of the state.
        core: a cell, one of `cells.CELLS`, or PyTorch's network: ``"torch-rnn"``, ``"torch-lstm"``, ``"torch-gru"``.
        num_layers: the number of recurrent layers.
        cell_options: keywords for every cell, such as ``{"forget_bias": 2.0}``.
        learn_initial_state: train h_0, and the c_0 of an LSTM, with the weights instead of leaving them at zero.
        dropout: the share of the numbers that `Dropout` sets to zero in training, in each of its places.
        weight_drop: the share of every W_hh that is zero in training, drawn for each window, the same at all its steps.
        tied: use one matrix as both E and W_hy (Press & Wolf 2017), which saves V · d weights. It begins as the output
            matrix does, with small elements, so that the first predictions are nearly uniform.
        embedding_scale: s. With √d a tied embedding is about as large as one of its own (Vaswani et al. 2017).

    Attributes:
        h_0: the hidden state before the first symbol, (hidden_size,), or (num_layers, hidden_size) with several layers.
        c_0: the cell state before the first symbol, of the same shape; only where the core is an LSTM.

    Example:
        >>> model = LanguageModel(65, hidden_size=16, core="lstm", num_layers=2)
        >>> tokens = torch.randint(65, (4, 10))  # (batch, time)
        >>> logits, state = model(tokens)
        >>> logits.shape, len(state)
        (torch.Size([4, 10, 65]), 2)
    """

    def __init__(
        self,
        vocab_size: int,
        *,
        embedding_size: int = 32,
        hidden_size: int = 128,
        core: str = "rnn",
        num_layers: int = 1,
        cell_options: Mapping[str, Any] | None = None,
        learn_initial_state: bool = False,
        dropout: float = 0.0,
        weight_drop: float = 0.0,
        tied: bool = False,
        embedding_scale: float = 1.0,
    ):
        super().__init__()
        if tied and embedding_size != hidden_size:
            raise ValueError(f"embedding_size {embedding_size} and hidden_size {hidden_size} must be equal to be tied")
        self.vocab_size, self.hidden_size, self.embedding_scale = vocab_size, hidden_size, embedding_scale
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        self.dropout, self.weight_dropout = Dropout(dropout), Dropout(weight_drop)
        self.core = make_stack(core, embedding_size, hidden_size, num_layers, cell_options, self.dropout)
        if weight_drop and not self._recurrent_weights():
            raise ValueError(f"weight_drop is {weight_drop}, but a {core} has no recurrent weights; leave it out")
        self.output = nn.Linear(hidden_size, vocab_size)  # W_hy, b_y
        if tied:
            self.embedding.weight = self.output.weight
        self.state_sizes = state_sizes(self.core.layers[0])
        for name, size in self.state_sizes.items():  # of every layer
            zeros = torch.zeros((size,) if num_layers == 1 else (num_layers, size))
            self.register_parameter(f"{name}_0", nn.Parameter(zeros, requires_grad=learn_initial_state))

    def initial_state(self, batch: int) -> State:
        """Return the state before the first symbol of so many rows, in the form that the core takes.

        It is a tensor (batch, hidden_size), an LSTM's pair (h, c) of them, or a tuple with one such for each layer.
        """
        vectors = [getattr(self, f"{name}_0").view(-1, size) for name, size in self.state_sizes.items()]  # (layers, h)
        layers = zip(*vectors, strict=True)  # a layer's h_0, or its h_0 and c_0
        return joined_states(tuple(part.expand(batch, -1) for part in parts) for parts in layers)

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return s E[w], the vectors that the core reads, (batch, time, embedding_size); else like `NeuralModel`."""
        vectors = super().embed(tokens)
        return vectors if self.embedding_scale == 1 else self.embedding_scale * vectors

    def hidden_states(self, tokens: torch.Tensor, state: State | None = None) -> tuple[torch.Tensor, State]:
        """Return the top layer's hidden state after every symbol, (batch, time, hidden_size), and the last state.

        The arguments are symbol numbers, (batch, time), and the state before them; None is the initial one.
        """
        tokens = symbol_numbers(tokens).to(self.device)
        if state is None:
            state = self.initial_state(tokens.shape[0])
        inputs = self.dropout(self.embed(tokens))
        if not (self.training and self.weight_dropout.rate):
            return self.core(inputs, state)
        dropped = {name: self.weight_dropout(weights) for name, weights in self._recurrent_weights().items()}
        return functional_call(self.core, dropped, (inputs, state))

    def _recurrent_weights(self) -> dict[str, nn.Parameter]:
        """Return every W_hh of the core, by its name there: PyTorch's networks have one of their own for it."""
        return {name: each for name, each in self.core.named_parameters() if "W_hh" in name or "weight_hh" in name}

    def forward(self, tokens: torch.Tensor, state: State | None = None) -> tuple[torch.Tensor, State]:
        """Return the logits of the symbol after each one, (batch, time, vocab_size), and the last state."""
        states, state = self.hidden_states(tokens, state)
        return self.output(self.dropout(states)), state


class ResidualLM(LanguageModel):
    """A `LanguageModel` of several layers with residual connections between them, as `Stack` has them.

    Args:
        vocab_size, num_layers, **options: those of `LanguageModel`; 2 layers or more, of the book's own cells.

    Example:
        >>> logits, state = ResidualLM(7, hidden_size=8, num_layers=3)(torch.randint(7, (2, 5)))
        >>> logits.shape, len(state)
        (torch.Size([2, 5, 7]), 3)
    """

    def __init__(self, vocab_size: int, *, num_layers: int = 2, **options):
        core = options.get("core", "rnn")
        if num_layers < 2 or core.startswith("torch-"):
            raise ValueError(
                f"core is {core!r} and num_layers {num_layers}; it takes 2 or more of the book's own cells"
            )
        super().__init__(vocab_size, num_layers=num_layers, **options)
        self.core.residual = True
