"""What becomes of a network with a fixed window: how its weights begin, and how far it sees (chapter 1)?"""

from pathlib import Path

from lab.engine.experiment import Config, Experiment, Metric, model, recipe, text
from lab.engine.training import CURVE, NATS, PARAMETERS, UPDATES, fit, parameters
from unrolled.measure import evaluate


def measure_initialisation(config: Config, seed: int, folder: Path) -> dict:
    """Train the network from its first weights; see what the first batch costs, and the text on the way."""
    network, read, history, _ = fit(config, seed, folder)
    return {
        "nats": evaluate(network, read.held_out).nats_per_symbol,
        "first_loss": history.losses[0],
        "updates": history.validated,
        "curve": history.validation,
    }


INITIALISATION = {
    "nats": NATS,
    "first_loss": Metric("nats per character", "what the first batch costs, before any update"),
    "updates": UPDATES,
    "curve": CURVE,
}


def measure_size(config: Config, seed: int, folder: Path) -> dict:
    """Train the network with its window; count its weights."""
    network, read, *_ = fit(config, seed, folder)
    return {"nats": evaluate(network, read.held_out).nats_per_symbol, "parameters": parameters(network)}


SIZE = {"nats": NATS, "parameters": PARAMETERS}


def _recipe(updates: int) -> Config:
    return recipe(updates=updates, symbols_per_update=2048, seq_len=32, learning_rate=3e-3)


def _sizes(read: Config, updates: int, windows: tuple[int, ...] = (2, 4, 8, 16, 32)) -> dict[str, Config]:
    """Return the contenders of `window-size`, labelled by the characters in view."""
    return {
        str(window): {"text": read, "model": model("FixedWindowLM", window=window), "recipe": _recipe(updates)}
        for window in windows
    }


INITIALISATIONS = {
    f"{initialisation} {'norm' if layer_norm else 'plain'}": {
        "text": text("tinystories-sample"),
        "model": model("FixedWindowLM", initialisation=initialisation, layer_norm=layer_norm),
        "recipe": _recipe(2000),
    }
    for initialisation in ("normal", "default", "xavier")
    for layer_norm in (False, True)
}

EXPERIMENTS = (
    Experiment(
        "window-initialisation",
        "TinyStories sample: the window network from three kinds of first weights, with and without LayerNorm",
        INITIALISATION,
        INITIALISATIONS,
        measure_initialisation,
    ),
    Experiment(
        "window-size",
        "Stories: the window network with windows of 2 to 32 characters",
        SIZE,
        _sizes(text("stories", 2_000_000), 2000),
        measure_size,
    ),
    Experiment(
        "window-size-tinystories",
        "TinyStories sample: the window network with the published window of 8 characters",
        SIZE,
        _sizes(text("tinystories-sample"), 4000, windows=(8,)),
        measure_size,
    ),
)
