"""What is the forget gate of an LSTM good for: what is lost where it is stuck open or shut (chapter 5)?"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from torch import nn

from unrolled import cells
from unrolled.experiments import cells_over_budget
from unrolled.experiments.base import Configuration, Experiment, fit, model_of
from unrolled.experiments.tuning import Tuned, check_chosen
from unrolled.models import LanguageModel

OPEN, SHUT = 100.0, -100.0  # the biases of a stuck gate


def stick(cell: cells.Cell, stuck: dict[str, float]) -> None:
    """Set the biases of these gates so far out that nothing moves them: there σ is 1 or 0, and its slope is 0."""
    for gate, bias in stuck.items():
        nn.init.constant_(cell.block(gate).b_h, bias)


def begin(config: Configuration, vocab_size: int) -> LanguageModel:
    """Return the untrained model of a configuration, with the gates under ``stuck`` stuck."""
    untrained = model_of(config, vocab_size)
    stick(untrained.core.layers[0], config["stuck"])
    return untrained


def measure(config: Configuration, seed: int, folder: Path) -> dict:
    """Train an LSTM of characters, its forget gate stuck or not, and return the metrics of `cells_over_budget`."""
    check_chosen(config)
    return cells_over_budget.scores(fit(config, seed, folder, begin=partial(begin, config)), config)


FORGET_GATES = {  # the forget bias, and what is stuck
    "bias 1": (1.0, {}),
    "bias -1": (-1.0, {}),
    "open": (1.0, {"f": OPEN}),
    "shut": (1.0, {"f": SHUT}),
}


def _contenders(profile: str) -> dict[str, Configuration]:
    """Return the contenders of `gates-over-budget`: the LSTM of `cells-over-budget` with four forget gates.

    All begin orthogonal, with the learning rate that was chosen there for the number of updates, whatever forget bias
    was chosen with it: not equal trials, as the protocol asks for.
    """
    comparison = cells_over_budget.COMPARISON
    return {
        f"{label} {updates}": comparison.contender(
            "lstm", updates, profile, initialisation="orthogonal", forget_bias=bias
        )
        | {"stuck": stuck}
        for label, (bias, stuck) in FORGET_GATES.items()
        for updates in comparison.budgets[profile]
    }


EXPERIMENTS = (
    Experiment(
        "gates-over-budget",
        "Stories: LSTMs with a free forget gate and with one stuck open or shut, after three numbers of updates",
        cells_over_budget.METRICS,
        Tuned(_contenders),
        measure,
        cells_over_budget.axes,
    ),
)
