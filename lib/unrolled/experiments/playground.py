"""Which networks run in the reader's page, and what do they remember with 16 bits to a weight?

Small enough to be sent to a browser, trained for long enough to be worth watching. All that is measured is measured of
the weights as the page has them.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path

from unrolled.experiments.base import (
    NATS,
    PARAMETERS,
    Configuration,
    Experiment,
    Metric,
    fit,
    model,
    parameters,
    recipe,
)
from unrolled.experiments.reading import Encoded, text, unseen_stories
from unrolled.figures.live import weights_script
from unrolled.measure import evaluate, first_choice_by_lag, recall_by_lag
from unrolled.models import LanguageModel
from unrolled.text import stories

EDGES = [1, 20, 40, 80, 160, 320, 640]  # of the bins of lag, in characters since the last mention
DIGEST = re.compile(r'"([0-9a-f]{8})"\];\s*$')


def script(name: str, network: LanguageModel, read: Encoded) -> str:
    """Return the script of a network's weights; it also says what the stories' grammar pays for a symbol."""
    grammar = stories.grammar()
    floor = grammar.entropy_per_word() if name.endswith("words") else grammar.entropy_per_character()
    return weights_script(name, network, read.vocabulary, floor=round(floor, 6))


def digest(script: str) -> str:
    """Return the checksum that a script of weights ends with."""
    return DIGEST.search(script)[1]


def measure(config: Configuration, seed: int, folder: Path) -> dict:
    """Train a network; round its weights to 16 bits, write them as a script, score them and ask them for names."""
    network, read, *_ = fit(config, seed, folder)
    network = rounded(network)
    written = script(config["name"], network, read)
    _, test = unseen_stories()
    ask = first_choice_by_lag if config["text"]["words"] else recall_by_lag
    shares, counts = ask(network, read.vocabulary, test, "name", EDGES)
    return {
        "parameters": parameters(network),
        "nats": evaluate(network, read.test).nats_per_symbol,
        "name": shares.tolist(),
        "name_asked": counts.tolist(),
        "kilobytes": len(gzip.compress(written.encode(), mtime=0)) / 1000,
        "digest": digest(written),
    }


def rounded(network: LanguageModel) -> LanguageModel:
    """Return the network with every weight rounded to 16 bits, as the page has it; it computes with 32."""
    network.load_state_dict({name: weights.half().float() for name, weights in network.state_dict().items()})
    return network.cpu()


METRICS = {
    "parameters": PARAMETERS,
    "nats": NATS._replace(unit="nats per symbol", about="what a word, or a character, of the test costs"),
    "name": Metric(
        "",
        "the share of names that were the first choice of all names where they return; of characters, of two names",
        ("lag_bin",),
    ),
    "name_asked": Metric("questions", "how many there were", ("lag_bin",)),
    "kilobytes": Metric("kB", "the size of the script, compressed as a server sends it"),
    "digest": Metric("", "the checksum that the script ends with"),
}


def axes(config: Configuration) -> dict:
    """Return the coordinates of the axis of `METRICS`: the upper edges of the bins of lag."""
    return {"lag_bin": EDGES[1:]}


WORDS = {  # the initialisations that `memory-tuning` chose; 1,171 words, and about 200,000 weights
    "rnn": ({"hidden_size": 124, "cell_options": {"initialisation": "orthogonal", "nonlinearity": "relu"}}, 2e-3),
    "lstm": ({"hidden_size": 96, "cell_options": {"initialisation": "orthogonal"}}, 8e-3),
    "gru": ({"hidden_size": 104, "cell_options": {"initialisation": "chrono", "t_max": 160}}, 8e-3),
}
CHARACTERS = {  # about 100,000 weights
    "rnn": ({"hidden_size": 280}, 3e-3),
    "lstm": ({"hidden_size": 136}, 1e-2),
    "gru": ({"hidden_size": 160}, 1e-2),
}


def contender(name: str, core: str, options: dict, rate: float, text: Configuration, **recipe_fields) -> Configuration:
    return {
        "name": name,
        "text": text,
        "model": model("LanguageModel", core=core, embedding_size=32, **options),
        "recipe": recipe(learning_rate=rate, **recipe_fields),
        "validations": 0,
    }


def _contenders(words: int, characters: int) -> dict[str, Configuration]:
    """Return the contenders, trained for so many updates on words, and on characters."""
    read = {
        "words": text("stories", 30_000_000, words=True, three_parts=True),
        "characters": text("stories", 10_000_000, three_parts=True),
    }
    recipes = {
        "words": {"updates": words, "batch": 8, "seq_len": 160, "reset": 0.05},
        "characters": {"updates": characters, "batch": 32, "seq_len": 64, "reset": 0.02},
    }
    return {
        f"{core}-{units}": contender(f"{core}-{units}", core, options, rate, read[units], **recipes[units])
        for units, models in (("words", WORDS), ("characters", CHARACTERS))
        for core, (options, rate) in models.items()
    }


EXPERIMENTS = (
    Experiment(
        "playground",
        "Stories: the networks that run in the reader's page, with 16 bits to a weight",
        METRICS,
        {"quick": _contenders(12_000, 3000), "full": _contenders(48_000, 30_000)},
        measure,
        axes,
        seeds=1,
    ),
)
