"""The command line with one more experiment, a small training that is often kept: what `test_kills` stops and resumes.

It prints the number of each update that is done.
"""

import json
import signal
import sys
from pathlib import Path

import torch
from unrolled.experiments import Experiment, base, reading

from unrolled import experiments
from unrolled.__main__ import main
from unrolled.training import progress

UPDATES = 200
CONFIG = {
    "text": reading.text("stories", 50_000),
    "model": base.model("LanguageModel", hidden_size=64, core="torch-lstm", num_layers=2, dropout=0.2),
    "recipe": base.recipe(updates=UPDATES, symbols_per_update=512, seq_len=32, learning_rate=5e-3),
}
METRICS = {"losses": base.Metric("nats", "of each update", ("update",)), "curve": base.CURVE}


def measure(config: dict, seed: int, folder: Path) -> dict:
    """Train an LSTM of two layers with dropout, which draws random numbers in every update; return every loss."""
    history = base.fit(config, seed, folder).history
    return {"losses": history.losses, "curve": history.validation}


def command(folder: Path, *options: str) -> list[str]:
    """Return the command that runs the experiment in a folder."""
    return [sys.executable, __file__, "run", "killed", "--seeds", "1", "--folder", str(folder), *options]


def place(folder: Path) -> Path:
    """Return where the run keeps the checkpoint ``model.pt``, its log, and in the end the model and the result."""
    (place,) = folder.glob("killed-*/lstm/seed-0-*")
    return place


def result(folder: Path) -> tuple[list[dict], dict[str, torch.Tensor]]:
    """Return the metrics and the lines of the log, without the speed, which no two runs share, and the weights."""
    metrics = json.loads((place(folder) / "result.json").read_text())["lstm"]["metrics"]
    lines = [json.loads(line) for line in (place(folder) / "model.pt.jsonl").read_text().splitlines()]
    log = [{name: value for name, value in line.items() if name != "tokens_per_second"} for line in lines]
    return [metrics, *log], torch.load(place(folder) / "model.model", weights_only=True)["weights"]


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # even where the tests run in the background
    settings = {"checkpoint_every": 5, "watch": lambda done: print(done, flush=True)}
    progress.EVERY = 10
    train = base.train
    base.train = lambda *arguments, **options: train(*arguments, **options | settings)
    contenders = {profile: {"lstm": CONFIG} for profile in ("quick", "full")}
    experiments.EXPERIMENTS["killed"] = Experiment("killed", "A training that is killed", METRICS, contenders, measure)
    sys.exit(main(sys.argv[1:]))
