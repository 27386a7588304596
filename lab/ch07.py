"""Chapter 7: how far a small network comes on Tiny Shakespeare, alone and with what it has just read.

Everything that is chosen is chosen on a tenth of the published training part, by a network that was trained on the
rest. Then the same recipe is trained on the whole of it, and reads the published validation part, by which nothing is
chosen.
"""

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lab.ch07_reading import Reader, cached_nats, dynamic_nats, states_and_nats
from lab.experiment import CHOSEN_BY, Config, Experiment, Metric, Setting, at, kept, model, recipe, text, with_setting
from lab.texts import Encoded, encoded
from lab.training import CURVE, NATS, PARAMETERS, SECONDS, TRAINING_NATS, UPDATES, fit, parameters, training_nats
from unrolled.measure import evaluate, mixed, token_nats
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
    choose = partial(_choose, first.model, read, config["rates"], config["choosing"])
    choices = kept(folder / "choices.json", choose)
    whole = encoded(config)
    last = fit(config, seed, folder, text=whole, name="whole")
    return {
        "parameters": parameters(last.model),
        "seconds": last.history.seconds,
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


def _choose(network: Reader, read: Encoded, rates: Sequence[float], symbols: int) -> dict:
    """Return what does best on the first symbols held out, for each of the `WAYS`, with what it then costs."""
    tokens = read.held_out[:symbols]

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


def _read(network: Reader, read: Encoded, choices: dict) -> list[float]:
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


def _reads(config: Config) -> dict[str, dict]:
    """Return the ways to read a test, with the options of `token_nats`; a window begins at the initial state."""
    return {"stream": {"streams": 1}, "windows": {"window": config["window"]}}


def measure_windows(config: Config, seed: int, folder: Path) -> dict:
    """Train on the whole, and read the test as one stream and in windows."""
    read = encoded(config)
    trained = fit(config, seed, folder, text=read, name="whole")
    return {
        "parameters": parameters(trained.model),
        "seconds": trained.history.seconds,
        "nats": [float(token_nats(trained.model, read.held_out, **way).mean()) for way in _reads(config).values()],
    }


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


BASE = {"text": text("tiny-shakespeare"), "recipe": recipe(updates=3600, batch=32, seq_len=100)}
READ = {"rates": RATES, "choosing": CHOOSING}
CORES = {  # with the 65 symbols each network has 1.1 to 1.3 million weights
    "lstm": model("LanguageModel", core="torch-lstm", hidden_size=512, embedding_size=64),
    "gru": model("LanguageModel", core="torch-gru", hidden_size=600, embedding_size=64),
    "rnn": model(
        "LanguageModel", core="torch-rnn", hidden_size=1024, embedding_size=64, cell_options={"nonlinearity": "relu"}
    ),
    "mingru": model("ResidualLM", core="mingru", hidden_size=416, embedding_size=416, num_layers=3),
    "transformer": model("TransformerLM", context=128, hidden_size=160, num_layers=4),
}
BLOCKS = {"batch": 25, "seq_len": 128, "carry": False}  # a transformer reads whole ones: as many symbols an update
PEAKS = {"lstm": [4e-3, 8e-3, 1.6e-2], "gru": [2e-3, 4e-3, 8e-3]}
PEAKS |= dict.fromkeys(["rnn", "mingru", "transformer"], [1e-3, 2e-3, 4e-3])
DROPPED = dict.fromkeys(CORES, [0.2, 0.4, 0.6]) | {"transformer": [0.1, 0.2, 0.3]}


def begun(core: str) -> Config:
    """Return a network before anything of it is chosen."""
    more = {"recipe": BASE["recipe"] | BLOCKS} if core == "transformer" else {}
    return BASE | {"model": CORES[core]} | more


def with_dropout(core: str) -> list[Setting]:
    """Return what is tried of a network: shares of dropout, each at every rate."""
    return [{"learning_rate": rate, "dropout": share} for share in DROPPED[core] for rate in PEAKS[core]]


def trial(config: Config, seed: int, folder: Path) -> dict:
    """Train a network on the part of the text that is published for training; score the rest of that."""
    part = {**config, "text": config["text"] | {"three_parts": True}, "validations": 0}
    read = encoded(part)
    network = fit(part, seed, folder, text=read, name="part").model
    return {CHOSEN_BY: evaluate(network, read.held_out).nats_per_symbol}


ladder = partial(
    Experiment,
    metrics=METRICS,
    measure=measure,
    axes=at(way=WAYS, rate="rates"),
    trial=trial,
    small={"rates": [0.02], "choosing": 1000},
)
LSTM = with_setting(begun("lstm"), {"learning_rate": 0.008, "dropout": 0.2})  # what `ladder-shakespeare` chose

EXPERIMENTS = (
    ladder(
        "ladder-shakespeare",
        "Tiny Shakespeare: a network alone, beside counting, with a cache, and going on learning as it reads",
        runs={f"lstm: {rung}": begun("lstm") | READ for rung in ("plain", "dropout")},
        trials={
            "lstm: plain": [{"learning_rate": rate} for rate in PEAKS["lstm"]],
            "lstm: dropout": with_dropout("lstm"),
        },
    ),
    ladder(
        "ladder-networks",
        "Tiny Shakespeare: the same of other networks with dropout",
        runs={f"{core}: dropout": begun(core) | READ for core in CORES if core != "lstm"},
        trials={f"{core}: dropout": with_dropout(core) for core in CORES if core != "lstm"},
        seeds=1,
    ),
    Experiment(
        "ladder-windows",
        "Tiny Shakespeare: an LSTM read as one stream, and in windows as a published transformer is",
        {
            "parameters": PARAMETERS,
            "seconds": SECONDS,
            "nats": NATS._replace(about="what a character of the test costs, read so", axes=("read",)),
        },
        {"lstm: dropout": LSTM | {"window": 256}},
        measure_windows,
        axes=lambda config: {"read": list(_reads(config))},
        seeds=1,
    ),
)
