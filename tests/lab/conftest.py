"""Experiments that take no time, with records and choices of their own, for the tests of the laboratory's engine."""

import pytest

import lab
from lab.engine import search, texts
from lab.engine.experiment import Experiment
from unrolled import records
from unrolled.records import Metric

METRICS = {
    "heads": Metric("throws", "how often it fell, and a half"),
    "curve": Metric("", "two numbers", ("place",)),
    "text": Metric("", "a word"),
}


@pytest.fixture
def hold_out(monkeypatch):
    """Return a function that sets how many characters of stories the validation and the test have, for one test."""

    def set_characters(characters: int) -> None:
        monkeypatch.setattr(texts, "HELD_OUT", characters)
        texts._texts.cache_clear()

    yield set_characters
    texts._texts.cache_clear()


@pytest.fixture
def add(monkeypatch, tmp_path):
    """Return a function that adds an experiment to the laboratory; records and choices have a place of their own."""
    (tmp_path / "records").mkdir()
    (tmp_path / "chosen.toml").touch()
    monkeypatch.setattr(records, "FOLDER", tmp_path / "records")
    monkeypatch.setattr(search, "CHOSEN", tmp_path / "chosen.toml")
    there = {}
    monkeypatch.setattr(lab, "experiments", lambda: there)

    def put(experiment: Experiment) -> Experiment:
        there[experiment.name] = experiment
        return experiment

    return put


@pytest.fixture
def coin(add):
    """Return the experiment ``coin``; its ``calls`` are what was measured, in order."""
    calls = []

    def measure(config, seed, folder):
        calls.append(({2: "fair", 6: "loaded"}.get(config["sides"], "loaded"), seed))
        return {"heads": config["sides"] * seed + 0.5, "curve": [seed, seed + 1.0], "text": "coin"}

    def axes(config):
        return {"place": [10, 20], "sides": range(config["sides"])}

    contenders = {"fair": {"sides": 2}, "loaded": {"sides": 6}}
    experiment = add(Experiment("coin", "Toss a coin", METRICS, contenders, measure, axes))
    measure.calls = calls
    return experiment
