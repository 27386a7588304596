"""The command line with one more experiment, a small training that is often kept: what `test_kills` stops and resumes.

It prints the number of each update that is done.
"""

import json
import signal
import sys
from pathlib import Path

import torch

from unrolled import experiments
from unrolled.__main__ import main
from unrolled.experiments import Experiment, base
from unrolled.models import LanguageModel

UPDATES = 200
CONFIG = {
    "corpus": "stories",
    "characters": 50_000,
    "symbols_per_update": 512,
    "seq_len": 32,
    "updates": UPDATES,
    "carry": True,
    "learning_rate": 5e-3,
}


def measure(config: dict, seed: int, folder: Path) -> dict:
    """Train an LSTM of two layers with dropout, which draws random numbers in every update; return every loss."""

    def make(vocab_size: int) -> LanguageModel:
        return LanguageModel(vocab_size, hidden_size=64, core="torch-lstm", num_layers=2, dropout=0.2)

    _, _, history = base.trained(make, config, seed, folder / "lstm.pt")
    return {"losses": history.losses, "validation": history.validation}


def command(folder: Path, *options: str) -> list[str]:
    """Return the command that runs the experiment in a folder."""
    return [sys.executable, __file__, "run", "killed", "--seeds", "1", "--folder", str(folder), *options]


def place(folder: Path) -> Path:
    """Return where the run keeps the checkpoint ``lstm.pt``, its log, and in the end the model."""
    (place,) = folder.glob("killed-*/seed-0")
    return place


def result(folder: Path) -> tuple[list[dict], dict[str, torch.Tensor]]:
    """Return the metrics and the lines of the log, without the speed, which no two runs share, and the weights."""
    metrics = json.loads(place(folder).with_suffix(".json").read_text())["metrics"]
    lines = [json.loads(line) for line in (place(folder) / "lstm.pt.jsonl").read_text().splitlines()]
    log = [{name: value for name, value in line.items() if name != "tokens_per_second"} for line in lines]
    return [metrics, *log], torch.load(place(folder) / "lstm.model", weights_only=True)["weights"]


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # even where the tests run in the background
    settings = {"checkpoint_every": 5, "log_every": 10, "watch": lambda done: print(done, flush=True)}
    train = base.train
    base.train = lambda *arguments, **options: train(*arguments, **options | settings)
    configs = {"quick": CONFIG, "full": CONFIG}
    experiments.EXPERIMENTS["killed"] = Experiment("killed", "A training that is killed", configs, measure)
    sys.exit(main(sys.argv[1:]))
