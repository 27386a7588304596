"""The book's n-grams against dictionaries, NLTK and KenLM: time, and memory, as the corpus grows.

All models are interpolated Kneser–Ney on characters. A row scores a tenth as many characters as it counts (of Tiny
Shakespeare, its last tenth), each after all that stand before it in what is scored.
"""

from __future__ import annotations

import gc
import math
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

import arpa
from dictionary_ngram import DictionaryKneserNey
from pairs import WIDTH, Pair, figure
from unrolled.ngram import Counts, KneserNey
from unrolled.text import Vocabulary, corpora, stories

ORDER = 6
SIZES = (30_000, 100_000, 300_000, 1_000_000)  # characters to count, where the peer is made of dictionaries
NLTK_SIZES = (2_000, 5_000, 10_000)
DISCOUNT = 0.3  # NLTK does not estimate it
SHAKESPEARE = "tiny-shakespeare"
ALLOWED = 1000  # MB, on Tiny Shakespeare


@dataclass(frozen=True)
class Text:
    """Text to count and text to score.

    Attributes:
        name: which.
        vocabulary: its characters.
        training: what is counted, (length,).
        held_out: what is scored, all but the first of them, (length,).
    """

    name: str
    vocabulary: Vocabulary
    training: torch.Tensor
    held_out: torch.Tensor


def growing(sizes: Sequence[int]) -> list[Text]:
    """Return the beginning of one long corpus of stories, so many characters of it to count and a tenth to score."""
    text = stories.corpus(max(sizes) * 11 // 10, seed=3).text
    vocabulary = Vocabulary(text)
    tokens = vocabulary.encode(text)
    return [Text(f"stories, {n:,} characters", vocabulary, tokens[:n], tokens[n : n * 11 // 10]) for n in sizes]


def shakespeare() -> Text | str:
    """Return Tiny Shakespeare, the first 90 % and the last 10 %, or why it is left out; nothing is downloaded."""
    if not corpora.is_here(SHAKESPEARE):
        return f"Tiny Shakespeare is left out: not here in {corpora.folder()}; unrolled.text.load_corpus fetches it"
    corpus = corpora.load_corpus(SHAKESPEARE)
    vocabulary = Vocabulary(corpus.train + corpus.validation)
    training, held_out = vocabulary.encode(corpus.train), vocabulary.encode(corpus.validation)
    return Text(f"Tiny Shakespeare, {len(training):,} characters", vocabulary, training, held_out)


def estimate(text: Text, order: int = ORDER, **how) -> KneserNey:
    """Return the book's model of a text."""
    return KneserNey(Counts(text.training, len(text.vocabulary), order), **how)


def score(model: KneserNey, text: Text, first: int = 1) -> float:
    """Return the mean of −ln p, which is in nats, over what is scored; of that, leave out the `first` characters."""
    costs, _ = model.costs(text.held_out[None, :-1], text.held_out[None, 1:])
    return float(costs[0, first - 1 :].mean())


def by_dictionary(text: Text) -> tuple[Callable[[], DictionaryKneserNey], Callable[[DictionaryKneserNey], float]]:
    """Return how the dictionary version estimates and how it scores; it takes lists, made beforehand."""
    training, held_out = text.training.tolist(), text.held_out.tolist()
    return (
        lambda: DictionaryKneserNey(training, len(text.vocabulary), ORDER),
        lambda model: model.nats(held_out),
    )


def against_dictionaries(texts: Sequence[Text]) -> Iterator[Pair]:
    """Yield the comparisons with the dictionary version: count, estimate and score."""

    def pair(text: Text) -> Pair:
        make, nats = by_dictionary(text)
        return Pair(text.name, lambda: score(estimate(text), text), lambda: nats(make()), within=1e-9)

    yield from map(pair, texts)


def against_nltk(texts: Sequence[Text]) -> Iterator[Pair | str]:
    """Yield the comparisons with NLTK, or a line that says why there is none: count, estimate and score.

    The definitions agree where the discount is given, none is taken at the lowest order, a mark stands before the
    text, and contexts are whole; so the first characters are not scored. Characters that were never counted, which
    both call impossible, are taken out of what is scored.
    """
    try:
        from nltk.lm import KneserNeyInterpolated
        from nltk.util import everygrams
    except ImportError:
        yield "NLTK is left out: it is not installed; pip install nltk"
        return
    past, discounts = ORDER - 1, [0.0] + [DISCOUNT] * (ORDER - 1)

    def pair(text: Text) -> Pair:
        text = replace(text, held_out=text.held_out[torch.isin(text.held_out, text.training)])
        symbols = text.vocabulary.symbols
        marked = ["<s>", *(symbols[number] for number in text.training)]
        scored = [symbols[number] for number in text.held_out]

        def theirs() -> float:
            model = KneserNeyInterpolated(ORDER, discount=DISCOUNT)
            model.fit([list(everygrams(marked, max_len=ORDER))], marked)
            p = [model.score(scored[at], scored[at - past : at]) for at in range(past, len(scored))]
            return -sum(map(math.log, p)) / len(p)

        return Pair(text.name, lambda: score(estimate(text, discount=discounts), text, first=past), theirs, within=1e-9)

    yield from map(pair, texts)


def against_kenlm(texts: Sequence[Text]) -> Iterator[Pair | str]:
    """Yield the comparisons with KenLM, or a line that says why there is none: the same model, which only scores.

    KenLM reads the model from an ARPA file, which rounds, and then words from a string.
    """
    try:
        import kenlm
    except ImportError:
        yield "KenLM is left out: it is not installed; pip install kenlm, which needs a C++ compiler"
        return
    silent = kenlm.Config()
    silent.show_progress, silent.arpa_complain = False, kenlm.ARPALoadComplain.NONE

    def pair(text: Text) -> Pair:
        model, symbols = estimate(text), text.vocabulary.symbols
        with tempfile.TemporaryDirectory() as folder:
            arpa.write(model, symbols, Path(folder, "model.arpa"))
            read = kenlm.Model(str(Path(folder, "model.arpa")), silent)
        sentence = " ".join(arpa.word(symbols[number]) for number in text.held_out)

        def theirs() -> float:
            logs = [log for log, *_ in read.full_scores(sentence, bos=False, eos=False)][1:]
            return -math.log(10) * sum(logs) / len(logs)

        return Pair(text.name, lambda: score(model, text), theirs, within=1e-4)

    yield from map(pair, texts)


def memory(make: Callable[[], object], nats: Callable[[object], float]) -> tuple[float, float]:
    """Return the most MB in use while a model is made and scores, and the MB that the finished model takes.

    What Python and NumPy allocate is traced, which takes time: it is measured apart from the time.
    """
    gc.collect()
    tracemalloc.start()
    try:
        model = make()
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
        nats(model)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return peak / 1e6, held / 1e6


def memory_table(texts: Sequence[Text]) -> Iterator[str]:
    """Yield the lines of the table of memory: ours, and the dictionary version's."""
    columns = "".join(f"{column:>14}" for column in ("ours, peak", "dictionaries", "ours, model", "dictionaries"))
    yield f"{'memory in MB':{WIDTH}}{columns}"
    for text in texts:
        (ours, model), (theirs, other) = _ours_and_theirs(text)
        yield f"{text.name:{WIDTH}}" + "".join(f"{figure(size):>14}" for size in (ours, theirs, model, other))
        if text.name.startswith("Tiny Shakespeare"):
            verdict = "within" if ours <= ALLOWED else "more than"
            yield f"On Tiny Shakespeare ours needs {ours:.0f} MB, {verdict} the {ALLOWED:,} MB allowed."


def _ours_and_theirs(text: Text) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the book's memory and the dictionary version's."""
    return memory(lambda: estimate(text), lambda model: score(model, text)), memory(*by_dictionary(text))
