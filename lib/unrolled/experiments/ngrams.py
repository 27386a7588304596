"""The experiments of chapter 1 that count: n-grams on every corpus, and on more and more text."""

from __future__ import annotations

import bz2
import lzma
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from unrolled import decoding
from unrolled.experiments.base import Experiment, texts
from unrolled.measure import evaluate, token_nats
from unrolled.ngram import AddK, Counts, KneserNey, ModifiedKneserNey
from unrolled.text import Vocabulary, WordVocabulary, corpora, split_words, stories

SMOOTHINGS = {
    "add-k": lambda counts, order: AddK(counts, order, k=0.1),
    "kneser-ney": KneserNey,
    "modified": ModifiedKneserNey,
}


def measure_characters(config: dict, seed: int, folder: Path) -> dict:
    """Score n-grams of characters on each corpus, and what general compressors pay for the same held-out text."""
    metrics = {"orders": config["orders"]}
    for name in config["corpora"]:
        training, validation = texts(config | {"corpus": name})
        metrics |= {f"{name}/{key}": value for key, value in _characters(training, validation, config).items()}
    apart = _names_apart(corpora.load_corpus("names"), config["orders"])
    metrics |= {f"names/{name}": nats for name, nats in apart.items()}
    training, validation = _dive_into_deep_learning(corpora.load_corpus("time-machine"))
    scored = _characters(training, validation, config)
    return metrics | {f"time-machine-d2l/{key}": scored[key] for key in SMOOTHINGS}


def _characters(training: str, validation: str, config: dict) -> dict:
    vocabulary = Vocabulary(training + validation)
    held_out = vocabulary.encode(validation)
    counts = Counts(vocabulary.encode(training), len(vocabulary), max(config["orders"]))
    metrics = {
        "symbols": len(vocabulary),
        "words": len(stories.words(validation.replace("\n", " "))),
        "characters": len(validation),
    }
    for name, make in SMOOTHINGS.items():
        models = [make(counts, order) for order in config["orders"]]
        metrics[name] = [evaluate(model, held_out).nats_per_symbol for model in models]
    metrics["bytes"] = [model.nbytes for model in models]
    best = models[int(np.argmin(metrics["modified"]))]
    prompt = "\n" if "\n" in vocabulary else " "
    metrics["sample"] = decoding.sample(best, vocabulary, prompt=prompt, length=400)
    for compressor in (bz2, lzma):  # what the held-out text adds to the compressed training text
        both, alone = (len(compressor.compress(text.encode())) for text in (training + validation, training))
        metrics[compressor.__name__] = 8 * (both - alone) / len(validation)
    return metrics


def _names_apart(corpus: corpora.Corpus, orders: list[int]) -> dict[str, list[float]]:
    """Return nats per character where each name is read by itself, after marks that stand for its beginning."""
    nats, mark = {smoothing: [] for smoothing in SMOOTHINGS}, "^"
    vocabulary = Vocabulary(mark + corpus.train)
    for order in orders:
        training, validation = (
            vocabulary.encode("".join(mark * (order - 1) + name for name in text.splitlines(keepends=True)))
            for text in (corpus.train, corpus.validation)
        )
        counts, letters = Counts(training, len(vocabulary), order), (validation != vocabulary[mark]).numpy()
        for smoothing, make in SMOOTHINGS.items():
            costs = token_nats(make(counts, order), validation, start=vocabulary["\n"])
            nats[smoothing].append(costs[letters].mean())
    return nats


def _dive_into_deep_learning(corpus: corpora.Corpus) -> tuple[str, str]:
    """Return the setting of the textbook that the file is known from: letters only, 10,000 to train and 5,000 more."""
    text = re.sub("[^A-Za-z]+", " ", corpus.train + corpus.validation).lower()
    return text[:10_000], text[10_000:15_000]


def measure_words(config: dict, seed: int, folder: Path) -> dict:
    """Score n-grams of words, with vocabularies of several sizes; and look at what Kneser–Ney is made for."""
    metrics = {"orders": config["orders"]}
    for name in config["corpora"]:
        split = split_words if name == "wikitext-2" else stories.words
        text, _ = parts = texts(config | {"corpus": name})
        training, validation = (split(part) for part in parts)
        vocabulary = WordVocabulary(training)
        counts = Counts(vocabulary.encode(training), len(vocabulary), max(config["orders"]))
        held_out = vocabulary.encode(validation)
        metrics[f"{name}/symbols"], metrics[f"{name}/words"] = len(vocabulary), len(held_out)
        metrics[f"{name}/unknown"] = (held_out == vocabulary.unknown).float().mean().item()
        for smoothing, make in SMOOTHINGS.items():
            scores = [evaluate(make(counts, order), held_out) for order in config["orders"]]
            metrics[f"{name}/{smoothing}"] = [score.nats_per_symbol for score in scores]
        if name == "wikitext-2":
            corpus = corpora.load_corpus(name)
            file, test = corpus.files[0], vocabulary.encode(split(corpus.test))
            metrics[f"{name}/file"] = f"{file.path}, {file.note}"  # one of two, with the articles in different order
            scores = [evaluate(ModifiedKneserNey(counts, order), test) for order in config["orders"]]
            metrics[f"{name}/test"] = [score.nats_per_symbol for score in scores]
        best = ModifiedKneserNey(counts, 3)
        metrics[f"{name}/sample"] = " ".join(decoding.sample(best, vocabulary, prompt=["\n"], length=80))
        metrics |= {f"{name}/{key}": value for key, value in _loners(training, config["frequent"]).items()}
        metrics[f"{name}/again"] = _again(text, split, config["times"])
        metrics[f"{name}/limits"] = config["limits"]
        metrics[f"{name}/limited"], metrics[f"{name}/limited-unknown"] = [], []
        for limit in config["limits"]:
            small = WordVocabulary(training, limit)
            model = ModifiedKneserNey(Counts(small.encode(training), len(small), 3))
            known = small.encode(validation)
            metrics[f"{name}/limited"].append(evaluate(model, known).nats_per_symbol)
            metrics[f"{name}/limited-unknown"].append((known == small.unknown).float().mean().item())
    return metrics


def _loners(words: list[str], frequent: int) -> dict:
    """Return what the counts of words, and of the words before them, say: totals, and the words that keep to few.

    A loner is frequent, and what stands before it most often is a word and no punctuation mark.
    """
    counts, pairs, before = Counter(words), Counter(zip(words[:-1], words[1:], strict=True)), {}
    for (first, second), count in pairs.items():
        before.setdefault(second, {})[first] = count
    ranked = sorted(
        (word for word in before if counts[word] >= frequent), key=lambda w: (-counts[w] / len(before[w]), w)
    )
    loners = [[word, counts[word], len(before[word]), max(before[word], key=before[word].get)] for word in ranked]
    return {"count": len(words), "pairs": len(pairs), "loners": [one for one in loners if one[3].isalpha()][:8]}


def _again(text: str, split: Callable[[str], list[str]], times: int) -> list[float]:
    """Return how often, on average, the pairs of words that occur 1, 2, … times in one half of a text are in the other.

    The lines are dealt to the two halves in turn, so that both are about the same things.
    """
    lines = text.splitlines()
    halves = (split("\n".join(lines[first::2])) for first in (0, 1))
    one, other = (Counter(zip(words[:-1], words[1:], strict=True)) for words in halves)
    seen = [[pair for pair, count in one.items() if count == number] for number in range(1, times)]
    return [sum(other[pair] for pair in pairs) / len(pairs) for pairs in seen]


def measure_learning_curves(config: dict, seed: int, folder: Path) -> dict:
    """Score n-grams of stories estimated from more and more of them: nats per character, and bytes."""
    metrics = {"sizes": config["sizes"], "orders": config["orders"]}
    training, validation = texts(config, seed)
    vocabulary = Vocabulary(training + validation)
    held_out = vocabulary.encode(validation)[: config["scored"]]
    for order in config["orders"]:
        metrics[f"nats-{order}"], metrics[f"bytes-{order}"] = [], []
    for size in config["sizes"]:
        counts = Counts(vocabulary.encode(training[:size]), len(vocabulary), max(config["orders"]))
        for order in config["orders"]:
            model = ModifiedKneserNey(counts, order)
            metrics[f"nats-{order}"].append(evaluate(model, held_out).nats_per_symbol)
            metrics[f"bytes-{order}"].append(model.nbytes)
    return metrics


_CHARACTERS = {
    "corpora": ["stories", "tiny-shakespeare", "tinystories-sample", "time-machine", "fairy-books"],
    "characters": 2_000_000,
    "orders": list(range(1, 13)),
}
_WORDS = {
    "corpora": ["stories", "tinystories-sample", "fairy-books", "wikitext-2"],
    "characters": 2_000_000,
    "orders": [1, 2, 3, 4, 5],
    "frequent": 100,
    "times": 10,
    "limits": [100, 300, 1000, 3000, 10_000],
}
_CURVES = {
    "corpus": "stories",
    "characters": 10_000_000,
    "sizes": [10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 9_000_000],
    "orders": [2, 4, 6, 8, 10, 12],
    "scored": 300_000,
}

_GROWTH = {
    "corpus": "fairy-books",
    "sizes": [30_000, 100_000, 300_000, 1_000_000, 3_000_000, 6_000_000],
    "orders": [2, 4, 6, 8, 10],
    "scored": 300_000,
}

EXPERIMENTS = (
    Experiment(
        "ngram-characters",
        "Every corpus: n-grams of characters of orders 1 to 12, beside bz2 and lzma",
        {"quick": _CHARACTERS, "full": _CHARACTERS},
        measure_characters,
        seeded=False,
    ),
    Experiment(
        "ngram-words",
        "Stories, fairy tales and Wikipedia: n-grams of words of orders 1 to 5",
        {"quick": _WORDS, "full": _WORDS},
        measure_words,
        seeded=False,
    ),
    Experiment(
        "ngram-learning-curves",
        "Stories: n-grams of characters estimated from 10,000 to 9,000,000 of them",
        {"quick": _CURVES, "full": _CURVES},
        measure_learning_curves,
    ),
    Experiment(
        "ngram-growth",
        "Fairy books: n-grams of characters estimated from 30,000 to 6,000,000 of them",
        {"quick": _GROWTH, "full": _GROWTH},
        measure_learning_curves,
        seeded=False,
    ),
)
