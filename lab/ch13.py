"""Chapter 13: what a state can track whose gates see only the input, and what attention adds to it.

The shell game is learned over 40 steps and played on for 1,000; no training ends before its updates are spent.
Recall and the shell game at once ask for a state and for a cache.
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
from lab.tasks import ENDING, ending, flushing, train_on, trial_on
from unrolled import cells, settings, tasks
from unrolled.models import causal_mask, scaled_dot_product
from unrolled.tasks import ShellGame

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
class RecallAndFollow(tasks.Task):
    """Read pairs of a key and a value; then follow a ball under cups, and between its moves give the values of keys.

    All keys are shown, each once, in random order; the values are equally likely. After them come as many steps again,
    each with the same probability an exchange of two cups or a key. The target of a move is the cup that hides the ball
    now, and that of a key its value. No key is asked for twice. The loss is the mean cross-entropy of these answers.

    Attributes:
        pairs: how many there are.
        values: how many different values.
        cups: how many cups.

    Example:
        >>> task = RecallAndFollow(pairs=4, values=3, cups=3)
        >>> inputs, targets = task.batch(1, torch.Generator().manual_seed(0))
        >>> tuple(inputs.shape), targets[0, :4].tolist()  # nothing is asked while pairs are read
        ((1, 8, 11), [-1, -1, -1, -1])
    """

    pairs: int
    values: int = 16
    cups: int = 5
    goal = 0.0  # no training ends before its updates are spent

    @property
    def input_size(self) -> int:
        """The length of a step's vector: a place for every key, every value and every move."""
        return self.pairs + self.values + ShellGame(1, self.cups).input_size

    @property
    def output_size(self) -> int:
        """The number of values and cups."""
        return self.values + self.cups

    @property
    def trivial(self) -> float:
        """The loss without memory, in nats per answer."""
        return (math.log(self.values) + math.log(self.cups)) / 2

    def batch(self, batch: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Return inputs, (batch, 2 pairs, keys + values + moves), and targets, (batch, 2 pairs), −1 at a pair."""
        game = ShellGame(1, self.cups)
        keys, order = (torch.rand(batch, self.pairs, generator=generator).argsort(dim=1) for _ in range(2))
        values = torch.randint(self.values, (batch, self.pairs), generator=generator)
        moves = torch.randint(1, game.input_size, (batch, self.pairs), generator=generator)
        asked = torch.rand(batch, self.pairs, generator=generator) < 0.5
        shown = torch.where(asked, keys.gather(1, order), self.pairs + self.values + moves)
        inputs = one_hot(torch.cat([keys, shown], dim=1), self.input_size).float()
        inputs[:, : self.pairs] += one_hot(self.pairs + values, self.input_size)
        cups = self.values + game.follow(moves.masked_fill(asked, 0))
        wanted = torch.where(asked, values.gather(1, order), cups)
        return inputs, torch.cat([torch.full_like(values, -1), wanted], dim=1)

    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the mean cross-entropy of the answers, for logits (batch, 2 pairs, values + cups) and targets."""
        return cross_entropy(outputs.flatten(0, 1), targets.flatten(), ignore_index=-1)


class Heads(nn.Module):
    """Answer at every step from heads of the delta rule and a head of attention, side by side.

    Args:
        input_size: of a step's vector.
        delta: how many numbers the heads of the delta rule show, eight each, with β up to 2.
        attention: how many numbers the head of causal attention shows (:eq:`eq-self-attention`).
        output_size: of an answer.

    Example:
        >>> tuple(Heads(5, delta=8, attention=8, output_size=3)(torch.zeros(2, 7, 5)).shape)
        (2, 7, 3)
    """

    def __init__(self, input_size: int, delta: int, attention: int, output_size: int):
        super().__init__()
        self.delta = cells.DeltaCell(input_size, delta, num_heads=delta // 8, negative=True) if delta else None
        self.project = nn.Linear(input_size, 3 * attention) if attention else None  # queries, keys and values
        self.output = nn.Linear(delta + attention, output_size)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the answers, (batch, time, output_size), to inputs (batch, time, input_size)."""
        heads = [cells.unroll(self.delta, inputs)[0]] if self.delta else []
        if self.project:
            parts = self.project(inputs).chunk(3, dim=-1)
            heads.append(scaled_dot_product(*parts, causal_mask(inputs.shape[1], inputs.device))[0])
        return self.output(torch.cat(heads, dim=-1))


def measure_both(config: Config, seed: int, folder: Path) -> dict:
    """Train heads to recall and to follow, and count their right answers of either kind."""
    task = RecallAndFollow(config["pairs"])
    torch.manual_seed(seed)
    model = Heads(task.input_size, config["delta"], config["attention"], task.output_size).to(settings.device())
    told = {name: config[name] for name in ("updates", "batch", "score_every", "sequences", "clip")}
    with flushing():
        outcome = tasks.solve(model, task, **told, learning_rate=config["rate"], seed=seed)
    inputs, targets = task.batch(config["asked"], torch.Generator().manual_seed(seed))
    right, values = answers(model, inputs) == targets, (targets >= 0) & (targets < task.values)
    return {
        CHOSEN_BY: math.inf if outcome.diverged else outcome.scores[-1],
        "recalled": right[values].double().mean().item(),
        "followed": right[targets >= task.values].double().mean().item(),
    }


BOTH = {
    CHOSEN_BY: Metric("nats/answer", "the mean cross-entropy on new sequences"),
    "recalled": Metric("", "the share of keys whose value is given"),
    "followed": Metric("", "the share of moves after which the ball is found"),
}
HEADS = {"both": (8, 8), "the delta rule": (16, 0), "attention": (0, 16)}  # numbers of the delta rule, of attention


def _both() -> dict[str, Config]:
    """Return the kinds of heads, before their rates are chosen."""
    budget = {"updates": 2000, "batch": 32, "score_every": 2000, "sequences": 500, "clip": 1.0}
    return {
        name: budget | {"pairs": 32, "asked": 500, "delta": delta, "attention": attention}
        for name, (delta, attention) in HEADS.items()
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
        "recall-and-follow",
        "Recall and the shell game at once: heads of the delta rule, of attention, and of both",
        BOTH,
        _both(),
        measure_both,
        trials={label: [{"rate": rate} for rate in RATES[1:4]] for label in HEADS},
        put=recipe.put,
        small=SMALL | {"pairs": 4},
    ),
)
