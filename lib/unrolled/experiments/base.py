"""What an experiment is, and what all of them share: configurations written out in full, and one way to train.

A configuration is a dictionary that JSON can hold. The functions `reading.text`, `model`, `cell` and `recipe` write its
parts with every argument in them, those left at their defaults too: where a default changes, the configuration changes,
and what was measured before counts as stale.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from filelock import FileLock

from unrolled import settings
from unrolled.cells import CELLS
from unrolled.experiments import provenance
from unrolled.experiments.reading import Encoded, encoded
from unrolled.experiments.records import Configuration, Contender, digest
from unrolled.models import KINDS, Network, NeuralModel, save_model
from unrolled.training import History, Recipe, distributed, train
from unrolled.whole_files import replace_file


class Metric(NamedTuple):
    """One thing that an experiment measures.

    Attributes:
        unit: "nats per character", for example; empty where it is a text or a yes or no.
        about: what it is, in a line.
        axes: the names of its axes, after that of the seeds; none for a single value.

    Example:
        >>> Metric("nats per character", "what it cost at each score", ("score",)).axes
        ('score',)
    """

    unit: str
    about: str
    axes: tuple[str, ...] = ()


def no_axes(config: Configuration) -> dict[str, Sequence]:
    """Return nothing: no axis of this experiment has coordinates that its configuration decides."""
    return {}


@dataclass(frozen=True)
class Experiment:
    """A question that takes an hour or a GPU, with all that is needed to measure the answer.

    Attributes:
        name: what ``python -m unrolled run`` calls it.
        title: what it measures, in a line.
        metrics: what is measured of a contender, by name. A contender may lack some.
        contenders: for each profile the contenders by label, each with its configuration.
        measure: maps (configuration, seed, folder to work in) to the metrics of one contender: numbers, texts, or lists
            of them. Where `together` is set, the configurations of all contenders, by label, to the metrics of each.
        axes: maps a configuration to the coordinates along the metrics' axes, as far as it decides them.
        seeds: how many seeds a complete record has. Of counting, nothing depends on the seed, and one is enough.
        together: measure all contenders in one go, as timings must be that are compared with each other.
        keeps: whether the language models that it trains on a text, if any, are saved by `fit`.

    Example:
        >>> heads = {"heads": Metric("throws", "how often it fell")}
        >>> coin = Experiment("coin", "Toss a coin", heads, {"quick": {"fair": {"sides": 2}}}, lambda *_: {"heads": 1})
        >>> coin.check(Contender("fair", {"sides": 2}, [{"tails": 1}], {}))
        Traceback (most recent call last):
        ValueError: coin measures no 'tails'; it declares heads
    """

    name: str
    title: str
    metrics: Mapping[str, Metric]
    contenders: Mapping[str, Mapping[str, Configuration]]
    measure: Callable[[Any, int, Path], dict]
    axes: Callable[[Configuration], Mapping[str, Sequence]] = no_axes
    seeds: int = 3
    together: bool = False
    keeps: bool = True

    def check(self, contender: Contender) -> None:
        """Raise ValueError, naming the metric and its axis, where what was measured is not what is declared here."""
        for name in contender:
            if name not in self.metrics:
                raise ValueError(f"{self.name} measures no {name!r}; it declares {', '.join(self.metrics)}")
            values, axes = contender[name], ("seed", *self.metrics[name].axes)
            if values.ndim < len(axes):
                raise ValueError(f"{name} has shape {values.shape}; {len(axes)} axes are declared: {', '.join(axes)}")
            for place, axis in enumerate(axes):
                coordinates = contender.axes.get(axis)
                if coordinates is not None and values.shape[place] != len(coordinates):
                    raise ValueError(
                        f"{name} has shape {values.shape}: axis {place} ({axis}) is {values.shape[place]} "
                        f"and should be {len(coordinates)}"
                    )


# Configurations


def arguments(callable: Callable, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all keywords of a callable: those given, and the others at their defaults.

    A class that hands keywords on, as ``**options``, has those of the class that it inherits from, with defaults of its
    own where it names them.

    Raises:
        ValueError: a keyword that it has not.
    """
    known = dict(inspect.signature(callable).parameters)
    if "options" in known:
        known = dict(inspect.signature(callable.__base__).parameters) | known
        del known["options"]
    defaults = {
        name: parameter.default for name, parameter in known.items() if parameter.default is not parameter.empty
    }
    if unknown := [name for name in given if name not in known]:
        raise ValueError(f"{callable.__name__} has no argument {unknown[0]!r}; it has {', '.join(known)}")
    return defaults | dict(given)


def cell(kind: str, **options) -> Configuration:
    """Return the configuration of a recurrent cell: its kind, one of `cells.CELLS`, and all its options."""
    return {"kind": kind, "options": arguments(CELLS[kind], options)}


def model(kind: str, **options) -> Configuration:
    """Return the configuration of a language model: its kind, one of `models.KINDS`, and all its options."""
    options = arguments(KINDS[kind], options)
    if "cell_options" in options and not options["core"].startswith("torch-"):
        options["cell_options"] = arguments(CELLS[options["core"]], options["cell_options"] or {})
    return {"kind": kind, "options": options}


def recipe(**fields) -> Configuration:
    """Return the configuration of a recipe, all its fields; an infinite ``clip`` is None there, which JSON can hold.

    Args:
        **fields: those of `Recipe`. In place of ``batch`` there may be ``symbols_per_update``: as many streams as make
            up so many symbols.
    """
    if "symbols_per_update" in fields:
        fields["batch"] = fields.pop("symbols_per_update") // fields["seq_len"]
    if "clip" in fields and fields["clip"] is None:
        fields["clip"] = math.inf
    written = asdict(Recipe(**fields))
    return written | {"clip": None if math.isinf(written["clip"]) else written["clip"]}


def recipe_of(config: Configuration) -> Recipe:
    """Return the recipe that a configuration has under ``recipe``."""
    fields = config["recipe"]
    return Recipe(**fields | {"clip": math.inf if fields["clip"] is None else fields["clip"]})


def model_of(config: Configuration, vocab_size: int, answers: int | None = None) -> Network:
    """Return the untrained model that a configuration has under ``model``.

    Args:
        config: with ``model``.
        vocab_size: the number of symbols that it reads.
        answers: the number of tags, or of symbols of the targets, where it reads one vocabulary and writes another; as
            many as it reads where None.
    """
    kind = KINDS[config["model"]["kind"]]
    sizes = (vocab_size, vocab_size if answers is None else answers) if answers_of(config) else (vocab_size,)
    return kind(*sizes, **config["model"]["options"])


def answers_of(config: Configuration) -> bool:
    """Return whether the model of a configuration learns from examples with an answer, not from a text."""
    return hasattr(KINDS[config["model"]["kind"]], "loss")


# Training


class Trained(NamedTuple):
    """A trained model, the text that it was trained on, what happened, and the file of its checkpoint."""

    model: NeuralModel
    text: Encoded
    history: History
    checkpoint: Path


def fit(
    config: Configuration,
    seed: int,
    folder: Path,
    *,
    text: Encoded | None = None,
    begin: Callable[[int], NeuralModel] | None = None,
    until: int | None = None,
    name: str = "model",
) -> Trained:
    """Train the model of a configuration on its text by its recipe, from a checkpoint where there is one.

    It is scored ten times on the way, or as often as the ``validations`` of the configuration say, 0 for never. When it
    is trained to the end, it is saved in the folder, in a file that ends in ``.model``.

    Args:
        config: with ``model``, ``recipe`` and ``text``.
        seed: of the first weights.
        folder: where to keep the run.
        text: what to train on and to score, where it is not the configuration's.
        begin: maps the number of symbols to the untrained model, where it is not the configuration's.
        until: stop after this update; the same call with a later one goes on.
        name: of the files, where several models are trained in one folder.
    """
    text, validations = encoded(config) if text is None else text, config.get("validations", 10)
    recipe, checkpoint, lock = recipe_of(config), folder / f"{name}.pt", FileLock(folder / f".{name}.lock")

    def prepare() -> None:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()  # others wait for its end
        if not (folder / f"{name}.model").exists():
            provenance.begin(folder)

    try:
        distributed.first(prepare)
        torch.manual_seed(seed)
        model = (begin or partial(model_of, config))(len(text.vocabulary)).to(settings.device())
        history = train(
            model,
            text.training,
            recipe,
            validation=text.held_out,
            validate_every=max(1, recipe.updates // validations) if validations else 0,
            until=until,
            checkpoint=checkpoint,
            label=f"{folder.parent.name} {name}",
        )
        if until is None or until >= recipe.updates:
            distributed.first(lambda: save_model(folder / f"{name}.model", model, text.vocabulary))
    finally:
        lock.release()
    return Trained(model, text, history, checkpoint)


def kept(file: Path, compute: Callable[[], Any]) -> Any:
    """Return what a file holds as JSON; where there is none yet, compute it first, and keep it there.

    What is measured in the middle of a training is kept so: a run that is resumed may be past that point.
    """
    if not distributed.first(file.exists):
        content = compute()
        distributed.first(lambda: keep(file, content))
    return json.loads(distributed.first(file.read_bytes))


def keep(file: Path, content: Any) -> None:
    """Write anything that JSON can hold to a file, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(file) as opened:
        opened.write(json.dumps(content).encode())


def shared_folder(folder: Path, config: Configuration, seed: int) -> Path:
    """Return where the contenders of an experiment keep a training that several of them begin with.

    An empty file of its name in a contender's folder says that the contender shares it.

    Args:
        folder: that of one of them, as `Experiment.measure` is given it.
        config: of the training.
        seed: of its first weights.
    """
    name = f"shared-{seed}-{digest(config)}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).touch()
    return folder.parent.parent / name


def training_seconds(config: Configuration, checkpoint: Path) -> float:
    """Return how long the updates of a training took, all that its log tells of, in however many runs."""
    recipe, before, seconds = recipe_of(config), 0, 0.0
    for line in map(json.loads, distributed.first(Path(f"{checkpoint}.jsonl").read_text).splitlines()):
        seconds += (line["update"] - before) * recipe.batch * recipe.seq_len / line["tokens_per_second"]
        before = line["update"]
    return seconds


def parameters(model: torch.nn.Module) -> int:
    """Return the number of weights that are trained."""
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)


# What several experiments measure

NATS = Metric("nats per character", "what a character of the held-out text costs")
UPDATES = Metric("updates", "those after which the held-out text was scored", ("score",))
CURVE = Metric("nats per character", "what it cost then", ("score",))
PARAMETERS = Metric("weights", "those that are trained")
SAMPLE = Metric("", "what the model writes")
