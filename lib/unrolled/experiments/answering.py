"""Train models on examples with an answer, taggers and encoder–decoders, and search their settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from filelock import FileLock

from unrolled import settings
from unrolled.experiments import provenance
from unrolled.experiments.base import Configuration, Metric, fit, recipe_of, shared_folder
from unrolled.experiments.reading import Encoded
from unrolled.experiments.tuning import Trial, check_chosen, search
from unrolled.models import EncoderDecoder, NeuralModel, TaggingNetwork, save_model
from unrolled.text import Batch, Examples, PairBatch, Vocabulary, WordVocabulary
from unrolled.training import History, train_examples

AnsweringModel = TaggingNetwork | EncoderDecoder
Batches = Sequence[Batch | PairBatch]


class Answering(NamedTuple):
    """What a model of a configuration learns from, and what it is chosen by.

    Attributes:
        make: maps a configuration to its untrained model.
        examples: maps a configuration to what it learns from.
        held_out: the batches that it is scored on.
        vocabularies: what it reads and what it writes, to be saved with it.
    """

    make: Callable[[Configuration], AnsweringModel]
    examples: Callable[[Configuration], Examples]
    held_out: Batches
    vocabularies: Sequence[Vocabulary | WordVocabulary]


class TrainedOnExamples(NamedTuple):
    """A trained model, what happened, and the file of its checkpoint."""

    model: AnsweringModel
    history: History
    checkpoint: Path


@torch.no_grad()
def mean_loss(model: AnsweringModel, batches: Batches) -> float:
    """Return what an answer costs on average over all batches, nats; the model is put into evaluation mode for it."""
    was_training = model.training
    model.eval()
    nats, answers = 0.0, 0
    for batch in batches:
        count = int(batch.mask.sum())
        nats += model.loss(type(batch)(*(part.to(model.device) for part in batch))).item() * count
        answers += count
    model.train(was_training)
    return nats / answers


def fit_examples(
    config: Configuration,
    seed: int,
    folder: Path,
    answering: Answering,
    *,
    until: int | None = None,
    name: str = "model",
) -> TrainedOnExamples:
    """Train the model of a configuration on examples by its recipe, from a checkpoint where there is one.

    It is scored on what is held out ten times on the way, or as often as the ``validations`` of the configuration say.
    When it is trained to the end, it is saved in the folder, in a file that ends in ``.model``.

    Args:
        config: with ``model`` and ``recipe``.
        seed: of the first weights.
        folder: where to keep the run.
        answering: what it learns from.
        until: stop after this update; the same call with a later one goes on.
        name: of the files, where several models are trained in one folder.
    """
    recipe, validations, checkpoint = recipe_of(config), config.get("validations", 10), folder / f"{name}.pt"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / f".{name}.lock"):
        if not (folder / f"{name}.model").exists():
            provenance.begin(folder)
        torch.manual_seed(seed)
        model = answering.make(config).to(settings.device())
        history = train_examples(
            model,
            answering.examples(config),
            recipe,
            score=lambda: mean_loss(model, answering.held_out),
            validate_every=max(1, recipe.updates // validations) if validations else 0,
            until=until,
            checkpoint=checkpoint,
            label=f"{folder.parent.name} {name}",
        )
        if until is None or until >= recipe.updates:
            save_model(folder / f"{name}.model", model, *answering.vocabularies)
    return TrainedOnExamples(model, history, checkpoint)


def tune_answering(
    config: Configuration, seed: int, folder: Path, answering: Callable[[Configuration], Answering]
) -> dict:
    """Search the settings of a contender, as `tuning.search` does.

    Args:
        config: with ``settings`` and ``keep``.
        seed: of the first weights.
        folder: where to keep the trials.
        answering: maps a configuration to what it learns from.
    """
    check_chosen(config)
    given = answering(config)

    def trial(tried: Configuration, updates: int, name: str) -> float:
        model = fit_examples(tried, seed, folder, given, until=updates, name=name).model
        nats = mean_loss(model, given.held_out)
        return nats if math.isfinite(nats) else math.inf

    made: Trial = trial
    return search(config, seed, folder, made)


ANSWER_NATS = Metric("nats", "what an answer costs in the test")
ANSWER_UPDATES = Metric("updates", "those after which what is held out was scored", ("score",))
ANSWER_CURVE = Metric("nats", "what an answer held out cost then", ("score",))


def language_model_of(config: Configuration, seed: int, folder: Path, read: Encoded, name: str) -> NeuralModel:
    """Return a language model that is trained before a tagger, shared by all contenders that begin with it.

    Args:
        config: of the language model.
        seed: of its first weights.
        folder: that of a contender, as `Experiment.measure` is given it.
        read: the text.
        name: of the files.
    """
    place = shared_folder(folder, config, seed)
    return fit(config, seed, place, text=read, name=name).model
