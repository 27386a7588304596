"""Keep results that a page cannot compute while it is read, and say where they came from.

A record is one JSON file: the experiment's name and configuration, the seeds, what was measured for each, and
the hardware, versions, commit and time that it took. It is written by ``python -m unrolled run NAME --record``
and by nothing else.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch

FOLDER = Path(str(files("unrolled"))) / "experiments" / "measured"


class RecordError(RuntimeError):
    """A record is missing, damaged or stale; the message says which and how to measure again."""


def digest(content) -> str:
    """Return a short hash of anything that JSON can hold, or of a text: the same content, the same hash."""
    text = content if isinstance(content, str) else json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Record:
    """What one experiment measured.

    Attributes:
        name: the experiment's name.
        profile: ``"quick"`` or ``"full"``.
        config: what the experiment was told.
        config_hash: the digest of `config`.
        data_hash: the digest of the text it was given; empty where it uses none.
        seeds: the seeds it ran with.
        metrics: one entry a seed: each metric's name and its value, a number or a list of numbers.
        seconds: the wall time of each seed; None where it was stopped and went on, since nobody timed the first part.
        circumstances: for each seed what `circumstances` said when it began.
    """

    name: str
    profile: str
    config: dict
    config_hash: str
    data_hash: str
    seeds: list[int]
    metrics: list[dict]
    seconds: list[float | None]
    circumstances: list[dict[str, str]]

    def __getitem__(self, metric: str) -> np.ndarray:
        """Return one metric of every seed, (seeds,) or (seeds, points).

        Raises:
            KeyError: the record has no such metric; the message names those it has.
        """
        if metric not in self.metrics[0]:
            raise KeyError(f"{self.name} has no {metric!r}; it has {', '.join(self.metrics[0])}")
        return np.array([one[metric] for one in self.metrics])

    def each(self, labels: Mapping[str, str], metric: str) -> dict[str, np.ndarray]:
        """Return ``LABEL-METRIC`` of every seed for several labels, each under the name that the mapping gives it.

        Raises:
            KeyError: as for one metric.
        """
        return {name: self[f"{label}-{metric}"] for name, label in labels.items()}

    def provenance(self) -> str:
        """Return where the numbers came from, in three lines fit to print under a table."""

        def all_of(what: str) -> str:
            return " and ".join(dict.fromkeys(one[what] for one in self.circumstances))

        if None in self.seconds:
            taken = "several runs"
        elif sum(self.seconds) < 100:
            taken = f"{sum(self.seconds):.0f} s"
        else:
            taken = f"{sum(self.seconds) / 60:.0f} min"
        return (
            f"{self.name} ({self.profile}), {len(self.seeds)} seed{'s' * (len(self.seeds) > 1)}, "
            f"{taken} on {all_of('hardware')}, {all_of('date')}\n"
            f"{all_of('versions')}\n"
            f"commit {all_of('commit')}, configuration {self.config_hash}"
        )


def circumstances(device: torch.device) -> dict[str, str]:
    """Return what a result may depend on beside its configuration: hardware, versions, commit (a ``+`` where the
    tree has changes), and the day."""
    if device.type == "cuda":
        hardware = torch.cuda.get_device_name(device)
    else:
        hardware = f"{platform.machine()} CPU, {torch.get_num_threads()} thread{'s' * (torch.get_num_threads() > 1)}"
    return {
        "hardware": hardware,
        "versions": f"Python {platform.python_version()}, torch {torch.__version__}, numpy {np.__version__}",
        "commit": commit(),
        "date": datetime.date.today().isoformat(),
    }


def commit() -> str:
    """Return the commit that this code was checked out from, or ``"unknown"`` outside a checkout."""

    def git(*arguments: str) -> str:
        here = Path(__file__).parent
        return subprocess.run(["git", "-C", here, *arguments], capture_output=True, text=True, check=True).stdout

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "--short=12", "HEAD").strip() + "+" * bool(changed)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def save_record(record: Record) -> Path:
    """Keep a record as the book's, atomically, and return its path."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{record.name}.json"
    part = path.with_suffix(".part")
    part.write_text(json.dumps(asdict(record), indent=1) + "\n", encoding="utf8")
    os.replace(part, path)
    return path


def load_record(name: str) -> Record:
    """Return the book's record of that name.

    Raises:
        RecordError: there is none, or it cannot be read; the message says how to measure it.
    """
    path = FOLDER / f"{name}.json"
    again = f"measure it with: python -m unrolled run {name} --record"
    try:
        return Record(**json.loads(path.read_text(encoding="utf8")))
    except FileNotFoundError as error:
        raise RecordError(f"there is no record of {name!r}; {again}") from error
    except (ValueError, TypeError) as error:
        raise RecordError(f"the record {path} is damaged ({error}); {again}") from error
