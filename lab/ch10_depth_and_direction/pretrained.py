"""Tag words by the states of two language models that were trained without tags: the idea of ELMo (chapter 10)."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import torch
from torch import nn

from unrolled.cells import State, unroll
from unrolled.models import KINDS, Dropout, Encoder, LanguageModel, TaggingNetwork
from unrolled.text import backwards


class LayerMixture(nn.Module):
    """Mix what several layers say about a word (Peters et al. 2018).

        y = γ Σ_l s_l h^(l)             s = softmax(w), one weight for each layer

    Args:
        num_layers: the number of layers.

    Example:
        >>> mixture = LayerMixture(3)
        >>> mixture([torch.ones(2, 4), torch.ones(2, 4), 4 * torch.ones(2, 4)])[0].tolist()
        [2.0, 2.0, 2.0, 2.0]
    """

    def __init__(self, num_layers: int):
        super().__init__()
        self.w, self.gamma = nn.Parameter(torch.zeros(num_layers)), nn.Parameter(torch.ones(()))

    @property
    def shares(self) -> torch.Tensor:
        """s, (num_layers,)."""
        return torch.softmax(self.w, dim=0)

    def forward(self, layers: Sequence[torch.Tensor]) -> torch.Tensor:
        """Return y, in the shape of each layer's vectors.

        Raises:
            ValueError: there are more layers or fewer than there are weights.
        """
        if len(layers) != len(self.w):
            raise ValueError(f"there are {len(layers)} layers; the mixture has {len(self.w)} weights, one for each")
        return self.gamma * torch.einsum("l,l...->...", self.shares, torch.stack(list(layers)))


class PretrainedTagger(TaggingNetwork):
    """Tag each word by the states of a forward and a backward language model, which stay as they are.

        h^(0)_t = [E→[w_t], E←[w_t]]               the vectors of the two models, end to end
        h^(l)_t = [h→^(l)_t, h←^(l)_t]             their states after layer l; the backward model reads from the right
        y_t = γ Σ_l s_l h^(l)_t                    `LayerMixture`
        logits_t = W_hy dropout(encoder(dropout(y))_t) + b_y

    Vectors are filled up with zeros to the length of the states. Only the mixture, the encoder and the output learn.

    Args:
        vocab_size: V, the number of words.
        num_tags: the number of tags.
        language_model: the keywords of both models, as `LanguageModel` takes them; the core is one of the book's own,
            and there is no dropout.
        hidden_size: the length of a state of the tagger's own encoder, in one direction.
        core: of the tagger's own encoder.
        dropout: the share of the numbers that are set to zero in training.
        shown: how many of h^(0), h^(1), … are mixed; all where None.

    Raises:
        ValueError: the language models have dropout or a core of PyTorch's, embeddings longer than their states, or
            what `LanguageModel` and `Encoder` raise.

    Example:
        >>> tagger = PretrainedTagger(50, 5, language_model={"hidden_size": 8, "embedding_size": 4}, hidden_size=6)
        >>> tagger(torch.randint(50, (2, 6)), torch.tensor([6, 4])).shape, tagger.mixture.shares.tolist()
        (torch.Size([2, 6, 5]), [0.5, 0.5])
    """

    def __init__(
        self,
        vocab_size: int,
        num_tags: int,
        *,
        language_model: Mapping[str, Any],
        hidden_size: int = 64,
        core: str = "lstm",
        dropout: float = 0.0,
        shown: int | None = None,
    ):
        super().__init__()
        if language_model.get("dropout", 0.0) or str(language_model.get("core", "rnn")).startswith("torch-"):
            raise ValueError(
                f"the language models are {dict(language_model)}; leave out dropout, and take a core of ours"
            )
        self.vocab_size = vocab_size
        self.readers = nn.ModuleDict(
            {side: LanguageModel(vocab_size, **language_model) for side in ("from_left", "from_right")}
        )
        for weight in self.readers.parameters():
            weight.requires_grad_(False)
        first = self.readers["from_left"]
        self.embedding, states = first.embedding, first.hidden_size
        if self.embedding.embedding_dim > states:
            raise ValueError(
                f"embedding_size is {self.embedding.embedding_dim} and hidden_size {states}; vectors are filled up to "
                "the length of the states, so they cannot be longer"
            )
        self.mixture = LayerMixture(1 + len(first.core.layers) if shown is None else shown)
        self.dropout = Dropout(dropout)
        self.encoder = Encoder(2 * states, hidden_size, core=core, direction="both")
        self.output = nn.Linear(self.encoder.output_size, num_tags)  # W_hy, b_y

    def adopt(self, forward: LanguageModel, backward: LanguageModel) -> Self:
        """Take over the weights of two trained language models, and return the tagger.

        Args:
            forward: a model of the sentences.
            backward: a model of the sentences read from the right.

        Raises:
            RuntimeError: a model was made otherwise than this tagger's.
        """
        self.readers["from_left"].load_state_dict(forward.state_dict())
        self.readers["from_right"].load_state_dict(backward.state_dict())
        return self

    @torch.no_grad()
    def all_layers(self, tokens: torch.Tensor, lengths: torch.Tensor) -> list[torch.Tensor]:
        """Return h^(0), h^(1), …, (batch, time, 2 · hidden size of the language models) each.

        The arguments and the errors are those of `Tagger.forward`.
        """
        tokens, lengths = self._checked(tokens, lengths)
        sides = []
        for side, reader in self.readers.items():
            read = backwards(tokens, lengths) if side == "from_right" else tokens
            x = reader.embed(read)
            layers = [nn.functional.pad(x, (0, reader.hidden_size - x.shape[2]))]
            for cell, state in zip(reader.core.layers, _by_layer(reader, len(read)), strict=True):
                x, _ = unroll(cell, x, state)
                layers.append(x)
            sides.append([backwards(layer, lengths) for layer in layers] if side == "from_right" else layers)
        return [torch.cat(pair, dim=2) for pair in zip(*sides, strict=True)]

    def forward(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return the logits of the tag of each word; the arguments and the errors are those of `Tagger.forward`."""
        y = self.mixture(self.all_layers(tokens, lengths)[: len(self.mixture.w)])
        states = self.encoder(self.dropout(y), lengths.to(self.device))
        return self.output(self.dropout(states))


KINDS[PretrainedTagger.__name__] = PretrainedTagger  # so that a configuration can name it, and a file hold it


def _by_layer(reader: LanguageModel, batch: int) -> tuple[State, ...]:
    """Return the initial state of each layer of a language model."""
    state = reader.initial_state(batch)
    return state if len(reader.core.layers) > 1 else (state,)
