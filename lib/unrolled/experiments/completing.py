"""Complete records: what the book's record of an experiment lacks, and how it is measured."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import groupby
from typing import NamedTuple

from unrolled.experiments import records
from unrolled.experiments.catalogue import find
from unrolled.experiments.records import Record, RecordError


class Wanting(NamedTuple):
    """A part that a record lacks.

    Attributes:
        name: the experiment's.
        profile: the record's.
        label: the contender's.
        seed: 0, 1, ….
        seconds: how long it took the last time; None where nobody knows.
    """

    name: str
    profile: str
    label: str
    seed: int
    seconds: float | None


def wanting(name: str, profile: str = "quick") -> list[Wanting]:
    """Return the parts that the record of an experiment lacks, or has of another configuration.

    Args:
        name: the experiment's name.
        profile: that of the record, where there is none yet.

    Raises:
        ValueError: there is no experiment of that name.
        RecordError: the record is damaged, or was changed by hand.
    """
    experiment = find(name)
    record = records.load_record(name) if (records.FOLDER / f"{name}.json").exists() else Record(name, profile, {}, {})
    lacking = []
    for label, config in experiment.contenders[record.profile].items():
        current = record.configs.get(label) == config
        for seed in range(experiment.seeds):
            part = record.parts.get((label, seed))
            if part is None or not current:
                known = [other.seconds for (other_label, _), other in record.parts.items() if other_label == label]
                known = [seconds for seconds in known if seconds is not None]
                lacking.append(Wanting(name, record.profile, label, seed, max(known, default=None)))
    return lacking


def measured(name: str) -> Record:
    """Return what the record of an experiment has of the experiment as it is now, though parts may be lacking.

    Raises:
        ValueError: there is no experiment of that name any more.
        RecordError: there is no record, or something in it was changed by hand.
    """
    experiment, record = find(name), records.load_record(name, find(name).axes)
    configs = experiment.contenders[record.profile]
    parts = {
        (label, seed): record.parts[label, seed]
        for label, config in configs.items()
        if record.configs.get(label) == config
        for seed in record.seeds(label)
    }
    return Record(record.name, record.profile, dict(configs), parts, experiment.axes)


def recorded(name: str) -> Record:
    """Return the record of an experiment, complete and of the experiment as it is now.

    Raises:
        ValueError: there is no experiment of that name any more.
        RecordError: there is no record; parts are missing, or were made with another configuration; or something in it
            was changed by hand. The message names the parts, and how to measure them.
    """
    record = measured(name)
    if lacking := wanting(name):
        missing = ", ".join(f"{part.label} (seed {part.seed})" for part in lacking)
        raise RecordError(
            f"the record of {name!r} is not complete, or its experiment has changed since; it lacks {missing}; "
            f"measure it with: make records NAME={name}"
        )
    return record


def pieces(lacking: Iterable[Wanting]) -> list[list[Wanting]]:
    """Return the parts that are measured in one go: each by itself, but for the contenders of a timing."""

    def piece(part: Wanting) -> tuple:
        return part[:4] if not find(part.name).together else (part.name, part.seed)

    return [list(parts) for _, parts in groupby(sorted(lacking, key=lambda part: (part.name, part.seed)), piece)]


def complete(lacking: Sequence[Wanting], folder: str = "runs") -> Iterator[tuple[list[Wanting], bool]]:
    """Measure parts and put each into its record, two pieces at a time with one thread each, resuming what was stopped.

    Timings come first, one at a time: a clock that shares its machine is wrong. Parts whose settings a search chooses
    come after that search.

    Args:
        lacking: the parts, as `wanting` finds them.
        folder: where to work.

    Yields:
        The parts of each piece when it is done, and whether it was measured.
    """

    def measure(parts: list[Wanting]) -> tuple[list[Wanting], bool]:
        name, profile, _, seed, _ = parts[0]
        command = [sys.executable, "-m", "unrolled", "run", name, "--seed", str(seed), "--profile", profile]
        command += [*(word for part in parts for word in ("--contender", part.label)), "--folder", folder, "--record"]
        one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
        return parts, not subprocess.run(command, env=one_thread, stdout=subprocess.DEVNULL).returncode

    timings, others = [], []
    for piece in pieces(lacking):
        (timings if find(piece[0].name).together else others).append(piece)
    yield from map(measure, timings)
    while ready := [piece for piece in others if not _waits(piece)]:
        others = [piece for piece in others if piece not in ready]
        with ThreadPoolExecutor(2) as pool:
            for done in as_completed([pool.submit(measure, piece) for piece in ready]):
                yield done.result()
    yield from ((piece, False) for piece in others)


def _waits(parts: Sequence[Wanting]) -> bool:
    """Return whether the settings of a part are to be chosen by a search that is not in its record yet."""
    return any("waits_for" in find(part.name).contenders[part.profile][part.label] for part in parts)
