"""How well does a recurrence that can be scanned remember names, beside GRU and LSTM (chapter 13)?

Models of two or three layers of minGRU or minLSTM, with residual connections, read the stories of `memory` in the same
windows. They have as many weights and as many updates as its models, and settings from searches of the same size.
"""

from lab.ch08_fair_comparisons import memory
from lab.ch08_fair_comparisons.memory import METRICS, asked, axes, configuration, measure
from lab.engine.experiment import Config, Experiment, model
from lab.engine.search import TRIALS, Budgets, Setting, search

UNITS = {  # of each layer, by the number of layers; with the 1,171 words of the stories as many weights as in `memory`
    "mingru": {2: 238, 3: 201},
    "minlstm": {2: 212, 3: 175},
}
RATES = [4e-3, 8e-3, 1.6e-2, 3.2e-2, 6.4e-2]


def _variants(core: str) -> list[Setting]:
    two, three = ({"num_layers": layers, "hidden_size": units} for layers, units in UNITS[core].items())
    chrono = {"initialisation": "chrono", "t_max": 160}
    return [two | {"initialisation": "uniform"}, two | chrono, three | {"initialisation": "uniform"}]


def _base(core: str, updates: int) -> Config:
    layered = model("ResidualLM", core=core, hidden_size=UNITS[core][2], embedding_size=64)
    return configuration(layered, updates, reset=0.05)


BUDGETS = Budgets(
    "scanned-memory-tuning",
    dict.fromkeys(UNITS, RATES),
    {core: _variants(core) for core in UNITS},
    memory.BUDGETS.updates,
    _base,
    not_longest=tuple(UNITS),
)

EXPERIMENTS = (
    Experiment(
        BUDGETS.search,
        "Stories, words: learning rate, layers and initialisation of minGRU and minLSTM for each number of updates",
        TRIALS,
        BUDGETS.searches,
        search,
        seeds=1,
    ),
    Experiment(
        "scanned-memory",
        "Stories, words: which names minGRU and minLSTM recall, over how long, after how much training",
        METRICS,
        BUDGETS.contenders(asked),
        measure,
        axes,
        small=memory.SMALL,
    ),
)
