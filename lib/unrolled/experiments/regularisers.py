"""What is each part of a recipe worth where there is little text to learn from (chapters 7 and 8)?

An LSTM of words reads the same stories dozens of times, so that it can overfit. One part of the recipe is changed at a
time, and every contender has its learning rate from a search of its own.
"""

from __future__ import annotations

import math
from pathlib import Path

from unrolled.experiments.base import NATS, Configuration, Experiment, Metric, fit, model, recipe
from unrolled.experiments.reading import text
from unrolled.experiments.tuning import SEARCH, Tuned, check_chosen, decided, grid, tune
from unrolled.measure import evaluate

SEARCHED = "regularisers-tuning"


def measure(config: Configuration, seed: int, folder: Path) -> dict:
    """Train a model of words, scored on the validation text on the way; score it on the training text and the test."""
    check_chosen(config)
    trained = fit(config, seed, folder)
    read = trained.text.training[: len(trained.text.test)]
    curve = {"updates": trained.history.validated, "curve": trained.history.validation}
    return {
        "nats": evaluate(trained.model, trained.text.test).nats_per_symbol,
        "training_nats": evaluate(trained.model, read).nats_per_symbol,
        **({} if config["recipe"]["patience"] else curve),  # each seed ends at another update
    }


METRICS = {
    "nats": NATS._replace(unit="nats per word", about="what a word of the test costs"),
    "training_nats": Metric("nats per word", "what one of the training text costs, with no unit dropped"),
    "updates": Metric("updates", "those after which the validation text was scored", ("score",)),
    "curve": Metric("nats per word", "what a word of it cost then", ("score",)),
}

SIZE = {"quick": 192, "full": 512}  # of the hidden state, and of the embedding
ADAM, DESCENT = [2e-3, 4e-3, 8e-3, 1.6e-2], [2.5, 5.0, 10.0, 20.0]


def _changes(size: int) -> dict[str, tuple[dict, dict]]:
    """Return what each contender changes: in the model, and in the recipe."""
    tied = {"tied": True, "embedding_scale": math.sqrt(size)}
    descent = {"optimizer": "sgd", "clip": 0.25}  # as in PyTorch's word-language-model example
    return {
        "plain": ({}, {}),
        "dropout 0.2": ({"dropout": 0.2}, {}),
        "dropout 0.5": ({"dropout": 0.5}, {}),
        "tied": (tied, {}),
        "tied, not scaled": ({"tied": True}, {}),
        "weight decay": ({}, {"optimizer": "adamw", "weight_decay": 0.1}),
        "early stopping": ({}, {"patience": 3}),
        "all of these": (tied | {"dropout": 0.5}, {"optimizer": "adamw", "weight_decay": 0.1, "patience": 3}),
        "not clipped": ({}, {"clip": None}),
        "constant rate": ({}, {"schedule": "constant"}),
        "descent": ({}, descent),
        "descent, not clipped": ({}, descent | {"clip": None}),
    }


def _base(profile: str) -> dict[str, Configuration]:
    """Return every contender before its learning rate is chosen."""
    size, updates = SIZE[profile], {"quick": 1500, "full": 15_000}[profile]
    network = {"core": "lstm", "hidden_size": size, "embedding_size": size}
    begun = {"cell_options": {"initialisation": "orthogonal"}}
    steps = {"updates": updates, "batch": 8, "seq_len": 160, "reset": 0.05}
    return {
        label: {
            "text": text("stories", 250_000 if profile == "quick" else 2_500_000, words=True, three_parts=True),
            "model": model("LanguageModel", **network | begun | in_model),
            "recipe": recipe(**steps | in_recipe),
            "validations": 15,
        }
        for label, (in_model, in_recipe) in _changes(size).items()
    }


def _searches(profile: str) -> dict[str, Configuration]:
    return {
        label: config
        | {"settings": grid(DESCENT if config["recipe"]["optimizer"] == "sgd" else ADAM, [{}]), "keep": [[0.5, 2]]}
        for label, config in _base(profile).items()
    }


def _contenders(profile: str) -> dict[str, Configuration]:
    return decided(SEARCHED, _searches(profile), _base(profile))


EXPERIMENTS = (
    Experiment(
        SEARCHED,
        "Stories, few words: the learning rate for each change of the recipe",
        SEARCH,
        Tuned(_searches),
        tune,
        seeds=1,
    ),
    Experiment(
        "regularisers",
        "Stories, few words: dropout, tying, weight decay, early stopping, clipping and schedule, one change at a time",
        METRICS,
        Tuned(_contenders),
        measure,
    ),
)
