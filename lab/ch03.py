"""Chapter 3: what a vanilla RNN loses where its windows end: the gradient, the state, or both."""

from collections.abc import Sequence
from pathlib import Path

from lab.experiment import Config, Experiment, Metric, model, recipe, text
from lab.training import CURVE, UPDATES, fit
from unrolled.measure import evaluate

STATES = {"reset": False, "carried": True}  # at the end of a window


def measure_windows(config: Config, seed: int, folder: Path) -> dict:
    """Train with windows of one length, the state reset at each or carried into the next; score in both ways."""
    network, read, history = fit(config, seed, folder)
    window = config["recipe"]["seq_len"]
    return {
        "scored_carried": evaluate(network, read.held_out).nats_per_symbol,
        "scored_reset": evaluate(network, read.held_out, window=window).nats_per_symbol,
        "updates": history.validated,
        "curve": history.validation,
    }


WINDOWS = {
    "scored_carried": Metric(
        "nats per character", "what a character of the held-out text costs where the state is carried through all of it"
    ),
    "scored_reset": Metric(
        "nats per character", "what it costs where the state is reset at every window of the training's length"
    ),
    "updates": UPDATES,
    "curve": CURVE,
}


def _recipe(updates: int, seq_len: int, carry: bool) -> Config:
    return recipe(updates=updates, symbols_per_update=2048, seq_len=seq_len, learning_rate=1e-2, carry=carry)


def _windows(read: Config, seq_lens: Sequence[int], updates: int) -> dict[str, Config]:
    """Return the contenders of `rnn-windows`, labelled by what becomes of the state and by the windows' length."""
    return {
        f"{state} {seq_len}": {
            "text": read,
            "model": model("LanguageModel", hidden_size=128),
            "recipe": _recipe(updates, seq_len, carry),
        }
        for state, carry in STATES.items()
        for seq_len in seq_lens
    }


_STORIES = text("stories", 2_000_000)
_PUBLISHED, _DOUBLED = (16, 32, 64), (1, 2, 4, 8, 16, 32, 64)

EXPERIMENTS = (
    Experiment(
        "rnn-windows",
        "Stories: a vanilla RNN with windows of 16, 32 and 64, state forgotten and carried",
        WINDOWS,
        _windows(_STORIES, _PUBLISHED, updates=4000),
        measure_windows,
    ),
    Experiment(
        "rnn-windows-tinystories",
        "TinyStories sample: the same, on the kind of text that the comparison is known from",
        WINDOWS,
        _windows(text("tinystories-sample"), _PUBLISHED, updates=4000),
        measure_windows,
    ),
    Experiment(
        "rnn-truncation",
        "Stories: a vanilla RNN trained through 1 to 64 steps, state forgotten and carried",
        WINDOWS,
        _windows(_STORIES, _DOUBLED, updates=2000),
        measure_windows,
    ),
)
