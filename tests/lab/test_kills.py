"""A run on the command line that is stopped again and again at random moments ends as if nothing had happened."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import torch

import killed

KILLS = int(os.environ.get("UNROLLED_KILLS", "3"))  # `make claims` asks for ten
CODES = {signal.SIGKILL: -signal.SIGKILL, signal.SIGTERM: 143, signal.SIGINT: 130}


def stop(folder: Path, number: int, moment: int, *options: str) -> int:
    """Run until an update is done, send a signal a little later, and return how many updates the checkpoint holds."""
    process = subprocess.Popen(
        killed.command(folder, *options),
        env=killed.ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    done = next((int(line) for line in process.stdout if line.strip().isdigit() and int(line) >= moment), None)
    assert done, f"the run ended with code {process.wait()} before update {moment}"
    time.sleep(random.uniform(0, 0.02))
    process.send_signal(number)
    process.communicate()
    assert process.returncode == CODES[number]
    checkpoint = killed.place(folder) / "model.pt"
    return torch.load(checkpoint, weights_only=True)["done"] if checkpoint.exists() else 0


def test_a_run_that_is_stopped_at_random_moments_ends_the_same_to_the_last_bit(tmp_path):
    signals = [signal.SIGKILL] * KILLS + [signal.SIGTERM, signal.SIGINT]
    random.shuffle(signals)
    moments = sorted(random.sample(range(1, killed.UPDATES * 3 // 4), len(signals)))
    options = []
    for number, moment in zip(signals, moments, strict=True):
        done = stop(tmp_path / "stopped", number, moment, *options)
        assert done >= moment or number == signal.SIGKILL  # nothing is lost where there was time to write
        options = ["--resume"]
    for folder in ("stopped", "whole"):
        command = killed.command(tmp_path / folder, *(options if folder == "stopped" else []))
        subprocess.run(command, env=killed.ENVIRONMENT, check=True, capture_output=True)
    (measured, weights), (expected, others) = (killed.result(tmp_path / folder) for folder in ("stopped", "whole"))
    stops = list(zip(signals, moments, strict=True))
    assert measured == expected, stops
    assert all(torch.equal(weights[name], others[name]) for name in others), stops
