"""What was measured once, since it takes hours or a GPU.

A record is a file of JSON lines beside this module. The first line says what was measured, in which units and along
which axes; each further line is one run: a label, a seed, the configuration, the numbers, and where they came from.
The laboratory writes it (``python -m lab run NAME --record``) and nothing else does.
"""

import hashlib
import html
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Metric", "Provenance", "Record", "RecordError", "Result", "digest", "load", "names"]

FOLDER = Path(__file__).parent


class RecordError(RuntimeError):
    """A record is missing, damaged, incomplete or was changed by hand; the message says which, and what to do."""


class Metric(NamedTuple):
    """One thing that was measured: its unit, what it is, and the names of its axes after that of the seeds.

    Example:
        >>> Metric("nats per character", "what it cost at each score", ("score",)).axes
        ('score',)
    """

    unit: str
    about: str
    axes: tuple[str, ...] = ()


class Provenance(str):
    """Where a record came from, in one line: plain where it is printed, small and with a link where it is displayed.

    Example:
        >>> print(Provenance("coin", "3 seeds, 1 s"))
        Record: coin (3 seeds, 1 s)
    """

    name: str

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
class Result(Mapping[str, np.ndarray]):
    """What was measured under one label with every seed, by metric: ``record["gru"]["nats"]``, (seeds, …).

    Attributes:
        label: what the record calls it.
        runs: one for each seed, as its line in the file has it.
        trials: the runs by which its settings were chosen, each with its ``trial``; none where nothing was chosen.

    Example:
        >>> runs = [{"seed": 0, "metrics": {"curve": [1.5, 1.2]}}, {"seed": 1, "metrics": {"curve": [1.6, 1.1]}}]
        >>> Result("gru", runs)["curve"].shape  # (seeds, score); where lengths differ, lists: (seeds,)
        (2, 2)
    """

    label: str
    runs: list[dict[str, Any]] = field(default_factory=list)
    trials: list[dict[str, Any]] = field(default_factory=list)

    @property
    def config(self) -> dict[str, Any]:
        """What was run, as the author of the experiment wrote it."""
        return self.runs[0]["config"]

    @property
    def axes(self) -> dict[str, list]:
        """The coordinates along the metrics' axes, by name, as far as the configuration decides them."""
        return self.runs[0]["axes"]

    def __getitem__(self, metric: str) -> np.ndarray:
        if metric not in list(self):
            raise KeyError(f"{self.label} has no {metric!r}; it has {', '.join(self)}")
        values = [run["metrics"][metric] for run in self.runs]
        lengths = {np.shape(value)[:1] for value in values}
        return np.array(values, dtype=object if len(lengths) > 1 else None)  # seeds that stopped early differ in length

    def __iter__(self) -> Iterator[str]:
        return iter(self.runs[0]["metrics"])

    def __len__(self) -> int:
        return len(self.runs[0]["metrics"])


@dataclass(frozen=True)
class Record(Mapping[str, Result]):
    """What one experiment measured, by label.

    Attributes:
        name: the experiment's name.
        title: what it measures, in a line.
        seeds: how many runs each label has in a complete record.
        metrics: what was measured, by name; a label may lack some.
        results: what was measured under each label.

    Example:
        >>> fair = Result("fair", [{"seed": 0, "metrics": {"heads": 3}}, {"seed": 1, "metrics": {"heads": 5}}])
        >>> record = Record("coin", "Toss a coin", 2, {"heads": Metric("throws", "how often")}, {"fair": fair})
        >>> list(record), record["fair"]["heads"].tolist()
        (['fair'], [3, 5])
    """

    name: str
    title: str
    seeds: int
    metrics: dict[str, Metric]
    results: dict[str, Result]

    def __getitem__(self, label: str) -> Result:
        if label not in self.results:
            raise KeyError(f"{self.name} has no {label!r}; it has {', '.join(self.results)}")
        return self.results[label]

    def __iter__(self) -> Iterator[str]:
        return (label for label, of in self.results.items() if of.runs)  # of others there are only trials so far

    def __contains__(self, label: object) -> bool:
        return any(label == each for each in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def each(self, labels: Mapping[str, str], metric: str) -> dict[str, np.ndarray]:
        """Return a metric of several labels, (seeds, …) each, under the names that a figure gives them."""
        return {name: self[label][metric] for name, label in labels.items()}

    def axis(self, name: str) -> np.ndarray:
        """Return the coordinates along an axis, (points,), which must be the same for all labels that have it."""
        axes = {json.dumps(each.axes[name]): each.axes[name] for each in self.values() if name in each.axes}
        if len(axes) != 1:
            raise KeyError(f"{self.name} has {len(axes)} axes {name!r}; each label's are in record[label].axes")
        return np.array(*axes.values())

    def environment(self, what: str) -> str:
        """Return the ``"hardware"``, ``"versions"`` or ``"commit"`` of the runs; "this and that" where they differ."""
        runs = sorted((run for result in self.values() for run in result.runs), key=lambda run: run["seed"])
        return " and ".join(dict.fromkeys(run["environment"][what] for run in runs))

    def provenance(self) -> Provenance:
        """Return where the numbers came from, in one line to display below them."""
        runs = [run for result in self.values() for run in result.runs]
        seeds, seconds = len({run["seed"] for run in runs}), [run["seconds"] for run in runs]
        if None in seconds:  # a run was stopped and went on
            time = "several runs"
        else:
            time = f"{sum(seconds):.0f} s" if sum(seconds) < 100 else f"{sum(seconds) / 60:.0f} min"
        days = sorted(day for run in runs for day in run["environment"]["date"].split(" then "))
        days = " to ".join(dict.fromkeys((days[0], days[-1])))
        hardware = self.environment("hardware")
        return Provenance(self.name, f"{seeds} seed{'s' * (seeds > 1)}, {time} on {hardware}, {days}")


def digest(content: Any) -> str:
    """Return a short hash of anything that JSON can hold: the same content, the same hash."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def names() -> list[str]:
    """Return the names of all records that hold more than trials, in alphabetical order."""
    return sorted(path.stem for path in FOLDER.glob("*.jsonl") if load(path.stem))


def load(name: str, *, folder: Path | None = None) -> Record:
    """Return the record of an experiment; one that is damaged or was changed by hand is refused.

    Args:
        name: the experiment's name, such as ``"names"``.
        folder: where the record is; beside this module where None.
    """
    path = (folder or FOLDER) / f"{name}.jsonl"
    if not path.exists():
        raise RecordError(f"there is no record {path}; in a clone of the book, python -m lab run {name} measures it")
    results: dict[str, Result] = {}
    number = 1
    try:
        head, *lines = path.read_text(encoding="utf8").splitlines()
        head = json.loads(head)
        metrics = {metric: Metric(unit, about, tuple(axes)) for metric, (unit, about, axes) in head["metrics"].items()}
        record = Record(head["name"], head["title"], head["seeds"], metrics, results)
        for line in lines:
            number += 1
            run = json.loads(line)
            if run.pop("digest") != digest(run):
                raise ValueError("it is not as it was measured")
            result = results.setdefault(run["label"], Result(run["label"]))
            (result.trials if "trial" in run else result.runs).append(run)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise RecordError(
            f"line {number} of the record {path} is damaged or was changed by hand ({error}); restore the file, "
            f"or delete the line and measure it again: python -m lab run {name} --record"
        ) from error
    return record
