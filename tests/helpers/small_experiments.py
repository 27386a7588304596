"""Configurations of experiments that train, cut down to a short text, a small network and three updates."""

from unrolled.experiments import EXPERIMENTS
from unrolled.experiments.base import Configuration, text

SIZE = 8  # hidden units
SYMBOLS = 64  # that are read for an update


def small(config: Configuration) -> Configuration:
    """Return a configuration that is trained in a moment, and otherwise the same."""
    network, recipe = config["model"], config["recipe"]
    return config | {
        "text": text("stories", 20_000),
        "model": network | {"options": network["options"] | {"hidden_size": SIZE}},
        "recipe": recipe | {"updates": 3, "batch": SYMBOLS // recipe["seq_len"]},
    }


def contenders(name: str) -> dict[str, Configuration]:
    """Return the contenders of an experiment in the quick profile, each of them `small`."""
    return {label: small(config) for label, config in EXPERIMENTS[name].contenders["quick"].items()}
