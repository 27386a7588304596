"""Which networks run in the reader's page, and what do they remember with 8 or 16 bits to a weight?

Small enough to be sent to a browser, trained for long enough to be worth watching. The networks of words are those of
the record `names`. Their weights have 8 bits each, so that a page has room for half a million of them, and what that
costs is measured; the others have 16. All else is measured of the weights as the page has them.
"""

import gzip
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from lab.ch08_fair_comparisons import names
from lab.ch08_fair_comparisons.first_choice import first_choice_by_lag
from lab.ch11_attention.bottleneck import TEST_SEED, answering, task_of
from lab.engine.experiment import Config, Experiment, Metric, at, model, recipe, text
from lab.engine.texts import unseen_stories
from lab.engine.training import NATS, PARAMETERS, fit, fit_examples, parameters
from unrolled.figures.weights import eight_bits, weights_script
from unrolled.measure import evaluate, recall_by_lag
from unrolled.models import NeuralModel
from unrolled.tasks.rewriting import right
from unrolled.text import stories

EDGES = [1, 20, 40, 80, 160, 320, 640]  # of the bins of lag, in characters since the last mention
DIGEST = re.compile(r'"([0-9a-f]{8})"\];\s*$')


def script(config: Config, network: NeuralModel, *vocabularies: Any) -> str:
    """Return the script of a network's weights; it also says what the stories' grammar pays for a symbol."""
    name, bits, about = config["name"], config.get("bits", 16), {}
    if "text" in config:
        grammar = stories.grammar()
        floor = grammar.entropy_per_word() if config["text"].get("words") else grammar.entropy_per_character()
        about = {"floor": round(floor, 6)}
    vocabulary = vocabularies if len(vocabularies) > 1 else vocabularies[0]
    return weights_script(name, rounded(network, bits), vocabulary, bits=bits, **about)


def digest(script: str) -> str:
    """Return the checksum that a script of weights ends with."""
    return DIGEST.search(script)[1]


def rounded(network: NeuralModel, bits: int) -> NeuralModel:
    """Return the network with every weight rounded to 16 or 8 bits, as the page has it; it computes with 32.

    Args:
        network: it is changed in place.
        bits: of a weight.
    """
    for weights in network.state_dict().values():
        weights.copy_(torch.mul(*eight_bits(weights)) if bits == 8 else weights.half())
    return network.cpu()


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a network; round its weights as the page has them, write them as a script, score them and ask them."""
    facts = {}
    if "task" in config:
        trained = fit_examples(config, seed, folder, answering(config, seed))
        network, vocabularies = trained.model, answering(config, seed).vocabularies
    else:
        network, read, *_ = fit(config, seed, folder)
        vocabularies = (read.vocabulary,)
        if "bits" in config:
            facts["nats_32_bits"] = evaluate(network, read.test).nats_per_symbol
    written = script(config, network, *vocabularies)  # the network is rounded now
    facts |= {
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
    "nats_32_bits": Metric("nats per symbol", "the same before the weights were rounded to 8 bits"),
    "name": Metric(
        "",
        "the share of names that were the first choice of all names where they return; of characters, of two names",
        ("lag_bin",),
    ),
    "name_asked": Metric("questions", "how many there were", ("lag_bin",)),
    "exact": Metric("", "the share of new sources that were rewritten without a mistake"),
    "kilobytes": Metric("kB", "the size of the script, compressed as a server sends it"),
    "digest": Metric("", "the checksum that the script ends with"),
}


CORES = ("rnn", "lstm", "gru")
CHARACTERS = {  # about 100,000 weights
    "rnn": ({"hidden_size": 280}, 3e-3),
    "lstm": ({"hidden_size": 136}, 1e-2),
    "gru": ({"hidden_size": 160}, 1e-2),
}


def _of_words(core: str) -> Config:
    return {"name": f"{core}-words", "bits": 8} | names.preferred(core)


def _answering(name: str, task: dict[str, Any], *, hidden_size: int, attention: str | None = "scaled") -> Config:
    options = {"hidden_size": hidden_size, "embedding_size": 16, "direction": "both", "attention": attention}
    return {
        "name": name,
        "task": task,
        "asked": 1000,
        "model": model("EncoderDecoder", core="gru", **options),
        "recipe": recipe(updates=1000, batch=64, seq_len=1, carry=False, learning_rate=1e-2),
        "validations": 0,
    }


def _contenders() -> dict[str, Config | Callable[[], Config]]:
    contenders: dict[str, Config | Callable[[], Config]] = {f"{core}-words": partial(_of_words, core) for core in CORES}
    for core in CORES:
        options, rate = CHARACTERS[core]
        name = f"{core}-characters"
        contenders[name] = {
            "name": name,
            "text": text("stories", 10_000_000, three_parts=True),
            "model": model("LanguageModel", core=core, embedding_size=32, **options),
            "recipe": recipe(learning_rate=rate, batch=32, seq_len=64, reset=0.02, updates=3000),
            "validations": 0,
        }
    dates = {"name": "dates", "options": {"first": 1900, "last": 2099}}
    contenders["gru-dates"] = _answering("gru-dates", dates, hidden_size=48)
    reversal = {"name": "reversal", "options": {"longest": 10, "letters": 26}}
    for name, attention in {"gru-attention": "scaled", "gru-one-vector": None}.items():
        contenders[name] = _answering(name, reversal, hidden_size=32, attention=attention)
    return contenders


EXPERIMENTS = (
    Experiment(
        "playground",
        "Stories and dates: the networks that run in the reader's page, with 8 or 16 bits to a weight",
        METRICS,
        _contenders(),
        measure,
        at(lag_bin=EDGES[1:]),  # the upper edges
        seeds=1,
        small={"asked": 10},
    ),
)
