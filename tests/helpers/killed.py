"""The laboratory with one more experiment, a small training that is often kept: what `test_kills` stops and resumes.

It prints the number of each update that is done.
"""

import json
import os
import signal
import sys
from pathlib import Path

import torch

import lab
from lab.__main__ import main
from lab.engine import training
from lab.engine.experiment import Experiment, model, recipe, text
from places import ROOT
from unrolled.records import Metric
from unrolled.training import progress

UPDATES = 200
CONFIG = {
    "text": text("stories", 50_000),
    "model": model("LanguageModel", hidden_size=64, core="torch-lstm", num_layers=2, dropout=0.2),
    "recipe": recipe(updates=UPDATES, symbols_per_update=512, seq_len=32, learning_rate=5e-3),
}
METRICS = {"losses": Metric("nats", "of each update", ("update",)), "curve": training.CURVE}
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}


def measure(config: dict, seed: int, folder: Path) -> dict:
    """Train an LSTM of two layers with dropout, which draws random numbers in every update; return every loss."""
    history = training.fit(config, seed, folder).history
    return {"losses": history.losses, "curve": history.validation}


def command(folder: Path, *options: str) -> list[str]:
    """Return the command that runs the experiment in a folder; it needs the `ENVIRONMENT`."""
    return [sys.executable, __file__, "run", "killed", "--seeds", "1", "--folder", str(folder), *options]


def place(folder: Path) -> Path:
    """Return where the run keeps the checkpoint ``model.pt``, its log, and in the end the model and the result."""
    (place,) = folder.glob("killed/lstm/seed-0-*")
    return place


def result(folder: Path) -> tuple[list[dict], dict[str, torch.Tensor]]:
    """Return the metrics and the lines of the log, without the speed, which no two runs share, and the weights."""
    metrics = json.loads((place(folder) / "result.json").read_text())["parts"]["lstm"]["metrics"]
    lines = [json.loads(line) for line in (place(folder) / "model.pt.jsonl").read_text().splitlines()]
    log = [{name: value for name, value in line.items() if name != "tokens_per_second"} for line in lines]
    return [metrics, *log], torch.load(place(folder) / "model.model", weights_only=True)["weights"]


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # even where the tests run in the background
    settings = {"checkpoint_every": 5, "watch": lambda done: print(done, flush=True)}
    progress.EVERY = 10
    train = training.train
    training.train = lambda *arguments, **options: train(*arguments, **options | settings)
    killed = Experiment("killed", "A training that is killed", METRICS, {"lstm": CONFIG}, measure)
    lab.experiments = lambda: {"killed": killed}
    sys.exit(main(sys.argv[1:]))
