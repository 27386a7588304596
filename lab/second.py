"""What the second edition rests on: every network trained by the one recipe (`lab.recipe`)."""

import math
from pathlib import Path

import torch
from torch import nn

from lab import recipe
from lab.ch08_fair_comparisons.first_choice import first_choice_by_lag
from lab.engine.experiment import Config, model, text
from lab.engine.tasks import ending, flushing, stick
from lab.engine.texts import encoded, unseen_stories
from lab.engine.training import fit, model_of, parameters, training_seconds
from unrolled import cells, tasks
from unrolled.measure import evaluate, recall_by_lag
from unrolled.models import NeuralModel, evaluating
from unrolled.text import stories

EDGES = [1, 20, 40, 80, 160, 320, 640]  # of the bins of lag, in characters since the last mention
SYMBOLS = 2048  # of an update


def begun(config: Config, vocab_size: int) -> NeuralModel:
    """Return the untrained network of a configuration, as the recipe begins it."""
    network, core = model_of(config, vocab_size), config["model"].get("core")
    if core:
        for cell in network.core.layers:
            recipe.begin(cell, core, config.get("bias"))
            stick(cell, config.get("stuck", {}))
    return network


def training(config: Config, updates: int) -> Config:
    """Return the recipe of a training, as `lab.engine.training` reads it."""
    blocks = recipe.BLOCKS if config["model"]["kind"] == "TransformerLM" else {}
    return recipe.TRAINING | blocks | {"updates": updates, "learning_rate": config["rate"]}


# Names in stories of words

PYTORCH = {"initialisation": "torch"}
WORDS = {  # with the 1,171 words of the stories: about 500,000 weights
    "rnn": model("LanguageModel", core="rnn", hidden_size=280, embedding_size=64, cell_options=PYTORCH),
    "lstm": model("LanguageModel", core="lstm", hidden_size=192, embedding_size=64, cell_options=PYTORCH),
    "gru": model("LanguageModel", core="gru", hidden_size=212, embedding_size=64, cell_options=PYTORCH),
    "mingru": model("ResidualLM", core="mingru", hidden_size=238, embedding_size=64, cell_options=PYTORCH),
    "delta": model(
        "ResidualLM", core="delta", hidden_size=198, embedding_size=64, cell_options=PYTORCH | {"num_heads": 2}
    ),
    "transformer": model("TransformerLM", context=256, hidden_size=88, num_layers=3),
}
LONG = 8000
ASKED = (2000, 4000)  # updates after which a network is asked on the way
STORY = [
    "{hero} was a patient child with a short name. Even the cats knew {hero}, and {hero} knew the cats.",
    "One calm Sunday {they} set out for the mill with a red kite for {their} old friend Yara.",
    "{They} skipped and then strolled.",
    "A snail was crossing the lane.",
    "A parrot on a gate said {hero} and then {hero} again.",
    "{They} kicked a pebble along the path.",
    "Lunch was toast with honey.",
    "Halfway there the road stopped, as if it had lost heart.",
    "One cloud looked like a whale.",
    """Out of the reeds came a hedgehog and pointed the way. "Thank you, dear hedgehog," said {hero}.""",
    """At last {they} reached the mill. "You came!" cried Yara. Inside the brown paper was the kite. "It is perfect, {hero}!\"""",
]
HEROES = {"Ada": "she", "Nora": "she", "Zoe": "she", "Ben": "he", "Hugo": "he", "Oscar": "he"}
PRONOUNS = {"she": {"they": "she", "their": "her", "They": "She"}, "he": {"they": "he", "their": "his", "They": "He"}}


def words_config(core: str, setting: Config) -> Config:
    return {
        "text": text("stories", round(4.5 * LONG * SYMBOLS), words=True, three_parts=True),
        "model": WORDS[core],
        "validations": 0,
    } | setting


def race(network: NeuralModel, vocabulary) -> dict:
    """Return, by hero, the words of one story and the probability of the hero's name at each of them."""
    told = {}
    for hero, kind in HEROES.items():
        words = stories.words(" ".join(STORY).format(hero=hero, **PRONOUNS[kind]))
        tokens = vocabulary.encode(["\n", *words])
        with torch.no_grad(), evaluating(network):
            logits, _ = network(tokens[None, :-1])
        told[hero] = [round(p, 4) for p in logits[0].softmax(dim=-1)[:, vocabulary[hero]].tolist()]
    return told


def names(config: Config, seed: int, folder: Path) -> dict:
    """Train a network of words; ask it for names by lag and for nats, on the way and at the end."""
    read, (validation, test) = encoded(config), unseen_stories()
    config = config | {"recipe": training(config, LONG)}
    metrics: dict = {"on_the_way": {}}
    for updates in (*ASKED, LONG):
        trained = fit(config, seed, folder, text=read, until=updates, untrained=lambda size: begun(config, size))
        network = trained.model
        nats = evaluate(network, read.held_out).nats_per_symbol
        shares, counts = first_choice_by_lag(network, read.vocabulary, validation, "name", EDGES)
        metrics["on_the_way"][updates] = {"nats": nats, "name": shares.tolist()}
    shares, counts = first_choice_by_lag(network, read.vocabulary, test, "name", EDGES)
    return metrics | {
        "validation": nats,
        "nats": evaluate(network, read.test).nats_per_symbol,
        "name": shares.tolist(),
        "name_asked": counts.tolist(),
        "race": race(network, read.vocabulary),
        "parameters": parameters(network),
        "seconds": training_seconds(config, trained.checkpoint),
    }


# Characters of stories

UNITS = {  # with the 59 characters of stories
    "equal weights": {"rnn": 239, "relu": 239, "lstm": 118, "gru": 137},  # about 80,000
    "equal units": {"rnn": 118, "relu": 118, "lstm": 118, "gru": 118},
    "larger, equal weights": {"rnn": 323, "relu": 323, "lstm": 160, "gru": 186},  # about 140,000
    "larger, equal units": {"gru": 160},
}
LAGS = [1, 10, 20, 40, 80, 160, 320, 640]


def characters_config(core: str, units: int, updates: int, setting: Config, stuck: Config | None = None) -> Config:
    options = PYTORCH | ({"nonlinearity": "relu"} if core == "relu" else {})
    kind = "rnn" if core == "relu" else core
    return (
        {
            "text": text("stories", round(1.01 * updates * SYMBOLS), three_parts=True),
            "model": model("LanguageModel", core=kind, hidden_size=units, cell_options=options),
            "updates": updates,
            "validations": 0,
        }
        | setting
        | ({"stuck": stuck} if stuck else {})
    )


def characters(config: Config, seed: int, folder: Path) -> dict:
    """Train a network of characters; its nats on validation and test, and how often it knows a name that returns."""
    read, (validation, test) = encoded(config), unseen_stories()
    config = config | {"recipe": training(config, config["updates"])}
    trained = fit(config, seed, folder, text=read, untrained=lambda size: begun(config, size))
    shares, counts = recall_by_lag(trained.model, read.vocabulary, test, "name", LAGS)
    return {
        "validation": evaluate(trained.model, read.held_out).nats_per_symbol,
        "nats": evaluate(trained.model, read.test).nats_per_symbol,
        "name": shares.tolist(),
        "name_asked": counts.tolist(),
        "parameters": parameters(trained.model),
        "seconds": training_seconds(config, trained.checkpoint),
    }


# Write, ignore, read; adding

TASKS = {"adding": tasks.Adding, "flip-flop": tasks.FlipFlop}
CELLS = {  # with an input of 11 and an output of 8 each network has about 10,500 weights
    "tanh": ("rnn", 93, PYTORCH),
    "irnn": ("rnn", 93, PYTORCH | {"nonlinearity": "relu"}),
    "lstm": ("lstm", 45, PYTORCH),
    "gru": ("gru", 52, PYTORCH),
}


def task_config(task: str, lag: int, name: str, rate: float) -> Config:
    core, units, options = CELLS[name]
    return {
        "task": task,
        "lag": lag,
        "core": core,
        "name": name,
        "hidden_size": units,
        "options": options,
        "rate": rate,
    }


def on_task(config: Config, seed: int, folder: Path) -> dict:
    """Train a cell on a task of memory until it solves it, or for 3,000 updates; begin by the rule of biases."""
    task = TASKS[config["task"]](config["lag"])
    torch.manual_seed(seed)
    cell = cells.CELLS[config["core"]](task.input_size, config["hidden_size"], **config["options"])
    recipe.begin_for_lag(cell, config["core"], config["lag"])
    if config["name"] == "irnn":  # Le et al. 2015
        with torch.no_grad():
            nn.init.eye_(cell.W_hh)
            nn.init.normal_(cell.W_xh, std=0.001)
            nn.init.zeros_(cell.b_h)
    stick(cell, config.get("stuck", {}))
    network = tasks.SequenceModel(cell, task.output_size)
    with flushing():
        outcome = tasks.solve(
            network, task, updates=3000, batch=32, learning_rate=config["rate"], clip=1.0, seed=seed, score_every=50,
            sequences=500,
        )  # fmt: skip
    return ending(outcome, task) | {"parameters": parameters(network), "scores": outcome.scores}


def best(runs: dict[str, dict]) -> str:
    """Return the label of the trial with the lowest validation; what diverged has none."""
    return min(runs, key=lambda label: runs[label].get("validation", math.inf))
