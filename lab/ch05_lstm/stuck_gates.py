"""What is the forget gate of an LSTM good for: what is lost where it is stuck open or shut (chapter 5)?"""

from functools import partial
from pathlib import Path

from torch import nn

from lab.ch06_gru import cells_over_budget
from lab.engine.experiment import Config, Experiment
from lab.engine.search import with_setting
from lab.engine.training import fit, model_of
from unrolled import cells
from unrolled.models import LanguageModel

OPEN, SHUT = 100.0, -100.0  # the biases of a stuck gate


def stick(cell: cells.Cell, stuck: dict[str, float]) -> None:
    """Set the biases of these gates so far out that nothing moves them: there σ is 1 or 0, and its slope is 0."""
    for gate, bias in stuck.items():
        nn.init.constant_(cell.block(gate).b_h, bias)


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


EXPERIMENTS = (
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
)
