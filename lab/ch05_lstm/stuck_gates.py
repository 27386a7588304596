"""What is a gate good for: what is lost where it is stuck open or shut (chapters 5 and 6)?

On tasks of memory each broken cell has a search of its own, as large as that of the whole one (`success_by_lag`).
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from lab.ch04_vanishing_gradients import success_by_lag
from lab.ch06_gru import cells_over_budget
from lab.ch07_neural_language_models import own_peaks
from lab.engine import draws, search
from lab.engine.experiment import Config, Experiment, at
from lab.engine.search import with_setting
from lab.engine.tasks import stick
from lab.engine.training import fit, model_of
from unrolled.models import LanguageModel

OPEN, SHUT = 100.0, -100.0  # the biases of a stuck gate


def with_stuck_gates(config: Config, vocab_size: int) -> LanguageModel:
    """Return the untrained model of a configuration, with the gates under ``stuck`` stuck."""
    untrained = model_of(config, vocab_size)
    stick(untrained.core.layers[0], config["stuck"])
    return untrained


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train an LSTM of characters, its forget gate stuck or not, and return the metrics of `cells_over_budget`."""
    return cells_over_budget.scores(fit(config, seed, folder, untrained=partial(with_stuck_gates, config)), config)


FORGET_GATES = {  # the forget bias, and what is stuck
    "bias 1": (1.0, {}),
    "bias -1": (-1.0, {}),
    "open": (1.0, {"f": OPEN}),
    "shut": (1.0, {"f": SHUT}),
}


def _contender(updates: int, bias: float, stuck: dict[str, float]) -> Config:
    """Return the LSTM of `cells-over-budget` with such a forget gate.

    It begins orthogonal, with the learning rate that was chosen there for the number of updates, whatever forget bias
    was chosen with it: not equal trials, as the protocol asks for.
    """
    begun = {"initialisation": "orthogonal", "forget_bias": bias}
    return with_setting(cells_over_budget.BUDGETS.chosen("lstm", updates), begun) | {"stuck": stuck}


SEARCHED, LAG = "stuck-gates-tuning", 50
BROKEN = {  # the cell, and the bias of the gate that is stuck
    "forget open": ("lstm", {"f": OPEN}),
    "forget shut": ("lstm", {"f": SHUT}),
    "input open": ("lstm", {"i": OPEN}),
    "output open": ("lstm", {"o": OPEN}),
    "reset open": ("gru", {"r": OPEN}),
}
BIASES = {"f": "forget_bias", "i": "input_bias"}  # of which a stuck gate has none to search


def _broken(task: str, name: str) -> Config:
    """Return a cell with a stuck gate, on a task of memory, before anything is chosen."""
    cell, stuck = BROKEN[name]
    return success_by_lag.base(task, LAG, cell) | {"stuck": stuck}


def _searched(task: str, name: str) -> Config:
    """Return it with what is to be searched: all that is searched of the whole cell, but for the stuck gate's bias."""
    cell, stuck = BROKEN[name]
    space = dict(success_by_lag.CELLS[cell][1])
    for gate in stuck:
        space.pop(BIASES.get(gate), None)
    return _broken(task, name) | {"space": space}


def _chosen(task: str, name: str) -> Config:
    """Return it with the setting that was chosen."""
    return success_by_lag.with_setting(_broken(task, name), search.chosen(SEARCHED, f"{task}: {name}"))


def _each(config: Callable[[str, str], Config]) -> dict[str, Callable[[], Config]]:
    """Return the configurations of each broken cell on each task, by label."""
    return {f"{task}: {name}": partial(config, task, name) for task in ("adding", "flip-flop") for name in BROKEN}


LARGER = 169  # units, of which two blocks have as many weights as the three of a whole GRU


def measure_at_peaks(config: Config, seed: int, folder: Path) -> dict:
    """Train a GRU of characters at each peak of the rate, its reset gate stuck or not."""
    return own_peaks.measure(config, seed, folder, untrained=partial(with_stuck_gates, config))


def _on_stories(stuck: dict[str, float], **size: int) -> Config:
    """Return the GRU of `cells-over-budget` with the start that its search chose, and such a reset gate."""
    config = cells_over_budget.BUDGETS.chosen("gru", 2000)
    peaks = {"peaks": cells_over_budget.RATES["gru"], "validations": 0}
    return config | {"model": config["model"] | size, "stuck": stuck} | peaks


EXPERIMENTS = (
    Experiment(
        SEARCHED,
        "Adding, write–ignore–read over 50 steps: rate, start and biases of LSTMs and a GRU with a stuck gate",
        draws.METRICS,
        _each(_searched),
        success_by_lag.search,
        seeds=1,
        small=success_by_lag.SMALL | {"draws": 3},
    ),
    Experiment(
        "stuck-gates",
        "Adding, write–ignore–read over 50 steps: how many seeds solve them with a stuck gate, and how soon",
        success_by_lag.METRICS,
        _each(_chosen),
        success_by_lag.measure,
        seeds=5,
        small=success_by_lag.SMALL,
    ),
    Experiment(
        "gates-over-budget",
        "Stories: LSTMs with a free forget gate and with one stuck open or shut, after three numbers of updates",
        cells_over_budget.METRICS,
        {
            f"{label} {updates}": partial(_contender, updates, *gate)
            for label, gate in FORGET_GATES.items()
            for updates in cells_over_budget.BUDGETS.updates
        },
        measure,
        cells_over_budget.axes,
    ),
    Experiment(
        "reset-on-stories",
        "Stories: a GRU with its reset gate and without, with as many units and with as many weights, at five peaks",
        own_peaks.metrics("character"),
        {
            "gru": partial(_on_stories, {}),
            "without reset": partial(_on_stories, {"r": OPEN}),
            "without reset, larger": partial(_on_stories, {"r": OPEN}, hidden_size=LARGER),
        },
        measure_at_peaks,
        at(peak="peaks"),
        small={"peaks": [1e-3, 1e-2]},
    ),
)
