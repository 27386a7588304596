"""Chapter 7: how far LSTMs come on WikiText-2 with its whole vocabulary, and with what parts of a recipe.

Two layers of 650 units, their output tied to their input, as others have published them. What a cache takes is chosen
on the validation text; the test is read once.
"""

import itertools
from pathlib import Path

import numpy as np
import torch

from lab.ch07_reading import cached_nats, states_and_nats
from lab.experiment import Config, Experiment, model, recipe, text
from lab.texts import encoded
from lab.training import COURSE, NATS, TRAINING_NATS, course, fit, training_nats
from unrolled.measure import mixed, token_nats
from unrolled.ngram import Counts, ModifiedKneserNey
from unrolled.records import Metric

WINDOWS = [500, 2000, 4000]
FLATNESS = [0.0, 0.03, 0.1, 0.3]
CACHED = [0.05, 0.1, 0.2, 0.4]  # shares of a cache
ORDERS = [2, 3, 4, 5]
WORD = "nats per word"
CORPUS = text("wikitext-2", words=True, three_parts=True)


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
