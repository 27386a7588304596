"""An adaptive softmax: what makes a large vocabulary affordable on a processor (chapter 7)."""

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.functional import linear

from unrolled.cells import State
from unrolled.models import KINDS, LanguageModel, evaluating


class AdaptiveSoftmax(nn.Linear):
    """An output layer that scores a rare word only when its cluster is due (Grave et al. 2017).

    Words are numbered from the most frequent to the rarest. The first of them, the head, stand beside one entry for
    each cluster of rarer ones:

        p(w) = softmax_head(w)                                 a word of the head
        p(w) = softmax_head(cluster of w) softmax_cluster(w)   any other

    The logit of a word is W_hy[w] h + b_y[w], as in a softmax over all. Grave et al. make the clusters narrower than
    the head; here all are as wide, so that W_hy can also be the embedding.

    Args:
        hidden_size: h, the length of a state.
        vocab_size: V, the number of words.
        cutoffs: the numbers with which the clusters begin, ascending; the first is the size of the head.

    Raises:
        ValueError: the cutoffs do not ascend between 0 and V.

    Example:
        >>> output = AdaptiveSoftmax(8, 50, cutoffs=[10, 30])
        >>> log_p = output(torch.randn(3, 8))
        >>> log_p.shape, torch.allclose(log_p.exp().sum(dim=-1), torch.ones(3))
        (torch.Size([3, 50]), True)
    """

    def __init__(self, hidden_size: int, vocab_size: int, cutoffs: Sequence[int]):
        ends = [0, *cutoffs, vocab_size]
        if not cutoffs or any(end <= begin for begin, end in itertools.pairwise(ends)):
            raise ValueError(f"cutoffs is {list(cutoffs)}; give numbers that ascend between 0 and {vocab_size}")
        super().__init__(hidden_size, vocab_size)
        self.clusters = nn.Linear(hidden_size, len(cutoffs))
        self.head, *self.members = (slice(*pair) for pair in itertools.pairwise(ends))

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return ln p of every word, (…, vocab_size), from states, (…, hidden_size): all clusters are scored."""
        words, clusters = self._first(states).split([self.head.stop, len(self.members)], dim=-1)
        parts = [words]
        for number, members in enumerate(self.members):
            parts.append(clusters[..., number, None] + self._within(states, members))
        return torch.cat(parts, dim=-1)

    def nats(self, states: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return what each target costs, (places,), from the states before them, (places, hidden_size)."""
        begins = torch.tensor([members.start for members in self.members], device=targets.device)
        cluster = torch.bucketize(targets, begins, right=True) - 1  # −1 is the head
        entries = torch.where(cluster < 0, targets, self.head.stop + cluster)
        nats = -self._first(states).gather(1, entries[:, None])[:, 0]
        for number, members in enumerate(self.members):
            (here,) = torch.where(cluster == number)
            log_p = self._within(states[here], members).gather(1, targets[here, None] - members.start)
            nats = nats.index_add(0, here, log_p[:, 0], alpha=-1)
        return nats

    def _first(self, states: torch.Tensor) -> torch.Tensor:
        """Return ln p of the words of the head, then of the clusters."""
        weight, bias = (
            torch.cat([getattr(self, name)[self.head], getattr(self.clusters, name)]) for name in ("weight", "bias")
        )
        return linear(states, weight, bias).log_softmax(dim=-1)

    def _within(self, states: torch.Tensor, members: slice) -> torch.Tensor:
        """Return ln p of the words of a cluster, once that cluster is chosen."""
        return linear(states, self.weight[members], self.bias[members]).log_softmax(dim=-1)


class AdaptiveLM(LanguageModel):
    """A tied `LanguageModel` whose output is an `AdaptiveSoftmax`.

    Args:
        vocab_size: V, the number of words.
        begins: where the clusters begin, as shares of the vocabulary, ascending.
        hidden_size: h, and the length of a word's vector.
        **options: those of `LanguageModel`, but for ``embedding_size`` and ``tied``.

    Raises:
        ValueError: what `AdaptiveSoftmax` or `LanguageModel` raises.
    """

    def __init__(self, vocab_size: int, *, begins: Sequence[float], hidden_size: int = 128, **options: Any):
        super().__init__(vocab_size, embedding_size=hidden_size, hidden_size=hidden_size, **options)
        self.output = AdaptiveSoftmax(hidden_size, vocab_size, [round(share * vocab_size) for share in begins])
        self.embedding.weight = self.output.weight

    def mean_cost(
        self, inputs: torch.Tensor, targets: torch.Tensor, state: State | None = None
    ) -> tuple[torch.Tensor, State]:
        """Return the mean cost of the targets, and the last state, as `NeuralModel.mean_cost` does."""
        states, state = self.hidden_states(inputs, state)
        return self.output.nats(self.dropout(states).flatten(0, 1), targets.flatten()).mean(), state

    @torch.no_grad()
    def costs(
        self, inputs: torch.Tensor, targets: torch.Tensor, state: State | None = None
    ) -> tuple[torch.Tensor, State]:
        """Return what each target costs, and the last state, as `NeuralModel.costs` does."""
        with evaluating(self):
            states, state = self.hidden_states(inputs, state)
            nats = self.output.nats(states.flatten(0, 1), targets.to(states.device).flatten())
            return nats.view(targets.shape).double().cpu(), state


KINDS[AdaptiveLM.__name__] = AdaptiveLM  # so that a configuration can name it, and a file hold it
