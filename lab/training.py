"""Train what a configuration names: a model by a recipe, on a text or on examples with an answer.

``model`` and ``recipe`` hold the keywords of the library's own classes, and only those that its defaults do not give:
``{"model": {"kind": "LanguageModel", "core": "gru"}, "recipe": {"updates": 2000}}``.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch

from lab.experiment import Config
from lab.texts import Encoded, encoded
from unrolled import cells, settings
from unrolled.models import KINDS, EncoderDecoder, Network, NeuralModel, TaggingNetwork, evaluating, save_model
from unrolled.records import Metric
from unrolled.text import Batch, Examples, PairBatch, Vocabulary, WordVocabulary
from unrolled.training import History, Recipe, train, train_examples

AnsweringModel = TaggingNetwork | EncoderDecoder
Batches = Sequence[Batch | PairBatch]


def recipe_of(config: Config) -> Recipe:
    """Return the recipe that a configuration has under ``recipe``.

    In place of ``batch`` there may be ``symbols_per_update``: as many streams as make up so many symbols. A ``clip`` of
    None never scales, which JSON has no number for.
    """
    fields = dict(config["recipe"])
    if "symbols_per_update" in fields:
        fields["batch"] = fields.pop("symbols_per_update") // fields["seq_len"]
    if fields.get("clip", 1.0) is None:
        fields["clip"] = math.inf
    return Recipe(**fields)


def model_of(config: Config, vocab_size: int, targets: int | None = None) -> Network:
    """Return the untrained model that a configuration has under ``model``.

    Args:
        config: with ``model``: its ``kind``, one of `models.KINDS`, and its keywords.
        vocab_size: the number of symbols that it reads.
        targets: the number of tags, or of symbols of the targets, where it reads one vocabulary and writes another; as
            many as it reads where None.
    """
    keywords = dict(config["model"])
    kind = KINDS[keywords.pop("kind")]
    sizes = (vocab_size, vocab_size if targets is None else targets) if answers(config) else (vocab_size,)
    return kind(*sizes, **keywords)


def answers(config: Config) -> bool:
    """Return whether the model of a configuration learns from examples with an answer, not from a text."""
    return hasattr(KINDS[config["model"]["kind"]], "loss")


def cell_of(config: Config, input_size: int) -> cells.Cell:
    """Return the untrained cell that a configuration has under ``cell`` and ``hidden_size``.

    Under ``cell`` are its ``kind``, one of `cells.CELLS`, and its keywords.
    """
    keywords = dict(config["cell"])
    return cells.CELLS[keywords.pop("kind")](input_size, config["hidden_size"], **keywords)


class Trained(NamedTuple):
    """A trained model, the text that a language model was trained on, and what happened."""

    model: Network
    text: Encoded | None
    history: History


class Answering(NamedTuple):
    """What a model with answers learns from, and what it is chosen by.

    Attributes:
        make: maps a configuration to the untrained model.
        examples: maps a configuration to what it learns from.
        held_out: the batches that it is scored on.
        vocabularies: what it reads and what it writes, to be saved with it.
    """

    make: Callable[[Config], AnsweringModel]
    examples: Callable[[Config], Examples]
    held_out: Batches
    vocabularies: Sequence[Vocabulary | WordVocabulary]


def fit(
    config: Config,
    seed: int,
    folder: Path,
    *,
    text: Encoded | None = None,
    untrained: Callable[[int], NeuralModel] | None = None,
    until: int | None = None,
    name: str = "model",
) -> Trained:
    """Train a language model on a text by a recipe, from a checkpoint where there is one.

    It is scored ten times on the way, or as often as the ``validations`` of the configuration say, 0 for never. When it
    is trained to the end, it is saved in the folder, in a file that ends in ``.model``.

    Args:
        config: with ``model``, ``recipe`` and ``text``.
        seed: of the first weights.
        folder: where to keep the run.
        text: what to train on and to score, where it is not that of the configuration.
        untrained: maps the number of symbols to the untrained model, where it is not that of the configuration.
        until: stop after this update; the same call with a later one goes on.
        name: of the files, where several models are trained in one folder.
    """
    text = encoded(config) if text is None else text
    make = partial(untrained or partial(model_of, config), len(text.vocabulary))
    learn = partial(train, tokens=text.training, validation=text.held_out)
    return _trained(config, seed, folder, name, until, make, learn, (text.vocabulary,))._replace(text=text)


def fit_examples(config: Config, seed: int, folder: Path, answering: Answering, name: str = "model") -> Trained:
    """Train a model on examples with an answer, as `fit` does one on a text; it is scored on what is held out."""

    def learn(model: AnsweringModel, recipe: Recipe, **how) -> History:
        score = partial(mean_loss, model, answering.held_out)
        return train_examples(model, answering.examples(config), recipe, score=score, **how)

    make = partial(answering.make, config)
    return _trained(config, seed, folder, name, None, make, learn, answering.vocabularies)


def _trained(
    config: Config,
    seed: int,
    folder: Path,
    name: str,
    until: int | None,
    make: Callable[[], Network],
    learn: Callable[..., History],
    vocabularies: Sequence[Vocabulary | WordVocabulary],
) -> Trained:
    """Make a model and let it learn in a folder; save it at its end."""
    recipe, validations = recipe_of(config), config.get("validations", 10)
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    model = make().to(settings.device())
    history = learn(
        model,
        recipe=recipe,
        validate_every=max(1, recipe.updates // validations) if validations else 0,
        until=until,
        checkpoint=folder / f"{name}.pt",
        label=name,
    )
    if until is None or until >= recipe.updates:
        save_model(folder / f"{name}.model", model, *vocabularies)
    return Trained(model, None, history)


@torch.no_grad()
def mean_loss(model: AnsweringModel, batches: Batches) -> float:
    """Return what an answer costs on average over all batches, nats; the model is put into evaluation mode for it."""
    nats, answers = 0.0, 0
    with evaluating(model):
        for batch in batches:
            count = int(batch.mask.sum())
            nats += model.loss(type(batch)(*(part.to(model.device) for part in batch))).item() * count
            answers += count
    return nats / answers


def parameters(model: torch.nn.Module) -> int:
    """Return the number of weights that are trained."""
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)


def course(trained: Trained) -> dict:
    """Return what every training tells of itself, as `COURSE` declares it."""
    return {
        "parameters": parameters(trained.model),
        "seconds": trained.history.seconds,
        "updates": trained.history.validated,
        "curve": trained.history.validation,
    }


# What several experiments measure


def training_nats(history: History) -> float:
    """Return the mean loss of the last tenth of the updates, nats per symbol."""
    return statistics.fmean(history.losses[-max(1, len(history.losses) // 10) :])


NATS = Metric("nats per character", "what a character of the held-out text costs")
TRAINING_NATS = Metric("nats per character", "the mean training loss over the last tenth of the updates")
UPDATES = Metric("updates", "those after which the held-out text was scored", ("score",))
CURVE = Metric("nats per character", "what it cost then", ("score",))
PARAMETERS = Metric("weights", "those that are trained")
SECONDS = Metric("seconds", "how long all updates took together")
SAMPLE = Metric("", "what the model writes")
COURSE = {"parameters": PARAMETERS, "seconds": SECONDS, "updates": UPDATES, "curve": CURVE}


def answering_course(unit: str) -> dict[str, Metric]:
    """Return `COURSE` of a model with answers, whose loss has a unit."""
    updates = UPDATES._replace(about="those after which what is held out was scored")
    return COURSE | {"updates": updates, "curve": Metric(unit, "what an answer held out cost then", ("score",))}
