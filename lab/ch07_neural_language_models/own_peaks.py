"""What is a part of a recipe worth, if each variant has its own best learning rate (chapter 7)?

Short trainings, each at several peaks of the rate. *Schedules*: a GRU of characters with a constant rate, with one that
falls like half a cosine, and with one that rises in a warm-up before it falls. *Tying*: a GRU of words with a matrix
for its inputs and one for its outputs, with one matrix for both, and with that matrix times √d where words come in.
"""

import math
from collections.abc import Callable
from pathlib import Path

from lab.engine.experiment import Config, Experiment, Metric, at, model, recipe, text
from lab.engine.search import with_setting
from lab.engine.texts import encoded
from lab.engine.training import fit
from unrolled.measure import evaluate
from unrolled.models import NeuralModel
from unrolled.training import TrainingDiverged

PEAKS = {"schedules": [2.5e-3, 5e-3, 1e-2, 2e-2, 4e-2], "tying": [4e-3, 8e-3, 1.6e-2, 3.2e-2, 6.4e-2]}


def measure(config: Config, seed: int, folder: Path, untrained: Callable[[int], NeuralModel] | None = None) -> dict:
    """Train at each peak and score each network on the validation and on the test text; `untrained` is as in `fit`."""
    read, costs = encoded(config), []
    for peak in config["peaks"]:
        try:
            tried = with_setting(config, {"learning_rate": peak})
            network = fit(tried, seed, folder, text=read, untrained=untrained, name=f"peak-{peak:.2g}").model
            costs.append([evaluate(network, part).nats_per_symbol for part in (read.held_out, read.test)])
        except TrainingDiverged:
            costs.append([math.inf, math.inf])
    validation, test = zip(*costs, strict=True)
    return {"validation": validation, "nats": test}


def metrics(unit: str) -> dict[str, Metric]:
    """Return what is measured, of characters or of words."""
    return {
        "validation": Metric(f"nats per {unit}", "what the text cost that chooses the peak", ("peak",)),
        "nats": Metric(f"nats per {unit}", "what the test cost", ("peak",)),
    }


def scheduled(**schedule) -> Config:
    """Return a GRU of 128 units that reads stories once, in 400 updates."""
    return {
        "text": text("stories", 819_200, three_parts=True),
        "model": model("LanguageModel", core="gru", hidden_size=128),
        "recipe": recipe(updates=400, batch=32, seq_len=64, reset=0.05, **schedule),
        "peaks": PEAKS["schedules"],
        "validations": 0,
    }


def tying(**options) -> Config:
    """Return a GRU of words with vectors and states of 96 numbers, in 400 updates."""
    return {
        "text": text("stories", 2_000_000, words=True, three_parts=True),
        "model": model("LanguageModel", core="gru", embedding_size=96, hidden_size=96, **options),
        "recipe": recipe(updates=400, batch=32, seq_len=32),
        "peaks": PEAKS["tying"],
        "validations": 0,
    }


EXPERIMENTS = (
    Experiment(
        "schedules",
        "Stories: a constant rate, a falling one, and one with a warm-up, each at five peaks",
        metrics("character"),
        {
            "constant": scheduled(schedule="constant"),
            "falling": scheduled(schedule="cosine", warm_up=0.0),
            "rising, falling": scheduled(schedule="cosine"),
        },
        measure,
        at(peak="peaks"),
    ),
    Experiment(
        "tying",
        "Stories, words: two matrices, one, and one times √d where words come in, each at five peaks",
        metrics("word"),
        {
            "two matrices": tying(),
            "one": tying(tied=True),
            "one, times √d": tying(tied=True, embedding_scale=96**0.5),
        },
        measure,
        at(peak="peaks"),
    ),
)
