"""Give each word of a sentence a tag: from what stands around it, or from all that an encoder has read."""

from typing import Any

import torch
from torch import nn

from unrolled.models.attention import check_lengths
from unrolled.models.base import Network, evaluating
from unrolled.models.encoder import Encoder
from unrolled.models.layers import Dropout
from unrolled.text import Batch, masked_loss, symbol_numbers


class TaggingNetwork(Network):
    """The base of the taggers: each maps ``(tokens, lengths)`` to the logits of the tags.

    Example:
        >>> from unrolled.text import pad_tagged
        >>> tagger, batch = Tagger(7, 3, hidden_size=4), pad_tagged([(torch.tensor([5, 6]), torch.tensor([2, 1]))])
        >>> tagger.loss(batch).shape, [row.shape for row in tagger.tags(batch)]
        (torch.Size([]), [torch.Size([2])])
    """

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return the mean of −ln p(tag) over the words of a batch, nats per word.

        Raises:
            ValueError: what ``forward`` and `masked_loss` raise.
        """
        return masked_loss(self(batch.inputs, batch.lengths), batch.targets, batch.mask)

    @torch.no_grad()
    def tags(self, batch: Batch) -> list[torch.Tensor]:
        """Return the most probable tag of each word of a batch, one row of numbers for each sentence, on the CPU.

        The model is put into evaluation mode for the call.
        """
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
        vocab_size: V, the number of words.
        num_tags: the number of tags.
        embedding_size: d, the length of a word's vector.
        hidden_size: h, the length of a state in one direction.
        dropout: the share of the numbers that are set to zero in training: on the embedding, between layers and before
            the output.
        **options: the other arguments of `Encoder`.

    Raises:
        ValueError: what `Encoder` raises.

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

        Args:
            tokens: the numbers of the words, (batch, time).
            lengths: the number of words in each row without its pads, (batch,).

        Raises:
            ValueError: the tokens are no symbol numbers in two axes, the lengths do not fit them, or one is 0.
        """
        tokens, lengths = self._checked(tokens, lengths)
        vectors = self.dropout(self.embed(tokens))  # (batch, time, d)
        return self.output(self.dropout(self.encoder(vectors, lengths)))
