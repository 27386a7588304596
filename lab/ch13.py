"""Chapter 13: what a state can track whose gates see only the input, and how many pairs it can recall.

The shell game is learned over 40 steps and played on for 1,000; no training ends before its updates are spent.
Associative recall asks for more and more pairs of networks that carry about as many numbers.
"""

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import cross_entropy, one_hot

from lab import recipe
from lab.experiment import CHOSEN_BY, Config, Experiment, Metric, cell
from lab.tasks import ENDING, Attending, ending, train_on, trial_on
from unrolled import settings
from unrolled.cells import Cell
from unrolled.tasks import SequenceModel, ShellGame

ORTHOGONAL = {"initialisation": "orthogonal"}
RATES = [1e-3, 3e-3, 1e-2, 3e-2, 1e-1]  # of the shell game


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


@dataclass(frozen=True)
class AssociativeRecall:
    """Read pairs of a key and a value, then give the value of every key (after Graves et al. 2014; Arora et al. 2024).

    The keys are all different and drawn anew for each sequence, as are the values, all equally likely. Then every key
    comes once more, in random order, and its value is the target. The loss is the mean cross-entropy of these answers,
    in nats. Without memory they cost ln of the number of values each.

    To answer everything, a state must hold the values of all pairs: log₂ of the number of values bits for each.

    Attributes:
        pairs: how many there are.
        keys: how many different keys there are to draw from.
        values: how many different values.

    Example:
        >>> task = AssociativeRecall(pairs=2, keys=4, values=3)
        >>> inputs, targets = task.batch(1, torch.Generator().manual_seed(0))
        >>> tuple(inputs.shape)  # a step for each pair and for each question; key and value side by side, one-hot
        (1, 4, 7)
        >>> targets[0, :2].tolist()  # nothing is asked while the pairs are read
        [-1, -1]
    """

    pairs: int
    keys: int = 64
    values: int = 16

    def __post_init__(self):
        if self.pairs < 1 or self.keys < self.pairs:
            raise ValueError(f"pairs is {self.pairs}; with {self.keys} keys, all different, it can be 1 to {self.keys}")
        if self.values < 2:
            raise ValueError(f"values is {self.values}; there must be at least 2 to choose from")

    @property
    def input_size(self) -> int:
        """The length of a step's vector: a place for every key, and one for every value."""
        return self.keys + self.values

    @property
    def output_size(self) -> int:
        """The number of values."""
        return self.values

    @property
    def trivial(self) -> float:
        """The loss without memory, in nats per answer."""
        return math.log(self.values)

    @property
    def goal(self) -> float:
        """The loss below which the task counts as solved, in nats per answer."""
        return self.trivial / 100

    def batch(self, batch: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a batch of inputs, (batch, 2 pairs, keys + values), and of targets, (batch, 2 pairs), −1 at a pair."""
        keys = torch.rand(batch, self.keys, generator=generator).argsort(dim=1)[:, : self.pairs]
        values = torch.randint(self.values, (batch, self.pairs), generator=generator)
        order = torch.rand(batch, self.pairs, generator=generator).argsort(dim=1)
        asked, wanted = keys.gather(1, order), values.gather(1, order)
        inputs = one_hot(torch.cat([keys, asked], dim=1), self.input_size).float()
        inputs[:, : self.pairs] += one_hot(self.keys + values, self.input_size)
        return inputs, torch.cat([torch.full_like(values, -1), wanted], dim=1)

    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the mean cross-entropy of the answers, for logits (batch, 2 pairs, values) and targets."""
        return cross_entropy(outputs.flatten(0, 1), targets.flatten(), ignore_index=-1)

    error = loss


def recall_of(config: Config) -> AssociativeRecall:
    """Return the task of associative recall of a configuration."""
    return AssociativeRecall(config["pairs"], config["keys"], config["values"])


def measure_recall(config: Config, seed: int, folder: Path) -> dict:
    """Train a network to recall some number of pairs, and count its right answers."""
    task = recall_of(config)
    model, outcome = train_on(config, task, seed, config["updates"])
    inputs, targets = task.batch(config["asked"], torch.Generator().manual_seed(seed))
    right = answers(model, inputs)[targets >= 0] == targets[targets >= 0]
    ended = ending(outcome, task)
    cost = ended["updates"] / config["updates"] if ended["success"] else 1 + ended["loss"]
    return ended | {
        CHOSEN_BY: math.inf if ended["diverged"] else cost,
        "right": right.double().mean().item(),
        "state": carried(model, task),
    }


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
    CHOSEN_BY: Metric("", "the share of the updates needed; beyond 1 by the error left, as a share of the trivial one"),
    "right": Metric("", "the share of right answers"),
    "state": Metric("numbers", "how many are carried once all pairs are read: a state, or a cache"),
}
PAIRS = (4, 8, 16, 32)
ALIKE = {  # hidden size, layers and cell of each network: 256 numbers carried, 16 sums of linear attention, or a cache
    "gru": (128, 2, cell("gru", **ORTHOGONAL)),
    "mingru": (128, 2, cell("mingru", **ORTHOGONAL)),
    "linear attention": (16, 1, cell("linear-attention", **ORTHOGONAL)),
    "delta": (16, 1, cell("delta", **ORTHOGONAL)),
    "attention": (16, None, {"kind": "attention"}),
}


def _alike() -> dict[str, Config]:
    """Return every network with every number of pairs, before its rate is chosen."""
    budget = {"updates": 10_000, "batch": 64, "score_every": 200, "sequences": 500, "clip": 1.0}
    return {
        f"{name}: {pairs} pairs": budget
        | {"pairs": pairs, "keys": 64, "values": 16, "asked": 1000, "hidden_size": size, "cell": kind}
        | ({} if layers is None else {"num_layers": layers})
        for name, (size, layers, kind) in ALIKE.items()
        for pairs in PAIRS
    }


SMALL = {"hidden_size": 8, "updates": 4, "score_every": 2, "sequences": 8, "batch": 4}
SMALL |= {"length": 4, "played": 6, "games": 4, "asked": 4, "every": 2}

EXPERIMENTS = (
    Experiment(
        "shell-game-delta",
        "The shell game: where the ball is after up to a thousand steps, by the delta rule and others",
        TRACKING,
        _endless(),
        measure_tracking,
        lambda config: {"step": range(1, config["played"] + 1)[counted(config)]},
        trials={label: [{"learning_rate": rate} for rate in RATES] for label in _endless()},
        put=recipe.put,
        trial=partial(trial_on, game_of),
        small=SMALL,
    ),
    Experiment(
        "recall-by-pairs",
        "Associative recall: how many pairs are recalled by networks that carry as many numbers, and are asked alike",
        RECALLED,
        _alike(),
        measure_recall,
        trials={label: [{"learning_rate": rate} for rate in recipe.RATES] for label in _alike()},
        put=recipe.put,
        small=SMALL,
    ),
)
