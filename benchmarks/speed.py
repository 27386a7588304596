"""Time the library against its peers, as ratios: ``make bench``. One table, in Markdown.

Absolute times say more about the machine than about the code. So the two ways to do the same work take turns, each is
seen to give the other's answer, and a row is the median of our time ÷ theirs with its quartiles: 1 is as fast as the
peer, below 1 is faster. Where the two are models of their own, as a scan and PyTorch's GRU, only time is compared.
"""

import argparse
import math
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import torch
from nltk.lm import KneserNeyInterpolated
from nltk.util import everygrams
from torch import nn

from unrolled.cells import GRUCell, LinearAttentionCell, LSTMCell, MinGRUCell, RNNCell, unroll
from unrolled.models import MultiHeadAttention, causal_mask
from unrolled.ngram import Counts, KneserNey
from unrolled.text import Vocabulary, stories

CELLS = {"RNN": (RNNCell, nn.RNN), "LSTM": (LSTMCell, nn.LSTM), "GRU": (GRUCell, nn.GRU)}
SIZES = ((32, 64, 128), (64, 128, 128), (1, 64, 128))  # batch, time steps, d = h
SCANNED = ((32, 64, 128), (8, 512, 128), (2, 2048, 128))
ORDER, DISCOUNT, COUNTED = 6, 0.3, 10_000  # of the n-grams: NLTK estimates no discount; characters


class Row(NamedTuple):
    """The book's way and a peer's way to the same result, or to one that is not compared (`within` is infinite)."""

    name: str
    ours: Callable[[], float]
    peer: Callable[[], float]
    within: float = 1e-4


def both_passes(layer: Callable, inputs: torch.Tensor) -> float:
    """Return the mean size of an element of the gradient by the inputs."""
    inputs.grad = None
    layer(inputs)[0].sum().backward()
    return inputs.grad.abs().mean().item()


@torch.no_grad()
def forward(layer: Callable, inputs: torch.Tensor) -> float:
    """Return the mean size of a hidden state's element."""
    return layer(inputs)[0].abs().mean().item()


@torch.no_grad()
def single_steps(layer: Callable, inputs: torch.Tensor) -> float:
    """Return the same of the last state, reached a step at a time, as in sampling."""
    states, state = layer(inputs[:, :1])
    for x in inputs[:, 1:].split(1, dim=1):
        states, state = layer(x, state)
    return states.abs().mean().item()


def cells(sizes: tuple) -> Iterator[Row]:
    """Yield the recurrent cells against PyTorch's layers with the same weights."""
    ways = {"forward and backward": both_passes, "forward": forward, "single steps": single_steps}
    for way, passes in ways.items():
        for kind, (ours, theirs) in CELLS.items():
            for batch, steps, size in sizes if passes is not single_steps else sizes[-1:]:
                layer = theirs(size, size, batch_first=True)
                cell, inputs = ours.from_torch(layer), torch.randn(batch, steps, size, requires_grad=True)
                run = partial(passes, partial(unroll, cell), inputs), partial(passes, layer, inputs)
                yield Row(f"{kind} ÷ torch.nn, {way}, B={batch} T={steps} d=h={size}", *run)


def scans(sizes: tuple) -> Iterator[Row]:
    """Yield recurrences without a loop over time against a loop, PyTorch's GRU, and attention by a softmax."""
    for batch, steps, size in sizes:
        inputs, cell = torch.randn(batch, steps, size, requires_grad=True), MinGRUCell(size, size)
        ours, at = partial(both_passes, partial(unroll, cell), inputs), f"B={batch} T={steps} d=h={size}"
        loop = partial(both_passes, partial(unroll, cell, plain=True), inputs)
        yield Row(f"minGRU by a scan ÷ by a loop, {at}", ours, loop)
        gru = partial(both_passes, nn.GRU(size, size, batch_first=True), inputs)
        yield Row(f"minGRU by a scan ÷ torch.nn.GRU, {at}", ours, gru, math.inf)
        linear = partial(both_passes, partial(unroll, LinearAttentionCell(size, size, num_heads=4)), inputs)
        softmax = partial(both_passes, partial(MultiHeadAttention(size, 4), allowed=causal_mask(steps)), inputs)
        yield Row(f"linear attention ÷ attention, {at}", linear, softmax, math.inf)


def counting(length: int) -> Iterator[Row]:
    """Yield interpolated Kneser–Ney against NLTK's: count, estimate, and score a tenth as many characters.

    They agree where the discount is given, none is taken at the lowest order, a mark stands before the text, contexts
    are whole, and every character that is scored has been counted.
    """
    text = stories.corpus(length * 11 // 10, seed=3).text
    counted, vocabulary = text[:length], Vocabulary(text)
    scored = [character for character in text[length:] if character in counted]

    def ours() -> float:
        counts = Counts(vocabulary.encode(counted), len(vocabulary), ORDER)
        model, tokens = (
            KneserNey(counts, discount=[0.0] + [DISCOUNT] * (ORDER - 1)),
            vocabulary.encode("".join(scored))[None],
        )
        return float(model.costs(tokens[:, :-1], tokens[:, 1:])[0][0, ORDER - 2 :].mean())

    def nltk() -> float:
        model, marked = KneserNeyInterpolated(ORDER, discount=DISCOUNT), ["<s>", *counted]
        model.fit([list(everygrams(marked, max_len=ORDER))], marked)
        places = range(ORDER - 1, len(scored))
        return -statistics.mean(math.log(model.score(scored[at], scored[at - ORDER + 1 : at])) for at in places)

    yield Row(f"n-grams ÷ NLTK, {length:,} characters", ours, nltk)


def ratios(row: Row, pairs: int, seconds: float) -> list[float]:
    """Return the quartiles of ours ÷ peer, timed in turn after both have warmed up.

    Raises:
        ValueError: their answers differ, so that they did not do the same work.
    """
    found, started = [], time.perf_counter()
    while len(found) <= pairs and (len(found) < 3 or time.perf_counter() - started < seconds):
        ends, answers = [time.perf_counter()], []
        for way in (row.ours, row.peer):
            answers.append(way())
            ends.append(time.perf_counter())
        if abs(answers[0] - answers[1]) > row.within:
            raise ValueError(f"{row.name}: ours says {answers[0]}, the peer {answers[1]}")
        found.append((ends[1] - ends[0]) / (ends[2] - ends[1]))
    return statistics.quantiles(found[1:], n=4, method="inclusive")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes, few pairs: does everything run?")
    quick, small = parser.parse_args().quick, ((2, 9, 8),)
    torch.manual_seed(0)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads\n\n| ours ÷ theirs | median | quartiles |")
    print("|---|---:|---:|")
    sizes = (small, small, 500) if quick else (SIZES, SCANNED, COUNTED)
    for subject, of in zip((cells, scans, counting), sizes, strict=True):
        for row in subject(of):
            low, middle, high = ratios(row, *((2, 0) if quick else (60, 5)))
            print(f"| {row.name} | {middle:.3g} | {low:.3g} to {high:.3g} |", flush=True)


if __name__ == "__main__":
    main()
