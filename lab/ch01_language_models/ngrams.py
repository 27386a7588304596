"""How much does counting know of the characters of every corpus, and of more and more text (chapter 1)?"""

import bz2
import lzma
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import torch

from lab.engine.experiment import Config, Experiment, Metric, at, text
from lab.engine.texts import texts
from lab.engine.training import NATS, SAMPLE
from unrolled import decoding
from unrolled.measure import evaluate, token_nats
from unrolled.ngram import AddK, Counts, KneserNey, ModifiedKneserNey, NGram
from unrolled.text import Vocabulary, stories

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


def measure_growth(config: Config, seed: int, folder: Path) -> dict:
    """Score n-grams of characters estimated from more and more of a text. Of stories, the seed decides the text."""
    training, held_out = texts(config, seed)
    vocabulary = Vocabulary(training + held_out)
    tokens = vocabulary.encode(held_out)[: config["scored"]]
    nats, table_bytes = ([[] for _ in config["orders"]] for _ in range(2))
    for size in config["sizes"]:
        counts = Counts(vocabulary.encode(training[:size]), len(vocabulary), max(config["orders"]))
        for place, order in enumerate(config["orders"]):
            model = ModifiedKneserNey(counts, order)
            nats[place].append(evaluate(model, tokens).nats_per_symbol)
            table_bytes[place].append(model.nbytes)
    return {"nats": nats, "bytes": table_bytes}


GROWTH = {
    "nats": NATS._replace(about="what modified Kneser–Ney n-grams pay", axes=("order", "size")),
    "bytes": Metric("bytes", "their tables", ("order", "size")),
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
_STORIES = {
    "text": text("stories", 10_000_000),
    "sizes": [10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 9_000_000],
    "orders": [2, 4, 6, 8, 10, 12],
    "scored": 300_000,
}
_FAIRY_BOOKS = {
    "text": text("fairy-books"),
    "sizes": [30_000, 100_000, 300_000, 1_000_000, 3_000_000, 6_000_000],
    "orders": [2, 4, 6, 8, 10],
    "scored": 300_000,
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
        "ngram-learning-curves",
        "Stories: n-grams of characters estimated from 10,000 to 9,000,000 of them",
        GROWTH,
        {"stories": _STORIES},
        measure_growth,
        at(order="orders", size="sizes"),  # how many characters were read
    ),
    Experiment(
        "ngram-growth",
        "Fairy books: n-grams of characters estimated from 30,000 to 6,000,000 of them",
        GROWTH,
        {"fairy-books": _FAIRY_BOOKS},
        measure_growth,
        at(order="orders", size="sizes"),  # how many characters were read
        seeds=1,
    ),
)
