"""How many tagged sentences is it worth to have read others without tags, and what in that helps (chapter 10)?

Two language models read the training sentences of ATIS, one from each side. A tagger that looks at their states is
compared with one that begins from nothing, after as many updates on as few tagged sentences; and with two controls: a
tagger of the same language models as they were drawn, and one that is shown only the vectors of the trained ones. Each
has the best of several rates, by the validation, for each number of tagged sentences.
"""

from functools import partial
from pathlib import Path

import torch

from lab.ch10_depth_and_direction.pretrained import PretrainedTagger
from lab.ch10_depth_and_direction.tagging import RIGHT, answers, given_tags, numbered
from lab.engine.experiment import Config, Experiment, Metric, at, model, recipe, text
from lab.engine.search import with_setting
from lab.engine.store import shared_folder
from lab.engine.texts import Encoded
from lab.engine.training import PARAMETERS, Answering, fit, fit_examples, mean_loss, model_of, parameters
from unrolled.models import TaggingNetwork
from unrolled.text import Examples, TaggedCorpus, pad_tagged


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a tagger at each rate, and ask the one that the validation prefers for the tags of the test."""
    taggers, costs = {}, {}
    for rate in config["learning_rates"]:
        tried = with_setting(config, {"learning_rate": rate})
        taggers[rate], costs[rate] = learn(tried, seed, folder, name=f"rate-{rate:g}")
    best = min(costs, key=costs.get)
    return asked(taggers[best], config) | {"learning_rate": best, "validation": list(costs.values())}


def learn(config: Config, seed: int, folder: Path, name: str = "model") -> tuple[TaggingNetwork, float]:
    """Train a tagger, and return it with what a tag of the validation costs it.

    Args:
        config: with ``labelled``, how many sentences have tags; and with ``language_model`` where it begins with two.
        seed: of the first weights, and of the order of the sentences.
        folder: where to keep it.
        name: of its files.
    """
    read = numbered(config)
    tagger = partial(model_of, config, len(read.words), len(read.tags))
    readers = {}
    if "language_model" in config:  # trained once for all contenders that begin with it
        reading = config["language_model"]
        home = shared_folder(folder, reading, seed)
        for side in ("from_left", "from_right"):
            sentences = _lines(read.corpus, reverse=side == "from_right")
            encoded = Encoded(read.words, *map(read.words.encode, sentences))
            readers[side] = fit(reading, seed, home, text=encoded, name=side).model
    order = torch.randperm(len(read.corpus.train), generator=torch.Generator().manual_seed(seed)).tolist()
    labelled = read.pairs([read.corpus.train[place] for place in order[: config["labelled"]]])
    answering = Answering(
        lambda tried: tagger().adopt(*readers.values()) if readers else tagger(),
        lambda tried: Examples(labelled, config["recipe"]["batch"], pad_tagged),
        Examples(read.pairs(read.corpus.validation), 64, pad_tagged).once(),
        (read.words, read.tags),
    )
    trained = fit_examples(config, seed, folder, answering, name=name).model
    return trained, mean_loss(trained, answering.held_out)


def asked(tagger: TaggingNetwork, config: Config) -> dict:
    """Return what the tags that a tagger gives to the test come to, and how it mixes what it is shown."""
    read = numbered(config)
    result = answers(given_tags(tagger, read), read.corpus, config)
    right = {name: result[name] for name in ("accuracy", "ambiguous")}
    shares = {"shares": tagger.mixture.shares.tolist()} if isinstance(tagger, PretrainedTagger) else {}
    nats = mean_loss(tagger, Examples(read.pairs(read.corpus.test), 64, pad_tagged).once())
    return right | shares | {"nats": nats, "parameters": parameters(tagger)}


def _lines(corpus: TaggedCorpus, *, reverse: bool) -> tuple[list[str], list[str]]:
    """Return the words of the training and of the validation sentences, each sentence in its order or from its end."""

    def words(part) -> list[str]:
        return [word for each in part for word in (*(reversed(each.words) if reverse else each.words), END)]

    return words(corpus.train), words(corpus.validation)


END = "<unk>"  # between sentences: no training word is unknown, so that number is free
METRICS = {
    "parameters": PARAMETERS,
    **RIGHT,
    "shares": Metric("", "s: how much the tagger takes of each layer, the embedding first", ("layer",)),
    "learning_rate": Metric("", "the one that was best"),
    "validation": Metric("nats per word", "what a tag of the validation cost with each rate", ("rate",)),
}
READING, TAGGING = 1500, 600  # updates of the language models, and of the tagger
FEW = [1.25e-4, 2.5e-4, 5e-4, 1e-3, 2e-3, 4e-3, 8e-3]
RATES = {50: FEW, 200: FEW, 1000: [1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2, 3.2e-2]}  # by the number of tagged sentences


def contenders() -> dict[str, Config]:
    """Return every kind of tagger with every number of tagged sentences."""
    corpus = text("atis", words=True, three_parts=True)
    options = {"core": "lstm", "embedding_size": 64, "hidden_size": 128, "num_layers": 2}
    reading = {
        "text": corpus,
        "model": model("LanguageModel", **options),
        "recipe": recipe(updates=READING, batch=32, seq_len=32, learning_rate=4e-3, reset=0.05),
        "validations": 5,
    }
    shared = {
        "text": corpus,
        "recipe": recipe(updates=TAGGING, batch=25, seq_len=1, carry=False, learning_rate=4e-3),
        "validations": 0,
    }
    size = {"hidden_size": 64, "dropout": 0.3}
    looking = model("PretrainedTagger", language_model=options, **size)
    kinds = {
        "from scratch": {"model": model("Tagger", embedding_size=64, **size)},
        "trained models": {"model": looking, "language_model": reading},
        "untrained models": {"model": looking},
        "trained vectors": {"model": looking | {"shown": 1}, "language_model": reading},
    }
    return {
        f"{kind} {count}": shared | parts | {"labelled": count, "learning_rates": rates}
        for count, rates in RATES.items()
        for kind, parts in kinds.items()
    }


EXPERIMENTS = (
    Experiment(
        "pretraining",
        "ATIS: taggers of trained language models, of untrained ones, of their vectors alone, and from scratch",
        METRICS,
        contenders(),
        measure,
        at(rate="learning_rates"),
        seeds=5,
        small={"learning_rates": [1e-3, 1e-2]},
    ),
)
