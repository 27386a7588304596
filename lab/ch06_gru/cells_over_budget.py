"""Which cell models stories best, after how much training (chapter 6)?

Each cell has about as many weights as the others, and settings from a search of its own for each number of updates. No
character is read twice, so a longer training is one on more text.
"""

from functools import partial
from pathlib import Path

from lab.engine.experiment import Config, Experiment, model, recipe, text
from lab.engine.scoring import BY_STORY, by_story
from lab.engine.search import TRIALS, Budgets, Setting, chosen, decided, grid, search, with_setting
from lab.engine.texts import unseen_stories
from lab.engine.training import CURVE, NATS, PARAMETERS, UPDATES, Trained, fit, parameters, training_seconds
from unrolled.measure import evaluate, recall_by_lag
from unrolled.records import Metric

EDGES = [1, 10, 20, 40, 80, 160, 320, 640]  # of the bins of lag, in characters


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a network of characters, scored on the validation text on the way; score and question it in the test."""
    return scores(fit(config, seed, folder), config)


def scores(trained: Trained, config: Config) -> dict:
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


def axes(config: Config) -> dict:
    """Return the coordinates of the axis of `METRICS`: the upper edges of the bins of lag."""
    return {"lag_bin": EDGES[1:]}


CELLS = {  # the core, and the options that make it what it is
    "rnn": ("rnn", {}),
    "lstm": ("lstm", {}),
    "gru": ("gru", {"reset": "before"}),
    "gru-after": ("gru", {"reset": "after"}),
    "lstm-1997": ("lstm-1997", {}),
}
UNITS = {  # with the 59 characters of stories each cell has about 80,000 weights
    "rnn": 239,
    "lstm": 118,
    "gru": 137,
    "gru-after": 137,
    "lstm-1997": 137,
}
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


def configuration(name: str, updates: int) -> Config:
    """Return the configuration of a cell before its settings are chosen."""
    core, options = CELLS[name]
    return {
        "text": text("stories", round(1.01 * updates * 2048), three_parts=True),
        "model": model("LanguageModel", core=core, hidden_size=UNITS[name], cell_options=options),
        "recipe": recipe(updates=updates, symbols_per_update=2048, seq_len=64, reset=0.05),
    }


BUDGETS = Budgets(
    "cells-tuning",
    RATES,
    VARIANTS,
    (500, 2000, 8000),
    configuration,
    not_longest=("gru-after", "lstm-1997"),  # they stay behind the GRU and the LSTM at both others
)


def longest(config: Config) -> Config:
    """Return what is kept of those trained longest only: what each story of the test cost."""
    return {"by_story": True} if config["recipe"]["updates"] == BUDGETS.updates[-1] else {}


def begun_as_chosen(config: Config, name: str) -> Config:
    """Return another network of a cell with the initialisation and the knob that were chosen for the longest budget."""
    return with_setting(config, _begins(chosen(BUDGETS.search, f"{name} {BUDGETS.updates[-1]}")))


FAR = 32_000  # updates, of the two cells that lead


def searched_far(name: str) -> Config:
    """Return a cell in its longest training, with four rates about the best before, and two with another start."""
    best, second = (chosen(BUDGETS.search, f"{name} {BUDGETS.updates[-1]}", what) for what in ("setting", "second"))
    rates = [best["learning_rate"] * factor for factor in (0.25, 0.5, 1, 2)]
    settings = grid(rates, [_begins(best)]) + grid(rates[1:3], [_begins(second)])
    return configuration(name, FAR) | {"grid": settings, "keep": [[0.5, 2]]}


def _begins(setting: Setting) -> Setting:
    return {knob: value for knob, value in setting.items() if knob != "learning_rate"}


EXPERIMENTS = (
    Experiment(
        BUDGETS.search,
        "Stories: learning rate, initialisation and one knob for each cell and number of updates",
        TRIALS,
        BUDGETS.searches,
        search,
        seeds=1,
    ),
    Experiment(
        "cells-over-budget",
        "Stories: RNN, LSTM, GRU and the LSTM of 1997 of equally many weights, after three numbers of updates",
        METRICS,
        BUDGETS.contenders(longest),
        measure,
        axes,
        seeds=5,
    ),
    Experiment(
        "cells-far-tuning",
        "Stories: rate and start of LSTM and GRU for 32,000 updates",
        TRIALS,
        {f"{name} {FAR}": partial(searched_far, name) for name in ("lstm", "gru")},
        search,
        seeds=1,
    ),
    Experiment(
        "cells-far",
        "Stories: LSTM and GRU of equally many weights after 32,000 updates",
        METRICS,
        decided("cells-far-tuning", {f"{name} {FAR}": configuration(name, FAR) for name in ("lstm", "gru")}),
        measure,
        axes,
        seeds=3,
    ),
)
