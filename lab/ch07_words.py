"""Chapter 7: how far LSTMs come on WikiText-2 with its whole vocabulary, and with what parts of a recipe.

Two layers of 650 or of 200 units, their output tied to their input, as others have published them; the smaller one has
an adaptive softmax, so that a processor can train it. What a cache takes is chosen on the validation text; the test is
read once.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import linear

from lab.ch07_reading import cached_nats, states_and_nats
from lab.experiment import Config, Experiment, model, recipe, text
from lab.texts import encoded
from lab.training import COURSE, NATS, TRAINING_NATS, course, fit, training_nats
from unrolled.cells import State
from unrolled.measure import mixed, token_nats
from unrolled.models import KINDS, LanguageModel, evaluating
from unrolled.ngram import Counts, ModifiedKneserNey
from unrolled.records import Metric

WINDOWS = [500, 2000, 4000]
FLATNESS = [0.0, 0.03, 0.1, 0.3]
CACHED = [0.05, 0.1, 0.2, 0.4]  # shares of a cache
ORDERS = [2, 3, 4, 5]
WORD = "nats per word"
CORPUS = text("wikitext-2", words=True, three_parts=True)


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


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a network, choose a cache for it on the validation text, and read the test once."""
    trained = fit(config, seed, folder)
    network, read = trained.model, trained.text
    states, alone = states_and_nats(network, read.held_out)
    caches = {
        each: cached_nats(states, read.held_out, window=each[0], flatness=each[1])
        for each in itertools.product(WINDOWS, FLATNESS)
    }
    tried = {(*each, share): mixed(alone, caches[each], share).mean() for each in caches for share in CACHED}
    window, flatness, share = min(tried, key=tried.get)
    states, tested = states_and_nats(network, read.test)
    cache = cached_nats(states, read.test, window=window, flatness=flatness)
    return course(trained) | {
        "training_nats": training_nats(trained.history),
        "validation": float(alone.mean()),
        "validation_cached": float(min(tried.values())),
        "cache": repr((window, flatness, share)),
        "nats": float(tested.mean()),
        "cached": float(mixed(tested, cache, share).mean()),
    }


METRICS = COURSE | {
    "curve": COURSE["curve"]._replace(unit=WORD, about="what a word of the validation text cost then"),
    "training_nats": TRAINING_NATS._replace(unit=WORD),
    "validation": Metric(WORD, "what a word of the validation text costs, read as one stream"),
    "validation_cached": Metric(WORD, "the same with the cache that costs least"),
    "cache": Metric("", "its window, its flatness and its share"),
    "nats": NATS._replace(unit=WORD, about="what a word of the test costs, read once, as one stream"),
    "cached": Metric(WORD, "the same with that cache"),
}


def count(config: Config, seed: int, folder: Path) -> dict:
    """Count the words by modified Kneser–Ney; choose the order on the validation text, and read the test once."""
    read = encoded(config)
    ngrams = Counts(read.training, len(read.vocabulary), ORDERS[-1])

    def costs(part: torch.Tensor, order: int) -> float:
        return float(np.mean(token_nats(ModifiedKneserNey(ngrams, order), part, streams=1)))

    validation = [costs(read.held_out, order) for order in ORDERS]
    best = ORDERS[int(np.argmin(validation))]
    return {"validation": validation, "order": best, "nats": costs(read.test, best)}


COUNTED = {
    "validation": Metric(WORD, "what a word of the validation text costs, by order", ("order_tried",)),
    "order": Metric("words", "the n of the n-gram that costs least there"),
    "nats": Metric(WORD, "what a word of the test costs, read once"),
}


UPDATES = 466  # that read the training text once, in 64 streams of 70 words


def lstm(of_model: Config, of_recipe: Config) -> Config:
    """Return two tied layers of 650 units with dropout, to be trained for forty passes, and what else they have."""
    sizes = {"hidden_size": 650, "embedding_size": 650, "num_layers": 2}
    how = {"updates": 40 * UPDATES, "batch": 64, "seq_len": 70, "learning_rate": 2e-3, "precision": "bf16"}
    return {
        "text": CORPUS,
        "model": model("LanguageModel", core="torch-lstm", **sizes, dropout=0.5, tied=True, **of_model),
        "recipe": recipe(**how, **of_recipe),
    }


ADAPTIVE = {
    "text": CORPUS,
    "model": model(
        AdaptiveLM.__name__,
        core="torch-lstm",
        hidden_size=200,
        num_layers=2,
        dropout=0.2,
        begins=[0.03, 0.15, 0.45],
    ),
    "recipe": recipe(updates=15 * UPDATES, batch=64, seq_len=70, learning_rate=4e-3),
}
SMALL = {"text": text("stories", 20_000, words=True, three_parts=True)}

EXPERIMENTS = (
    Experiment(
        "wikitext-2-ladder",
        "WikiText-2, all its words: LSTMs of two layers, tied, with dropout and with the whole recipe",
        METRICS,
        {
            "650": lstm({}, {}),
            "650, all": lstm({"weight_drop": 0.5}, {"weight_decay": 0.01, "averaging": 0.999}),
        },
        measure,
        seeds=1,
        on_gpu=True,
        small=SMALL,
    ),
    Experiment(
        "wikitext-2-adaptive",
        "WikiText-2, all its words: a small LSTM with an adaptive softmax",
        METRICS,
        {"200": ADAPTIVE},
        measure,
        seeds=1,
        small=SMALL,
    ),
    Experiment(
        "wikitext-2-counted",
        "WikiText-2, all its words: modified Kneser–Ney",
        COUNTED,
        {"counted": {"text": CORPUS}},
        count,
        lambda config: {"order_tried": ORDERS},
        seeds=1,
        small=SMALL,
    ),
)
