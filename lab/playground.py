"""Which networks run in the reader's page, and what do they remember with 16 bits to a weight?

Small enough to be sent to a browser, trained for long enough to be worth watching. All that is measured is measured of
the weights as the page has them. Of some models of words only a few bits of each weight's fraction are kept: what a
server sends is compressed, and so a page has room for half as many weights again.
"""

import gzip
import re
from pathlib import Path
from typing import Any

import torch

from lab.ch08_fair_comparisons.first_choice import first_choice_by_lag
from lab.ch11_attention.bottleneck import TEST_SEED, answering, task_of
from lab.engine.experiment import Config, Experiment, Metric, at, model, recipe, text
from lab.engine.texts import unseen_stories
from lab.engine.training import NATS, PARAMETERS, fit, fit_examples, parameters
from unrolled.figures.weights import weights_script
from unrolled.measure import evaluate, recall_by_lag
from unrolled.models import NeuralModel
from unrolled.tasks.rewriting import right
from unrolled.text import stories

EDGES = [1, 20, 40, 80, 160, 320, 640]  # of the bins of lag, in characters since the last mention
FRACTION = 10  # bits of the fraction of a number of 16 bits
DIGEST = re.compile(r'"([0-9a-f]{8})"\];\s*$')


def script(config: Config, network: NeuralModel, *vocabularies: Any) -> str:
    """Return the script of a network's weights; it also says what the stories' grammar pays for a symbol."""
    name, about = config["name"], {}
    if "text" in config:
        grammar = stories.grammar()
        floor = grammar.entropy_per_word() if config["text"].get("words") else grammar.entropy_per_character()
        about = {"floor": round(floor, 6)}
    vocabulary = vocabularies if len(vocabularies) > 1 else vocabularies[0]
    return weights_script(name, rounded(network, config.get("fraction", FRACTION)), vocabulary, **about)


def digest(script: str) -> str:
    """Return the checksum that a script of weights ends with."""
    return DIGEST.search(script)[1]


def rounded(network: NeuralModel, fraction: int = FRACTION) -> NeuralModel:
    """Return the network with every weight rounded to 16 bits, as the page has it; it computes with 32.

    Args:
        network: it is changed in place.
        fraction: how many of the bits of a weight's fraction are kept; the others are 0.
    """
    for weights in network.state_dict().values():
        significand, exponent = weights.half().float().frexp()  # from ½ to 1
        whole = (significand * 2 ** (fraction + 1)).round()
        weights.copy_(torch.ldexp(whole, exponent - (fraction + 1)))
    return network.cpu()


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a network; round its weights to 16 bits, write them as a script, score them and ask them."""
    if "task" in config:
        trained = fit_examples(config, seed, folder, answering(config, seed))
        network, vocabularies = trained.model, answering(config, seed).vocabularies
    else:
        network, read, *_ = fit(config, seed, folder)
        vocabularies = (read.vocabulary,)
    written = script(config, network, *vocabularies)  # the network is rounded now
    facts = {
        "parameters": parameters(network),
        "kilobytes": len(gzip.compress(written.encode(), mtime=0)) / 1000,
        "digest": digest(written),
    }
    if "task" in config:
        task = task_of(config)
        pairs = task.pairs(config["asked"], torch.Generator().manual_seed(TEST_SEED % 2**32))
        return facts | {"exact": right(network, pairs, task.most)}
    _, test = unseen_stories()
    ask = first_choice_by_lag if config["text"].get("words") else recall_by_lag
    shares, counts = ask(network, read.vocabulary, test, "name", EDGES)
    nats = evaluate(network, read.test).nats_per_symbol
    return facts | {"nats": nats, "name": shares.tolist(), "name_asked": counts.tolist()}


METRICS = {
    "parameters": PARAMETERS,
    "nats": NATS._replace(unit="nats per symbol", about="what a word, or a character, of the test costs"),
    "name": Metric(
        "",
        "the share of names that were the first choice of all names where they return; of characters, of two names",
        ("lag_bin",),
    ),
    "name_asked": Metric("questions", "how many there were", ("lag_bin",)),
    "exact": Metric("", "the share of new dates that were rewritten without a mistake"),
    "kilobytes": Metric("kB", "the size of the script, compressed as a server sends it"),
    "digest": Metric("", "the checksum that the script ends with"),
}


LONG = 160  # words in a window, which holds a story of 142 on average; T_max of chrono's gates
WORDS = {  # the initialisations that `memory-tuning` chose; 1,171 words
    "rnn": ({"hidden_size": 188, "cell_options": {"initialisation": "orthogonal", "nonlinearity": "relu"}}, 8e-3),
    "lstm": ({"hidden_size": 96, "cell_options": {"initialisation": "orthogonal"}}, 8e-3),
    "gru": ({"hidden_size": 152, "cell_options": {"initialisation": "chrono", "t_max": LONG}}, 8e-3),
}
COARSE = {"rnn": {"fraction": 4}, "lstm": {}, "gru": {"fraction": 4}}  # bits; so there are 300,000 weights, not 200,000
LONGER = {"lstm": 4}  # times as many updates: it learns to remember later than the others, if it does
CHARACTERS = {  # about 100,000 weights
    "rnn": ({"hidden_size": 280}, 3e-3),
    "lstm": ({"hidden_size": 136}, 1e-2),
    "gru": ({"hidden_size": 160}, 1e-2),
}


def _contender(name: str, core: str, options: Config, text: Config, recipe: Config) -> Config:
    network = model("LanguageModel", core=core, embedding_size=32, **options)
    return {"name": name, "text": text, "model": network, "recipe": recipe, "validations": 0}


def _contenders() -> dict[str, Config]:
    words = text("stories", 30_000_000, words=True, three_parts=True)
    characters = text("stories", 10_000_000, three_parts=True)
    contenders = {}
    for core, (options, rate) in WORDS.items():
        updates = 3000 * LONGER.get(core, 1)
        steps = recipe(learning_rate=rate, batch=8, seq_len=LONG, reset=0.05, updates=updates)
        name = f"{core}-words"
        contenders[name] = _contender(name, core, options, words, steps) | COARSE[core]
    for core, (options, rate) in CHARACTERS.items():
        steps = recipe(learning_rate=rate, batch=32, seq_len=64, reset=0.02, updates=3000)
        name = f"{core}-characters"
        contenders[name] = _contender(name, core, options, characters, steps)
    attention = {"direction": "both", "attention": "scaled"}
    contenders["gru-dates"] = {
        "name": "gru-dates",
        "task": {"name": "dates", "options": {"first": 1900, "last": 2099}},
        "asked": 1000,
        "model": model("EncoderDecoder", core="gru", hidden_size=48, embedding_size=16, **attention),
        "recipe": recipe(updates=1000, batch=64, seq_len=1, carry=False, learning_rate=1e-2),
        "validations": 0,
    }
    return contenders


EXPERIMENTS = (
    Experiment(
        "playground",
        "Stories and dates: the networks that run in the reader's page, with 16 bits to a weight",
        METRICS,
        _contenders(),
        measure,
        at(lag_bin=EDGES[1:]),  # the upper edges
        seeds=1,
        small={"asked": 10},
    ),
)
