"""How does the learning rate change the order of the cells (chapter 8)?

The recurrent networks of `model_kinds` are trained for a shorter time, each at several rates.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from unrolled.experiments.base import NATS, Configuration, Experiment, Metric, fit, recipe
from unrolled.experiments.model_kinds import MODELS
from unrolled.experiments.reading import Encoded, encoded, text
from unrolled.experiments.scoring import TRAINING_NATS, training_nats
from unrolled.measure import evaluate, token_nats
from unrolled.measure.evaluation import Model


def lost(model: Model, text: Encoded, streams: int = 32) -> int:
    """Return how many of the streams in which a held-out text is read pay more than twice what the median one pays."""
    nats = token_nats(model, text.held_out, streams=streams)
    length = math.ceil(len(nats) / streams)
    paid = np.array([stream.mean() for stream in np.split(nats, range(length, len(nats), length))])
    return int((paid > 2 * np.median(paid)).sum())


def measure(config: Configuration, seed: int, folder: Path) -> dict:
    """Train the model of a configuration at each of its ``rates``, and score it."""
    text, columns = encoded(config), []
    for rate in config["rates"]:
        tried = config | {"recipe": config["recipe"] | {"learning_rate": rate}}
        model, _, history, _ = fit(tried, seed, folder, text=text, name=f"{rate:g}")
        columns.append(
            {
                "nats": evaluate(model, text.held_out).nats_per_symbol,
                "training_nats": training_nats(history),
                "lost": lost(model, text),
            }
        )
    return {name: [column[name] for column in columns] for name in columns[0]}


METRICS = {
    "nats": NATS._replace(axes=("rate",)),
    "training_nats": TRAINING_NATS._replace(axes=("rate",)),
    "lost": Metric("streams", "how many of the 32 that are scored pay more than twice what the median pays", ("rate",)),
}


def axes(config: Configuration) -> dict:
    """Return the coordinates of the axis of `METRICS`: the learning rates."""
    return {"rate": config["rates"]}


def _contenders(characters: int, updates: int) -> dict[str, Configuration]:
    common = recipe(updates=updates, symbols_per_update=2048, seq_len=64)
    del common["learning_rate"]  # each of the rates in turn
    shared = {"text": text("stories", characters), "recipe": common, "rates": [1e-3, 3e-3, 1e-2, 3e-2]}
    return {label: shared | {"model": MODELS[label]} for label in ("rnn", "gru", "lstm")}


EXPERIMENTS = (
    Experiment(
        "learning-rates",
        "Stories: RNN, GRU and LSTM of equally many weights, each at four learning rates",
        METRICS,
        {"quick": _contenders(2_000_000, 1000), "full": _contenders(20_000_000, 6000)},
        measure,
        axes,
        seeds=2,
    ),
)
