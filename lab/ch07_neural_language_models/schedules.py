"""Does it pay to let the learning rate fall, even in a short training (chapter 7)?

A GRU of characters reads stories with a constant rate, and with one that rises and then falls like half a cosine. Each
schedule is trained at several peaks, so that each is compared at its own best.
"""

import math
from pathlib import Path

from lab.engine.experiment import Config, Experiment, Metric, at, model, recipe, text
from lab.engine.search import with_setting
from lab.engine.texts import encoded
from lab.engine.training import fit
from unrolled.measure import evaluate
from unrolled.training import TrainingDiverged

PEAKS = [2.5e-3, 5e-3, 1e-2, 2e-2, 4e-2]


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train at each peak and score each network on the validation and on the test text."""
    read, costs = encoded(config), []
    for peak in config["peaks"]:
        try:
            tried = with_setting(config, {"learning_rate": peak})
            network = fit(tried, seed, folder, text=read, name=f"peak-{peak:.2g}").model
            costs.append([evaluate(network, part).nats_per_symbol for part in (read.held_out, read.test)])
        except TrainingDiverged:
            costs.append([math.inf, math.inf])
    validation, test = zip(*costs, strict=True)
    return {"validation": validation, "nats": test}


def configuration(schedule: str, updates: int) -> Config:
    """Return a GRU of 128 units that reads each story at most once."""
    settings = {"updates": updates, "batch": 32, "seq_len": 64, "reset": 0.05, "schedule": schedule}
    return {
        "text": text("stories", max(500_000, 2048 * updates), three_parts=True),
        "model": model("LanguageModel", core="gru", hidden_size=128),
        "recipe": recipe(**settings),
        "peaks": PEAKS,
        "validations": 0,
    }


EXPERIMENTS = (
    Experiment(
        "schedules",
        "Stories: a constant and a falling learning rate, each at five peaks, in a short training",
        {
            "validation": Metric("nats per character", "what the text cost that chooses the peak", ("peak",)),
            "nats": Metric("nats per character", "what the test cost", ("peak",)),
        },
        {f"{schedule} 400": configuration(schedule, 400) for schedule in ("constant", "cosine")},
        measure,
        at(peak="peaks"),
    ),
)
