"""Training as the library does it against the loop of PyTorch's word-language-model example, and where a gain is from.

Both sides begin with the same weights, read the same symbols in the same windows, and clip and step alike, in float32.
Before they are timed, with dropout, they are seen to have the same losses without it.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from statistics import fmean

import torch
from torch import nn
from torch.nn import functional
from torch.nn.functional import cross_entropy
from torch.nn.utils import clip_grad_norm_

import word_loop
from pairs import Pair, agree
from unrolled import settings
from unrolled.cells import LSTMCell, detach
from unrolled.models import LanguageModel
from unrolled.text import Streams, Vocabulary, WordVocabulary, corpora, split_words, stories
from unrolled.training import Recipe, train
from word_loop import WordModel

WIKITEXT, WORDS = "wikitext-2", 33_278  # and how many words it has
RATE, CLIP = 20.0, 0.25  # the example's
CHECKED, WITHIN = 3, 1e-4  # so many updates without dropout agree within so many nats per symbol

Way = Callable[["Task", nn.Module], float]  # how to train a model: returns the mean loss, nats per symbol


@dataclass(frozen=True)
class Task:
    """A model, and what it is trained on.

    Attributes:
        name: what they are.
        tokens: symbol numbers, (length,), long enough for the updates.
        sizes: what the model is made with, but for the dropout, as `WordModel` and `LanguageModel` both call it.
        dropout: the share that is dropped.
        batch: parallel streams.
        seq_len: symbols through which the gradient flows back.
        updates: how many are timed together.
    """

    name: str
    tokens: torch.Tensor
    sizes: dict
    dropout: float
    batch: int
    seq_len: int
    updates: int


def tasks(quick: bool) -> list[Task]:
    """Return the example's models of words, and one of characters; or two of toy size."""
    updates = 3 if settings.device().type == "cpu" else 100  # enough that what begins a training does not count
    if quick:
        return [words(20, 0.2, 4, 5, updates, vocab_size=500), characters(20, 4, 10, updates)]
    return [words(200, 0.2, 20, 35, updates), words(650, 0.5, 20, 35, updates), characters(512, 32, 100, updates)]


def words(size: int, dropout: float, batch: int, seq_len: int, updates: int, vocab_size: int = WORDS) -> Task:
    """Return two layers, tied, that read WikiText-2 where it is here, and else numbers drawn at random."""
    length = length_of(batch, seq_len, updates)
    text, which = wikitext() if vocab_size == WORDS else None, "words of WikiText-2"
    if text is None:
        text, which = torch.randint(vocab_size, (length,), generator=torch.Generator().manual_seed(0)), "random words"
    sizes = {"vocab_size": vocab_size, "embedding_size": size, "hidden_size": size, "num_layers": 2, "tied": True}
    return Task(f"{which}, {size} tied", text[:length], sizes, dropout, batch, seq_len, updates)


@cache
def wikitext() -> torch.Tensor | None:
    """Return WikiText-2's training text, symbol numbers; None where it is not here. Nothing is downloaded."""
    if not corpora.is_here(WIKITEXT):
        return None
    text = split_words(corpora.load_corpus(WIKITEXT).train)
    return WordVocabulary(text).encode(text)


def characters(size: int, batch: int, seq_len: int, updates: int) -> Task:
    """Return one layer that reads stories by characters."""
    length = length_of(batch, seq_len, updates)
    text = stories.corpus(length).text[:length]
    vocabulary = Vocabulary(text)
    sizes = {"vocab_size": len(vocabulary), "embedding_size": 64, "hidden_size": size, "num_layers": 1, "tied": False}
    return Task(f"characters of stories, {size}", vocabulary.encode(text), sizes, 0.0, batch, seq_len, updates)


def length_of(batch: int, seq_len: int, updates: int) -> int:
    """Return how long a text is of which both sides cut the same streams, one symbol longer than what is read."""
    return batch * (updates * seq_len + 1) + 1


def rows(tasks: Sequence[Task]) -> Iterator[Pair]:
    """Yield the comparisons: `unrolled.training`, with PyTorch's LSTM and with our own."""
    for task in tasks:
        yield race(f"{task.name}, PyTorch's LSTM", task, "torch-lstm", by_library)
        yield race(f"{task.name}, our LSTM", task, "lstm", by_library)


def ladder(task: Task) -> Iterator[Pair]:
    """Yield the rungs from the example's loop to `unrolled.training`; each changes one thing more."""
    at_once = partial(by_windows, cost=functional.cross_entropy)
    in_place = partial(by_windows, cost=cross_entropy)
    yield race("the step in one operation", task, None, by_columns)
    yield race("our model around PyTorch's LSTM", task, "torch-lstm", at_once)
    yield race("the cost in the memory of the logits", task, "torch-lstm", in_place)
    yield race("unrolled.training around it", task, "torch-lstm", by_library)
    yield race("our LSTM", task, "lstm", by_library)


def race(name: str, task: Task, core: str | None, way: Way) -> Pair:
    """Return a way to train a model beside the example's, once they are seen to have the same losses without dropout.

    Args:
        name: of the row.
        task: what is trained, and on what.
        core: our model's; None: the model is the example's too.
        way: how our side trains.

    Raises:
        ValueError: the losses differ.
    """
    bare = replace(task, dropout=0.0, updates=CHECKED)
    seen = Pair(name, *sides(bare, core, way), WITHIN)
    agree(seen, seen.ours(), seen.peer())
    return Pair(name, *sides(task, core, way), within=math.inf)  # each side drops other numbers


def sides(task: Task, core: str | None, way: Way) -> tuple[Callable[[], float], Callable[[], float]]:
    """Return our way and the example's, each to be called as often as one likes: they begin with the same weights."""
    torch.manual_seed(0)
    theirs = WordModel(**task.sizes, dropout=task.dropout).to(settings.device())
    ours = copy.deepcopy(theirs) if core is None else twin(task, core, theirs)
    return afresh(task, ours, way), afresh(task, theirs, by_example)


def twin(task: Task, core: str, theirs: WordModel) -> LanguageModel:
    """Return our model with the same weights.

    PyTorch's LSTM has a second bias, which our own cells have not. Both would learn, and the sum of two moves twice as
    far as one; so beside our cells it is held still.
    """
    ours = LanguageModel(**task.sizes, dropout=task.dropout, core=core).to(settings.device())
    ours.embedding.load_state_dict(theirs.embedding.state_dict())
    ours.output.load_state_dict(theirs.linear.state_dict())
    if core == "torch-lstm":
        ours.core.layers[0].load_state_dict(theirs.lstm.state_dict())
        return ours
    cells = [module for module in ours.core.modules() if isinstance(module, LSTMCell)]
    for layer, cell in enumerate(cells):
        cell.load_state_dict(LSTMCell.from_torch(theirs.lstm, layer).state_dict())
        getattr(theirs.lstm, f"bias_hh_l{layer}").requires_grad_(False)
    return ours


def afresh(task: Task, model: nn.Module, way: Way) -> Callable[[], float]:
    """Return the training of a model that begins with the weights of now whenever it is called."""
    weights = copy.deepcopy(model.state_dict())

    def run() -> float:
        model.load_state_dict(weights)
        loss = way(task, model)
        if settings.device().type == "cuda":
            torch.cuda.synchronize()
        return loss

    return run


def by_example(task: Task, model: WordModel) -> float:
    """Train as the example does."""
    tokens = task.tokens.to(settings.device())
    return word_loop.train(model, tokens, task.batch, task.seq_len, task.updates, RATE, CLIP)


def by_columns(task: Task, model: WordModel) -> float:
    """Train as the example does, but for the step."""
    text = word_loop.columns(task.tokens.to(settings.device()), task.batch)
    windows = (word_loop.window(text, update * task.seq_len, task.seq_len) for update in range(task.updates))
    return loop(model, windows, functional.nll_loss)


def by_windows(task: Task, model: LanguageModel, cost: Callable) -> float:
    """Train our model in a loop without anything that `unrolled.training` has besides."""
    streams = Streams(task.tokens.to(settings.device()), task.batch, task.seq_len)
    windows = (streams.window(update)[:2] for update in range(task.updates))
    return loop(model, windows, lambda logits, targets: cost(logits.flatten(0, 1), targets.flatten()))


def loop(model: nn.Module, windows: Iterator[tuple[torch.Tensor, torch.Tensor]], cost: Callable) -> float:
    """Make an update with each window, and return their mean loss; the step is that of PyTorch's optimizer."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.SGD(weights, lr=RATE, fused=True)
    state, losses = None, []
    model.train()
    for inputs, targets in windows:
        output, state = model(inputs, state and detach(state))
        loss = cost(output, targets)
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(weights, CLIP)
        optimizer.step()
        losses.append(loss.item())
    return fmean(losses)


def by_library(task: Task, model: LanguageModel) -> float:
    """Train as the library does, without the bar."""
    recipe = Recipe(
        updates=task.updates,
        batch=task.batch,
        seq_len=task.seq_len,
        learning_rate=RATE,
        clip=CLIP,
        optimizer="sgd",
        schedule="constant",
    )
    return fmean(train(model, task.tokens, recipe, progress=False).losses)
