"""How many tagged sentences is it worth to have read others without tags before (chapter 10)?

Two language models read the training sentences of ATIS, one from each side. A tagger that looks at their states is
compared with one that begins from nothing, after as many updates on as few tagged sentences.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import torch

from unrolled.experiments.answering import ANSWER_NATS, Answering, fit_examples, language_model_of, mean_loss
from unrolled.experiments.base import PARAMETERS, Configuration, Experiment, Metric, model, model_of, parameters, recipe
from unrolled.experiments.reading import Encoded, text
from unrolled.experiments.tagging import answers, given_tags, numbered
from unrolled.models import NeuralModel, PretrainedTagger, TaggingNetwork
from unrolled.text import Examples, TaggedCorpus, pad_tagged


def measure(config: Configuration, seed: int, folder: Path) -> dict:
    """Train a tagger on the first sentences of a shuffled order, and ask it for the tags of the test."""
    read = numbered(config)
    tagger = partial(model_of, config, len(read.words), len(read.tags))
    readers = {}
    if "language_model" in config:
        for side in ("from_left", "from_right"):
            sentences = _lines(read.corpus, reverse=side == "from_right")
            encoded = Encoded(read.words, *map(read.words.encode, sentences))
            readers[side] = language_model_of(config["language_model"], seed, folder, encoded, side)
    order = torch.randperm(len(read.corpus.train), generator=torch.Generator().manual_seed(seed)).tolist()
    labelled = read.pairs([read.corpus.train[place] for place in order[: config["labelled"]]])
    answering = Answering(
        lambda tried: _begin(tagger(), readers),
        lambda tried: Examples(labelled, config["recipe"]["batch"], pad_tagged),
        Examples(read.pairs(read.corpus.validation), 64, pad_tagged).once(),
        (read.words, read.tags),
    )
    trained = fit_examples(config, seed, folder, answering).model
    found = answers(given_tags(trained, read), read.corpus, config)
    found = {name: found[name] for name in ("accuracy", "ambiguous")}
    shares = {"shares": trained.mixture.shares.tolist()} if isinstance(trained, PretrainedTagger) else {}
    nats = mean_loss(trained, Examples(read.pairs(read.corpus.test), 64, pad_tagged).once())
    return found | shares | {"nats": nats, "parameters": parameters(trained)}


def _begin(tagger: TaggingNetwork, readers: dict[str, NeuralModel]) -> TaggingNetwork:
    """Return the untrained tagger, with the language models that were trained for it, if any."""
    return tagger.adopt(readers["from_left"], readers["from_right"]) if readers else tagger


def _lines(corpus: TaggedCorpus, *, reverse: bool) -> tuple[list[str], list[str]]:
    """Return the words of the training and of the validation sentences, each sentence in its order or from its end."""

    def words(part) -> list[str]:
        return [word for each in part for word in (*(reversed(each.words) if reverse else each.words), END)]

    return words(corpus.train), words(corpus.validation)


END = "<unk>"  # between sentences: no training word is unknown, so that number is free
METRICS = {
    "parameters": PARAMETERS,
    "nats": ANSWER_NATS._replace(unit="nats per word", about="what a tag costs in the test"),
    "accuracy": Metric("", "the share of words of the test with the right tag"),
    "ambiguous": Metric("", "the same of those words that have more than one tag in training"),
    "shares": Metric("", "s: how much the tagger takes of each layer, the embedding first", ("layer",)),
}
LABELLED = (50, 200, 1000)
UPDATES = {"quick": (1500, 600), "full": (12_000, 2400)}  # of the language models, of the tagger


def _contenders(profile: str) -> dict[str, Configuration]:
    reading, tagging = UPDATES[profile]
    corpus = text("atis", words=True, three_parts=True)
    options = {"core": "lstm", "embedding_size": 64, "hidden_size": 128, "num_layers": 2}
    language_model = {
        "text": corpus,
        "model": model("LanguageModel", **options),
        "recipe": recipe(updates=reading, batch=32, seq_len=32, learning_rate=4e-3, reset=0.05),
        "validations": 5,
    }
    plain = {key: value for key, value in language_model["model"]["options"].items() if key != "dropout"}
    shared = {
        "text": corpus,
        "recipe": recipe(updates=tagging, batch=25, seq_len=1, carry=False, learning_rate=4e-3),
        "validations": 0,
    }
    kinds = {
        "scratch": {"model": model("Tagger", embedding_size=64, hidden_size=64, dropout=0.3)},
        "pretrained": {
            "model": model("PretrainedTagger", language_model=plain, hidden_size=64, dropout=0.3),
            "language_model": language_model,
        },
    }
    return {
        f"{kind} {count}": shared | parts | {"labelled": count} for count in LABELLED for kind, parts in kinds.items()
    }


EXPERIMENTS = (
    Experiment(
        "pretraining",
        "ATIS: a tagger of two language models' states against one from scratch, by the number of tagged sentences",
        METRICS,
        {profile: _contenders(profile) for profile in UPDATES},
        measure,
        seeds=5,
        keeps=False,
    ),
)
