"""The experiments that time: the cells of chapter 6, and the training of chapter 7 in smaller and larger batches."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

from unrolled import cells, settings
from unrolled.experiments.base import Experiment
from unrolled.experiments.gated import EMBEDDING, parameters
from unrolled.experiments.gated import EXPERIMENTS as GATED
from unrolled.models import LanguageModel
from unrolled.training import Recipe, train


def measure_time(config: dict, seed: int, folder: Path) -> dict:
    """Time the cells forward and backward, the book's and PyTorch's in turn, at one hidden size and at one of weights.

    Returns:
        For each label ``hidden-size``, ``parameters``, and ``ours`` and ``torch``, microseconds a step of the whole
        batch: medians over the repeats.
    """
    torch.manual_seed(seed)
    device = settings.device()
    inputs = torch.randn(config["batch"], config["length"], EMBEDDING, device=device, requires_grad=True)

    def seconds(layer: Callable[[torch.Tensor], torch.Tensor]) -> float:
        started = time.perf_counter()
        layer(inputs).sum().backward()
        if device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - started

    layers, metrics = {}, {}
    for label, told in config["cells"].items():
        theirs = cells.CELLS[told["core"]].torch_layer(EMBEDDING, told["hidden_size"], batch_first=True).to(device)
        cell = cells.CELLS[told["core"]].from_torch(theirs)
        layers[f"{label}-ours"] = lambda x, cell=cell: cells.unroll(cell, x)[0]
        layers[f"{label}-torch"] = lambda x, theirs=theirs: theirs(x)[0]
        metrics[f"{label}-hidden-size"] = told["hidden_size"]
        metrics[f"{label}-parameters"] = parameters(told["core"], told["hidden_size"])
    rounds = [{name: seconds(layer) for name, layer in layers.items()} for _ in range(config["repeats"])]
    for name in layers:
        taken = statistics.median(one[name] for one in rounds[config["repeats"] // 10 :])  # the first warm up
        metrics[name] = 1e6 * taken / config["length"]
    return metrics


def measure_batching(config: dict, seed: int, folder: Path) -> dict:
    """Time the training of a language model with more and more streams side by side, at each precision.

    Returns:
        ``batches``, how many streams; and for each core and precision ``CORE-PRECISION``, microseconds a symbol, the
        whole update counted: medians over the repeats, one value for each number of streams.
    """
    torch.manual_seed(seed)
    symbols, time_steps = config["symbols"], config["seq_len"]
    models = {
        core: LanguageModel(symbols, core=core, hidden_size=config["hidden_size"]).to(settings.device())
        for core in config["cores"]
    }
    tokens = torch.randint(symbols, (max(config["batches"]) * time_steps + 1,))

    def microseconds(core: str, precision: str, batch: int) -> float:
        updates = max(1, config["least"] // (batch * time_steps))
        recipe = Recipe(updates, batch=batch, seq_len=time_steps, schedule="constant", precision=precision)
        started = time.perf_counter()
        train(models[core], tokens, recipe, progress=False)  # which waits for the device after every update
        return 1e6 * (time.perf_counter() - started) / (updates * batch * time_steps)

    kinds = [(core, precision) for core in config["cores"] for precision in config["precisions"]]
    rounds = [
        {(*kind, batch): microseconds(*kind, batch) for kind in kinds for batch in config["batches"]}
        for _ in range(config["repeats"] + 1)
    ][1:]  # the first warms up
    return {"batches": config["batches"]} | {
        "-".join(kind): [statistics.median(one[*kind, batch] for one in rounds) for batch in config["batches"]]
        for kind in kinds
    }


_STORIES = next(one for one in GATED if one.name == "gated-stories")


def _time(profile: str) -> dict:
    """Return the configuration of `cells-time`: the language models' cells of `gated-stories`, without the variants."""
    models = _STORIES.configs[profile]["models"]
    return {
        "batch": 32,
        "length": 64,
        "repeats": 60,
        "cells": {
            label: {"core": told["core"], "hidden_size": told["hidden_size"]}
            for label, told in models.items()
            if label in ("rnn", "gru", "lstm") or "-as-" in label
        },
    }


_BATCHING = {
    "cores": ["lstm", "torch-lstm"],
    "precisions": ["float32", "bf16"],
    "batches": [1, 4, 16, 64, 256],
    "symbols": 64,
    "seq_len": 64,
    "hidden_size": 256,
    "least": 4096,  # symbols that are read for one measurement
    "repeats": 5,
}

EXPERIMENTS = (
    Experiment(
        "cells-time",
        "Time of a step, forward and backward: RNN, GRU and LSTM of equal size and of equally many weights",
        {profile: _time(profile) for profile in settings.PROFILES},
        measure_time,
    ),
    Experiment(
        "batching-time",
        "Time of a training update for each symbol: LSTM language model, 1 to 256 streams, float32 and bf16",
        {
            "quick": _BATCHING,
            "full": _BATCHING | {"batches": [1, 16, 64, 256, 1024], "hidden_size": 1024, "least": 65_536},
        },
        measure_batching,
        seeded=False,
    ),
)
