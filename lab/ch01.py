"""Chapter 1: how much counting knows of characters, of words, and of more and more text."""

import bz2
import lzma
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import torch

from lab.experiment import Config, Experiment, Metric, at, text
from lab.texts import texts
from lab.training import SAMPLE
from unrolled import decoding
from unrolled.measure import evaluate, token_nats
from unrolled.ngram import AddK, Counts, KneserNey, ModifiedKneserNey, NGram
from unrolled.text import Vocabulary, WordVocabulary, load_corpus, split_words, stories

# Characters

SMOOTHINGS = {"add_k": AddK, "kneser_ney": KneserNey, "modified": ModifiedKneserNey}
OPTIONS = {"add_k": {"k": 0.1}, "kneser_ney": {"discount": None}, "modified": {}}
MARK = "^"  # stands before a name


def smoothed(counts: Counts, name: str, order: int, config: Config) -> NGram:
    """Return a model with one of the `SMOOTHINGS`."""
    return SMOOTHINGS[name](counts, order, **config["smoothings"][name])


def scores(counts: Counts, tokens: torch.Tensor, config: Config) -> dict[str, list[float]]:
    """Return what n-grams with each of the `SMOOTHINGS` pay for tokens (length,), nats per symbol, by order."""
    return {
        name: [evaluate(smoothed(counts, name, order, config), tokens).nats_per_symbol for order in config["orders"]]
        for name in SMOOTHINGS
    }


def score_metrics(unit: str) -> dict[str, Metric]:
    """Return the metrics that `scores` measures."""
    return {
        "add_k": Metric(unit, "what n-grams pay whose counts are 0.1 higher each", ("order",)),
        "kneser_ney": Metric(unit, "what Kneser–Ney n-grams pay", ("order",)),
        "modified": Metric(unit, "what modified Kneser–Ney n-grams pay", ("order",)),
    }


def measure_characters(config: Config, seed: int, folder: Path) -> dict:
    """Score n-grams of characters on one text, and ask general compressors what they pay for it.

    Two texts are read as others have read them (``reading``), to be compared; of these only the scores are measured.
    """
    training, held_out = texts(config)
    if config["reading"] == "name by name":
        return score_names(training, held_out, config)
    if config["reading"] == "letters only":
        training, held_out = letters_only(training + held_out)
    vocabulary = Vocabulary(training + held_out)
    counts = Counts(vocabulary.encode(training), len(vocabulary), max(config["orders"]))
    metrics = scores(counts, vocabulary.encode(held_out), config)
    if config["reading"] != "whole":
        return metrics
    models = [smoothed(counts, "modified", order, config) for order in config["orders"]]
    best = models[int(np.argmin(metrics["modified"]))]
    return metrics | {
        "symbols": len(vocabulary),
        "words": len(stories.words(held_out.replace("\n", " "))),
        "characters": len(held_out),
        "bytes": [model.nbytes for model in models],
        "sample": decoding.sample(best, vocabulary, prompt="\n" if "\n" in vocabulary else " ", length=400),
        "bz2": added_bits(bz2, training, held_out),
        "lzma": added_bits(lzma, training, held_out),
    }


def score_names(training: str, held_out: str, config: Config) -> dict[str, list[float]]:
    """Return what `scores` does where each name is read by itself, after marks that stand for its beginning."""
    nats, vocabulary = {name: [] for name in SMOOTHINGS}, Vocabulary(MARK + training)
    for order in config["orders"]:
        known, new = (
            vocabulary.encode("".join(MARK * (order - 1) + name for name in part.splitlines(keepends=True)))
            for part in (training, held_out)
        )
        counts, letters = Counts(known, len(vocabulary), order), (new != vocabulary[MARK]).numpy()
        for name in SMOOTHINGS:
            costs = token_nats(smoothed(counts, name, order, config), new, start=vocabulary["\n"])
            nats[name].append(costs[letters].mean())
    return nats


def letters_only(novel: str) -> tuple[str, str]:
    """Return a text as Dive into Deep Learning reads The Time Machine: 10,000 letters and spaces, and 5000 to score."""
    letters = re.sub("[^A-Za-z]+", " ", novel).lower()
    return letters[:10_000], letters[10_000:15_000]


def added_bits(compressor: ModuleType, training: str, held_out: str) -> float:
    """Return how much longer a compressed training text is with the held-out one behind it, bits per character."""
    both, alone = (len(compressor.compress(part.encode())) for part in (training + held_out, training))
    return 8 * (both - alone) / len(held_out)


CHARACTERS = {
    "symbols": Metric("symbols", "how many different characters the text has"),
    "words": Metric("words", "how many the held-out text has"),
    "characters": Metric("characters", "how many the held-out text has"),
    **score_metrics("nats per character"),
    "bytes": Metric("bytes", "the tables of the modified Kneser–Ney n-grams", ("order",)),
    "sample": SAMPLE._replace(about="what the best of those writes"),
    "bz2": Metric("bits per character", "what bz2 needs for the held-out text behind the training text"),
    "lzma": Metric("bits per character", "what lzma needs for it"),
}


def _characters(corpus: str, characters: int | None = None, reading: str = "whole") -> Config:
    orders = list(range(1, 13))
    return {"text": text(corpus, characters), "reading": reading, "orders": orders, "smoothings": OPTIONS}


_EVERY_CORPUS = {
    "stories": _characters("stories", 2_000_000),
    **{name: _characters(name) for name in ("tiny-shakespeare", "tinystories-sample", "time-machine", "fairy-books")},
    "names": _characters("names", reading="name by name"),
    "time-machine-d2l": _characters("time-machine", reading="letters only"),
}
# Words


def measure_words(config: Config, seed: int, folder: Path) -> dict:
    """Score n-grams of words, with vocabularies of several sizes; and look at what Kneser–Ney is made for.

    A corpus that was published as tokens (``tokenised``) has a test text, too, which is scored.
    """
    split = split_words if config["tokenised"] else stories.words
    training_text, held_out_text = texts(config)
    training, held_out = split(training_text), split(held_out_text)
    vocabulary = WordVocabulary(training)
    counts = Counts(vocabulary.encode(training), len(vocabulary), max(config["orders"]))
    tokens = vocabulary.encode(held_out)
    trigrams, prompt = smoothed(counts, "modified", 3, config), vocabulary.decode([vocabulary["\n"]])
    limited = list(score_limited(training, held_out, config["limits"]))
    metrics = {
        "symbols": len(vocabulary),
        "words": len(tokens),
        "unknown": unknown(vocabulary, tokens),
        **scores(counts, tokens, config),
        "sample": " ".join(decoding.sample(trigrams, vocabulary, prompt=prompt, length=80)),
        **loners(training, config["frequent"]),
        "again": again(training_text, split, config["times"]),
        "limited": [nats for nats, _ in limited],
        "limited_unknown": [share for _, share in limited],
    }
    if config["tokenised"]:
        corpus = load_corpus(config["text"]["corpus"])
        file, test = corpus.files[0], vocabulary.encode(split(corpus.test))
        models = (smoothed(counts, "modified", order, config) for order in config["orders"])
        metrics["file"] = file
        metrics["test"] = [evaluate(model, test).nats_per_symbol for model in models]
    return metrics


def unknown(vocabulary: WordVocabulary, tokens: torch.Tensor) -> float:
    """Return the share of unknown words among tokens (length,)."""
    return (tokens == vocabulary.unknown).float().mean().item()


def score_limited(training: list[str], held_out: list[str], limits: list[int]) -> Iterator[tuple[float, float]]:
    """Yield nats per word, and the share of unknown words, of trigrams that know so many words at most."""
    for limit in limits:
        vocabulary = WordVocabulary(training, limit)
        model = ModifiedKneserNey(Counts(vocabulary.encode(training), len(vocabulary), 3))
        tokens = vocabulary.encode(held_out)
        yield evaluate(model, tokens).nats_per_symbol, unknown(vocabulary, tokens)


def loners(words: list[str], frequent: int) -> dict:
    """Return what the counts of words, and of the words before them, say: totals, and the words that keep to few.

    A loner occurs `frequent` times or more, and what stands before it most often is a word and no punctuation mark.
    """
    counts, pairs, before = Counter(words), Counter(zip(words[:-1], words[1:], strict=True)), {}
    for (first, second), count in pairs.items():
        before.setdefault(second, {})[first] = count
    ranked = sorted(
        (word for word in before if counts[word] >= frequent), key=lambda w: (-counts[w] / len(before[w]), w)
    )
    rows = [[word, counts[word], len(before[word]), max(before[word], key=before[word].get)] for word in ranked]
    return {"count": len(words), "pairs": len(pairs), "loners": [row for row in rows if row[3].isalpha()][:8]}


def again(text: str, split: Callable[[str], list[str]], times: int) -> list[float]:
    """Return how often, on average, the pairs of words that occur 1, 2, … times in one half of a text are in the other.

    The lines are dealt to the two halves in turn, so that both are about the same things.
    """
    lines = text.splitlines()
    halves = (split("\n".join(lines[first::2])) for first in (0, 1))
    here, there = (Counter(zip(words[:-1], words[1:], strict=True)) for words in halves)
    seen = [[pair for pair, count in here.items() if count == number] for number in range(1, times + 1)]
    return [sum(there[pair] for pair in pairs) / len(pairs) for pairs in seen]


WORDS = {
    "symbols": Metric("symbols", "how many different words the training text has, and one for the unknown"),
    "words": Metric("words", "how many the held-out text has"),
    "unknown": Metric("", "the share of those that the training text lacks"),
    **score_metrics("nats per word"),
    "file": Metric("", "which file was read, where a corpus has a stand-in for its own"),
    "test": Metric("nats per word", "what modified Kneser–Ney n-grams pay for the test text", ("order",)),
    "sample": SAMPLE._replace(about="what modified Kneser–Ney trigrams write"),
    "count": Metric("words", "how many the training text has"),
    "pairs": Metric("pairs", "how many different pairs of words follow each other in it"),
    "loners": Metric("", "frequent words that follow few others", ("loner", "column")),
    "again": Metric("times", "how often the pairs of one half are in the other, on average", ("times",)),
    "limited": Metric("nats per word", "what modified Kneser–Ney trigrams of the most frequent words pay", ("limit",)),
    "limited_unknown": Metric("", "the share of the held-out words that those do not know", ("limit",)),
}


def axes(config: Config) -> dict:
    """Return the coordinates of the axes of `WORDS`; the text alone decides how many loners there are."""
    return {
        "order": config["orders"],
        "column": ("word", "occurrences", "different words before it", "the most frequent of those"),
        "times": range(1, config["times"] + 1),  # in the one half
        "limit": config["limits"],
    }


def _words(corpus: str, characters: int | None = None) -> Config:
    return {
        "text": text(corpus, characters, words=True),
        "tokenised": corpus == "wikitext-2",
        "orders": [1, 2, 3, 4, 5],
        "smoothings": OPTIONS,
        "frequent": 100,
        "times": 9,
        "limits": [100, 300, 1000, 3000, 10_000],
    }


WORD_TEXTS = {
    "stories": _words("stories", 2_000_000),
    **{name: _words(name) for name in ("tinystories-sample", "fairy-books", "wikitext-2")},
}

EXPERIMENTS = (
    Experiment(
        "ngram-characters",
        "Every corpus: n-grams of characters of orders 1 to 12, beside bz2 and lzma",
        CHARACTERS,
        _EVERY_CORPUS,
        measure_characters,
        at(order="orders"),
        seeds=1,
    ),
    Experiment(
        "ngram-words",
        "Stories, fairy tales and Wikipedia: n-grams of words of orders 1 to 5",
        WORDS,
        WORD_TEXTS,
        measure_words,
        axes,
        seeds=1,
    ),
)
