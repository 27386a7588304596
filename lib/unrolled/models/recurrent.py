"""The recurrent language model: embedding, recurrent core, logits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from unrolled import cells
from unrolled.models.base import NeuralModel, check_tokens
from unrolled.models.layers import Dropout, DropoutStack, Layer, Stack, TorchLayers

CORES = (*cells.CELLS, "torch-rnn", "torch-lstm", "torch-gru")


def make_core(
    core: str, input_size: int, hidden_size: int, num_layers: int, cell_options: Mapping[str, Any], dropout: Dropout
) -> Layer | Stack | TorchLayers | DropoutStack:
    """Return a recurrent core, with dropout between its layers; the other arguments are those of `LanguageModel`."""
    kind = cells.CELLS[core.removeprefix("torch-")]
    sizes = [input_size] + [hidden_size] * (num_layers - 1)  # of what each layer reads
    between = dropout.rate if num_layers > 1 else 0.0

    def theirs(size: int, **options) -> TorchLayers:
        return TorchLayers(kind.torch_layer(size, hidden_size, batch_first=True, **options, **cell_options))

    if core.startswith("torch-"):
        if between and dropout.variational:  # PyTorch has only the other kind
            return DropoutStack(map(theirs, sizes), dropout)
        return theirs(input_size, num_layers=num_layers, dropout=between)
    ours = [kind(size, hidden_size, **cell_options) for size in sizes]
    if between:
        return DropoutStack(map(Layer, ours), dropout)
    return Layer(ours[0]) if num_layers == 1 else Stack(ours)


class LanguageModel(NeuralModel):
    """Predict the next symbol from all symbols so far: embedding → recurrent core → logits.

        x_t = dropout(E[w_t])                  (:eq:`eq-embedding`)
        h_t = core(x_t, h_{t−1})               (:eq:`eq-rnn`, or a gated cell's equations)
        logits_t = W_hy dropout(h_t) + b_y     (:eq:`eq-output`)

    Dropout is where Zaremba et al. 2014 put it: on the embedding, between the layers and before the output, and on no
    recurrent connection. The variational kind has the same places. Gal & Ghahramani 2016 also drop whole symbols, and
    h_{t−1} on its way into the gates. Neither is done here: PyTorch's layers offer no such place, and a GRU that is
    given a dropped h_{t−1} loses what it should only carry on.

    Args:
        vocab_size: V, the number of symbols.
        embedding_size: d, the length of a symbol's vector.
        hidden_size: h, the length of the state.
        core: ``"rnn"``, ``"lstm"``, ``"lstm-1997"`` or ``"gru"`` for the book's own cells; ``"torch-rnn"``,
            ``"torch-lstm"`` or ``"torch-gru"`` for PyTorch's.
        num_layers: how many layers of them.
        cell_options: keywords for every cell, as ``{"forget_bias": 2.0}``.
        learn_initial_state: train h_0, and the c_0 of an LSTM, with the weights instead of leaving them at zero.
        dropout: the share of the numbers that `Dropout` sets to zero while training, in each of its places.
        variational: keep the same numbers at zero in all steps of a row; each call draws anew, so for each window.
        tied: W_hy is E (Press & Wolf 2017), which is one matrix of V × d weights less. It begins as an output matrix
            does, so that the first predictions are nearly uniform.

    Attributes:
        h_0: the hidden state before the first symbol, (hidden_size,), or (num_layers, hidden_size) with several layers.
        c_0: the cell state before it, the same shape, where the core is an LSTM.

    Raises:
        ValueError: an unknown core, less than one layer, a dropout below 0 or from 1 on, or sizes that cannot be tied.
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
        variational: bool = False,
        tied: bool = False,
    ):
        super().__init__()
        if core not in CORES:
            raise ValueError(f"core is {core!r}; it can be one of {', '.join(CORES)}")
        if num_layers < 1:
            raise ValueError(f"num_layers is {num_layers}; it must be 1 or more")
        if tied and embedding_size != hidden_size:
            raise ValueError(
                f"embedding_size is {embedding_size} and hidden_size is {hidden_size}; where the output is tied to the "
                "embedding they must be equal: change one of them, or leave out tied"
            )
        self.vocab_size, self.hidden_size = vocab_size, hidden_size
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        self.dropout = Dropout(dropout, variational=variational)
        self.core = make_core(core, embedding_size, hidden_size, num_layers, cell_options or {}, self.dropout)
        self.output = nn.Linear(hidden_size, vocab_size)  # W_hy, b_y
        if tied:
            self.embedding.weight = self.output.weight
        shape = (hidden_size,) if num_layers == 1 else (num_layers, hidden_size)
        self.state_names = cells.CELLS[core.removeprefix("torch-")].state_names
        for name in self.state_names:
            self.register_parameter(f"{name}_0", nn.Parameter(torch.zeros(shape), requires_grad=learn_initial_state))

    def initial_state(self, batch: int) -> cells.State:
        """Return the state before the first symbol, as the core takes it: each tensor is (batch, hidden_size)."""
        vectors = [getattr(self, f"{name}_0").view(-1, self.hidden_size) for name in self.state_names]
        layers = []
        for parts in zip(*vectors, strict=True):  # of one layer: h_0, or h_0 and c_0
            rows = tuple(part.expand(batch, -1) for part in parts)
            layers.append(rows if len(rows) > 1 else rows[0])
        return tuple(layers) if len(layers) > 1 else layers[0]

    def hidden_states(self, tokens: torch.Tensor, state: cells.State | None = None) -> tuple[torch.Tensor, cells.State]:
        """Return the hidden state after every symbol, (batch, time, hidden_size), the top layer's, and the last state.

        Args:
            tokens: symbol numbers, (batch, time).
            state: the state before the first of them, in the form of `initial_state`, which it is where None.

        Raises:
            ValueError: tokens without two axes or without a step, or a state that does not fit.
        """
        check_tokens(tokens)
        if state is None:
            state = self.initial_state(tokens.shape[0])
        return self.core(self.dropout(self.embedding(tokens.to(self.device))), state)

    def forward(self, tokens: torch.Tensor, state: cells.State | None = None) -> tuple[torch.Tensor, cells.State]:
        """Return the logits of the symbol after each, (batch, time, vocab_size), and the last state.

        Takes and raises what `hidden_states` does.
        """
        states, state = self.hidden_states(tokens, state)
        return self.output(self.dropout(states)), state
