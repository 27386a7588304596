"""Keep results that a page cannot compute while it is read, and say where they came from.

A record is one JSON file. It consists of parts, one for each contender and seed: what was measured, how long that took,
on which hardware, with which versions and commit. A part is written by ``python -m unrolled run NAME --record`` and by
nothing else, as soon as it is measured. It carries the digest of its configuration, its data, its metrics and its
fingerprint together, so that a number that was changed by hand is noticed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from unrolled import settings
from unrolled.experiments.provenance import FIELDS, Provenance
from unrolled.whole_files import replace_file

PACKAGE = Path(str(files("unrolled")))
FOLDER = PACKAGE / "experiments" / "measured"
PAGE = PACKAGE.parent.parent / "pages" / "records.md"  # the page of all records; an installed package has none
Configuration = dict[str, Any]
"""What one contender of an experiment is: anything that JSON can hold."""
Axes = Callable[[dict], Mapping[str, Sequence]]


class RecordError(RuntimeError):
    """A record is missing, damaged or stale; the message says which and how to measure again."""


def digest(content: Any) -> str:
    """Return a short hash of anything that JSON can hold, or of a text: the same content, the same hash."""
    text = content if isinstance(content, str) else json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Part:
    """What was measured of one contender with one seed.

    Attributes:
        metrics: by name: numbers, texts, or lists of them.
        seconds: the wall time; None where it was stopped and went on, since nobody timed the first part.
        circumstances: hardware, versions, commit and date; "one then another" where it was stopped and they changed.
        data_hash: the digest of the text that was read; empty where there is none.
        fingerprint: what `fingerprint` said when it began; empty where no language model is trained.
        digest: that of configuration, data, metrics and fingerprint together, `Part.seal`.
    """

    metrics: dict[str, Any]
    seconds: float | None
    circumstances: dict[str, str]
    data_hash: str = ""
    fingerprint: dict[str, list[float]] = field(default_factory=dict)
    digest: str = ""

    def seal(self, config: dict) -> str:
        """Return the digest of a configuration with the data, the metrics and the fingerprint of this part."""
        return digest([config, self.data_hash, self.metrics, *([self.fingerprint] if self.fingerprint else [])])


class Contender(Mapping[str, np.ndarray]):
    """What was measured of one contender with every seed, by name: ``record["gru"]["nats"]``, (seeds, …).

    Attributes:
        config: its configuration.
        axes: the coordinates along the metrics' axes, by name, as far as the configuration decides them.

    Args:
        label: what a record calls it.
        config: its configuration.
        measured: the metrics of each seed.
        axes: the coordinates.

    Example:
        >>> gru = Contender("gru", {}, [{"curve": [1.5, 1.2]}, {"curve": [1.6, 1.1]}], {"score": [100, 200]})
        >>> gru["curve"].shape  # (seeds, score)
        (2, 2)
    """

    def __init__(self, label: str, config: dict, measured: Sequence[dict], axes: Mapping[str, Sequence]):
        self.label, self.config, self.axes = label, config, axes
        self._measured = list(measured)

    def __getitem__(self, metric: str) -> np.ndarray:
        if metric not in self._measured[0]:
            raise KeyError(f"{self.label} has no {metric!r}; it has {', '.join(self)}")
        return np.array([metrics[metric] for metrics in self._measured])

    def __iter__(self) -> Iterator[str]:
        return iter(self._measured[0])

    def __len__(self) -> int:
        return len(self._measured[0])


@dataclass(frozen=True)
class Record(Mapping[str, Contender]):
    """What one experiment measured: its contenders by label.

    Attributes:
        name: the experiment's name.
        profile: ``"quick"`` or ``"full"``.
        configs: each contender's configuration.
        parts: what was measured, by contender and seed.
        axes: maps a configuration to the coordinates along the metrics' axes.

    Example:
        >>> part = Part({"nats": 0.5}, seconds=9.0, circumstances={})
        >>> record = Record("coin", "quick", {"fair": {}}, {("fair", 0): part, ("fair", 1): part})
        >>> list(record), record["fair"]["nats"].tolist()
        (['fair'], [0.5, 0.5])
    """

    name: str
    profile: str
    configs: dict[str, dict]
    parts: dict[tuple[str, int], Part]
    axes: Axes = field(default=lambda config: {}, repr=False)

    def seeds(self, label: str) -> list[int]:
        """Return the seeds that a contender was measured with."""
        return sorted(seed for contender, seed in self.parts if contender == label)

    @cached_property
    def _contenders(self) -> dict[str, Contender]:
        return {
            label: Contender(
                label, config, [self.parts[label, seed].metrics for seed in self.seeds(label)], self.axes(config)
            )
            for label, config in self.configs.items()
            if self.seeds(label)
        }

    def __getitem__(self, label: str) -> Contender:
        if label not in self._contenders:
            raise KeyError(f"{self.name} has no contender {label!r}; it has {', '.join(self)}")
        return self._contenders[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self._contenders)

    def __len__(self) -> int:
        return len(self._contenders)

    def each(self, labels: Mapping[str, str], metric: str) -> dict[str, np.ndarray]:
        """Return a metric of several contenders, (seeds, …) each, under the names that a figure gives them.

        Args:
            labels: each name with its contender's label.
            metric: the metric's name.

        Raises:
            KeyError: there is no such contender or metric; the message names those there are.
        """
        return {name: self[label][metric] for name, label in labels.items()}

    def axis(self, name: str) -> np.ndarray:
        """Return the coordinates along an axis, (points,), which must be the same for all contenders that have it.

        Raises:
            KeyError: no contender has such an axis, or they have several; ``record[label].axes`` has each one's own.
        """
        found = {json.dumps(list(each.axes[name])): each.axes[name] for each in self.values() if name in each.axes}
        if len(found) != 1:
            raise KeyError(f"{self.name} has {len(found)} axes {name!r}; each contender's are in record[label].axes")
        return np.array(list(*found.values()))

    def provenance(self) -> Provenance:
        """Return where the numbers came from, in one line to display below them."""
        seeds = len({seed for _, seed in self.parts})
        seconds = [part.seconds for part in self.parts.values()]
        if None in seconds:
            time = "several runs"
        elif sum(seconds) < 100:
            time = f"{sum(seconds):.0f} s"
        else:
            time = f"{sum(seconds) / 60:.0f} min"
        days = sorted(day for part in self.parts.values() for day in part.circumstances["date"].split(" then "))
        return Provenance(
            self.name,
            f"{self.profile}, {seeds} seed{'s' * (seeds > 1)}, {time} on {self._all('hardware')}, "
            + " to ".join(dict.fromkeys((days[0], days[-1]))),
        )

    def details(self) -> str:
        """Return all that is known of where the numbers came from, in three lines fit to print."""
        made_of = f"commit {self._all('commit')}, configuration {digest(self.configs)}"
        return f"{self.provenance()}\n{self._all('versions')}\n{made_of}"

    def _all(self, what: str) -> str:
        """Return one of the circumstances, "one and another" where parts differ in it."""
        in_time = sorted(self.parts, key=lambda place: place[1])
        return " and ".join(dict.fromkeys(self.parts[place].circumstances[what] for place in in_time))


def command(name: str, profile: str, label: str = "") -> str:
    """Return the command that measures an experiment, or one contender of it, again and keeps the result."""
    only = f" --contender {label}" if label else ""
    return f"python -m unrolled run {name}{only} --profile {profile} --record"


def load_record(name: str, axes: Axes = lambda config: {}) -> Record:
    """Return the book's record of that name, complete or not, having checked the digest of every part.

    Args:
        name: the experiment's name.
        axes: maps a configuration to the coordinates along the metrics' axes.

    Raises:
        RecordError: there is none, it cannot be read, or something in it was changed by hand; the message says how to
            measure it.
    """
    record = _read(name, axes)
    for (label, seed), part in record.parts.items():
        if part.digest != part.seal(record.configs[label]):
            raise RecordError(
                f"in the record of {name!r} the part {label!r} of seed {seed} is not as it was measured: its "
                "configuration, data or metrics were changed by hand; take the change back, or measure it again with: "
                + command(name, record.profile, label)
            )
    return record


def _read(name: str, axes: Axes) -> Record:
    path = FOLDER / f"{name}.json"
    try:
        content = json.loads(path.read_text(encoding="utf8"))
        parts = {}
        for key, part in content["parts"].items():
            label, _, seed = key.rpartition(" ")
            parts[label, int(seed)] = read_part(part)
        if (content["name"], content["profile"] in settings.PROFILES) != (name, True):
            raise ValueError(f"it is that of {content['name']!r} in the profile {content['profile']!r}")
        record = Record(content["name"], content["profile"], content["configs"], parts, axes)
        if lost := {label for label, _ in parts} - set(record.configs):
            raise LookupError(f"there is no configuration of {', '.join(sorted(lost))}")
        return record
    except FileNotFoundError as error:
        raise RecordError(f"there is no record of {name!r}; measure it with: {command(name, 'quick')}") from error
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise RecordError(
            f"the record {path} is damaged ({error}); restore it, or delete it and measure it with: "
            + command(name, "quick")
        ) from error


def read_part(content: dict) -> Part:
    """Return a part from what JSON holds of it.

    Raises:
        ValueError, TypeError, LookupError, AttributeError: it lacks something, or that is of another type.
    """
    part = Part(**content)
    if not part.metrics:
        raise ValueError("a part has no metrics")
    if not all(isinstance(part.circumstances[what], str) for what in FIELDS):
        raise ValueError(f"a part's {', '.join(FIELDS)} are not all texts")
    if part.seconds is not None:
        float(part.seconds)
    return part


def open_record(name: str, profile: str) -> Record:
    """Return the book's record that parts of this profile can be added to; an empty one where there is none yet.

    Raises:
        RecordError: there is one, and it cannot be read or is of another profile; or the library was installed, and is
            not in a checkout of the book.
    """
    if not PAGE.is_file():
        raise RecordError(
            f"{PACKAGE} is not in a checkout of the book, and a record is the book's; "
            "leave out --record, or clone its repository and run it there after: pip install -e ."
        )
    path = FOLDER / f"{name}.json"
    record = _read(name, lambda config: {}) if path.exists() else Record(name, profile, {}, {})
    if record.profile != profile:
        raise RecordError(
            f"the book's record of {name!r} is of the profile {record.profile!r}, and one record holds one profile; "
            f"leave out --record, take --profile {record.profile}, or delete {path} to begin a record of {profile!r}"
        )
    return record


def add_to_record(name: str, profile: str, label: str, config: dict, seed: int, part: Part) -> Path:
    """Put a part into the book's record, atomically, and return the record's path.

    What the record has of this contender with another configuration goes; all else stays. Several processes may add
    parts to one record at the same time.

    Raises:
        RecordError: as `open_record` raises it; what there is stays as it is.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.json"
    with FileLock(FOLDER / f".{name}.lock"):
        record = open_record(name, profile)
        same = record.configs.get(label) == config
        stays = {place: old for place, old in record.parts.items() if place[0] != label or same}
        sealed = replace(part, digest=part.seal(config))
        save_record(Record(name, profile, record.configs | {label: config}, stays | {(label, seed): sealed}))
    return path


def save_record(record: Record) -> None:
    """Write a record to its file, a line for each configuration and each part."""

    def lines(values: Mapping[str, Any]) -> str:
        return ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in values.items())

    ordered = sorted(record.parts.items(), key=lambda item: (list(record.configs).index(item[0][0]), item[0][1]))
    parts = {f"{label} {seed}": asdict(part) for (label, seed), part in ordered}
    head = f'"name": {json.dumps(record.name)}, "profile": {json.dumps(record.profile)}'
    content = f'{{{head},\n"configs": {{\n{lines(record.configs)}\n}},\n"parts": {{\n{lines(parts)}\n}}}}\n'
    with replace_file(FOLDER / f"{record.name}.json") as file:
        file.write(content.encode())
