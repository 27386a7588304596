"""Kill a training at random moments with kill −9, let it go on, and see that nothing has changed to the last bit.

A run of an experiment on the command line, ``python -m unrolled run``, is started and killed, at a moment that can be
any between the beginning of its training and its end, and then run with ``--resume`` to its end. What it leaves, the
losses and the weights, is compared with what an undisturbed run left.
"""

import argparse
import hashlib
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from unrolled import experiments
from unrolled.__main__ import main as command_line
from unrolled.experiments import Experiment, base
from unrolled.models import LanguageModel

CONFIG = {
    "corpus": "stories",
    "characters": 300_000,
    "symbols_per_update": 1024,
    "seq_len": 32,
    "updates": 400,
    "carry": True,
    "learning_rate": 5e-3,
}


def measure(config: dict, seed: int, folder: Path) -> dict:
    """Train an LSTM of two layers with dropout, keeping it every 20 updates; return every loss."""

    def make(vocab_size: int) -> LanguageModel:
        return LanguageModel(vocab_size, hidden_size=64, core="torch-lstm", num_layers=2, dropout=0.2)

    _, _, history = base.trained(make, config, seed, folder / "lstm.pt")
    return {"loss": history.losses[-1], "losses": history.losses, "validation": history.validation}


def register() -> None:
    """Make the experiment known to the command line, and its checkpoints frequent."""
    told = {"quick": CONFIG, "full": CONFIG}
    experiments.EXPERIMENTS["killed"] = Experiment("killed", "A training that is killed", told, measure)
    train = base.train
    base.train = lambda *given, **how: train(*given, checkpoint_every=20, **how)


def start(folder: Path, *told: str) -> subprocess.Popen:
    """Start the run in a process of its own."""
    command = [sys.executable, __file__, "--as-command-line", "run", "killed", "--seeds", "1", "--folder", str(folder)]
    return subprocess.Popen([*command, *told], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def await_training(process: subprocess.Popen, folder: Path) -> None:
    """Return as soon as the training has made its folder; give up where the run has ended without it."""
    while not any(folder.glob("killed-*/seed-0")):
        if process.poll() is not None:
            raise SystemExit(f"the run ended with code {process.returncode} before its training began")
        time.sleep(0.01)


def reached(folder: Path) -> int:
    """Return how many updates the checkpoint holds; 0 where there is none."""
    found = list(folder.glob("killed-*/seed-0/lstm.pt"))
    return torch.load(found[0], weights_only=True)["done"] if found else 0


def result(folder: Path) -> tuple[float, str]:
    """Return the final loss, and a digest of all losses, scores and weights."""
    (place,) = folder.glob("killed-*")
    metrics = json.loads((place / "seed-0.json").read_text())["metrics"]
    weights = torch.load(place / "seed-0" / "lstm.model", weights_only=True)["weights"]
    digest = hashlib.sha256(json.dumps(metrics).encode())
    for name, weight in sorted(weights.items()):
        digest.update(name.encode() + weight.numpy().tobytes())
    return metrics["loss"], digest.hexdigest()[:16]


def main() -> int:
    """Print a line a kill, and return 1 if any run ended otherwise than the undisturbed one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=10, help="how many runs to kill (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (default: %(default)s)")
    told = parser.parse_args()
    moments, changed = random.Random(told.seed), 0
    with tempfile.TemporaryDirectory() as folders:
        whole = Path(folders, "whole")
        process = start(whole)
        await_training(process, whole)
        began = time.monotonic()
        if process.wait():
            raise SystemExit("the undisturbed run failed")
        seconds = time.monotonic() - began
        expected = result(whole)
        print(f"undisturbed: {seconds:.1f} s, final loss {expected[0]!r}, digest {expected[1]}")
        print("killed after   at update   final loss            digest")
        for number in range(told.times):
            folder, moment = Path(folders, str(number)), moments.uniform(0, seconds)
            process = start(folder)
            await_training(process, folder)
            time.sleep(moment)
            process.kill()
            process.wait()
            done = reached(folder)
            if start(folder, "--resume").wait():
                raise SystemExit("the resumed run failed")
            found = result(folder)
            changed += found != expected
            same = "the same" if found == expected else "NOT the same"
            print(f"{moment:8.1f} s {done:13}   {found[0]!r:20}  {found[1]}  {same}", flush=True)
    return bool(changed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--as-command-line"]:
        register()
        raise SystemExit(command_line(sys.argv[2:]))
    raise SystemExit(main())
