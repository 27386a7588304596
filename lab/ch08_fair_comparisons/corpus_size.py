"""How much text does a network need to learn more than counting does, and what does each take in memory (chapter 8)?

N-grams are counted, and networks trained, on more and more of a text, and all are scored on the same held-out part. A
network reads no more than the counts do, but many times. Scores on another held-out part end a training that no longer
helps, and the weights at the best of them are kept.
"""

import math
from pathlib import Path

import torch

from lab.engine.experiment import Config, Experiment, Metric, at, model, recipe, text
from lab.engine.scoring import BYTES, size_in_bytes
from lab.engine.texts import Encoded, encoded
from lab.engine.training import NATS, fit, recipe_of
from unrolled.measure import evaluate
from unrolled.ngram import Counts, ModifiedKneserNey


def count(config: Config, part: Encoded, scored: torch.Tensor) -> dict:
    """Count n-grams in one part of the text, and score them."""
    counted = ModifiedKneserNey(Counts(part.training, len(part.vocabulary), config["order"]))
    return {"nats": evaluate(counted, scored).nats_per_symbol, "bytes": counted.nbytes}


def learn(config: Config, seed: int, folder: Path, part: Encoded, scored: torch.Tensor) -> dict:
    """Train on one part of the text, at most the ``passes`` and the updates of a configuration, and score."""
    size, limit = len(part.training), recipe_of(config)
    updates = min(limit.updates, math.ceil(config["passes"] * size / (limit.batch * limit.seq_len)))
    shortened = config | {"recipe": config["recipe"] | {"updates": updates}}
    network, _, history, _ = fit(shortened, seed, folder, text=part, name=str(size))
    return {
        "nats": evaluate(network, scored).nats_per_symbol,
        "bytes": size_in_bytes(network),
        "updates": len(history.losses),
    }


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Learn from each of the ``sizes`` of a text, by counting where the configuration has an ``order``, and score.

    The text is the seed's own.
    """
    text, columns = encoded(config, seed), []
    watched, scored, _ = text.held_out.tensor_split([config["watched"], config["watched"] + config["scored"]])
    for size in config["sizes"]:
        part = Encoded(text.vocabulary, text.training[:size], watched)
        columns.append(count(config, part, scored) if "order" in config else learn(config, seed, folder, part, scored))
    return {name: [column[name] for column in columns] for name in columns[0]}


METRICS = {
    "nats": NATS._replace(axes=("size",)),
    "bytes": BYTES._replace(axes=("size",)),
    "updates": Metric("updates", "how many there were before the training ended", ("size",)),
}


SHARED = {
    "text": text("stories", 10_000_000),
    "sizes": [10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 9_000_000],  # characters to learn from
    "watched": 50_000,
    "scored": 300_000,
}
RATES = {"gru": 3e-3, "lstm": 1e-2}


def _network(core: str) -> Config:
    steps = recipe(updates=4000, symbols_per_update=2048, seq_len=64, patience=5, learning_rate=RATES[core])
    network = {"model": model("LanguageModel", core=core, hidden_size=192), "recipe": steps}
    return SHARED | network | {"passes": 200, "validations": 20}


EXPERIMENTS = (
    Experiment(
        "corpus-size",
        "Stories: n-grams, GRU and LSTM from 10,000 to 9,000,000 characters, and the bytes that each takes",
        METRICS,
        {f"{order}-gram": SHARED | {"order": order} for order in (4, 8, 12)} | {core: _network(core) for core in RATES},
        measure,
        at(size="sizes"),
        seeds=2,
        small={"sizes": [1000, 3000], "watched": 500, "scored": 1000, "passes": 1, "validations": 1},
    ),
)
