"""Run experiments part by part, and find the models that they have trained."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from filelock import FileLock, Timeout

from unrolled import settings
from unrolled.experiments import provenance, records
from unrolled.experiments.base import Configuration, Experiment, keep
from unrolled.experiments.catalogue import EXPERIMENTS, find
from unrolled.experiments.fingerprint import Fingerprint, fingerprint, training_of
from unrolled.experiments.reading import data_hash
from unrolled.experiments.records import Part, Record
from unrolled.training import distributed
from unrolled.whole_files import writing

TOGETHER = "all"  # the folder of contenders that are measured in one go


def run(
    name: str,
    seeds: Sequence[int] | None = None,
    folder: Path | str = "runs",
    *,
    contenders: Sequence[str] | None = None,
    resume: bool = False,
    fresh: bool = False,
    record: bool = False,
) -> Record:
    """Run an experiment in the profile in force and return what it measured.

    It goes part by part, a contender and a seed at a time. Each part works in a folder of its own, where its result and
    the checkpoints of its trainings stay; a run that was killed goes on from there when the same call is made again.

    Args:
        name: the experiment's name.
        seeds: the seeds to measure; all that a complete record has where None.
        folder: where to work.
        contenders: the labels of those to measure; all where None.
        resume: refuse to begin where there is nothing to go on from: another profile, folder or configuration would
            otherwise begin at the beginning without a word.
        fresh: begin at the beginning. What there is moves to the folder ``aside`` inside `folder`.
        record: put each part into the book's record as soon as it is measured.

    Raises:
        ValueError: no such experiment or contender, no seed, or nothing to resume.
        RuntimeError: another run is at work in the same place, or a result is damaged.
        RecordError: the book's record cannot be added to: it is damaged, of another profile, or there is no checkout.
    """
    experiment, profile = find(name), settings.profile()
    configs = experiment.contenders[profile]
    seeds = range(experiment.seeds) if seeds is None else seeds
    if not seeds or min(seeds) < 0 or max(seeds) > settings.LAST:
        raise ValueError(f"seeds are {list(seeds)}; at least one is needed, from 0 to {settings.LAST}")
    if unknown := [label for label in contenders or () if label not in configs]:
        raise ValueError(f"{name} has no contender {unknown[0]!r}; it has {', '.join(configs)}")
    if record:
        records.open_record(name, profile)  # refused now rather than after an hour
    labels = list(configs) if contenders is None or experiment.together else list(contenders)
    place = Path(folder) / f"{name}-{profile}"
    hashes = {label: data_hash(configs[label]) for label in labels}
    units = [labels] if experiment.together else [[label] for label in labels]
    work = [
        (unit, seed, place / _part_folder(experiment, configs, hashes, unit, seed)) for seed in seeds for unit in units
    ]
    if resume and not any(part.exists() for *_, part in work):
        raise ValueError(f"there is nothing to resume: nothing of this is in {place}; begin without resume")
    parts = {}
    with ExitStack() as held:
        distributed.first(lambda: [_prepare(part, Path(folder), fresh, held) for *_, part in work])
        for unit, seed, part in work:
            for label, measured in _measured(experiment, configs, hashes, unit, seed, part).items():
                parts[label, seed] = measured
                if record:
                    distributed.first(
                        lambda label=label, seed=seed, measured=measured: records.add_to_record(
                            name, profile, label, configs[label], seed, measured
                        )
                    )
    return Record(name, profile, {label: configs[label] for label in labels}, parts, experiment.axes)


def _part_folder(
    experiment: Experiment, configs: dict[str, Configuration], hashes: dict[str, str], unit: list[str], seed: int
) -> Path:
    """Return where a part works, inside the run's folder: another configuration or text has another place."""
    content = {label: [configs[label], hashes[label]] for label in unit}
    return Path(TOGETHER if experiment.together else unit[0]) / f"seed-{seed}-{records.digest(content)}"


def _prepare(part: Path, folder: Path, fresh: bool, held: ExitStack) -> None:
    """Hold the place of a part, and move aside what is there where it is to begin at the beginning."""
    try:
        with writing(part):
            part.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(FileLock(part.with_name(f".{part.name}.lock")).acquire(timeout=0))
    except Timeout as error:
        raise RuntimeError(f"another run is at work in {part}; wait for its end, or take another folder") from error
    if fresh and part.exists():
        aside = folder / "aside" / part.relative_to(folder)
        aside.parent.mkdir(parents=True, exist_ok=True)
        places = (aside.with_name(f"{aside.name}-{number}") for number in itertools.count(1))
        part.rename(next(place for place in places if not place.exists()))


def _measured(
    experiment: Experiment,
    configs: dict[str, Configuration],
    hashes: dict[str, str],
    unit: list[str],
    seed: int,
    folder: Path,
) -> dict[str, Part]:
    """Return the parts of some contenders with one seed; from the file in their folder where they were measured before.

    Where several processes work together, all of them measure, and the first one keeps the result and tells the others.
    """
    file = folder / "result.json"
    if not distributed.first(file.exists):
        resumed, started = distributed.first(folder.exists), time.perf_counter()
        fingerprints = distributed.first(lambda: _begin(folder, {label: configs[label] for label in unit}))
        if experiment.together:
            metrics = experiment.measure({label: configs[label] for label in unit}, seed, folder)
        else:
            metrics = {unit[0]: experiment.measure(configs[unit[0]], seed, folder)}
        seconds = None if resumed else round((time.perf_counter() - started) / len(unit), 1)
        history = distributed.first(lambda: provenance.history(folder))
        parts = {label: Part(metrics[label], seconds, history, hashes[label], fingerprints[label]) for label in unit}
        for label, part in parts.items():
            experiment.check(records.Contender(label, configs[label], [part.metrics], experiment.axes(configs[label])))
        sealed = {label: asdict(part) | {"digest": part.seal(configs[label])} for label, part in parts.items()}
        distributed.first(lambda: keep(file, sealed))
    content = distributed.first(file.read_bytes)
    again = "delete it, and it is measured again"
    try:
        parts = {label: records.read_part(part) for label, part in json.loads(content).items()}
        changed = [label for label in unit if parts[label].digest != parts[label].seal(configs[label])]
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise RuntimeError(f"{file} is damaged ({error}); {again}") from error
    if changed:
        raise RuntimeError(f"{file} is not as it was measured; {again}")
    return parts


def _begin(folder: Path, configs: dict[str, Configuration]) -> dict[str, Fingerprint]:
    """Note that the measurement of some contenders begins or goes on; return the fingerprints of when it began."""
    folder.mkdir(parents=True, exist_ok=True)
    provenance.begin(folder)
    file = folder / "fingerprints.json"
    if not file.exists():
        keep(file, {label: fingerprint(config) for label, config in configs.items()})
    try:
        kept = json.loads(file.read_bytes())
        return {label: dict(kept[label]) for label in configs}
    except (ValueError, TypeError, LookupError) as error:
        raise RuntimeError(f"{file} is damaged ({error}); begin again with --fresh") from error


def writers() -> list[str]:
    """Return the names of the experiments that train language models on a text and keep them: those that can write."""
    return [
        name
        for name, experiment in EXPERIMENTS.items()
        if experiment.keeps
        and any("text" in (training_of(config) or {}) for config in experiment.contenders[settings.profile()].values())
    ]


def models(name: str, folder: Path | str = "runs") -> dict[str, Path]:
    """Return the files of the models that an experiment trained, as `run` in the profile in force saved them, by name.

    A model that several seeds have is that of the first. It is called as its contender is; with the file's own name
    behind it where a contender trained several.

    Args:
        name: the experiment's name.
        folder: where it ran.

    Raises:
        ValueError: no such experiment, one that keeps no model, or it has saved none there; the message says how to
            get one.
    """
    experiment, profile = find(name, writers()), settings.profile()
    place, found = Path(folder) / f"{name}-{profile}", {}
    configs = experiment.contenders[profile]
    for label in configs:
        first = next(iter(sorted(place.glob(f"{label}/seed-*/*.model"))), None)
        several = sorted(first.parent.glob("*.model")) if first else []
        found |= {label if len(several) == 1 else f"{label}/{file.stem}": file for file in several}
    found |= {file.stem: file for file in sorted(place.glob("shared-*/*.model"), reverse=True)}
    if not found:
        if name not in writers():
            raise ValueError(f"{name!r} keeps no language model that could write; take one of {', '.join(writers())}")
        raise ValueError(
            f"{name!r} has trained no model in {folder} yet; "
            f"get one with: python -m unrolled run {name} --profile {profile} --seeds 1"
        )
    return found
