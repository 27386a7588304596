"""Where results are kept: in the folder of a run, part by part, and in the book's records.

A part is what was measured of one contender with one seed. `add` puts it into the record of its experiment, which
describes itself and carries one digest over all of it; `unrolled.records` reads it.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import FileLock

from lab.engine.experiment import Config, Experiment, NotChosen
from unrolled import records
from unrolled.records import digest
from unrolled.training import distributed
from unrolled.whole_files import replace_file

Part = dict[str, Any]
"""``metrics``, ``seconds`` and ``circumstances`` as in a record, and ``data``, the digest of the text that was read."""


def keep(file: Path, content: Any) -> None:
    """Write anything that JSON can hold to a file, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(file) as opened:
        opened.write(json.dumps(content).encode())


def kept(file: Path, compute: Callable[[], Any]) -> Any:
    """Return what a file holds as JSON; where there is none yet, compute it first, and keep it there.

    What is measured in the middle of a training is kept so: a run that is resumed may be past that point.
    """
    if not distributed.first(file.exists):
        content = compute()
        distributed.first(lambda: keep(file, content))
    return json.loads(distributed.first(file.read_bytes))


def shared_folder(folder: Path, config: Config, seed: int) -> Path:
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


def recorded(experiment: Experiment) -> dict[str, dict[int, Part]]:
    """Return what the record of an experiment has of it as it is now: by label the parts of each seed.

    A contender whose configuration has changed since, or waits for a search, has none.

    Raises:
        RecordError: the record is damaged or was changed by hand.
    """
    if not (records.FOLDER / f"{experiment.name}.json").exists():
        return {label: {} for label in experiment.contenders}
    record = records.load(experiment.name, complete=False)
    return {
        label: record.contenders[label].parts
        if label in record.contenders and record.contenders[label].config == _config(experiment, label)
        else {}
        for label in experiment.contenders
    }


def of_first_seed(experiment: Experiment, label: str) -> dict[str, Any]:
    """Return what the record has of a contender's first seed, by metric: what its other seeds, or others, go by.

    Raises:
        NotChosen: it has not been recorded; the message says how to measure it.
    """
    parts = recorded(experiment)[label]
    if 0 not in parts:
        command = f"python -m lab run {experiment.name} --contender {label!r} --record"
        raise NotChosen(f"{experiment.name} has not measured {label!r} yet; choose its rate with: {command}")
    return parts[0]["metrics"]


def missing(experiment: Experiment) -> list[tuple[str, int]]:
    """Return the parts, (label, seed), that the record of an experiment lacks, or has of another configuration."""
    parts = recorded(experiment)
    return [(label, seed) for label in parts for seed in range(experiment.seeds) if seed not in parts[label]]


def add(experiment: Experiment, label: str, seed: int, part: Part) -> Path:
    """Put a part into the record of an experiment, atomically, and return the record's path.

    What the record has of contenders that are gone, or have another configuration now, goes; all else stays. Several
    processes may add parts to one record at the same time.

    Raises:
        RecordError: there is a record, and it is damaged or was changed by hand; it stays as it is.
    """
    with FileLock(records.FOLDER / f".{experiment.name}.lock"):
        parts = recorded(experiment)
        parts[label] = dict(sorted((parts[label] | {seed: part}).items()))
        return write(experiment, parts)


def write(experiment: Experiment, parts: dict[str, dict[int, Part]]) -> Path:
    """Write the record of an experiment, whole or not at all, and return its path."""
    contenders = {}
    for label in experiment.contenders:
        config = _config(experiment, label)
        axes = {name: list(at) for name, at in experiment.axes(config).items()} if config else {}
        contenders[label] = {"config": config, "axes": axes, "parts": {str(s): p for s, p in parts[label].items()}}
    content = {
        "name": experiment.name,
        "title": experiment.title,
        "seeds": experiment.seeds,
        "metrics": {name: list(metric) for name, metric in experiment.metrics.items()},
        "contenders": contenders,
    }
    content = {"digest": digest(content)} | content
    path = records.FOLDER / f"{experiment.name}.json"
    with replace_file(path) as file:
        file.write(f"{_lines(content, 4)}\n".encode())
    return path


def _config(experiment: Experiment, label: str) -> Config:
    """Return a contender's configuration as JSON gives it back; nothing where it waits for a search."""
    try:
        return json.loads(json.dumps(experiment.config(label)))
    except NotChosen:
        return {}


def _lines(value: Any, depth: int) -> str:
    """Return JSON in which dictionaries have a line for each entry, down to a depth: a diff shows what changed."""
    if not depth or not value or not isinstance(value, dict):
        return json.dumps(value)
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {_lines(each, depth - 1)}" for key, each in value.items()) + "\n}"
