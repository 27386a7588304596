"""Chapter 11: how long a source one state holds, and what attention changes.

Encoder–decoders reverse letters and rewrite dates. The learning rate and the initialisation of each are chosen by a
search; no pair is seen twice.
"""

from pathlib import Path

import torch

from lab.experiment import CHOSEN_BY, Config, Experiment, Metric, at, model, recipe
from lab.training import Answering, answering_course, course, fit_examples, mean_loss, model_of, recipe_of
from unrolled.tasks import rewriting
from unrolled.tasks.rewriting import START, Fresh, right
from unrolled.text import Vocabulary, WordVocabulary, pad_pairs

VALIDATION_SEED, TEST_SEED = 4001 * 1_000_000, 4002 * 1_000_000  # beyond all that `Fresh` draws from


def task_of(config: Config) -> rewriting.Task:
    """Return the task that a configuration has under ``task``."""
    named = config["task"]
    return rewriting.TASKS[named["name"]](**named["options"])


def answering(config: Config, seed: int = 0) -> Answering:
    """Return what an encoder–decoder of a configuration learns from.

    Args:
        config: with ``task``.
        seed: of the pairs to learn from.
    """
    task = task_of(config)
    held_out = task.pairs(512, torch.Generator().manual_seed(VALIDATION_SEED % 2**32))
    return Answering(
        lambda tried: model_of(tried, len(task.sources), 2 + len(task.targets)),
        lambda tried: Fresh(task, recipe_of(tried).batch, seed),
        [pad_pairs(held_out, start=START)],
        (Vocabulary(task.sources), WordVocabulary.of(["<start>", "<stop>", *task.targets])),
    )


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train an encoder–decoder and ask it for the targets of new sources, of every length where that can be chosen."""
    trained = fit_examples(config, seed, folder, answering(config, seed))
    task, generator = task_of(config), torch.Generator().manual_seed(TEST_SEED % 2**32)
    result = course(trained)
    result["exact"] = right(trained.model, task.pairs(config["asked"], generator), task.most)
    if config["lengths"]:
        batches = [task.pairs(config["asked"], generator, length) for length in config["lengths"]]
        sizes = zip(batches, config["lengths"], strict=True)
        result["by_length"] = [right(trained.model, pairs, length + 1) for pairs, length in sizes]
    return result


METRICS = answering_course("nats per symbol") | {
    "exact": Metric("", "the share of new sources, drawn like those of the training, with an exact target"),
    "by_length": Metric("", "the same of sources of one length", ("length",)),
}


KINDS = {
    "plain": {},
    "backwards": {"direction": "backward"},
    "attention": {"direction": "both", "attention": "additive"},
    "dot": {"direction": "both", "attention": "dot"},
    "scaled": {"direction": "both", "attention": "scaled"},
}
UNITS = (32, 64, 128)  # of the state
RATES = [4e-3, 8e-3, 1.6e-2, 3.2e-2]
SETTINGS = [{"learning_rate": r, "initialisation": kind} for kind in ("uniform", "orthogonal") for r in RATES]
UPDATES, LONGEST = 2000, 16


def contenders() -> dict[str, Config]:
    """Return the contenders before anything is chosen: three sizes of three kinds, and the other scores at one size."""
    reversal = {"name": "reversal", "options": {"longest": LONGEST, "letters": 26}}
    dates = {"name": "dates", "options": {"first": 1900, "last": 2099}}
    tasks = {"reversal": (reversal, list(range(1, LONGEST + LONGEST // 4 + 1))), "dates": (dates, [])}
    wanted = [("reversal", kind, units) for units in UNITS for kind in ("plain", "attention")]
    wanted += [("reversal", kind, 64) for kind in ("backwards", "dot", "scaled")]
    wanted += [("dates", kind, 64) for kind in ("plain", "attention")]
    contenders = {}
    for name, kind, units in wanted:
        task, lengths = tasks[name]
        contenders[f"{name}/{kind} {units}"] = {
            "task": task,
            "lengths": lengths,
            "asked": 400,
            "model": model("EncoderDecoder", core="lstm", hidden_size=units, **KINDS[kind]),
            "recipe": recipe(updates=UPDATES, batch=64, seq_len=1, carry=False),
        }
    return contenders


def trial(config: Config, seed: int, folder: Path) -> dict:
    """Train an encoder–decoder for half of its updates; score what is held out."""
    shorter = config | {"recipe": config["recipe"] | {"updates": config["recipe"]["updates"] // 2}, "validations": 0}
    given = answering(config)
    return {CHOSEN_BY: mean_loss(fit_examples(shorter, seed, folder, given).model, given.held_out)}


def shorter() -> dict[str, Config]:
    """Return the smallest network with one vector, with what was chosen for it and a quarter of its updates."""
    chosen, updates = contenders()["reversal/plain 32"], UPDATES // 4
    begun = chosen["model"] | {"cell_options": {"initialisation": "uniform"}}
    steps = chosen["recipe"] | {"updates": updates, "learning_rate": 1.6e-2}
    return {f"{updates} updates": chosen | {"model": begun, "recipe": steps}}


EXPERIMENTS = (
    Experiment(
        "bottleneck",
        "Reversal and dates: exact targets against length, for three sizes of the state, with and without attention",
        METRICS,
        contenders(),
        measure,
        at(length="lengths"),  # symbols of the source
        trials=dict.fromkeys(contenders(), SETTINGS),
        trial=trial,
        small={"asked": 4, "lengths": [1, 2]},
    ),
    Experiment(
        "bottleneck-shorter",
        "Reversal through one vector of 32 units: exact targets against length, after 500 updates",
        METRICS,
        shorter(),
        measure,
        at(length="lengths"),  # symbols of the source
        small={"asked": 4, "lengths": [1, 2]},
    ),
)
