"""Read whole sequences of known lengths, from the left, from the right, or from both sides; give each word a tag."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from unrolled.models.attention import check_lengths
from unrolled.models.base import Network, evaluating
from unrolled.models.layers import Dropout, input_sizes, make_layer, unroll_layer
from unrolled.text import Batch, backwards, last_states, masked_loss, symbol_numbers

# The sides that an encoder reads from
DIRECTIONS = {"forward": ("from_left",), "backward": ("from_right",), "both": ("from_left", "from_right")}


class Encoder(nn.Module):
    """Several recurrent layers, each of which reads all outputs of the one below (:eq:`eq-bidirectional`).

        h→_t = cell→(x_t, h→_{t−1})             from the left
        h←_t = cell←(x_t, h←_{t+1})             from the right
        x_t of the next layer = [h→_t, h←_t]

    A row is read without its pads in both directions: to read from the right, its symbols are put in reverse order and
    its pads stay at the end.

    Args:
        input_size, hidden_size: d, the length of an input vector, and h, that of a state in one direction.
        core, num_layers, cell_options: the layers, as in `LanguageModel`.
        direction: ``"forward"``, ``"backward"`` or ``"both"``; then what comes out, `output_size`, is 2 h long.
        dropout: the share of the numbers set to zero between two layers in training.

    Example:
        >>> encoder = Encoder(3, 4, core="gru", num_layers=2, direction="both")
        >>> states = encoder(torch.randn(2, 5, 3), torch.tensor([5, 2]))
        >>> states.shape, encoder.summary(states, torch.tensor([5, 2])).shape
        (torch.Size([2, 5, 8]), torch.Size([2, 8]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        core: str = "lstm",
        num_layers: int = 1,
        direction: str = "both",
        dropout: float = 0.0,
        cell_options: Mapping[str, Any] | None = None,
    ):
        super().__init__()
        if direction not in DIRECTIONS:
            raise ValueError(f"direction is {direction!r}; it can be one of {', '.join(DIRECTIONS)}")
        self.hidden_size, self.dropout = hidden_size, Dropout(dropout)
        self.sides = DIRECTIONS[direction]
        self.output_size = hidden_size * len(self.sides)
        self.layers = nn.ModuleList(
            nn.ModuleDict({side: make_layer(core, size, hidden_size, cell_options) for side in self.sides})
            for size in input_sizes(input_size, self.output_size, num_layers)
        )

    def forward(self, inputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return the outputs of the top layer, (batch, time, output_size); at pads they mean nothing.

        The arguments are vectors, (batch, time, input_size), and how many each row has without its pads, (batch,).
        """
        check_lengths(lengths, *inputs.shape[:2])
        for number, layer in enumerate(self.layers):
            read, outputs = self.dropout(inputs) if number else inputs, []
            for side in self.sides:
                if side == "from_left":
                    outputs.append(unroll_layer(layer[side], read)[0])
                else:
                    outputs.append(backwards(unroll_layer(layer[side], backwards(read, lengths))[0], lengths))
            inputs = torch.cat(outputs, dim=2)
        return inputs

    def summary(self, states: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return what `forward` returned at the end of each reading, both end to end, (batch, output_size)."""
        parts = zip(self.sides, states.split(self.hidden_size, dim=2), strict=True)
        ends = [last_states(part, lengths) if side == "from_left" else part[:, 0] for side, part in parts]
        return torch.cat(ends, dim=1)


class TaggingNetwork(Network):
    """The base of the taggers: each maps ``(tokens, lengths)`` to the logits of the tags.

    Example:
        >>> from unrolled.text import pad_tagged
        >>> tagger, batch = Tagger(7, 3, hidden_size=4), pad_tagged([(torch.tensor([5, 6]), torch.tensor([2, 1]))])
        >>> tagger.loss(batch).shape, [row.shape for row in tagger.tags(batch)]
        (torch.Size([]), [torch.Size([2])])
    """

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return the mean of −ln p(tag) over the words of a batch, nats per word."""
        return masked_loss(self(batch.inputs, batch.lengths), batch.targets, batch.mask)

    @torch.no_grad()
    def tags(self, batch: Batch) -> list[torch.Tensor]:
        """Return the most probable tag of each word, in evaluation mode: a row of numbers a sentence, on the CPU."""
        with evaluating(self):
            chosen = self(batch.inputs, batch.lengths).argmax(dim=-1).cpu()  # (batch, time)
        return [row[:length] for row, length in zip(chosen, batch.lengths.tolist(), strict=True)]

    def _checked(self, tokens: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return tokens and lengths on the model's device, having checked both."""
        tokens = symbol_numbers(tokens)
        check_lengths(lengths, *tokens.shape)
        return tokens.to(self.device), lengths.to(self.device)


class Tagger(TaggingNetwork):
    """Tag each word by the states of an encoder: embedding → encoder → logits.

        x_t = dropout(E[w_t])
        h_t = encoder(x_1, …, x_T)_t            from the left, from the right, or both
        logits_t = W_hy dropout(h_t) + b_y

    Args:
        vocab_size, num_tags: the numbers of words and of tags.
        embedding_size, hidden_size: d, the length of a word's vector, and h, that of a state in one direction.
        dropout: the share of the numbers set to zero in training: on the embedding, between layers, before the output.
        **options: the other arguments of `Encoder`.

    Example:
        >>> tagger = Tagger(50, 5, hidden_size=8, direction="both")
        >>> tagger(torch.randint(50, (2, 6)), torch.tensor([6, 4])).shape
        torch.Size([2, 6, 5])
    """

    def __init__(
        self,
        vocab_size: int,
        num_tags: int,
        *,
        embedding_size: int = 32,
        hidden_size: int = 64,
        dropout: float = 0.0,
        **options: Any,
    ):
        super().__init__()
        self.vocab_size = vocab_size
        self.embedding, self.dropout = nn.Embedding(vocab_size, embedding_size), Dropout(dropout)
        self.encoder = Encoder(embedding_size, hidden_size, dropout=dropout, **options)
        self.output = nn.Linear(self.encoder.output_size, num_tags)  # W_hy, b_y

    def forward(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return the logits of the tag of each word, (batch, time, num_tags); at a pad they mean nothing.

        The arguments are the numbers of the words, (batch, time), and how many each row has without its pads, (batch,).
        """
        tokens, lengths = self._checked(tokens, lengths)
        vectors = self.dropout(self.embed(tokens))  # (batch, time, d)
        return self.output(self.dropout(self.encoder(vectors, lengths)))
