"""A tagger that sees a window of words (chapter 10)."""

import torch
from torch import nn

from unrolled.models import KINDS, Dropout, TaggingNetwork


class WindowTagger(TaggingNetwork):
    """Tag each word by the words next to it, through one hidden layer (Collobert et al. 2011).

        x_t = [E[w_{t−k}], …, E[w_{t+k}]]           the vectors of the word and of k words on each side, end to end
        logits_t = W_hy dropout(tanh(W x_t + b)) + b_y

    A word before the beginning or after the end has the zero vector.

    Args:
        vocab_size: V, the number of words.
        num_tags: the number of tags.
        reach: k.
        embedding_size: d, the length of a word's vector.
        hidden_size: the number of hidden units.
        dropout: the share of the numbers that are set to zero in training, on the embedding and before the output.

    Raises:
        ValueError: the reach is negative, or the dropout is negative, or 1 or more.

    Example:
        >>> WindowTagger(50, 5, reach=2)(torch.randint(50, (2, 6)), torch.tensor([6, 4])).shape
        torch.Size([2, 6, 5])
    """

    def __init__(
        self,
        vocab_size: int,
        num_tags: int,
        *,
        reach: int = 2,
        embedding_size: int = 32,
        hidden_size: int = 128,
        dropout: float = 0.0,
    ):
        super().__init__()
        if reach < 0:
            raise ValueError(f"reach is {reach}; it must be 0 or more")
        self.vocab_size, self.reach = vocab_size, reach
        self.embedding, self.dropout = nn.Embedding(vocab_size, embedding_size), Dropout(dropout)
        self.hidden = nn.Linear((2 * reach + 1) * embedding_size, hidden_size)  # W, b
        self.output = nn.Linear(hidden_size, num_tags)  # W_hy, b_y

    def forward(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return the logits of the tag of each word; the arguments and the errors are those of `Tagger.forward`."""
        tokens, lengths = self._checked(tokens, lengths)
        there = torch.arange(tokens.shape[1], device=self.device) < lengths[:, None]  # (batch, time)
        vectors = self.dropout(self.embed(tokens)) * there[..., None]  # (batch, time, d)
        around = nn.functional.pad(vectors, (0, 0, self.reach, self.reach))  # zero vectors on both sides
        x = around.unfold(1, 2 * self.reach + 1, 1).mT.flatten(2)  # (batch, time, window · d)
        return self.output(self.dropout(torch.tanh(self.hidden(x))))


KINDS[WindowTagger.__name__] = WindowTagger  # so that a configuration can name it, and a file hold it
