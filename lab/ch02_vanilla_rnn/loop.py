"""Is the loop worth it? Window networks of as many weights as the RNN of `cells-over-budget`, searched too (chapter 2).

Text, updates, weights and the number of trials are those of the RNN after 2,000 updates: its record is the other half
of the comparison.
"""

from functools import partial

from lab.ch06_gru.cells_over_budget import BUDGETS, METRICS, axes, measure
from lab.engine.experiment import Config, Experiment, model
from lab.engine.search import TRIALS, Setting, chosen, grid, search, with_setting

UPDATES = 2000
UNITS = {8: {1: 247, 2: 163}, 16: {1: 136, 2: 114}, 32: {1: 72, 2: 68}}  # by window and hidden layers: 80,000 weights
RATES = [4e-3, 8e-3, 1.6e-2, 3.2e-2, 6.4e-2]  # as many as the RNN has, but higher: the window of 8 chose its highest
SEARCHED = "window-tuning"


def configuration(window: int) -> Config:
    """Return a window network before its settings are chosen; it has no state that could be reset."""
    base = BUDGETS.base("rnn", UPDATES)
    updating = {name: value for name, value in base["recipe"].items() if name != "reset"}
    return base | {"model": model("FixedWindowLM", window=window), "recipe": updating}


def variants(window: int) -> list[Setting]:
    """Return four networks of equally many weights: one or two hidden layers, normalised or not."""
    return [
        {"hidden_layers": layers, "hidden_size": units, "layer_norm": norm}
        for layers, units in UNITS[window].items()
        for norm in (False, True)
    ]


def searched(window: int) -> Config:
    """Return a window network with what is to be tried."""
    return configuration(window) | {
        "grid": grid(RATES, variants(window)),
        "keep": [list(pair) for pair in BUDGETS.keep],
    }


def contender(window: int) -> Config:
    """Return a window network with the setting that was chosen."""
    return with_setting(configuration(window), chosen(SEARCHED, f"window of {window}"))


EXPERIMENTS = (
    Experiment(
        SEARCHED,
        "Stories: learning rate, layers and normalisation of window networks of 80,000 weights",
        TRIALS,
        {f"window of {window}": partial(searched, window) for window in UNITS},
        search,
        seeds=1,
    ),
    Experiment(
        "loop-against-window",
        "Stories: window networks of 8, 16 and 32 characters, with as many weights as the RNN of cells-over-budget",
        METRICS,
        {f"window of {window}": partial(contender, window) for window in UNITS},
        measure,
        axes,
        seeds=5,
    ),
)
