"""How long do the loop over time, a step of each cell, and a symbol of a training take (chapters 2, 6 and 7)?

The contenders of an experiment are timed in turn, round after round, so that whatever else the machine does slows all
of them alike.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from torch.nn.functional import linear

from lab.engine.experiment import Config, Experiment, Metric, at, cell, model, recipe
from lab.engine.timing import medians
from lab.engine.training import PARAMETERS, cell_of, model_of, recipe_of
from unrolled import cells, cost, settings
from unrolled.training import Recipe, train

Configs = Mapping[str, Config]
EMBEDDING = 32  # d, the length of the inputs of the cells compared


def measure_loop(configs: Configs, seed: int, folder: Path) -> dict[str, dict]:
    """Time the recurrence, and the same arithmetic without its loop, at several lengths."""
    shared, *_ = configs.values()
    torch.manual_seed(seed)
    device, size = settings.device(), shared["hidden_size"]
    cell = cell_of(shared, size).to(device)

    @torch.no_grad()
    def loop(inputs: torch.Tensor) -> torch.Tensor:
        return cells.unroll(cell, inputs)[1]

    @torch.no_grad()
    def no_loop(inputs: torch.Tensor) -> torch.Tensor:  # every step reads the input again in place of the last state
        return torch.tanh(cell.project(inputs) + linear(inputs, cell.W_hh))

    microseconds = {label: [] for label in configs}
    for length in shared["lengths"]:
        inputs = torch.randn(shared["batch"], length, size, device=device)
        works = {label: partial(loop if each["loop"] else no_loop, inputs) for label, each in configs.items()}
        for label, taken in medians(works, shared).items():
            microseconds[label].append(1e6 * taken / length)
    return {label: {"microseconds": values} for label, values in microseconds.items()}


LOOP = {"microseconds": Metric("microseconds", "the time of a step", ("length",))}


def measure_cells(configs: Configs, seed: int, folder: Path) -> dict[str, dict]:
    """Time each cell forward and backward, and PyTorch's layer of the same kind with the same weights."""
    shared, *_ = configs.values()
    torch.manual_seed(seed)
    device = settings.device()
    inputs = torch.randn(shared["batch"], shared["length"], shared["input_size"], device=device, requires_grad=True)

    def forward_and_backward(layer: Callable[[torch.Tensor], tuple[torch.Tensor, object]]) -> None:
        layer(inputs)[0].sum().backward()

    works = {}
    for label, config in configs.items():
        kind = cells.CELLS[config["core"]]
        theirs = kind.torch_layer(config["input_size"], config["hidden_size"], batch_first=True).to(device)
        works[label, "ours"] = partial(forward_and_backward, partial(cells.unroll, kind.from_torch(theirs)))
        works[label, "torch"] = partial(forward_and_backward, theirs)
    taken = medians(works, shared)
    return {
        label: {
            "hidden_size": config["hidden_size"],
            "parameters": core_parameters(config["core"], config["hidden_size"]),
            **{side: 1e6 * taken[label, side] / config["length"] for side in ("ours", "torch")},
        }
        for label, config in configs.items()
    }


CELLS = {
    "hidden_size": Metric("units", "h"),
    "parameters": PARAMETERS._replace(about="those of the cell"),
    "ours": Metric("microseconds", "the time of a step of the whole batch, with the book's cell"),
    "torch": Metric("microseconds", "the same with PyTorch's"),
}


def core_parameters(core: str, hidden_size: int) -> int:
    """Return how many weights a core of a language model has."""
    return cost.recurrent(core, EMBEDDING, hidden_size).parameters


def recipe_for(config: Config, batch: int) -> Recipe:
    """Return the recipe of a training with so many streams, of as many updates as read the ``least`` symbols."""
    recipe = recipe_of(config)
    return replace(recipe, batch=batch, updates=max(1, config["least"] // (batch * recipe.seq_len)))


def measure_batching(configs: Configs, seed: int, folder: Path) -> dict[str, dict]:
    """Time the training of a language model with more and more streams side by side, whole updates of it."""
    shared, *_ = configs.values()
    torch.manual_seed(seed)
    models = {label: model_of(config, shared["symbols"]).to(settings.device()) for label, config in configs.items()}
    tokens = torch.randint(shared["symbols"], (max(shared["batches"]) * shared["recipe"]["seq_len"] + 1,))
    recipes = {(label, batch): recipe_for(configs[label], batch) for label in configs for batch in shared["batches"]}
    works = {  # a training waits for the device after every update
        key: partial(train, models[key[0]], tokens, recipe, progress=False) for key, recipe in recipes.items()
    }
    taken = medians(works, shared)
    microseconds = {
        key: 1e6 * taken[key] / (recipe.updates * recipe.batch * recipe.seq_len) for key, recipe in recipes.items()
    }
    return {label: {"microseconds": [microseconds[label, batch] for batch in shared["batches"]]} for label in configs}


BATCHING = {"microseconds": Metric("microseconds", "the time of a symbol", ("batch",))}


def compared(hidden_size: int) -> dict[str, tuple[str, int]]:
    """Return the core and the hidden size of each cell compared: all of one size, or of equally many weights."""

    def equal(core: str, other: str) -> tuple[str, int]:
        weights = core_parameters(other, hidden_size)
        return core, min(range(1, 4 * hidden_size), key=lambda size: abs(core_parameters(core, size) - weights))

    return {
        **{core: (core, hidden_size) for core in ("rnn", "gru", "lstm")},
        **{f"{core}-as-rnn": equal(core, "rnn") for core in ("gru", "lstm")},
        **{f"{core}-as-lstm": equal(core, "lstm") for core in ("rnn", "gru")},
    }


LOOPS = {"cell": cell("rnn"), "hidden_size": 128, "batch": 1, "warm_up": 3, "rounds": 40}
LOOPS |= {"lengths": [2**power for power in range(4, 12)]}
STEPS = {"input_size": EMBEDDING, "batch": 32, "length": 64, "warm_up": 6, "rounds": 54}
STREAMS = {"symbols": 64, "batches": [1, 4, 16, 64, 256], "least": 4096, "warm_up": 1, "rounds": 5}
QUICK = {"warm_up": 1, "rounds": 2}

EXPERIMENTS = (
    Experiment(
        "rnn-loop-time",
        "Time for a symbol against the length of the sequence: the loop, and the same arithmetic without it",
        LOOP,
        {"loop": {"loop": True} | LOOPS, "no-loop": {"loop": False} | LOOPS},
        measure_loop,
        at(length="lengths"),  # steps
        together=True,
        small=QUICK | {"lengths": [4, 8], "hidden_size": 4},
    ),
    Experiment(
        "cells-time",
        "Time of a step, forward and backward: RNN, GRU and LSTM of equal size and of equally many weights",
        CELLS,
        {label: {"core": core, "hidden_size": units} | STEPS for label, (core, units) in compared(128).items()},
        measure_cells,
        together=True,
        small=QUICK | {"length": 4},
    ),
    Experiment(
        "batching-time",
        "Time of a training update for each symbol: LSTM language model, 1 to 256 streams, float32 and bf16",
        BATCHING,
        {
            f"{core} {precision}": {
                "model": model("LanguageModel", core=core, hidden_size=256),
                "recipe": recipe(updates=1, batch=1, seq_len=64, schedule="constant", precision=precision),
            }
            | STREAMS
            for core in ("lstm", "torch-lstm")
            for precision in ("float32", "bf16")
        },
        measure_batching,
        at(batch="batches"),  # streams
        seeds=1,
        together=True,
        small=QUICK | {"batches": [1, 2], "least": 64},
    ),
)
