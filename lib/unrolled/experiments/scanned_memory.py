"""How well does a recurrence that can be scanned remember names, beside GRU and LSTM (chapter 13)?

Models of two or three layers of minGRU or minLSTM, with residual connections, read the stories of `memory` in the same
windows. They have as many weights and as many updates as its models, and settings from searches of the same size.
"""

from __future__ import annotations

from functools import partial

from unrolled.experiments.base import Configuration, Experiment, model
from unrolled.experiments.memory import BUDGETS, METRICS, axes, configuration, contenders, measure
from unrolled.experiments.tuning import SEARCH, Comparison, Setting, Tuned, tune

UNITS = {  # of each layer, by the number of layers; with the 1,171 words of the stories as many weights as in `memory`
    "quick": {"mingru": {2: 238, 3: 201}, "minlstm": {2: 212, 3: 175}},
    "full": {"mingru": {2: 688, 3: 537}, "minlstm": {2: 578, 3: 454}},
}
EMBEDDING = {"quick": 64, "full": 128}
RATES = [4e-3, 8e-3, 1.6e-2, 3.2e-2, 6.4e-2]


def _variants(core: str, profile: str) -> list[Setting]:
    two, three = ({"num_layers": layers, "hidden_size": units} for layers, units in UNITS[profile][core].items())
    chrono = {"initialisation": "chrono", "t_max": 160}
    return [two | {"initialisation": "uniform"}, two | chrono, three | {"initialisation": "uniform"}]


def _base(core: str, updates: int, profile: str) -> Configuration:
    sizes = {"hidden_size": UNITS[profile][core][2], "embedding_size": EMBEDDING[profile]}
    layered = model("ResidualLM", core=core, cell_options={}, **sizes)
    return configuration(layered, RATES[0], updates, profile, reset=0.05)


COMPARISON = Comparison(
    "scanned-memory-tuning",
    dict.fromkeys(UNITS["quick"], RATES),
    _variants,
    BUDGETS,
    _base,
    not_longest=tuple(UNITS["quick"]),
)

EXPERIMENTS = (
    Experiment(
        COMPARISON.search,
        "Stories, words: learning rate, layers and initialisation of minGRU and minLSTM for each number of updates",
        SEARCH,
        Tuned(COMPARISON.searches),
        tune,
        seeds=1,
    ),
    Experiment(
        "scanned-memory",
        "Stories, words: which names minGRU and minLSTM recall, over how long, after how much training",
        METRICS,
        Tuned(partial(contenders, COMPARISON)),
        measure,
        axes,
    ),
)
