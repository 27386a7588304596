"""The named experiments: what only hours or a GPU can measure, so that a page can show it from a record.

Each module is named by its question and holds the experiments that answer it; `base` is what they share, and `records`
keeps what they measured, part by part. ``python -m unrolled run NAME --record`` measures one, `recorded` is how a
chapter asks for its record.
"""

from unrolled.experiments.base import Experiment, Metric
from unrolled.experiments.catalogue import EXPERIMENTS, find
from unrolled.experiments.completing import complete, measured, pieces, recorded, wanting
from unrolled.experiments.records import Contender, Record, RecordError
from unrolled.experiments.running import models, run

__all__ = [
    "EXPERIMENTS",
    "Contender",
    "Experiment",
    "Metric",
    "Record",
    "RecordError",
    "complete",
    "find",
    "measured",
    "models",
    "pieces",
    "recorded",
    "run",
    "wanting",
]
