"""From one sequence to another: an encoder reads the source, a decoder writes the target, with or without attention."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from unrolled.cells import State
from unrolled.models.attention import SCORES, attend, padding_mask
from unrolled.models.base import NeuralModel, look_up
from unrolled.models.encoder import Encoder
from unrolled.models.layers import Dropout, joined_states, make_stack, state_sizes
from unrolled.text import PairBatch, masked_loss, symbol_numbers


class EncoderDecoder(NeuralModel):
    """Predict a target symbol by symbol, given a source (:eq:`eq-encoder-decoder`).

        p(y | x) = ∏ p(y_t | y_1, …, y_{t−1}, x)
        m_1, …, m_n = encoder(x)
        s_0 = tanh(W_b [the encoder's last states] + b_b)           the bridge, for each layer and part of a state
        s_t = core(E[y_{t−1}], s_{t−1})
        logits_t = W_sy dropout(s_t) + b_y                          without attention: all that is known of x is s_0

    With attention, each step looks at all of the source before it answers:

        m̄_t = Σ_j α_tj m_j          α_t: the softmax of the scores of s_t and m_1, …, m_n
        logits_t = W_sy dropout(tanh(W_a [m̄_t, s_t] + b_a)) + b_y

    Bahdanau et al. 2015 look before a step, with s_{t−1}, and the step reads m̄_t. Here the step comes first, as in
    Luong et al. 2015, without their input feeding: so all steps of a known target are read at once.

    The state is (s, m, mask) with attention, s alone without. `encode` returns the first one, and a model is asked for
    logits only with a state: ``model(tokens, model.encode(sources, lengths))``.

    Args:
        source_size, vocab_size: the numbers of symbols of the sources and of the targets.
        embedding_size: the length of a symbol's vector, on both sides.
        hidden_size: h, the length of the decoder's state, and of the encoder's in one direction.
        core, num_layers, cell_options: the layers of both sides, as in `LanguageModel`.
        direction: how the encoder reads; ``"backward"`` is the reversed source of Sutskever et al. 2014.
        attention: ``"additive"``, ``"dot"``, ``"scaled"``, or None.
        dropout: the share of the numbers set to zero in training: on embeddings, between layers, before the output.

    Example:
        >>> model = EncoderDecoder(7, 9, hidden_size=8, attention="additive")
        >>> state = model.encode(torch.randint(7, (2, 5)), torch.tensor([5, 3]))
        >>> logits, state = model(torch.randint(9, (2, 4)), state)
        >>> logits.shape, state[1].shape
        (torch.Size([2, 4, 9]), torch.Size([2, 5, 8]))
    """

    def __init__(
        self,
        source_size: int,
        vocab_size: int,
        *,
        embedding_size: int = 32,
        hidden_size: int = 128,
        core: str = "lstm",
        num_layers: int = 1,
        direction: str = "forward",
        attention: str | None = None,
        dropout: float = 0.0,
        cell_options: Mapping[str, Any] | None = None,
    ):
        super().__init__()
        if attention not in (None, *SCORES):
            raise ValueError(f"attention is {attention!r}; it can be one of {', '.join(SCORES)}, or None for none")
        self.vocab_size, self.hidden_size, self.num_layers = vocab_size, hidden_size, num_layers
        self.source_embedding = nn.Embedding(source_size, embedding_size)
        self.embedding = nn.Embedding(vocab_size, embedding_size)  # E
        self.dropout = Dropout(dropout)
        both = {"core": core, "num_layers": num_layers, "dropout": dropout, "cell_options": cell_options}
        self.encoder = Encoder(embedding_size, hidden_size, direction=direction, **both)
        self.core = make_stack(core, embedding_size, hidden_size, num_layers, cell_options, self.dropout)
        self.state_sizes = state_sizes(self.core.layers[0])
        known = self.encoder.output_size
        self.bridge = nn.Linear(known, num_layers * sum(self.state_sizes.values()))  # W_b, b_b
        self.score = None if attention is None else SCORES[attention](hidden_size, known, hidden_size)
        self.combine = None if attention is None else nn.Linear(known + hidden_size, hidden_size)  # W_a, b_a
        self.output = nn.Linear(hidden_size, vocab_size)  # W_sy, b_y

    def encode(self, sources: torch.Tensor, lengths: torch.Tensor) -> State:
        """Return the state before the first symbol of the target.

        The arguments are symbol numbers, (batch, n), and how many each source has without its pads, (batch,).
        """
        sources, lengths = symbol_numbers(sources, name="sources").to(self.device), lengths.to(self.device)
        vectors = look_up(self.source_embedding, sources, "sources")
        memory = self.encoder(self.dropout(vectors), lengths)  # (batch, n, known)
        s_0 = torch.tanh(self.bridge(self.encoder.summary(memory, lengths)))  # (batch, all parts of all layers)
        layers = s_0.chunk(self.num_layers, dim=1)
        state = joined_states(layer.split([*self.state_sizes.values()], dim=1) for layer in layers)
        if self.score is None:
            return state
        return state, memory, padding_mask(lengths, sources.shape[1])

    def look(self, tokens: torch.Tensor, state: State | None) -> tuple[torch.Tensor, State, torch.Tensor | None]:
        """Return what the output layer reads, (batch, time, hidden_size), the last state, and the weights α.

        The weights are (batch, time, n), None without attention. The arguments are those of `forward`.
        """
        tokens = symbol_numbers(tokens).to(self.device)
        if state is None:
            raise ValueError("the state is None; an encoder–decoder begins with what encode(sources, lengths) returns")
        before, *rest = (state,) if self.score is None else state
        states, after = self.core(self.dropout(self.embed(tokens)), before)
        if self.score is None:
            return states, after, None
        memory, allowed = rest
        context, alpha = attend(self.score(states, memory), memory, allowed)
        return torch.tanh(self.combine(torch.cat([context, states], dim=2))), (after, memory, allowed), alpha

    def forward(self, tokens: torch.Tensor, state: State | None = None) -> tuple[torch.Tensor, State]:
        """Return the logits of the symbol after each one, (batch, time, vocab_size), and the last state.

        Args:
            tokens: the target so far, the start symbol first, symbol numbers, (batch, time).
            state: what `encode` returned, or the state after the symbols before these.
        """
        states, state, _ = self.look(tokens, state)
        return self.output(self.dropout(states)), state

    def loss(self, batch: PairBatch) -> torch.Tensor:
        """Return the mean of −ln p(symbol) over the symbols of the targets of a batch, nats per symbol."""
        logits, _ = self(batch.inputs, self.encode(batch.sources, batch.lengths))
        return masked_loss(logits, batch.targets, batch.mask)
