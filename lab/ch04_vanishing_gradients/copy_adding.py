"""Which network learns to add and to copy, how soon, and how should it begin (chapters 4, 5 and 6)?

Every network has its learning rate from a search of its own on the same task. What is kept is not only whether a task
is solved but the loss on the way: a network that has not arrived when the budget ends may be close.
"""

import math
import operator
from functools import partial
from pathlib import Path

from lab.engine.experiment import Config, Experiment, cell
from lab.engine.search import decided, grid
from lab.engine.tasks import ENDING, TRIALS, ending, search_on, train_on
from unrolled import tasks
from unrolled.records import Metric

SEARCHED = "copy-adding-tuning"
RATES = [1.5e-4, 5e-4, 1.5e-3, 5e-3, 1.5e-2, 4.5e-2, 1.35e-1]


def task_of(config: Config) -> tasks.Task:
    """Return the task of a configuration."""
    return tasks.TASKS[config["task"]](config["length"])


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a network on a task until it solves it or its updates are spent."""
    task = task_of(config)
    _, outcome = train_on(config, task, seed, config["updates"])
    shares = [loss / task.trivial for loss in outcome.scores]
    rest = config["updates"] // config["score_every"] - len(shares)
    return ending(outcome, task) | {"curve": [*shares, *[math.nan] * rest]}


METRICS = ENDING | {
    "curve": Metric(
        "",
        "the loss on fresh sequences, as a share of that without memory; NaN after success or divergence",
        ("score",),
    )
}


def axes(config: Config) -> dict:
    """Return the coordinates of the axis of `METRICS`: the updates after which fresh sequences were scored."""
    return {"score": range(config["score_every"], config["updates"] + 1, config["score_every"])}


def _networks(task: str, steps: int) -> dict[str, Config]:
    """Return the networks that try a task: remedies for a vanilla one, and gated cells by the biases they begin with.

    Args:
        task: a label of `TASKS`.
        steps: of a sequence: the longest dependence, for ``"chrono"``.
    """
    orthogonal, chrono = {"initialisation": "orthogonal"}, {"initialisation": "chrono", "t_max": steps}
    lstms = {f"lstm, bias {bias}": cell("lstm", **orthogonal, forget_bias=float(bias)) for bias in (-1, 0, 1, 3)}
    lstms["lstm, chrono"] = cell("lstm", **chrono, forget_bias=None)
    others = {
        "tanh": cell("rnn"),
        "orthogonal": cell("rnn", **orthogonal),
        "lstm-1997": cell("lstm-1997", **orthogonal),
        "lstm-1997, input bias -3": cell("lstm-1997", **orthogonal, input_bias=-3.0),
        "gru": cell("gru", **orthogonal),
        "gru, chrono": cell("gru", **chrono),
    }
    clipped = {"clip": 1.0}
    irnn = {"cell": cell("rnn", nonlinearity="relu"), "initialisation": "identity"}
    alone = {"irnn": irnn | clipped}
    if task == "adding 160":
        return alone
    cells = {name: clipped | {"cell": made} for name, made in (lstms | others).items()}
    return cells | alone | {"irnn, not clipped": irnn | {"clip": None}}


TASKS = {  # the IRNN adds over a longer lag, too
    "adding 100": {"task": "adding", "length": 100},
    "adding 160": {"task": "adding", "length": 160},
    "copy 10": {"task": "copy", "length": 10},
}
SMALL = {"hidden_size": 4, "updates": 8, "score_every": 2, "sequences": 8, "batch": 4}
SIZE = {"hidden_size": 64, "updates": 10_000}


def _bases() -> dict[str, Config]:
    """Return every network on every task, before its learning rate is chosen."""
    made = {}
    for label, task in TASKS.items():
        steps = task["length"] + (20 if task["task"] == "copy" else 0)
        budget = SIZE | {"batch": 32, "score_every": 200, "sequences": 500}
        made |= {f"{label}: {name}": task | budget | network for name, network in _networks(label, steps).items()}
    return made


SEARCHES = {label: config | {"grid": grid(RATES, [{}])} for label, config in _bases().items()}

EXPERIMENTS = (
    Experiment(
        SEARCHED,
        "Adding and copying: the learning rate for each network",
        TRIALS,
        SEARCHES,
        partial(search_on, task_of),
        seeds=1,
        small=SMALL,
    ),
    Experiment(
        "copy-adding",
        "Adding and copying: the loss of vanilla networks, LSTMs and GRUs on the way, by how they begin",
        METRICS,
        decided(SEARCHED, _bases(), operator.or_),
        measure,
        axes,
        small=SMALL,
    ),
)
