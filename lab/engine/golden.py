"""What a few updates of each training come to, and what is then measured: noticed when something changes that no
configuration names.

A configuration holds what its author chose, and the library's defaults do the rest: how the first weights are drawn,
what the optimizer is left to choose, in which order things are done. `golden.json` holds, for the first contender of
each record with each kind of model, the first three updates of its training, and what its experiment measures of it
when all is small: after three updates of a tiny model, on a short text. A test takes both again.

``python -m lab.engine.golden NAME`` writes an experiment's entry anew, or all where none is named.
"""

import json
import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import lab
from lab.engine import texts
from lab.engine.experiment import Config, Experiment, NotChosen
from lab.engine.training import answers, model_of, recipe_of
from unrolled.models import TaggingNetwork
from unrolled.records import digest
from unrolled.text import Examples, Vocabulary, WordVocabulary, pad_pairs, pad_tagged, split_words, stories
from unrolled.training import distributed, train, train_examples

GOLDEN = Path(__file__).parent.parent / "golden.json"
CHARACTERS, HELD_OUT = 60_000, 20_000  # of the text that is learned from, of the validation, of the test
SYMBOLS = 11  # of the examples that a tagger or an encoder–decoder learns from
STEPS = {"updates": 3, "seq_len": 16}
SIZES = {"hidden_size": 16, "embedding_size": 16, "num_heads": 2}
UPDATES_AGREE, METRICS_AGREE = 1e-3, 2e-2  # relative: processors and versions differ by less
CLOCKS = ("seconds", "microseconds", "per second")  # units of what no two machines share

Numbers = dict[str, list[float]]


def training_of(config: Config) -> Config | None:
    """Return the first part of a configuration, or all of it, that has a model and a recipe; None where none has."""
    if "model" in config and "recipe" in config:
        return config
    parts = [training_of(part) for part in config.values() if isinstance(part, dict)]
    return next(filter(None, parts), None)


def representatives(experiment: Experiment) -> list[str]:
    """Return the first contender of an experiment with each kind of model or cell, and the first without any.

    Of a search the first alone: its contenders are those of the comparison that it decides. What waits for a search is
    left out.
    """
    first: dict[str, str] = {}
    for label in experiment.contenders:
        try:
            config = experiment.config(label)
        except NotChosen:
            continue
        if "grid" in config or "space" in config:
            return [label]
        model, cell = (training_of(config) or {}).get("model", {}), config.get("cell", {})
        first.setdefault(f"{model.get('kind')} {model.get('core')} {cell.get('kind')} {config.get('task')}", label)
    return list(first.values())


def first_updates(config: Config) -> Numbers:
    """Return what three updates of a small batch come to, on the CPU, in 32 bits, with seed 0.

    The model and the recipe are those that `training_of` finds; the text is a short one of stories, so that no corpus
    is needed. The global random numbers are left as they were.

    Returns:
        ``losses`` and ``norms``, the training loss and the norm of the gradient before each update; ``clipped``, that
        of the last gradient after clipping; and ``weights``, the norm of each weight after the last update. Nothing
        where no model is trained.
    """
    training = training_of(config)
    if training is None:
        return {}
    steps = training["recipe"] | {"updates": 3}
    recipe = recipe_of({"recipe": steps})
    recipe = replace(recipe, batch=min(recipe.batch, 4), seq_len=min(recipe.seq_len, 32), precision="float32")
    with distributed.alone(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        if answers(training):
            model = model_of(training, SYMBOLS)
            padded = pad_tagged if isinstance(model, TaggingNetwork) else partial(pad_pairs, start=0)
            examples = Examples(_pairs(), recipe.batch, padded)
            history = train_examples(model, examples, recipe, score=lambda: 0.0, validate_every=1, progress=False)
        else:
            vocab_size, tokens = _tokens(bool(training.get("text", {}).get("words")))
            model = model_of(training, vocab_size)
            history = train(model, tokens, recipe, validation=tokens[:100], validate_every=3, progress=False)
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    return {
        "losses": _rounded(history.losses),
        "norms": _rounded(history.norms),
        "clipped": _rounded([math.hypot(*(float(w.grad.norm()) for w in weights if w.grad is not None))]),
        "weights": _rounded([float(weight.detach().norm()) for weight in weights]),
    }


def _rounded(values: list[float]) -> list[float]:
    return [float(f"{value:.5g}") for value in values]


def _pairs() -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return a few random rows, each with its reverse for an answer."""
    generator = torch.Generator().manual_seed(0)
    rows = [torch.randint(SYMBOLS, (3 + number % 5,), generator=generator) for number in range(12)]
    return [(row, row.flip(0)) for row in rows]


@lru_cache
def _tokens(words: bool) -> tuple[int, torch.Tensor]:
    """Return the number of symbols in a short text of stories, and the text in numbers, (length,)."""
    text = stories.corpus(CHARACTERS, seed=0).text
    symbols = split_words(text) if words else text
    vocabulary = WordVocabulary(symbols) if words else Vocabulary(symbols)
    return len(vocabulary), vocabulary.encode(symbols)


def small(config: Config, **changes: Any) -> Config:
    """Return a configuration with a short text of stories, three updates and a tiny model.

    Args:
        config: the configuration; the trainings that it begins with are made small as well.
        **changes: what takes the place of its own values, as far as it has them.
    """
    config = {key: small(part) if isinstance(part, dict) and "model" in part else part for key, part in config.items()}
    if "text" in config:
        config["text"] = config["text"] | {"corpus": "stories", "characters": CHARACTERS}
    if "recipe" in config:
        streams = {"symbols_per_update": 64} if "symbols_per_update" in config["recipe"] else {"batch": 4}
        precision = {"precision": "float32"} if "precision" in config["recipe"] else {}
        config["recipe"] = config["recipe"] | STEPS | streams | precision
    if "model" in config:
        config["model"] = _tiny(config["model"])
    if "grid" in config:
        config["grid"] = config["grid"][:2]
    return config | {name: value for name, value in changes.items() if config.get(name)}


def _tiny(model: Config) -> Config:
    """Return a model's configuration with small sizes, also of the language models that it is made of, if any."""
    parts = {key: _tiny(part) for key, part in model.items() if key == "language_model"}
    return model | parts | {name: size for name, size in SIZES.items() if name in model}


@contextmanager
def little_held_out() -> Iterator[None]:
    """Let the stories of the validation and of the test be few for a while."""
    before, texts.HELD_OUT = texts.HELD_OUT, HELD_OUT
    texts._texts.cache_clear()
    try:
        yield
    finally:
        texts.HELD_OUT = before
        texts._texts.cache_clear()


def measured(experiment: Experiment, labels: list[str]) -> dict[str, tuple[Config, dict]]:
    """Return what an experiment measures of some contenders when all is small, each with its small configuration."""
    configs = {label: small(experiment.config(label), **experiment.small) for label in labels}
    with tempfile.TemporaryDirectory() as folder, little_held_out(), distributed.alone():
        if experiment.together:
            metrics = experiment.measure(configs, 0, Path(folder, "all", "0"))
            return {label: (configs[label], metrics[label]) for label in labels}
        return {
            label: (config, experiment.measure(config, 0, Path(folder, label.replace("/", " "), "0")))
            for label, config in configs.items()
        }


def means(experiment: Experiment, metrics: dict) -> Numbers:
    """Return the mean of each metric that is made of numbers and no clock has measured, over what is finite."""
    values = {}
    for name, value in metrics.items():
        if isinstance(value, int | float | list) and not experiment.metrics[name].unit.endswith(CLOCKS):
            numbers = np.array(value)
            if np.issubdtype(numbers.dtype, np.number) and np.isfinite(numbers).any():
                values[name] = _rounded([float(numbers[np.isfinite(numbers)].mean())])
    return values


def differences(before: Numbers, now: Numbers, tolerance: float) -> list[str]:
    """Return what differs, by name: nothing where all numbers agree to a relative tolerance."""

    def agree(values: list[float], others: list[float]) -> bool:
        pairs = zip(values, others, strict=False)
        close = (math.isclose(*pair, rel_tol=tolerance, abs_tol=1e-6) for pair in pairs)
        return len(values) == len(others) and all(close)

    return [name for name in {**before, **now} if not agree(before.get(name, []), now.get(name, []))]


def entry(experiment: Experiment) -> dict[str, Any]:
    """Return what `golden.json` holds of an experiment, taken now."""
    labels = list(experiment.contenders) if experiment.together else representatives(experiment)
    rows = {}
    for label, (config, metrics) in measured(experiment, labels).items():
        experiment.check(label, metrics, config)
        rows[label] = {"updates": first_updates(experiment.config(label)), "metrics": means(experiment, metrics)}
    return rows


def stories_digest() -> str:
    """Return the digest of a short draw of the stories, which nearly every experiment reads."""
    return digest(stories.corpus(CHARACTERS, seed=0).text)


def write(names: Sequence[str] = ()) -> None:
    """Take some experiments now, all where none is named, and write them to `golden.json`."""
    kept = json.loads(GOLDEN.read_text(encoding="utf8")) if names else {}
    taken = {name: entry(lab.find(name)) for name in names or lab.experiments()}
    rows = {name: (kept | taken)[name] for name in lab.experiments() if name in kept | taken}
    lines = (f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    head = f'"stories": {json.dumps(stories_digest())}'
    GOLDEN.write_text("{\n" + ",\n".join([head, *lines]) + "\n}\n", encoding="utf8")


if __name__ == "__main__":
    write(sys.argv[1:])
