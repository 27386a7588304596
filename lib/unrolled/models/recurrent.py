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
        core: one of the book's own cells, `cells.CELLS`; ``"torch-rnn"``, ``"torch-lstm"`` or ``"torch-gru"`` for
            PyTorch's.
        num_layers: the number of recurrent layers.
        cell_options: keywords for every cell, such as ``{"forget_bias": 2.0}``.
        learn_initial_state: train h_0, and the c_0 of an LSTM, with the weights instead of leaving them at zero.
        dropout: the share of the numbers that `Dropout` sets to zero in training, in each of its places.
        weight_drop: the share of the numbers of every W_hh that is zero while the network is trained on a window: drawn
            anew for each window, and the same at all of its steps.
        tied: use one matrix as both E and W_hy (Press & Wolf 2017), which saves V · d weights. It is initialised as
            the output matrix, so that the first predictions are nearly uniform, and its elements are small.
        embedding_scale: s. With √d a tied embedding is about as large as one of its own (Vaswani et al. 2017).

    Attributes:
        h_0: the hidden state before the first symbol, (hidden_size,), or (num_layers, hidden_size) with several layers.
        c_0: the cell state before the first symbol, of the same shape; only where the core is an LSTM.

    Raises:
        ValueError: the core is unknown, there is no layer, a share is negative, or 1 or more, the core has no recurrent
            weights to drop, the sizes cannot be tied, or the scale is not above 0.

    Example:
        >>> model = LanguageModel(65, hidden_size=16, core="lstm", num_layers=2)
        >>> tokens = torch.randint(65, (4, 10))  # (batch, time)
        >>> logits, state = model(tokens)
        >>> logits.shape, len(state)
        (torch.Size([4, 10, 65]), 2)
        >>> first, state = model(tokens[:, :6])  # reading in pieces, with the state carried, is the same
        >>> second, _ = model(tokens[:, 6:], state)
        >>> torch.allclose(torch.cat([first, second], dim=1), logits, atol=1e-5)
        True
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
            raise ValueError(
                f"embedding_size is {embedding_size} and hidden_size is {hidden_size}; where the output is tied to the "
                "embedding they must be equal: change one of them, or leave out tied"
            )
        if not 0 < embedding_scale < float("inf"):
            raise ValueError(f"embedding_scale is {embedding_scale}; it must be above 0, and finite")
        self.vocab_size, self.hidden_size, self.embedding_scale = vocab_size, hidden_size, embedding_scale
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        if not 0 <= weight_drop < 1:
            raise ValueError(f"weight_drop is {weight_drop}; it must be 0 or more and below 1")
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
        """Return the state before the first symbol, in the form that the core takes.

        Args:
            batch: the number of rows.

        Returns:
            A tensor (batch, hidden_size), an LSTM's pair (h, c) of them, or a tuple with one such state for each layer.
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

        Args:
            tokens: symbol numbers, (batch, time).
            state: the state before the first symbol, in the form of `initial_state`; None is that initial state.

        Raises:
            ValueError: the tokens are not numbers of symbols in two axes with at least one step, or the state does not
                fit.
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
        return {
            name: weights for name, weights in self.core.named_parameters() if "W_hh" in name or "weight_hh" in name
        }

    def forward(self, tokens: torch.Tensor, state: State | None = None) -> tuple[torch.Tensor, State]:
        """Return the logits of the symbol after each one, (batch, time, vocab_size), and the last state.

        The arguments and the errors are those of `hidden_states`.
        """
        states, state = self.hidden_states(tokens, state)
        return self.output(self.dropout(states)), state


class ResidualLM(LanguageModel):
    """A `LanguageModel` of several layers with residual connections between them, as `Stack` has them.

    Args:
        vocab_size: V, the number of symbols.
        num_layers: the number of layers, 2 or more.
        **options: the other arguments of `LanguageModel`; the core is one of the book's own.

    Raises:
        ValueError: there is one layer, the core is PyTorch's, or what `LanguageModel` raises.

    Example:
        >>> logits, state = ResidualLM(7, hidden_size=8, num_layers=3)(torch.randint(7, (2, 5)))
        >>> logits.shape, len(state)
        (torch.Size([2, 5, 7]), 3)
    """

    def __init__(self, vocab_size: int, *, num_layers: int = 2, **options):
        if num_layers < 2:
            raise ValueError(f"num_layers is {num_layers}; a residual connection needs 2 or more")
        if str(options.get("core", "rnn")).startswith("torch-"):
            raise ValueError(f"core is {options['core']!r}; residual connections are between the book's own cells")
        super().__init__(vocab_size, num_layers=num_layers, **options)
        self.core.residual = True
