"""Run experiments part by part; a run that was killed goes on where it was."""

import itertools
import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from filelock import FileLock, Timeout

from lab.engine import provenance, search, store
from lab.engine.experiment import Config, Experiment
from lab.engine.store import Part
from lab.engine.texts import data_digest
from unrolled import settings
from unrolled.records import Contender, Record, digest
from unrolled.training import distributed
from unrolled.whole_files import writing

TOGETHER = "all"  # the folder of contenders that are measured in one go
AGAIN = "delete it, and it is measured again"
Asked = dict[str, tuple[Config, str]]
"""What to measure: by label the configuration of a contender, and the digest of the text that it reads."""


def run(
    experiment: Experiment,
    seeds: Sequence[int] | None = None,
    folder: Path | str = "runs",
    *,
    contenders: Sequence[str] | None = None,
    resume: bool = False,
    fresh: bool = False,
    record: bool = False,
) -> tuple[Record, list[Path]]:
    """Run an experiment and return what it measured, and the folders that it worked in.

    It goes part by part, a contender and a seed at a time. Each part works in a folder of its own, where its result,
    its trained models and their checkpoints stay; a run that was killed goes on from there when the same call is made
    again.

    Args:
        experiment: what to measure.
        seeds: the seeds to measure; all that a complete record has where None.
        folder: where to work.
        contenders: the labels of those to measure; all where None.
        resume: refuse to begin where there is nothing to go on from: another folder or configuration would otherwise
            begin at the beginning without a word.
        fresh: begin at the beginning. What there is moves to the folder ``aside`` inside `folder`.
        record: put each part into the book's record as soon as it is measured, and what a search chose into
            `search.CHOSEN`.

    Raises:
        ValueError: no such contender, no seed, nothing to resume, or no GPU to record what is measured on one.
        NotChosen: the settings of a contender wait for a search.
        RuntimeError: another run is at work in the same place, or a result is damaged.
        RecordError: the book's record is damaged or was changed by hand.
    """
    seeds = range(experiment.seeds) if seeds is None else seeds
    if not seeds or min(seeds) < 0 or max(seeds) > settings.LAST:
        raise ValueError(f"seeds are {list(seeds)}; at least one is needed, from 0 to {settings.LAST}")
    labels = list(experiment.contenders) if contenders is None or experiment.together else list(contenders)
    configs = {label: experiment.config(label) for label in labels}
    if record and experiment.on_gpu and settings.device().type != "cuda":
        raise ValueError(
            f"{experiment.name} is recorded on a GPU, and the device is {settings.device()}; take --device cuda, or "
            "leave out --record to see what this one does"
        )
    if record:
        store.recorded(experiment)  # refused now rather than after an hour
    asked = {label: (config, data_digest(config)) for label, config in configs.items()}
    units = [asked] if experiment.together else [{label: each} for label, each in asked.items()]
    work = [(unit, seed, _folder(experiment, unit, seed, Path(folder))) for seed in seeds for unit in units]
    if resume and not any(place.exists() for *_, place in work):
        raise ValueError(
            f"there is nothing to resume: nothing of this is in {folder}/{experiment.name}; begin without resume"
        )
    parts: dict[str, dict[int, Part]] = {label: {} for label in labels}
    with ExitStack() as held:
        distributed.first(lambda: [_prepare(place, Path(folder), fresh, held) for *_, place in work])
        for unit, seed, place in work:
            for label, part in _measured(experiment, unit, seed, place).items():
                parts[label][seed] = part
                if record:
                    distributed.first(lambda label=label, seed=seed, part=part: _record(experiment, label, seed, part))
    made = {
        label: Contender(label, config, dict(experiment.axes(config)), parts[label])
        for label, config in configs.items()
    }
    record_made = Record(experiment.name, experiment.title, dict(experiment.metrics), experiment.seeds, made)
    return record_made, [place for *_, place in work]


def _record(experiment: Experiment, label: str, seed: int, part: Part) -> None:
    """Put a part into the book's record; where it is a search, what it chose is frozen, too."""
    store.add(experiment, label, seed, part)
    if "chosen" in part["metrics"]:
        search.freeze(experiment, label, part["metrics"])


def _folder(experiment: Experiment, unit: Asked, seed: int, folder: Path) -> Path:
    """Return where contenders that are measured in one go work: another configuration or text has another place."""
    contender = TOGETHER if experiment.together else next(iter(unit))
    return folder / experiment.name / contender / f"seed-{seed}-{digest(unit)}"


def _prepare(place: Path, folder: Path, fresh: bool, held: ExitStack) -> None:
    """Hold the place of a part, and move aside what is there where it is to begin at the beginning."""
    try:
        with writing(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(FileLock(place.with_name(f".{place.name}.lock")).acquire(timeout=0))
    except Timeout as error:
        raise RuntimeError(f"another run is at work in {place}; wait for its end, or take another folder") from error
    if fresh and place.exists():
        aside = folder / "aside" / place.relative_to(folder)
        aside.parent.mkdir(parents=True, exist_ok=True)
        places = (aside.with_name(f"{aside.name}-{number}") for number in itertools.count(1))
        place.rename(next(other for other in places if not other.exists()))


def _measured(experiment: Experiment, unit: Asked, seed: int, folder: Path) -> dict[str, Part]:
    """Return the parts of some contenders with one seed; from the file in their folder where they were measured before.

    Where several processes work together, all of them measure, and the first one keeps the result and tells the others.
    """
    file = folder / "result.json"
    if not distributed.first(file.exists):
        resumed, started = distributed.first(folder.exists), time.perf_counter()
        distributed.first(lambda: provenance.note_start(folder))
        configs = {label: config for label, (config, _) in unit.items()}
        if experiment.together:
            metrics = experiment.measure(configs, seed, folder)
        else:
            metrics = {label: experiment.measure(config, seed, folder) for label, config in configs.items()}
        seconds = None if resumed else round((time.perf_counter() - started) / len(unit), 1)
        circumstances = distributed.first(lambda: provenance.history(folder))
        parts = {}
        for label, (config, data) in unit.items():
            experiment.check(label, metrics[label], config)
            parts[label] = {"metrics": metrics[label], "seconds": seconds, "circumstances": circumstances, "data": data}
        distributed.first(lambda: store.keep(file, {"digest": digest(parts), "parts": parts}))
    content = distributed.first(file.read_bytes)
    try:
        result = json.loads(content)
        parts = {label: result["parts"][label] for label in unit}
        changed = digest(result["parts"]) != result["digest"]
    except (ValueError, TypeError, LookupError) as error:
        raise RuntimeError(f"{file} is damaged ({error!r}); {AGAIN}") from error
    if changed:
        raise RuntimeError(f"{file} is not as it was measured; {AGAIN}")
    return parts


def models(folders: Sequence[Path]) -> list[Path]:
    """Return the folders, of those that a run worked in, that hold a trained model, shared ones included."""
    shared = [folder.parent.parent / marker.name for folder in folders for marker in folder.glob("shared-*")]
    return [folder for folder in dict.fromkeys([*folders, *shared]) if any(folder.glob("*.model"))]
