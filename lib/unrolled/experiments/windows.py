"""The experiments of chapter 1 that train: neural models with a fixed window."""

from __future__ import annotations

from pathlib import Path

from unrolled.experiments.base import Experiment, trained
from unrolled.measure import evaluate
from unrolled.models import FixedWindowLM, NeuralModel


def measure_initialisation(config: dict, seed: int, folder: Path) -> dict:
    """Train the published window network from each kind of first weights, with and without LayerNorm."""
    metrics = {}
    for initialisation in config["initialisations"]:
        for layer_norm in (False, True):
            name = f"{initialisation}-{'norm' if layer_norm else 'plain'}"

            def make(vocab_size: int, chosen=initialisation, norm=layer_norm) -> NeuralModel:
                return FixedWindowLM(vocab_size, initialisation=chosen, layer_norm=norm)

            model, held_out, history = trained(make, config, seed, folder / f"{name}.pt")
            metrics[name] = evaluate(model, held_out).nats_per_symbol
            metrics[f"{name}-curve"], metrics["updates"] = history.validation, history.validated
            metrics[f"{name}-first-loss"] = history.losses[0]
    return metrics


def measure_size(config: dict, seed: int, folder: Path) -> dict:
    """Train the network with windows of several lengths: nats per character, and parameters."""
    metrics = {"windows": config["windows"], "nats": [], "parameters": []}
    for window in config["windows"]:

        def make(vocab_size: int, chosen=window) -> NeuralModel:
            return FixedWindowLM(vocab_size, window=chosen)

        model, held_out, _ = trained(make, config, seed, folder / f"window-{window}.pt")
        metrics["nats"].append(evaluate(model, held_out).nats_per_symbol)
        metrics["parameters"].append(sum(weight.numel() for weight in model.parameters()))
    return metrics


_TINYSTORIES = {
    "corpus": "tinystories-sample",
    "seq_len": 32,
    "symbols_per_update": 2048,
    "carry": True,
    "updates": 2000,
    "learning_rate": 3e-3,
}
_INITIALISATION = _TINYSTORIES | {"initialisations": ["normal", "default", "xavier"]}
_SIZE = _TINYSTORIES | {"corpus": "stories", "characters": 2_000_000, "windows": [2, 4, 8, 16, 32]}

EXPERIMENTS = (
    Experiment(
        "window-initialisation",
        "TinyStories sample: the window network from three kinds of first weights, with and without LayerNorm",
        {"quick": _INITIALISATION, "full": _INITIALISATION | {"updates": 20_000}},
        measure_initialisation,
    ),
    Experiment(
        "window-size",
        "Stories: the window network with windows of 2 to 32 characters",
        {"quick": _SIZE, "full": _SIZE | {"characters": 20_000_000, "updates": 40_000}},
        measure_size,
    ),
    Experiment(
        "window-size-tinystories",
        "TinyStories sample: the window network with the published window of 8 characters",
        {
            "quick": _SIZE | {"corpus": "tinystories-sample", "windows": [8], "updates": 4000},
            "full": _SIZE | {"corpus": "tinystories-sample", "windows": [2, 4, 8, 16, 32], "updates": 20_000},
        },
        measure_size,
    ),
)
