"""What an experiment is, and what all of them share: their texts, and one way to train."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch

from unrolled import settings
from unrolled.models import NeuralModel, files
from unrolled.text import Vocabulary, WordVocabulary, corpora, split_words, stories
from unrolled.training import History, Recipe, distributed, train


@dataclass(frozen=True)
class Experiment:
    """One experiment: what it is told in each profile, and the function that measures one seed.

    Attributes:
        name: what ``python -m unrolled run`` calls it.
        title: what it measures, in a line.
        configs: the configuration for each profile.
        measure: maps (config, seed, folder for checkpoints) to metrics by name: numbers, lists or texts.
        seeded: whether the result depends on the seed. Of counting and of batching it does not, and one run is enough.
    """

    name: str
    title: str
    configs: dict[str, dict]
    measure: Callable[[dict, int, Path], dict]
    seeded: bool = True


def kept(file: Path, make: Callable[[], dict]) -> dict:
    """Return what `make` returns; from the file, where it was kept there before.

    Where several processes work together, all of them make it, and the first one keeps it and tells the others.

    Raises:
        RuntimeError: what was kept is damaged.
    """
    if not distributed.first(file.exists):
        made = make()
        distributed.first(lambda: _keep(file, made))
    try:
        return json.loads(distributed.first(file.read_text))
    except ValueError as error:
        raise RuntimeError(f"{file} is damaged ({error}); delete it, and it is measured again") from error


def _keep(file: Path, made: dict) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_text(json.dumps(made))
    os.replace(part, file)


def texts(config: dict, seed: int = 0) -> tuple[str, str]:
    """Return the training and the validation text that a configuration names; the seed is that of the stories."""
    if config["corpus"] == "stories":
        parts = stories.corpus(config["characters"], seed=seed).split(0.9)
        return parts[0].text, parts[1].text
    corpus = corpora.load_corpus(config["corpus"])
    return corpus.train, corpus.validation


class Encoded(NamedTuple):
    """A text in numbers: the symbols, what to train on, (n,), and what to hold out, (m,)."""

    vocabulary: Vocabulary | WordVocabulary
    training: torch.Tensor
    held_out: torch.Tensor


def encoded(config: dict, seed: int = 0) -> Encoded:
    """Return the text that a configuration names, in characters, or in words where it says how many ``words`` to know.

    A character of the held-out text has a number in any case; the words are the most frequent ones of the training text
    (None: all of them), and the text is one that is already tokenised.
    """
    training, validation = texts(config, seed)
    if "words" not in config:
        vocabulary = Vocabulary(training + validation)
        return Encoded(vocabulary, vocabulary.encode(training), vocabulary.encode(validation))
    words = split_words(training)
    vocabulary = WordVocabulary(words, config["words"])
    return Encoded(vocabulary, vocabulary.encode(words), vocabulary.encode(split_words(validation)))


CHOSEN = ("clip", "optimizer", "schedule", "patience")  # of a recipe, where a configuration does not leave them alone


def recipe_of(config: dict) -> Recipe:
    """Return the recipe that a configuration spells out: as many streams as make up its symbols an update.

    What it does not mention is as in every `Recipe`. A ``clip`` of None is infinite: the gradient is never scaled down.
    """
    chosen = {name: config[name] for name in CHOSEN if name in config}
    if chosen.get("clip", 1.0) is None:
        chosen["clip"] = math.inf
    return Recipe(
        updates=config["updates"],
        batch=config["symbols_per_update"] // config["seq_len"],
        seq_len=config["seq_len"],
        learning_rate=config["learning_rate"],
        carry=config["carry"],
        **chosen,
    )


def fit(
    make: Callable[[int], NeuralModel], text: Encoded, config: dict, seed: int, checkpoint: Path
) -> tuple[NeuralModel, History]:
    """Train a model as the configuration says, from a checkpoint where there is one.

    The model is scored ten times on the way, or as often as the ``validations`` of the configuration say. When it is
    trained, it is saved beside the checkpoint, in a file that ends in ``.model``.

    Args:
        make: maps the number of symbols to the untrained model.
        text: what to train on, and what to score the model on.
        config: the recipe.
        seed: of the first weights.
        checkpoint: the file to keep the run in.

    Returns:
        The model, and what happened.
    """
    torch.manual_seed(seed)
    model = make(len(text.vocabulary)).to(settings.device())
    history = train(
        model,
        text.training,
        recipe_of(config),
        validation=text.held_out,
        validate_every=max(1, config["updates"] // config.get("validations", 10)),
        checkpoint=checkpoint,
        label=checkpoint.stem,
    )
    distributed.first(lambda: files.save_model(checkpoint.with_suffix(".model"), model, text.vocabulary))
    return model, history


def trained(
    make: Callable[[int], NeuralModel], config: dict, seed: int, checkpoint: Path
) -> tuple[NeuralModel, torch.Tensor, History]:
    """Train a model on the text that the configuration names; return it, the held-out numbers, and what happened.

    The arguments are those of `fit`.
    """
    text = encoded(config)
    model, history = fit(make, text, config, seed, checkpoint)
    return model, text.held_out, history


def training_seconds(config: dict, checkpoint: Path) -> float:
    """Return how long the updates of a training took, all that its log tells of, in however many runs."""
    symbols, before, seconds = recipe_of(config).batch * config["seq_len"], 0, 0.0
    for line in map(json.loads, distributed.first(Path(f"{checkpoint}.jsonl").read_text).splitlines()):
        seconds += (line["update"] - before) * symbols / line["tokens_per_second"]
        before = line["update"]
    return seconds
