"""How does the learning rate change the order of the cells (chapter 8)?

The recurrent networks of `model_kinds` are trained for a shorter time, each at several rates.
"""

import math
from pathlib import Path

import numpy as np

from lab.ch08_fair_comparisons.model_kinds import MODELS
from lab.engine.experiment import Config, Experiment, Metric, at, recipe, text
from lab.engine.scoring import TRAINING_NATS, training_nats
from lab.engine.texts import Encoded, encoded
from lab.engine.training import NATS, fit
from unrolled.measure import evaluate, token_nats
from unrolled.measure.evaluation import Model


def expensive_streams(model: Model, text: Encoded, streams: int = 32) -> int:
    """Return how many of the streams in which a held-out text is read pay more than twice what the median one pays."""
    nats = token_nats(model, text.held_out, streams=streams)
    length = math.ceil(len(nats) / streams)
    paid = np.array([stream.mean() for stream in np.split(nats, range(length, len(nats), length))])
    return int((paid > 2 * np.median(paid)).sum())


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train the model of a configuration at each of its ``rates``, and score it."""
    text, columns = encoded(config), []
    for rate in config["rates"]:
        tried = config | {"recipe": config["recipe"] | {"learning_rate": rate}}
        model, _, history, _ = fit(tried, seed, folder, text=text, name=f"{rate:g}")
        columns.append(
            {
                "nats": evaluate(model, text.held_out).nats_per_symbol,
                "training_nats": training_nats(history),
                "lost": expensive_streams(model, text),
            }
        )
    return {name: [column[name] for column in columns] for name in columns[0]}


METRICS = {
    "nats": NATS._replace(axes=("rate",)),
    "training_nats": TRAINING_NATS._replace(axes=("rate",)),
    "lost": Metric("streams", "how many of the 32 that are scored pay more than twice what the median pays", ("rate",)),
}


SHARED = {
    "text": text("stories", 2_000_000),
    "recipe": recipe(updates=1000, symbols_per_update=2048, seq_len=64),  # at each of the rates in turn
    "rates": [1e-3, 3e-3, 1e-2, 3e-2],
}

EXPERIMENTS = (
    Experiment(
        "learning-rates",
        "Stories: RNN, GRU and LSTM of equally many weights, each at four learning rates",
        METRICS,
        {label: SHARED | {"model": MODELS[label]} for label in ("rnn", "gru", "lstm")},
        measure,
        at(rate="rates"),
        seeds=2,
    ),
)
