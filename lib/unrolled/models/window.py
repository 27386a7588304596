"""The language model with a fixed window, made of ordinary layers."""

import torch
from torch import nn

from unrolled.models.base import NeuralModel
from unrolled.text import NONE, symbol_numbers

INITIALISATIONS = {"xavier": nn.init.xavier_uniform_, "default": None, "normal": nn.init.normal_}


class FixedWindowLM(NeuralModel):
    """Predict the next symbol from the last few through ordinary layers (:eq:`eq-window`; Bengio et al. 2003).

        x = [E[w_{t−m+1}], …, E[w_t]]                the vectors of the last m symbols, end to end
        h ← tanh(LayerNorm(W h + b))                 once for each hidden layer, beginning with h = x
        logits_t = W_hy h + b_y

    The state is the last m − 1 symbols, so that a text can be read in pieces. A symbol before the beginning has the
    zero vector.

    Args:
        vocab_size: V, the number of symbols.
        window: m, how many symbols a prediction sees.
        embedding_size: d, the length of a symbol's vector.
        hidden_size, hidden_layers: h, the number of units of each hidden layer, and how many layers there are.
        initialisation: how the layers' weights are drawn: ``"xavier"`` (Glorot & Bengio 2010: uniform with variance
            2 / (inputs + outputs), biases zero), ``"default"`` (PyTorch's own: uniform with variance 1 / (3 inputs))
            or ``"normal"`` (variance 1, however many inputs there are, biases zero).
        layer_norm: whether each hidden layer is normalised before its tanh; the norm has no weights of its own.

    Example:
        >>> model = FixedWindowLM(65, window=3, hidden_size=16)
        >>> logits, state = model(torch.randint(65, (4, 10)))  # (batch, time)
        >>> logits.shape, state.shape
        (torch.Size([4, 10, 65]), torch.Size([4, 2]))
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
        if window < 1:
            raise ValueError(f"window is {window}; a prediction must see at least one symbol")
        self.vocab_size, self.window = vocab_size, window
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        layers, inputs = [], window * embedding_size
        for _ in range(hidden_layers):
            layers.append(nn.Linear(inputs, hidden_size))
            if layer_norm:
                layers.append(nn.LayerNorm(hidden_size, elementwise_affine=False))
            layers.append(nn.Tanh())
            inputs = hidden_size
        self.layers = nn.Sequential(*layers, nn.Linear(inputs, vocab_size))
        draw = INITIALISATIONS[initialisation]
        for layer in self.layers:
            if isinstance(layer, nn.Linear) and draw is not None:
                draw(layer.weight)
                nn.init.zeros_(layer.bias)

    def forward(self, tokens: torch.Tensor, state: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the logits of the symbol after each one, (batch, time, vocab_size), and the last state.

        Args:
            tokens: symbol numbers, (batch, time).
            state: the symbols before them, (batch, window − 1), `text.NONE` where there is none, or everywhere if None.
        """
        tokens = symbol_numbers(tokens).to(self.device)
        shape = len(tokens), self.window - 1
        state = tokens.new_full(shape, NONE) if state is None else state
        state = symbol_numbers(state, name="the symbols of the state", empty=True).to(self.device)
        if state.shape != shape:
            raise ValueError(f"state has shape {tuple(state.shape)}; {shape} is expected: (batch, window − 1)")
        read = torch.cat([state, tokens], dim=1)  # (batch, past + time)
        symbols = torch.cat([state + (state == NONE), tokens], dim=1)  # with symbol 0 for none, in the state only
        vectors = self.embed(symbols) * (read != NONE)[..., None]  # (batch, past + time, embedding)
        windows = vectors.unfold(1, self.window, 1).mT  # (batch, time, window, embedding)
        x = windows.flatten(2)  # (batch, time, window · embedding)
        return self.layers(x), read[:, tokens.shape[1] :]
