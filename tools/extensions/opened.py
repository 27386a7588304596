"""Open the book's records: the one place from which the pages get them."""

from unrolled import experiments
from unrolled.experiments import Experiment, Record, records


class Opened:
    """A record with what its experiment says of it.

    Attributes:
        title: what was measured, in a line.
        metrics: each with unit, description and axes, by name.
        contenders: all that there are, measured or not, by label.
        missing: the parts that a complete record would have, too.
        provenance: returns where the numbers came from, in one line.
        circumstances: returns one of them, as ``"versions"`` or ``"commit"``.
        command: measures what is missing.
    """

    def __init__(self, experiment: Experiment, record: Record):
        self.title, self.metrics = experiment.title, experiment.metrics
        self.contenders = experiment.contenders[record.profile]
        parts = [(label, seed) for label in self.contenders for seed in range(experiment.seeds)]
        self.missing = [f"{label} (seed {seed})" for label, seed in parts if (label, seed) not in record.parts]
        self.provenance, self.circumstances = record.provenance, record._all
        self.command = records.command(experiment.name, record.profile)
        self.record = record

    def __getitem__(self, label: str) -> experiments.Contender:
        return self.record[label]

    def __len__(self) -> int:
        return len(self.record)


def names() -> list[str]:
    """Return the names of all records."""
    return list(experiments.EXPERIMENTS)


def load(name: str, *, complete: bool = True) -> Opened:
    """Return a record.

    Raises:
        RecordError: it is damaged or, where it is to be complete, is missing or lacks parts.
    """
    there = complete or (records.FOLDER / f"{name}.json").exists()
    record = records.load_record(name) if there else Record(name, "quick", {}, {})
    opened = Opened(experiments.find(name), record)
    if complete and opened.missing:
        raise experiments.RecordError(f"the record of {name!r} lacks {', '.join(opened.missing)}: {opened.command}")
    return opened
