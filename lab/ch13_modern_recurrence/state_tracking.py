"""What can a state track whose gates see only the input, and how much can it hold (chapter 13)?

The shell game is learned over 40 steps and played on for 1,000; no training ends before its updates are spent.
Associative recall asks for more and more pairs; in `recall-alike` all networks carry about as many
numbers, and the input asks for what it needs. Every network has its learning rate from a search of its own.
"""

import operator
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import nn

from lab.ch13_modern_recurrence.associative_recall import AssociativeRecall
from lab.engine.experiment import Config, Experiment, Metric, cell
from lab.engine.search import decided, grid
from lab.engine.tasks import ENDING, TRIALS, Attending, ending, search_on, train_on
from unrolled import settings
from unrolled.cells import Cell
from unrolled.tasks import SequenceModel, ShellGame, Task

RATES = [1e-3, 3e-3, 1e-2, 3e-2, 1e-1]
ORTHOGONAL = {"initialisation": "orthogonal"}


@torch.no_grad()
def answers(model: nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    """Return what a network answers at every step, (batch, time), on the CPU."""
    return model(inputs.to(settings.device())).argmax(dim=-1).cpu()


class Endless(ShellGame):
    """A shell game that is never solved well enough, so that its training goes on to the end."""

    goal = 0.0


def game_of(config: Config) -> ShellGame:
    """Return the shell game of a configuration, as long as in training; ``endless`` where it has that."""
    return (Endless if config.get("endless") else ShellGame)(config["length"], config["cups"])


def measure_tracking(config: Config, seed: int, folder: Path) -> dict:
    """Train a network on games of one length, then ask it where the ball is in longer ones, at every step or so."""
    model, outcome = train_on(config, game_of(config), seed, config["updates"])
    longer = ShellGame(config["played"], config["cups"])
    inputs, targets = longer.batch(config["games"], torch.Generator().manual_seed(seed))
    right = answers(model, inputs) == targets  # (games, steps)
    return ending(outcome, game_of(config)) | {"right": right.double().mean(dim=0)[counted(config)].tolist()}


def counted(config: Config) -> slice:
    """Return the steps, counted from 0, at which the answers of a configuration count: all, or every so many."""
    every = config.get("every", 1)
    return slice(every - 1, None, every)


TRACKING = ENDING | {"right": Metric("", "the share of games in which the ball is where the network says", ("step",))}


ENDLESS = {  # the networks that play on, and their cells
    "lstm": ("lstm", {}),
    "mingru, signed": ("mingru", {"signed": True}),
    "delta": ("delta", {"num_heads": 8}),
    "delta, negative": ("delta", {"num_heads": 8, "negative": True}),
}


def _endless() -> dict[str, Config]:
    """Return the networks that are trained to the end, with five cups, before their rates are chosen."""
    budget = {"hidden_size": 64, "updates": 8000, "batch": 64, "score_every": 200, "sequences": 500, "clip": 1.0}
    asked = {"length": 40, "played": 1000, "every": 8, "games": 1000, "endless": True}
    return {
        f"5 cups: {name}": budget | asked | {"cups": 5, "cell": cell(kind, **ORTHOGONAL, **options)}
        for name, (kind, options) in ENDLESS.items()
    }


def recall_of(config: Config) -> AssociativeRecall:
    """Return the task of associative recall of a configuration."""
    return AssociativeRecall(config["pairs"], config["keys"], config["values"])


def measure_recall(config: Config, seed: int, folder: Path) -> dict:
    """Train a network to recall some number of pairs, and count its right answers."""
    task = recall_of(config)
    model, outcome = train_on(config, task, seed, config["updates"])
    inputs, targets = task.batch(config["asked"], torch.Generator().manual_seed(seed))
    right = answers(model, inputs)[targets >= 0] == targets[targets >= 0]
    return ending(outcome, task) | {"right": right.double().mean().item(), "state": carried(model, task)}


def carried(model: nn.Module, task: AssociativeRecall) -> int:
    """Return how many numbers a network carries when it has read all pairs: its state, or their keys and values."""
    if isinstance(model, Attending):
        return 2 * model.size * task.pairs
    layers = [model.cell] if isinstance(model, SequenceModel) else model.core.layers
    return sum(size for each in layers for name, size in each.state_sizes.items() if name != "h" or not holds(each))


def holds(layer: Cell) -> bool:
    """Return whether a layer holds a matrix: its h is only shown."""
    return "S" in layer.state_sizes


RECALLED = ENDING | {
    "right": Metric("", "the share of right answers"),
    "state": Metric("numbers", "how many are carried once all pairs are read: a state, or a cache"),
}
PAIRS = (4, 32)
ONE_LAYER = {  # hidden size and cell of each network
    "mingru": (128, cell("mingru", **ORTHOGONAL)),
    "attention": (16, {"kind": "attention"}),
}


def _recalls() -> dict[str, Config]:
    """Return every network of one layer with every number of pairs, before its learning rate is chosen."""
    budget = {"updates": 12_000, "batch": 64, "score_every": 200, "sequences": 500, "clip": 1.0}
    return {
        f"{name}: {pairs} pairs": budget
        | {"pairs": pairs, "keys": 64, "values": 16, "asked": 1000, "hidden_size": size, "cell": kind}
        for name, (size, kind) in ONE_LAYER.items()
        for pairs in PAIRS
    }


ALIKE = {  # hidden size, layers and cell of each network: 256 numbers carried, and 16 sums of linear attention
    "gru": (128, 2, cell("gru", **ORTHOGONAL)),
    "mingru": (128, 2, cell("mingru", **ORTHOGONAL)),
    "linear attention": (16, 1, cell("linear-attention", **ORTHOGONAL)),
    "delta": (16, 1, cell("delta", **ORTHOGONAL)),
}


def _alike() -> dict[str, Config]:
    """Return every network that carries about 256 numbers with every number of pairs, before its rate is chosen."""
    budget = {"updates": 10_000, "batch": 64, "score_every": 200, "sequences": 500, "clip": 1.0}
    return {
        f"{name}: {pairs} pairs": budget
        | {"pairs": pairs, "keys": 64, "values": 16, "asked": 1000}
        | {"hidden_size": size, "num_layers": layers, "cell": kind}
        for name, (size, layers, kind) in ALIKE.items()
        for pairs in PAIRS
    }


def _search(
    title: str,
    name: str,
    bases: dict[str, Config],
    task_of: Callable[[Config], Task],
    small: Config | None = None,
) -> Experiment:
    """Return the search for the learning rates of some networks."""
    searches = {label: config | {"grid": grid(RATES, [{}])} for label, config in bases.items()}
    measured = partial(search_on, task_of)
    return Experiment(
        name, f"{title}: the learning rate for each network", TRIALS, searches, measured, seeds=1, small=small or SMALL
    )


SMALL = {"hidden_size": 4, "updates": 4, "score_every": 2, "sequences": 8, "batch": 4}
SMALL |= {"length": 4, "played": 6, "games": 4, "asked": 4}
SMALL_ENDLESS = SMALL | {"hidden_size": 8, "every": 2}
RECALL = "Associative recall: how many pairs a state of fixed size can hold"
ON = "The shell game, trained to the end: where the ball is after up to a thousand steps, by the delta rule and others"
AS_MUCH = "Associative recall: how many pairs are recalled by networks that carry as many numbers, and are asked alike"

EXPERIMENTS = (
    _search(RECALL, "associative-recall-tuning", _recalls(), recall_of),
    Experiment(
        "associative-recall",
        RECALL,
        RECALLED,
        decided("associative-recall-tuning", _recalls(), operator.or_),
        measure_recall,
        small=SMALL,
    ),
    _search(ON, "shell-game-delta-tuning", _endless(), game_of, SMALL_ENDLESS),
    Experiment(
        "shell-game-delta",
        ON,
        TRACKING,
        decided("shell-game-delta-tuning", _endless(), operator.or_),
        measure_tracking,
        lambda config: {"step": range(1, config["played"] + 1)[counted(config)]},
        small=SMALL_ENDLESS,
    ),
    _search(AS_MUCH, "recall-alike-tuning", _alike(), recall_of),
    Experiment(
        "recall-alike",
        AS_MUCH,
        RECALLED,
        decided("recall-alike-tuning", _alike(), operator.or_),
        measure_recall,
        small=SMALL,
    ),
)
