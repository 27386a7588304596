"""What an experiment is, and what all of them share: their texts, and one way to train."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from unrolled import corpora, distributed, saved, settings, stories
from unrolled.models import NeuralModel
from unrolled.training import History, Recipe, train
from unrolled.vocabulary import Vocabulary


@dataclass(frozen=True)
class Experiment:
    """One experiment: what it is told in each profile, and the function that measures one seed.

    Attributes:
        name: what ``python -m unrolled run`` calls it.
        title: what it measures, in a line.
        configs: the configuration for each profile.
        measure: maps (config, seed, folder for checkpoints) to metrics by name: numbers, lists or texts.
        seeded: whether anything in it is random. Counting is not, and one run is all there is to know.
    """

    name: str
    title: str
    configs: dict[str, dict]
    measure: Callable[[dict, int, Path], dict]
    seeded: bool = True


def kept(file: Path, make: Callable[[], dict]) -> dict:
    """Return what `make` returns; from the file, where it was kept there before.

    Where several processes work together, all of them make it, and the first one keeps it and tells the others.
    """
    if not distributed.first(file.exists):
        made = make()
        distributed.first(lambda: _keep(file, made))
    return json.loads(distributed.first(file.read_text))


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
    corpus = corpora.load(config["corpus"])
    return corpus.train, corpus.validation


def recipe_of(config: dict) -> Recipe:
    """Return the recipe that a configuration spells out: as many streams as make up its symbols an update."""
    return Recipe(
        updates=config["updates"],
        batch=config["symbols_per_update"] // config["seq_len"],
        seq_len=config["seq_len"],
        learning_rate=config["learning_rate"],
        carry=config["carry"],
    )


def trained(
    make: Callable[[int], NeuralModel], config: dict, seed: int, checkpoint: Path
) -> tuple[NeuralModel, torch.Tensor, History]:
    """Train a model of characters as the configuration says, from a checkpoint where there is one.

    The trained model is saved beside the checkpoint, in a file that ends in ``.model``.

    Args:
        make: maps the number of symbols to the untrained model.
        config: the corpus and the recipe.
        seed: of the first weights.
        checkpoint: the file to keep the run in.

    Returns:
        The model, the validation text's numbers, and what happened.
    """
    training, validation = texts(config)
    vocabulary = Vocabulary(training + validation)
    torch.manual_seed(seed)
    model = make(len(vocabulary)).to(settings.device())
    held_out = vocabulary.encode(validation)
    history = train(
        model,
        vocabulary.encode(training),
        recipe_of(config),
        validation=held_out,
        validate_every=max(1, config["updates"] // 10),
        checkpoint=checkpoint,
        label=checkpoint.stem,
    )
    distributed.first(lambda: saved.save(checkpoint.with_suffix(".model"), model, vocabulary))
    return model, held_out, history
