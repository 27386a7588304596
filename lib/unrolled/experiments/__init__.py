"""The named experiments: what only hours or a GPU can measure, so that a page can show it from a record.

``python -m unrolled run NAME --record`` runs one and keeps its record; `recorded` is how a chapter asks for it.
"""

from __future__ import annotations

import difflib
import itertools
import time
from contextlib import ExitStack
from pathlib import Path

from filelock import FileLock, Timeout

from unrolled import settings
from unrolled.experiments import (
    comparison,
    counting,
    gated,
    gradients,
    language,
    memory,
    records,
    recurrent,
    timing,
    trials,
    windows,
    writing,
)
from unrolled.experiments.base import Experiment, kept, texts
from unrolled.training import distributed

EXPERIMENTS = {
    one.name: one
    for module in (
        counting,
        windows,
        recurrent,
        gradients,
        memory,
        gated,
        trials,
        timing,
        comparison,
        language,
        writing,
    )
    for one in module.EXPERIMENTS
}


def find(name: str) -> Experiment:
    """Return the experiment of that name.

    Raises:
        ValueError: there is none; the message suggests the nearest.
    """
    if name not in EXPERIMENTS:
        near = difflib.get_close_matches(name, EXPERIMENTS, n=1, cutoff=0.3)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(EXPERIMENTS)}"
        raise ValueError(f"there is no experiment {name!r}; {hint}")
    return EXPERIMENTS[name]


def run(
    name: str, seeds: int = 3, folder: Path | str = "runs", *, resume: bool = False, fresh: bool = False
) -> records.Record:
    """Run an experiment in the profile in force and return its record.

    Each seed's metrics and the checkpoints of its trainings are kept under `folder`; a run that was killed goes on
    from there when the same call is made again.

    Args:
        name: the experiment's name.
        seeds: how many seeds, 0 … seeds − 1; where nothing is random, one is enough.
        folder: where to work.
        resume: refuse to begin where there is nothing to go on from: another profile, folder or configuration would
            otherwise begin at the beginning without a word.
        fresh: begin at the beginning. What there is moves to the folder ``aside`` inside `folder`.

    Raises:
        ValueError: no such experiment, fewer than one seed, or nothing to resume.
        RuntimeError: another run is at work in the same place.
    """
    experiment, profile = find(name), settings.profile()
    if seeds < 1:
        raise ValueError(f"seeds is {seeds}; it must be 1 or more")
    config = experiment.configs[profile]
    config_hash = records.digest(config)
    data_hash = _data_hash(config)
    seeds = seeds if experiment.seeded else 1
    folder = Path(folder) / f"{name}-{profile}-{config_hash}{data_hash}"
    measured = []
    with ExitStack() as held:
        distributed.first(lambda: _prepare(folder, resume, fresh, held))
        for seed in range(seeds):
            measured.append(
                kept(folder / f"seed-{seed}.json", lambda seed=seed: _measured(experiment, config, seed, folder))
            )
    return records.Record(
        name=name,
        profile=profile,
        config=config,
        config_hash=config_hash,
        data_hash=data_hash,
        seeds=list(range(seeds)),
        metrics=[one["metrics"] for one in measured],
        seconds=[one["seconds"] for one in measured],
        circumstances=[one["circumstances"] for one in measured],
    )


def _prepare(folder: Path, resume: bool, fresh: bool, held: ExitStack) -> None:
    """Hold the place of a run and make its folder, having moved aside the one that is there, or refused, as told."""
    if resume and not folder.exists():
        raise ValueError(f"there is nothing to resume: {folder} does not exist; begin without resume")
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        held.enter_context(FileLock(folder.with_name(f".{folder.name}.lock")).acquire(timeout=0))
    except Timeout as error:
        raise RuntimeError(f"another run is at work in {folder}; wait for its end, or take another folder") from error
    if fresh and folder.exists():
        aside = folder.parent / "aside"
        aside.mkdir(exist_ok=True)
        places = (aside / f"{folder.name}-{number}" for number in itertools.count(1))
        folder.rename(next(place for place in places if not place.exists()))
    folder.mkdir(exist_ok=True)


def models(name: str, folder: Path | str = "runs") -> dict[str, Path]:
    """Return the files of the models that an experiment trained, as `run` in the profile in force saved them, by name.

    A model that several seeds have is that of the first.

    Args:
        name: the experiment's name.
        folder: where it ran.

    Raises:
        ValueError: no such experiment, or it has saved no model there; the message says how to get one.
    """
    profile = settings.profile()
    run_folders = f"{name}-{profile}-{records.digest(find(name).configs[profile])}*"  # of whatever text
    found = {file.stem: file for file in sorted(Path(folder).glob(f"{run_folders}/seed-*/*.model"), reverse=True)}
    if not found:
        if any(Path(folder).glob(f"{run_folders}/seed-*.json")):
            raise ValueError(f"{name!r} has run, and saved no model in {folder}; take an experiment that trains one")
        raise ValueError(
            f"{name!r} has trained no model in {folder} yet; "
            f"get one with: python -m unrolled run {name} --profile {profile} --seeds 1"
        )
    return dict(sorted(found.items()))


def _measured(experiment: Experiment, config: dict, seed: int, folder: Path) -> dict:
    """Measure one seed; return its metrics, the seconds it took, and the circumstances when it began.

    The seconds are None where a run before this one has left something to go on from.
    """
    circumstances, place = records.circumstances(settings.device()), folder / f"seed-{seed}"
    resumed, started = distributed.first(place.exists), time.perf_counter()
    metrics = experiment.measure(config, seed, place)
    seconds = None if resumed else round(time.perf_counter() - started, 1)
    return {"metrics": metrics, "seconds": seconds, "circumstances": circumstances}


def _data_hash(config: dict) -> str:
    """Return the digest of all the text that an experiment reads; nothing where it reads none."""
    names = config.get("corpora", [config["corpus"]] if "corpus" in config else [])
    return records.digest("".join("".join(texts(config | {"corpus": name})) for name in names)) if names else ""


def recorded(name: str) -> records.Record:
    """Return the record of an experiment, having checked that the experiment is still the one that was run.

    Raises:
        ValueError: there is no experiment of that name any more.
        records.RecordError: there is no record, or it was made with another configuration.
    """
    experiment, record = find(name), records.load_record(name)
    if record.config_hash != records.digest(experiment.configs.get(record.profile)):
        raise records.RecordError(
            f"the record of {name!r} was made with another configuration than the one it has now; "
            f"measure it again with: python -m unrolled run {name} --profile {record.profile} --record"
        )
    return record
