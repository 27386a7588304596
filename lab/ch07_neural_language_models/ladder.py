"""How far does a small network come on Tiny Shakespeare, alone and with what it has just read (chapter 7)?

Everything that is chosen is chosen on a tenth of the published training part, by a network that was trained on the
rest. Then the same recipe is trained on the whole of it, and reads the published validation part once.
"""

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lab.ch07_neural_language_models.reading import cached_nats, dynamic_nats, states_and_nats
from lab.engine.experiment import Config, Experiment, Metric, model, recipe, text
from lab.engine.scoring import TRAINING_NATS, training_nats
from lab.engine.store import kept
from lab.engine.texts import Encoded, encoded
from lab.engine.training import CURVE, NATS, PARAMETERS, SECONDS, UPDATES, fit, parameters, training_seconds
from unrolled.measure import mixed, token_nats
from unrolled.models import LanguageModel
from unrolled.ngram import Counts, ModifiedKneserNey

ORDERS = [5, 6, 7, 8, 9]
SHARES = np.linspace(0.05, 0.95, 19).round(2).tolist()
WINDOWS = [500, 2000, 8000]
FLATNESS = [0.0, 0.03, 0.1, 0.3, 1.0]
CACHED = [0.02, 0.05, 0.1, 0.2, 0.4]  # shares of a cache
CHOOSING = 40_000  # symbols of the part that chooses; with each rate of the descent they take a minute or more
RATES = [0.0025, 0.005, 0.01, 0.02, 0.04, 0.08]


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train on a part and choose; train on the whole and read the test once."""
    part = {**config, "text": config["text"] | {"three_parts": True}}
    read = encoded(part)
    first = fit(part, seed, folder, text=read._replace(test=None), name="part")
    choose = partial(_choose, first.model, read, config["rates"])
    choices = kept(folder / "choices.json", choose)
    whole = encoded(config)
    last = fit(config, seed, folder, text=whole, name="whole")
    return {
        "parameters": parameters(last.model),
        "seconds": training_seconds(config, last.checkpoint),
        "training_nats": training_nats(last.history),
        "updates": last.history.validated,
        "curve": last.history.validation,
        "validation": [each["nats"] for each in choices.values()],
        "choices": [repr(each["choice"]) for each in choices.values()],
        "dynamic_tried": choices["dynamic"]["tried"],
        "nats": _read(last.model, whole, choices),
    }


WAYS = ["counted", "alone", "mixed", "cached", "dynamic", "dynamic, mixed"]


def _counting(read: Encoded, tokens: torch.Tensor, order: int) -> np.ndarray:
    grams = ModifiedKneserNey(Counts(read.training, len(read.vocabulary), order))
    return token_nats(grams, tokens, streams=1)


def _choose(network: LanguageModel, read: Encoded, rates: Sequence[float]) -> dict:
    """Return what does best on the held-out text, for each of the `WAYS`, with what it then costs."""
    tokens = read.held_out[:CHOOSING]

    def best(options: list, price: Callable[[Any], np.ndarray]) -> dict:
        tried = [float(np.mean(price(option))) for option in options]
        return {"choice": options[int(np.argmin(tried))], "nats": min(tried), "tried": tried}

    states, alone = states_and_nats(network, tokens)
    counts = {order: _counting(read, tokens, order) for order in ORDERS}
    found = {"counted": best(ORDERS, counts.get), "alone": best([None], lambda _: alone)}
    counted = counts[found["counted"]["choice"]]
    found["mixed"] = best(SHARES, lambda share: mixed(alone, counted, share))
    caches = {
        (window, flatness): cached_nats(states, tokens, window=window, flatness=flatness)
        for window, flatness in itertools.product(WINDOWS, FLATNESS)
    }
    options = list(itertools.product(WINDOWS, FLATNESS, CACHED))
    found["cached"] = best(options, lambda option: mixed(alone, caches[option[:2]], option[2]))
    learning = {rate: dynamic_nats(network, tokens, rate=rate) for rate in rates}
    found["dynamic"] = best(list(rates), learning.get)
    learned = learning[found["dynamic"]["choice"]]
    found["dynamic, mixed"] = best(SHARES, lambda share: mixed(learned, counted, share))
    return found


def _read(network: LanguageModel, read: Encoded, choices: dict) -> list[float]:
    """Return what a symbol of the held-out text costs in each of the `WAYS`, by what was chosen elsewhere."""
    tokens = read.held_out
    states, alone = states_and_nats(network, tokens)
    counted = _counting(read, tokens, choices["counted"]["choice"])
    window, flatness, share = choices["cached"]["choice"]
    learned = dynamic_nats(network, tokens, rate=choices["dynamic"]["choice"])
    costs = [
        counted,
        alone,
        mixed(alone, counted, choices["mixed"]["choice"]),
        mixed(alone, cached_nats(states, tokens, window=window, flatness=flatness), share),
        learned,
        mixed(learned, counted, choices["dynamic, mixed"]["choice"]),
    ]
    return [float(each.mean()) for each in costs]


METRICS = {
    "parameters": PARAMETERS,
    "seconds": SECONDS,
    "training_nats": TRAINING_NATS,
    "updates": UPDATES,
    "curve": CURVE,
    "validation": Metric("nats per character", "what the part that chooses cost, in each way", ("way",)),
    "choices": Metric("", "what was chosen there", ("way",)),
    "dynamic_tried": Metric("nats per character", "what that part cost with each rate of the descent", ("rate",)),
    "nats": NATS._replace(about="what a character of the test cost, read once, in each way", axes=("way",)),
}


GRU = {
    "text": text("tiny-shakespeare"),
    "model": model("LanguageModel", core="gru", hidden_size=512, embedding_size=64, dropout=0.4),
    "recipe": recipe(updates=3600, batch=32, seq_len=100, learning_rate=3e-3),
    "rates": RATES,
}

EXPERIMENTS = (
    Experiment(
        "ladder-shakespeare",
        "Tiny Shakespeare: a network alone, beside counting, with a cache, and going on learning as it reads",
        METRICS,
        {"gru": GRU},
        measure,
        lambda config: {"way": WAYS, "rate": config["rates"]},
        seeds=1,
        small={"rates": [0.02]},
    ),
)
