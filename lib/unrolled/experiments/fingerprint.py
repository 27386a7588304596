"""What the first updates of a training come to: noticed when a default changes that no configuration names.

A configuration holds every argument, but not what the library does with them: how the first weights are drawn, what the
optimizer is left to choose, in which order things are done. A part of a record therefore carries the fingerprint of its
training, and a test takes it again. It is taken of stories, also where the experiment reads another text, so that it
needs no corpus and no more than a moment: texts have their own digest.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache, partial

import torch

from unrolled.experiments.base import Configuration, answers_of, model_of, recipe_of
from unrolled.models import Network, TaggingNetwork
from unrolled.text import Examples, Vocabulary, WordVocabulary, pad_pairs, pad_tagged, split_words, stories
from unrolled.training import History, Recipe, distributed, train, train_examples

CHARACTERS, UPDATES, BATCH, SEQ_LEN = 20_000, 3, 4, 32
SYMBOLS = 11  # of the examples that a tagger or an encoder–decoder learns from
TOLERANCE = 1e-3  # relative: processors and versions differ by less, defaults by more

Fingerprint = dict[str, list[float]]


def training_of(config: Configuration) -> Configuration | None:
    """Return the first part of a configuration, or all of it, that has a model and a recipe; None where none has."""
    if "model" in config and "recipe" in config:
        return config
    parts = [training_of(part) for part in config.values() if isinstance(part, dict)]
    return next(filter(None, parts), None)


def fingerprint(config: Configuration) -> Fingerprint:
    """Return what three updates of a small batch come to, on the CPU, in 32 bits, with seed 0.

    The model and the recipe are those that `training_of` finds. The global random numbers are left as they were.

    Returns:
        ``losses`` and ``norms``, the training loss and the norm of the gradient before each update; ``clipped``, that
        of the last gradient after clipping; and ``weights``, the norm of each weight after the last update. Nothing
        where no language model is trained.
    """
    training = training_of(config)
    if training is None:
        return {}
    recipe = recipe_of(training)
    size = {"batch": min(recipe.batch, BATCH), "seq_len": min(recipe.seq_len, SEQ_LEN)}
    recipe = replace(recipe, **size, updates=UPDATES, precision="float32", compile=False)
    with distributed.alone(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model, history = _trained_a_little(training, recipe)
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    norms = {
        "losses": history.losses,
        "norms": history.norms,
        "clipped": [math.hypot(*(float(weight.grad.norm()) for weight in weights if weight.grad is not None))],
        "weights": [float(weight.detach().norm()) for weight in weights],
    }
    return {name: [float(f"{value:.5g}") for value in values] for name, values in norms.items()}


def differences(one: Fingerprint, other: Fingerprint) -> list[str]:
    """Return what two fingerprints differ in, by name: nothing where they agree to `TOLERANCE`."""

    def agree(values: list[float], others: list[float]) -> bool:
        pairs = zip(values, others, strict=False)
        return len(values) == len(others) and all(math.isclose(*pair, rel_tol=TOLERANCE) for pair in pairs)

    return [name for name in {**one, **other} if not agree(one.get(name, []), other.get(name, []))]


def _trained_a_little(training: Configuration, recipe: Recipe) -> tuple[Network, History]:
    """Return the model of a training after the updates of a recipe, and what happened in them."""
    if answers_of(training):
        model = model_of(training, SYMBOLS)
        examples = Examples(_pairs(), recipe.batch, pad_tagged if isinstance(model, TaggingNetwork) else _padded)
        return model, train_examples(model, examples, recipe, score=lambda: 0.0, validate_every=1, progress=False)
    vocab_size, tokens = _tokens(training.get("text", {}).get("words", False) is not False)
    model = model_of(training, vocab_size)
    return model, train(model, tokens, recipe, validation=tokens[:100], validate_every=UPDATES, progress=False)


def _pairs() -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return a few random rows, each with its reverse for an answer."""
    generator = torch.Generator().manual_seed(0)
    rows = [torch.randint(SYMBOLS, (3 + number % 5,), generator=generator) for number in range(3 * BATCH)]
    return [(row, row.flip(0)) for row in rows]


_padded = partial(pad_pairs, start=0)


@lru_cache
def _tokens(words: bool) -> tuple[int, torch.Tensor]:
    """Return the number of symbols in a short text of stories, and the text in numbers, (length,)."""
    text = stories.corpus(CHARACTERS, seed=0).text
    symbols = split_words(text) if words else text
    vocabulary = WordVocabulary(symbols) if words else Vocabulary(symbols)
    return len(vocabulary), vocabulary.encode(symbols)
