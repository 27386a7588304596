"""Which network learns to add and to copy, how soon, and how should it begin (chapters 4, 5 and 6)?

Every network has its learning rate from a search of its own on the same task. What is kept is not only whether a task
is solved but the loss on the way: a network that has not arrived when the budget ends may be close.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import nn

from unrolled import settings, tasks
from unrolled.experiments.base import Configuration, Experiment, Metric, cell, kept
from unrolled.experiments.memory_tasks import ENDING, attempt, ending, flushing
from unrolled.experiments.tuning import SEARCH, Setting, Tuned, check_chosen, decided, grid

SEARCHED = "copy-adding-tuning"
RATES = [5e-4, 1.5e-3, 5e-3, 1.5e-2]


def train(config: Configuration, task: tasks.Task, seed: int, updates: int) -> tuple[nn.Module, tasks.Outcome]:
    """Train the network of a configuration on a task for at most so many updates."""
    torch.manual_seed(seed)
    with flushing():
        return attempt(config | {"updates": updates}, task, seed)


def task_of(config: Configuration) -> tasks.Task:
    """Return the task of a configuration."""
    return tasks.TASKS[config["task"]](config["length"])


def search_on(task_of: Callable[[Configuration], tasks.Task], config: Configuration, seed: int, folder: Path) -> dict:
    """Try every setting for a quarter of the updates; choose the one that solves the task soonest, or ends lowest.

    Args:
        task_of: maps a configuration to its task.
        config: with ``settings``, each replacing some of its values.
        seed: of the first weights and of the sequences.
        folder: where to keep the trials.
    """
    task, trials = task_of(config), []

    def tried(setting: Setting) -> dict:
        _, outcome = train(config | setting, task, seed, config["updates"] // 4)
        return ending(outcome, task)

    for number, setting in enumerate(config["settings"]):
        trials.append(kept(folder / f"trial-{number}.json", partial(tried, setting)))

    def rank(number: int) -> tuple[int, float]:
        trial = trials[number]
        return (0, trial["updates"]) if trial["success"] else (1, math.inf if trial["diverged"] else trial["loss"])

    return {
        "trial_loss": [trial["loss"] for trial in trials],
        "trial_updates": [trial["updates"] for trial in trials],
        "chosen": min(range(len(trials)), key=rank),
    }


TRIALS = {name: SEARCH[name] for name in ("trial_updates", "chosen")} | {
    "trial_loss": Metric("", "the loss of each trial in the end, as a share of that without memory", ("trial",))
}


def measure(config: Configuration, seed: int, folder: Path) -> dict:
    """Train a network on a task until it solves it or its updates are spent."""
    check_chosen(config)
    task = task_of(config)
    _, outcome = train(config, task, seed, config["updates"])
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


def axes(config: Configuration) -> dict:
    """Return the coordinates of the axis of `METRICS`: the updates after which fresh sequences were scored."""
    if "waits_for" in config:
        return {}
    return {"score": range(config["score_every"], config["updates"] + 1, config["score_every"])}


def _networks(task: str, steps: int) -> dict[str, Configuration]:
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
    begun = {"initialisation": None, "clip": 1.0}
    irnn = {"cell": cell("rnn", nonlinearity="relu"), "initialisation": "identity"}
    clipped = {"irnn": irnn | {"clip": 1.0}}
    if task == "adding 160":
        return clipped
    if task == "adding 25":
        return {name: begun | {"cell": made} for name, made in lstms.items()}
    cells = {name: begun | {"cell": made} for name, made in (lstms | others).items()}
    return cells | clipped | {"irnn, not clipped": irnn | {"clip": None}}


TASKS = {  # the LSTM's biases are compared at a shorter lag, too, and the IRNN at a longer one
    "adding 25": {"task": "adding", "length": 25},
    "adding 100": {"task": "adding", "length": 100},
    "adding 160": {"task": "adding", "length": 160},
    "copy 10": {"task": "copy", "length": 10},
}
SIZES = {"quick": {"hidden_size": 64, "updates": 10_000}, "full": {"hidden_size": 128, "updates": 40_000}}


def _base(profile: str) -> dict[str, Configuration]:
    """Return every network on every task, before its learning rate is chosen."""
    made = {}
    for label, task in TASKS.items():
        steps = task["length"] + (20 if task["task"] == "copy" else 0)
        budget = SIZES[profile] | {"batch": 32, "score_every": 200, "sequences": 500}
        made |= {f"{label}: {name}": task | budget | network for name, network in _networks(label, steps).items()}
    return made


def _searches(profile: str) -> dict[str, Configuration]:
    return {label: config | {"settings": grid(RATES, [{}])} for label, config in _base(profile).items()}


def _contenders(profile: str) -> dict[str, Configuration]:
    return decided(SEARCHED, _searches(profile), _base(profile), operator.or_)


EXPERIMENTS = (
    Experiment(
        SEARCHED,
        "Adding and copying: the learning rate for each network",
        TRIALS,
        {profile: _searches(profile) for profile in settings.PROFILES},
        partial(search_on, task_of),
        seeds=1,
    ),
    Experiment(
        "copy-adding",
        "Adding and copying: the loss of vanilla networks, LSTMs and GRUs on the way, by how they begin",
        METRICS,
        Tuned(_contenders),
        measure,
        axes,
    ),
)
