"""Write, ignore, read; adding: who learns to keep something, over how many steps, how soon (chapters 4, 5 and 6)."""

from pathlib import Path

import torch
from torch import nn

from lab import recipe
from lab.experiment import CHOSEN_BY, Config, Experiment, Metric
from lab.tasks import ENDING, ending, flushing, stick
from lab.training import PARAMETERS, parameters
from unrolled import cells, tasks

TASKS = {"adding": tasks.Adding, "flip-flop": tasks.FlipFlop}
LAGS = (20, 50, 100, 200)
BUDGET = {"updates": 3000, "batch": 32, "score_every": 50, "sequences": 500}
CELLS = {  # with an input of 11 and an output of 8 each network has about 10,500 weights
    "tanh": ("rnn", 93, {}),
    "irnn": ("rnn", 93, {"nonlinearity": "relu"}),
    "lstm": ("lstm", 45, {}),
    "gru": ("gru", 52, {}),
}


def network_of(config: Config, task: tasks.Task) -> tasks.SequenceModel:
    """Return the untrained network of a configuration: its gates begin by the rule of biases, an IRNN as it was made.

    Le et al. 2015 begin with the identity, biases of zero and input weights with a standard deviation of 0.001.
    """
    cell = cells.CELLS[config["core"]](task.input_size, config["hidden_size"], **config["options"])
    recipe.begin_for_lag(cell, config["core"], config["lag"])
    if config["name"] == "irnn":
        nn.init.eye_(cell.W_hh)
        nn.init.normal_(cell.W_xh, std=0.001)
        nn.init.zeros_(cell.b_h)
    stick(cell, config.get("stuck", {}))
    return tasks.SequenceModel(cell, task.output_size)


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a network on a task until it solves it, or until its updates are spent."""
    task = TASKS[config["task"]](config["lag"])
    torch.manual_seed(seed)
    network = network_of(config, task)
    with flushing():
        outcome = tasks.solve(
            network,
            task,
            **{name: config[name] for name in BUDGET},
            learning_rate=config["rate"],
            clip=1.0,
            seed=seed,
        )
    ended = ending(outcome, task)
    cost = ended["updates"] / config["updates"] if ended["success"] else 1 + ended["loss"]
    return {CHOSEN_BY: float("inf") if ended["diverged"] else cost, "parameters": parameters(network)} | ended


METRICS = ENDING | {
    CHOSEN_BY: Metric("", "the share of the updates needed; beyond 1 by the error left, as a share of the trivial one"),
    "parameters": PARAMETERS,
}
RUNS = {f"{task} {lag}: {name}": (task, lag, name) for task in TASKS for lag in LAGS for name in CELLS}


def contender(task: str, lag: int, name: str) -> Config:
    """Return a network on a task before its rate is chosen."""
    core, units, options = CELLS[name]
    network = {"core": core, "name": name, "hidden_size": units, "options": recipe.START | options}
    return {"task": task, "lag": lag} | network | BUDGET


EXPERIMENTS = (
    Experiment(
        "memory-tasks",
        "Adding; write, ignore, read: who solves them over 20 to 200 steps, and how soon, by the rule of biases",
        METRICS,
        {label: contender(*what) for label, what in RUNS.items()},
        measure,
        seeds=5,
        trials={label: [{"rate": rate} for rate in recipe.RATES] for label in RUNS},
        put=recipe.put,
        small={"updates": 4, "batch": 4, "score_every": 2, "sequences": 8},
    ),
)
