"""What was measured once, since it takes hours or a GPU: records, and where their numbers came from.

A record is a JSON file beside this module that describes itself: what was measured, in which units and along which
axes, of which contenders, with which configurations, on which machine and when. The laboratory writes it (``python -m
lab run NAME --record``) and nothing else does: one digest over all of it shows a number that was changed by hand.
"""

import hashlib
import html
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Contender", "Metric", "Provenance", "Record", "RecordError", "digest", "load", "names"]

FOLDER = Path(__file__).parent


class RecordError(RuntimeError):
    """A record is missing, damaged, incomplete or was changed by hand; the message says how to measure it."""


class Metric(NamedTuple):
    """One thing that was measured.

    Attributes:
        unit: "nats per character", for example; empty where it is a text, a share or a yes or no.
        about: what it is, in a line.
        axes: the names of its axes, after that of the seeds; none for a single value.

    Example:
        >>> Metric("nats per character", "what it cost at each score", ("score",)).axes
        ('score',)
    """

    unit: str
    about: str
    axes: tuple[str, ...] = ()


class Provenance(str):
    """Where a record came from, in one line: plain where it is printed, small and with a link where it is displayed.

    The link leads from a chapter to the record's place on the book's page of all records.

    Args:
        name: the record's name.
        text: seeds, time, hardware and days.

    Example:
        >>> print(Provenance("coin", "3 seeds, 1 s"))
        Record: coin (3 seeds, 1 s)
    """

    name: str
    text: str

    def __new__(cls, name: str, text: str):
        line = super().__new__(cls, f"Record: {name} ({text})")
        line.name, line.text = name, text
        return line

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        link = f'<a href="../pages/records.html#record-{self.name}">{self.name}</a>'
        return f'<p class="provenance">Record: {link} ({html.escape(self.text)})</p>'


@dataclass(frozen=True)
class Contender(Mapping[str, np.ndarray]):
    """What was measured of one contender with every seed, by metric: ``record["gru"]["nats"]``, (seeds, …).

    Attributes:
        label: what the record calls it.
        config: what it is, as the author of the experiment wrote it.
        axes: the coordinates along the metrics' axes, by name, as far as the configuration decides them.
        parts: for each seed its ``metrics``, the ``seconds`` that they took (None where a run was stopped and went on,
            since nobody timed its beginning), and its ``circumstances``: hardware, versions, commit and date.

    Example:
        >>> parts = {0: {"metrics": {"curve": [1.5, 1.2]}}, 1: {"metrics": {"curve": [1.6, 1.1]}}}
        >>> Contender("gru", {"hidden_size": 8}, {"score": [100, 200]}, parts)["curve"].shape  # (seeds, score)
        (2, 2)

        Where the seeds differ in length, as trainings that were stopped do, it is an array of their lists, (seeds,):

        >>> Contender("gru", {}, {}, parts | {2: {"metrics": {"curve": [1.4]}}})["curve"].shape
        (3,)
    """

    label: str
    config: dict[str, Any]
    axes: dict[str, list]
    parts: dict[int, dict[str, Any]]

    def __getitem__(self, metric: str) -> np.ndarray:
        if metric not in list(self):
            raise KeyError(f"{self.label} has no {metric!r}; it has {', '.join(self)}")
        values = [part["metrics"][metric] for part in self.parts.values()]
        lengths = {np.shape(value)[:1] for value in values}
        return np.array(values, dtype=object if len(lengths) > 1 else None)  # seeds that stopped early differ in length

    def __iter__(self) -> Iterator[str]:
        return iter(next(iter(self.parts.values()))["metrics"])

    def __len__(self) -> int:
        return len(list(iter(self)))


@dataclass(frozen=True)
class Record(Mapping[str, Contender]):
    """What one experiment measured: its contenders by label.

    Attributes:
        name: the experiment's name.
        title: what it measures, in a line.
        metrics: what was measured of each contender, by name; a contender may lack some.
        seeds: how many seeds each contender has in a complete record.
        contenders: all that there are, measured or not; as a mapping the record holds those that were measured.

    Example:
        >>> part = {"metrics": {"nats": 0.5}}
        >>> contenders = {"fair": Contender("fair", {}, {}, {0: part, 1: part}), "bent": Contender("bent", {}, {}, {})}
        >>> record = Record("coin", "Toss a coin", {"nats": Metric("nats", "what a throw costs")}, 2, contenders)
        >>> list(record), record["fair"]["nats"].tolist(), record.missing
        (['fair'], [0.5, 0.5], ['bent (seed 0)', 'bent (seed 1)'])
    """

    name: str
    title: str
    metrics: dict[str, Metric]
    seeds: int
    contenders: dict[str, Contender]

    def __getitem__(self, label: str) -> Contender:
        if label not in list(self):
            raise KeyError(f"{self.name} has no contender {label!r}; it has {', '.join(self)}")
        return self.contenders[label]

    def __iter__(self) -> Iterator[str]:
        return (label for label, contender in self.contenders.items() if contender.parts)

    def __len__(self) -> int:
        return len(list(iter(self)))

    @property
    def missing(self) -> list[str]:
        """The parts that a complete record would have, too, named by contender and seed."""
        seeds = range(self.seeds)
        return [f"{x.label} (seed {seed})" for x in self.contenders.values() for seed in seeds if seed not in x.parts]

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
        axes = {json.dumps(each.axes[name]): each.axes[name] for each in self.values() if name in each.axes}
        if len(axes) != 1:
            raise KeyError(f"{self.name} has {len(axes)} axes {name!r}; each contender's are in record[label].axes")
        return np.array(*axes.values())

    def provenance(self) -> Provenance:
        """Return where the numbers came from, in one line to display below them."""
        parts = [part for contender in self.values() for part in contender.parts.values()]
        seeds = len({seed for contender in self.values() for seed in contender.parts})
        seconds = [part["seconds"] for part in parts]
        if None in seconds:
            time = "several runs"
        elif sum(seconds) < 100:
            time = f"{sum(seconds):.0f} s"
        else:
            time = f"{sum(seconds) / 60:.0f} min"
        days = sorted(day for part in parts for day in part["circumstances"]["date"].split(" then "))
        days = " to ".join(dict.fromkeys((days[0], days[-1])))
        hardware = self.circumstances("hardware")
        return Provenance(self.name, f"{seeds} seed{'s' * (seeds > 1)}, {time} on {hardware}, {days}")

    def circumstances(self, what: str) -> str:
        """Return one of the circumstances, ``"hardware"`` for example; "this and that" where parts differ in it."""
        parts = ((seed, part) for contender in self.values() for seed, part in contender.parts.items())
        in_order = sorted(parts, key=lambda item: item[0])
        return " and ".join(dict.fromkeys(part["circumstances"][what] for _, part in in_order))


def digest(content: Any) -> str:
    """Return a short hash of anything that JSON can hold, or of a text: the same content, the same hash."""
    text = content if isinstance(content, str) else json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def names() -> list[str]:
    """Return the names of all records, in alphabetical order."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def load(name: str, *, complete: bool = True) -> Record:
    """Return the record of an experiment.

    Args:
        name: the experiment's name, such as ``"cells-over-budget"``.
        complete: whether to refuse a record that lacks parts.

    Raises:
        RecordError: there is none, it cannot be read, something in it was changed by hand, or parts are missing; the
            message says which, and how to measure them.
    """
    path = FOLDER / f"{name}.json"
    remedy = f"measure it, in a clone of the book, with: python -m lab run {name} --record"
    try:
        content = json.loads(path.read_text(encoding="utf8"))
        changed = content.pop("digest") != digest(content)
        contenders = {}
        for label, each in content["contenders"].items():
            parts = {int(seed): part for seed, part in each["parts"].items()}
            contenders[label] = Contender(label, each["config"], each["axes"], parts)
        metrics = {metric: Metric(*facts, tuple(axes)) for metric, (*facts, axes) in content["metrics"].items()}
        record = Record(content["name"], content["title"], metrics, content["seeds"], contenders)
    except FileNotFoundError as error:
        raise RecordError(f"there is no record of {name!r}; {remedy}") from error
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise RecordError(f"the record {path} is damaged ({error!r}); restore it, or delete it and {remedy}") from error
    if changed or record.name != name:
        raise RecordError(
            f"the record {path} is not as it was measured: something in it was changed by hand; take the change back, "
            f"or delete it and {remedy}"
        )
    if complete and record.missing:
        raise RecordError(f"the record of {name!r} lacks {', '.join(record.missing)}; {remedy}")
    return record
