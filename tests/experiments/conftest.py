"""An experiment that takes no time, for the tests of records and of running."""

import pytest

from unrolled import experiments
from unrolled.experiments import Experiment, Metric, reading, records

METRICS = {
    "heads": Metric("throws", "how often it fell, and a half"),
    "curve": Metric("", "two numbers", ("place",)),
    "text": Metric("", "a word"),
}


@pytest.fixture
def hold_out(monkeypatch):
    """Return a function that sets how many characters of stories the validation and the test have, for one test."""

    def set_characters(characters: int) -> None:
        monkeypatch.setattr(reading, "HELD_OUT", characters)
        reading._texts.cache_clear()

    yield set_characters
    reading._texts.cache_clear()


@pytest.fixture
def coin(monkeypatch, tmp_path):
    """Add the experiment ``coin``, with a folder of records of its own; return what was measured, in order."""
    measured = []

    def measure(config, seed, folder):
        measured.append(({2: "fair", 6: "loaded"}.get(config["sides"], "loaded"), seed))
        return {"heads": config["sides"] * seed + 0.5, "curve": [seed, seed + 1.0], "text": "coin"}

    def axes(config):
        return {"place": [10, 20], "sides": list(range(config["sides"]))}

    contenders = {profile: {"fair": {"sides": 2}, "loaded": {"sides": 6}} for profile in ("quick", "full")}
    experiment = Experiment("coin", "Toss a coin", METRICS, contenders, measure, axes)
    monkeypatch.setitem(experiments.EXPERIMENTS, "coin", experiment)
    monkeypatch.setattr(records, "FOLDER", tmp_path / "measured")
    monkeypatch.setenv("UNROLLED_PROFILE", "quick")
    return measured
