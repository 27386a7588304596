"""What an experiment is, and how its record is written: run by run, so that a kill loses one run."""

import copy
import inspect
import json
import math
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from unrolled import records, settings
from unrolled.models import KINDS
from unrolled.records import Metric, Record, Result, digest
from unrolled.training import Recipe, TrainingDiverged

Config = dict[str, Any]
"""What is run, as its author writes it: anything that JSON can hold, and no default."""
Setting = dict[str, Any]
"""A few values of a configuration that are tried: keywords of the recipe, of the model or of its cell."""
Measure = Callable[[Any, int, Path], dict]
CHOSEN_BY = "validation"  # the metric of a trial: the lower the better, infinite where it diverged


def at(**axes: Sequence | str) -> Callable[[Config], dict[str, Sequence]]:
    """Return the `Experiment.axes` of coordinates that are the same for all, or stand in a configuration.

    Args:
        **axes: for each axis its coordinates, or the key under which a configuration has them.

    Example:
        >>> at(lag=[1, 2], length="lengths")({"lengths": [10, 20]})
        {'lag': [1, 2], 'length': [10, 20]}
    """
    return lambda config: {name: config[each] if isinstance(each, str) else each for name, each in axes.items()}


def with_setting(config: Config, setting: Setting) -> Config:
    """Return a configuration with other values in its recipe, its model or its model's cell, whichever has the name."""
    config = copy.deepcopy(config)
    model = config["model"]
    kind = KINDS[model["kind"]]
    of_model = {name for base in kind.__mro__ for name in inspect.signature(base.__init__).parameters}
    for name, value in setting.items():
        if name in {each.name for each in fields(Recipe)}:
            config["recipe"][name] = value
        elif name in of_model:
            model[name] = value
        else:
            model["cell_options"] = model.get("cell_options", {}) | {name: value}
    return config


@dataclass(frozen=True)
class Experiment:
    """A question that takes an hour or a GPU, with all that is needed to measure the answer.

    Where settings are tried, each is run once, from seed 0; the one with the lowest `CHOSEN_BY` is then run from the
    other seeds, too, and the trials stay in the record. One that diverges is never chosen.

    Attributes:
        name: what ``python -m lab run`` calls it.
        title: what it measures, in a line.
        metrics: what is measured, by name. A run may lack some.
        runs: by label what is run.
        measure: maps (configuration, seed, folder to work in) to metrics: numbers, texts, or lists of them. Where
            `together` is set, the configurations of all labels to the metrics of each.
        axes: maps a configuration to the coordinates along the metrics' axes, as far as it decides them.
        seeds: from how many seeds each is run.
        together: run all labels in one go, as timings must be that are compared with each other.
        on_gpu: its record is measured on a GPU, and on nothing else.
        trials: by label the settings that are tried.
        put: maps a configuration and a setting to the configuration with it.
        trial: what measures a trial, where that is less than `measure`.
        small: what makes a run a matter of seconds, in place of its own values: for the tests.
    """

    name: str
    title: str
    metrics: Mapping[str, Metric]
    runs: Mapping[str, Config]
    measure: Measure
    axes: Callable[[Config], Mapping[str, Sequence]] = at()
    seeds: int = 3
    together: bool = False
    on_gpu: bool = False
    trials: Mapping[str, Sequence[Setting]] = field(default_factory=dict)
    put: Callable[[Config, Setting], Config] = with_setting
    trial: Measure | None = None
    small: Config = field(default_factory=dict)

    def check(self, metrics: Mapping[str, Any], config: Config) -> None:
        """Raise ValueError, naming the metric and its axis, where what was measured is not what is declared here."""
        axes = self.axes(config)
        for name, values in metrics.items():
            if name not in self.metrics:
                raise ValueError(f"{self.name} measures no {name!r}; it declares {', '.join(self.metrics)}")
            shape, declared = np.shape(values), self.metrics[name].axes
            wanted = [len(axes[axis]) if axis in axes else None for axis in declared]
            if len(shape) < len(declared) or any(n not in (None, m) for n, m in zip(wanted, shape, strict=False)):
                raise ValueError(f"{name} has shape {shape}; {', '.join(declared) or 'no axis'} {wanted} is declared")


class Work(NamedTuple):
    """What is still to be run of an experiment: a label, a seed, and the setting that is tried, if any."""

    label: str
    seed: int
    setting: Setting | None
    config: Config


def recorded(experiment: Experiment, folder: Path) -> Record:
    """Return what the record in a folder has of an experiment; an empty one where there is none."""
    if (folder / f"{experiment.name}.jsonl").exists():
        return records.load(experiment.name, folder=folder)
    return Record(experiment.name, experiment.title, experiment.seeds, dict(experiment.metrics), {})


def plain(config: Config) -> Config:
    """Return a configuration as JSON gives it back."""
    return json.loads(json.dumps(config))


def missing(experiment: Experiment, folder: Path) -> Iterator[Work]:
    """Yield what is to be run next of an experiment, as far as its record in a folder lets it be known now."""
    record = recorded(experiment, folder)
    for label, base in experiment.runs.items():
        result, config = record.results.get(label, Result(label)), base
        if label in experiment.trials:
            tried = {digest([run["trial"], run["config"]]): run for run in _lines(experiment, folder, label)}
            costs = []
            for setting in experiment.trials[label]:
                config = plain(experiment.put(base, setting))
                run = tried.get(digest([setting, config]))
                if run is None:
                    yield Work(label, 0, setting, config)
                else:
                    costs.append((run["metrics"][CHOSEN_BY], len(costs), config))
            if len(costs) < len(experiment.trials[label]):
                continue
            cost, _, config = min(costs)
            if math.isinf(cost):
                raise RuntimeError(f"{experiment.name}: every trial of {label!r} diverged; try lower rates")
        there = {run["seed"] for run in result.runs if run["config"] == plain(config)}
        yield from (Work(label, seed, None, config) for seed in range(experiment.seeds) if seed not in there)


def _lines(experiment: Experiment, folder: Path, label: str) -> list[dict]:
    """Return the trials of a label, also where no run has followed yet."""
    path = folder / f"{experiment.name}.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf8").splitlines()[1:]] if path.exists() else []
    return [line for line in lines if line["label"] == label and "trial" in line]


def run(
    experiment: Experiment,
    into: Path,
    folder: Path,
    labels: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Record:
    """Run what the record of an experiment lacks, and write it there run by run; return the record.

    Args:
        experiment: what to run.
        into: the folder of the record.
        folder: where to work: trained models and checkpoints stay there, and a run that was killed goes on from them.
        labels: those to run; all where None.
        seeds: those to run; all of a complete record where None.
        tell: is told of each run.
    """
    for label in labels or ():
        if label not in experiment.runs:
            raise ValueError(f"{experiment.name} has no {label!r}; it has {', '.join(experiment.runs)}")
    if experiment.on_gpu and into == records.FOLDER and settings.device().type != "cuda":
        raise ValueError(
            f"{experiment.name} is recorded on a GPU, and the device is {settings.device()}: --device cuda"
        )

    def asked(work: Work) -> bool:
        return (labels is None or work.label in labels) and (seeds is None or work.seed in seeds)

    last = None
    while works := [work for work in missing(experiment, into) if asked(work)]:
        if works[0] == last:
            raise RuntimeError(
                f"{experiment.name} has run {last.label!r}, seed {last.seed}, and measured nothing of it"
            )
        last = works[0]
        if experiment.together:
            works = [Work(label, works[0].seed, None, config) for label, config in experiment.runs.items()]
        else:
            works = works[:1]
        for line in _tried(experiment, works[0], into) or _measured(experiment, works, folder):
            _write(experiment, into, line)
            tell(
                f"{experiment.name}  {line['label']}  {line.get('trial', '')}  seed {line['seed']}  {line['seconds']} s"
            )
    return recorded(experiment, into)


def _tried(experiment: Experiment, work: Work, folder: Path) -> list[dict]:
    """Return the line of a run that was measured as a trial; none where there is no such trial."""
    if work.setting is not None or experiment.trial is not None:
        return []
    lines = [line for line in _lines(experiment, folder, work.label) if line["config"] == work.config]
    return [{name: line[name] for name in line if name not in ("trial", "digest")} for line in lines if work.seed == 0]


def _measured(experiment: Experiment, works: list[Work], folder: Path) -> list[dict]:
    """Return the lines of the record for some runs that are measured in one go."""
    _, seed, setting, config = works[0]
    unit = {work.label: work.config for work in works}
    place = folder / experiment.name / f"{seed}-{digest([unit, setting])}"
    resumed, started = place.exists(), time.perf_counter()
    place.mkdir(parents=True, exist_ok=True)
    measure = experiment.trial if setting is not None and experiment.trial else experiment.measure
    try:
        of_each = measure(unit, seed, place) if experiment.together else {works[0].label: measure(config, seed, place)}
    except TrainingDiverged:
        if setting is None:
            raise
        of_each = {works[0].label: {CHOSEN_BY: math.inf}}
    seconds = None if resumed else round((time.perf_counter() - started) / len(works), 1)
    lines = []
    for label, metrics in of_each.items():
        line = {"label": label, "seed": seed, "config": plain(unit[label])}
        if setting is not None:
            line["trial"] = setting
        if setting is None or experiment.trial is None:
            experiment.check(metrics, unit[label])
            line["axes"] = {name: list(values) for name, values in experiment.axes(unit[label]).items()}
        lines.append(plain(line | {"metrics": metrics, "seconds": seconds, "environment": environment()}))
    return lines


def _write(experiment: Experiment, folder: Path, line: dict) -> None:
    """Put a run into a record, whole or not at all; what it replaces, and what is run no more, goes.

    So do the runs of another configuration under its label: a result is of one.
    """
    path = folder / f"{experiment.name}.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    head = {"name": experiment.name, "title": experiment.title, "seeds": experiment.seeds}
    head["metrics"] = {name: list(metric) for name, metric in experiment.metrics.items()}

    def key(run: dict) -> str:
        return json.dumps([run["label"], run["seed"], run.get("trial")], sort_keys=True)

    def stays(run: dict) -> bool:
        other = run["label"] == line["label"] and run["config"] != line["config"]
        return run["label"] in experiment.runs and key(run) != key(line) and ("trial" in {**run, **line} or not other)

    lines = [json.loads(each) for each in path.read_text(encoding="utf8").splitlines()[1:]] if path.exists() else []
    kept = [each for each in lines if stays(each)]
    kept.append(line | {"digest": digest(line)})
    labels = list(experiment.runs)
    kept.sort(key=lambda run: (labels.index(run["label"]), "trial" not in run, run["seed"]))
    aside = path.with_suffix(".tmp")
    aside.write_text("".join(f"{json.dumps(each)}\n" for each in [head, *kept]), encoding="utf8")
    os.replace(aside, path)


def environment() -> dict[str, str]:
    """Return what a result may depend on besides its configuration: hardware, versions, commit, and the date."""
    device, threads = settings.device(), torch.get_num_threads()
    cpu = f"{platform.machine()} CPU, {threads} thread{'s' * (threads > 1)}"
    return {
        "hardware": torch.cuda.get_device_name(device) if device.type == "cuda" else cpu,
        "versions": f"Python {platform.python_version()}, torch {torch.__version__}, numpy {np.__version__}",
        "commit": commit(),
        "date": date.today().isoformat(),
    }


def commit() -> str:
    """Return the commit of this checkout, with a ``+`` where library or laboratory have changed since."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(Path(__file__).parent), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ":/lib/**.py", ":/lab")
        return git("rev-parse", "--short=12", "HEAD") + "+" * bool(changed)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def kept(file: Path, compute: Callable[[], Any]) -> Any:
    """Return what a file holds as JSON; where there is none yet, compute it first, and keep it there.

    What is measured in the middle of a training is kept so: a run that is resumed may be past that point.
    """
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        aside = file.with_suffix(".tmp")
        aside.write_text(json.dumps(compute()), encoding="utf8")
        os.replace(aside, file)
    return json.loads(file.read_text(encoding="utf8"))


# What a configuration is made of: keywords of the library's own classes, and only those that its author gives


def text(corpus: str, characters: int | None = None, **more: Any) -> Config:
    """Return the configuration of a text, as `texts.texts` and `texts.encoded` describe it."""
    return {"corpus": corpus} | ({"characters": characters} if characters else {}) | more


def model(kind: str, **keywords: Any) -> Config:
    """Return the configuration of a model, or of a cell: its kind, one of `models.KINDS` or `cells.CELLS`, and more."""
    return {"kind": kind} | keywords


cell = model


def recipe(**fields: Any) -> Config:
    """Return the configuration of a recipe, as `training.recipe_of` describes it."""
    return fields
