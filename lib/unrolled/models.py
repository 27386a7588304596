"""Language models: from symbol numbers to logits over the next symbol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from unrolled import cells
from unrolled.counts import NONE
from unrolled.dropout import Dropout, DropoutStack
from unrolled.stacks import Layer, Stack, TorchLayers


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


CORES = ("rnn", "lstm", "gru", "torch-rnn", "torch-lstm", "torch-gru")


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
        core: ``"rnn"``, ``"lstm"`` or ``"gru"`` for the book's own cells, ``"torch-rnn"`` and so on for PyTorch's.
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


class FixedWindowLM(NeuralModel):
    """Predict the next symbol from the last few through ordinary layers (:eq:`eq-window`; Bengio et al. 2003).

        x = [E[w_{t−m+1}], …, E[w_t]]                the vectors of the last m symbols, end to end
        h ← tanh(norm(W h + b)), once for each hidden layer, beginning with h = x
        logits_t = W_hy h + b_y

    The state is the last m − 1 symbols, so that a text can be read in pieces. A symbol before the beginning has the
    vector zero.

    Args:
        vocab_size: V, the number of symbols.
        window: m, how many symbols it sees.
        embedding_size: the length of a symbol's vector.
        hidden_size: the units of each hidden layer.
        hidden_layers: how many there are.
        initialisation: how the layers' weights begin: ``"xavier"`` (Glorot & Bengio 2010: the variance is
            2 / (inputs + outputs), the biases are zero), ``"default"`` (PyTorch's own: uniform, the variance is
            1 / (3 inputs)) or ``"normal"`` (variance 1, however many inputs there are).
        layer_norm: whether each hidden layer is normalised before its tanh, without weights of its own.

    Raises:
        ValueError: an unknown initialisation, or a size below 1.
    """

    def __init__(
        self,
        vocab_size: int,
        *,
        window: int = 8,
        embedding_size: int = 32,
        hidden_size: int = 256,
        hidden_layers: int = 4,
        initialisation: str = "xavier",
        layer_norm: bool = True,
    ):
        super().__init__()
        if initialisation not in ("xavier", "default", "normal"):
            raise ValueError(f"initialisation is {initialisation!r}; it can be 'xavier', 'default' or 'normal'")
        sizes = {
            "window": window,
            "embedding_size": embedding_size,
            "hidden_size": hidden_size,
            "hidden_layers": hidden_layers,
        }
        for name, size in sizes.items():
            if size < 1:
                raise ValueError(f"{name} is {size}; it must be 1 or more")
        self.vocab_size, self.window = vocab_size, window
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        layers, inputs = [], window * embedding_size
        for _ in range(hidden_layers):
            layers.append(nn.Linear(inputs, hidden_size))
            if layer_norm:
                layers.append(nn.LayerNorm(hidden_size, elementwise_affine=False))
            layers.append(nn.Tanh())
            inputs = hidden_size
        self.layers = nn.Sequential(*layers, nn.Linear(hidden_size, vocab_size))
        for layer in self.layers:
            if isinstance(layer, nn.Linear) and initialisation == "xavier":
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)
            elif isinstance(layer, nn.Linear) and initialisation == "normal":
                nn.init.normal_(layer.weight)
                nn.init.zeros_(layer.bias)

    def forward(self, tokens: torch.Tensor, state: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the logits of the symbol after each, (batch, time, vocab_size), and the last state.

        Args:
            tokens: symbol numbers, (batch, time).
            state: the symbols before them, (batch, window − 1), `NONE` where there were none; None: none at all.

        Raises:
            ValueError: tokens without two axes or without a step, or a state that does not fit.
        """
        check_tokens(tokens)
        batch, past = tokens.shape[0], self.window - 1
        if state is None:
            state = tokens.new_full((batch, past), NONE)
        if state.shape != (batch, past):
            raise ValueError(f"state has shape {tuple(state.shape)}; {(batch, past)} is expected: (batch, window − 1)")
        read = torch.cat([state.to(self.device), tokens.to(self.device)], dim=1)  # (batch, past + time)
        vectors = self.embedding(read.clamp(min=0)) * (read != NONE)[..., None]
        windows = vectors.unfold(1, self.window, 1).mT  # (batch, time, window, embedding_size)
        return self.layers(windows.flatten(2)), read[:, tokens.shape[1] :]
