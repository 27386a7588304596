"""Which cell models stories best, after how much training and with how many weights (chapter 6)?

Each cell has about as many weights as the others, and settings from a search of its own for each number of updates. No
character is read twice, so a longer training is one on more text. Smaller and larger cells have the settings that were
found for as many updates.
"""

from __future__ import annotations

from pathlib import Path

from unrolled.experiments.base import (
    CURVE,
    NATS,
    PARAMETERS,
    UPDATES,
    Configuration,
    Experiment,
    Metric,
    Trained,
    fit,
    model,
    parameters,
    recipe,
    training_seconds,
)
from unrolled.experiments.reading import text, unseen_stories
from unrolled.experiments.scoring import BY_STORY, by_story
from unrolled.experiments.tuning import (
    SEARCH,
    Comparison,
    Setting,
    Tuned,
    check_chosen,
    tune,
    waiting,
    with_setting,
)
from unrolled.measure import evaluate, recall_by_lag

EDGES = [1, 10, 20, 40, 80, 160, 320, 640]  # of the bins of lag, in characters


def measure(config: Configuration, seed: int, folder: Path) -> dict:
    """Train a network of characters, scored on the validation text on the way; score and question it in the test."""
    check_chosen(config)
    return scores(fit(config, seed, folder), config)


def scores(trained: Trained, config: Configuration) -> dict:
    """Return the `METRICS` of a trained network."""
    _, test = unseen_stories()
    shares, counts = recall_by_lag(trained.model, trained.text.vocabulary, test, "name", EDGES)
    return {
        "parameters": parameters(trained.model),
        "seconds": training_seconds(config, trained.checkpoint),
        "nats": evaluate(trained.model, trained.text.test).nats_per_symbol,
        "updates": trained.history.validated,
        "curve": trained.history.validation,
        "name": shares.tolist(),
        "name_asked": counts.tolist(),
        **(by_story(trained.model, trained.text, test) if config.get("by_story") else {}),
    }


METRICS = {
    "parameters": PARAMETERS,
    "seconds": Metric("seconds", "how long all updates took together"),
    "nats": NATS._replace(about="what a character of the test costs"),
    "updates": UPDATES,
    "curve": CURVE._replace(about="what a character of the validation text cost then"),
    "name": Metric("", "the share of right answers where a name returns in the test", ("lag_bin",)),
    "name_asked": Metric("questions", "how many there were", ("lag_bin",)),
    **BY_STORY,
}


def axes(config: Configuration) -> dict:
    """Return the coordinates of the axis of `METRICS`: the upper edges of the bins of lag."""
    return {"lag_bin": EDGES[1:]}


CELLS = {  # the core, and the options that make it what it is
    "rnn": ("rnn", {}),
    "lstm": ("lstm", {}),
    "gru": ("gru", {"reset": "before"}),
    "gru-after": ("gru", {"reset": "after"}),
    "lstm-1997": ("lstm-1997", {}),
}
UNITS = {  # by the number of weights: with the 59 characters of stories each cell has about so many
    20_000: {"rnn": 97, "lstm": 48, "gru": 56},
    80_000: {"rnn": 239, "lstm": 118, "gru": 137, "gru-after": 137, "lstm-1997": 137},
    320_000: {"rnn": 520, "lstm": 259, "gru": 300},
}
LARGER = {"rnn": 956, "lstm": 475, "gru": 550, "gru-after": 550, "lstm-1997": 550}  # about 1,000,000
RATES = {
    "rnn": [1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2],
    "lstm": [4e-3, 8e-3, 1.6e-2, 3.2e-2, 6.4e-2],
    "gru": [2e-3, 4e-3, 8e-3, 1.6e-2, 3.2e-2],
    "gru-after": [2e-3, 4e-3, 8e-3, 1.6e-2, 3.2e-2],
    "lstm-1997": [8e-3, 1.6e-2, 3.2e-2, 6.4e-2, 1.28e-1],
}
UNIFORM, ORTHOGONAL = ({"initialisation": kind} for kind in ("uniform", "orthogonal"))
VARIANTS: dict[str, list[Setting]] = {  # initialisations, and each cell's own knob: its nonlinearity, or a gate's bias
    "rnn": [UNIFORM, ORTHOGONAL, UNIFORM | {"nonlinearity": "relu"}, ORTHOGONAL | {"nonlinearity": "relu"}],
    "lstm": [UNIFORM, *(ORTHOGONAL | {"forget_bias": bias} for bias in (1.0, 0.0, -1.0))],
    "gru": [UNIFORM, *(ORTHOGONAL | {"update_bias": bias} for bias in (-1.0, 0.0, 1.0))],
    "gru-after": [UNIFORM, *(ORTHOGONAL | {"update_bias": bias} for bias in (-1.0, 0.0, 1.0))],
    "lstm-1997": [UNIFORM, *(ORTHOGONAL | {"input_bias": bias} for bias in (0.0, -1.0, -3.0))],
}
BUDGETS = {"quick": (500, 2000, 8000), "full": (2000, 8000, 32_000)}  # updates


def configuration(name: str, updates: int, hidden_size: int, characters_per_update: int = 2048) -> Configuration:
    """Return the configuration of a cell of some size before its settings are chosen."""
    core, options = CELLS[name]
    steps = {"symbols_per_update": characters_per_update, "seq_len": 64, "reset": 0.05}
    return {
        "text": text("stories", round(1.01 * updates * characters_per_update), three_parts=True),
        "model": model("LanguageModel", core=core, hidden_size=hidden_size, cell_options=options),
        "recipe": recipe(updates=updates, learning_rate=RATES[name][0], **steps),
    }


def _base(name: str, updates: int, profile: str) -> Configuration:
    if profile == "full":
        return configuration(name, updates, LARGER[name], 8192)
    return configuration(name, updates, UNITS[80_000][name])


COMPARISON = Comparison(
    "cells-tuning",
    RATES,
    lambda name, profile: VARIANTS[name],
    BUDGETS,
    _base,
    not_longest=("gru-after", "lstm-1997"),  # they stay behind the GRU and the LSTM at both others
)


def contenders(profile: str) -> dict[str, Configuration]:
    """Return the contenders of `cells-over-budget`; of those trained longest it is kept what each story cost."""
    made = COMPARISON.contenders(profile)
    return {
        label: config | ({"by_story": True} if label.endswith(f" {BUDGETS[profile][-1]}") else {})
        for label, config in made.items()
    }


def begun_as_chosen(config: Configuration, name: str, profile: str) -> Configuration:
    """Return another network of a cell with the initialisation and the knob that were chosen for the longest budget."""
    longest = BUDGETS[profile][-1]
    chosen = COMPARISON.chosen(name, longest, profile)
    if chosen is None:
        return waiting(COMPARISON.search, f"{name} {longest}")
    return with_setting(config, {key: value for key, value in chosen.items() if key != "learning_rate"})


def _by_size(profile: str) -> dict[str, Configuration]:
    """Return the contenders of `cells-by-size`: both sizes at the middle budget, the smaller also at the longest."""
    _, shorter, longest = BUDGETS[profile]
    places = [(20_000, shorter), (320_000, shorter), (20_000, longest)]
    return {
        f"{name} {size} {updates}": COMPARISON.contender(name, updates, profile, hidden_size=UNITS[size][name])
        for size, updates in places
        for name in UNITS[size]
    }


EXPERIMENTS = (
    Experiment(
        COMPARISON.search,
        "Stories: learning rate, initialisation and one knob for each cell and number of updates",
        SEARCH,
        Tuned(COMPARISON.searches),
        tune,
        seeds=1,
    ),
    Experiment(
        "cells-over-budget",
        "Stories: RNN, LSTM, GRU and the LSTM of 1997 of equally many weights, after three numbers of updates",
        METRICS,
        Tuned(contenders),
        measure,
        axes,
        seeds=5,
    ),
    Experiment(
        "cells-by-size",
        "Stories: RNN, LSTM and GRU with a quarter and with four times the weights, after two numbers of updates",
        METRICS,
        Tuned(_by_size),
        measure,
        axes,
    ),
)
