"""A machine's roofs are operations and bytes over the shortest time, and everything is timed in turn."""

import itertools

import pytest
import torch

from unrolled.measure import hardware


@pytest.fixture
def clock(monkeypatch):
    """A clock by which works take 4, 2, 3, 4, 2, 3, … seconds."""
    ticks = itertools.accumulate(itertools.chain([0], itertools.cycle([4, 0, 2, 0, 3, 0])))
    monkeypatch.setattr(hardware.time, "perf_counter", lambda: float(next(ticks)))


def test_the_shortest_of_the_rounds_counts_and_the_first_is_not_timed(clock):
    done = []
    works = {name: lambda name=name: done.append(name) for name in "ab"}
    assert hardware.fastest(works, rounds=2) == {"a": 3, "b": 2}  # 4 and 3 seconds; 2 and 4
    assert "".join(done) == "ab" * 3


def test_the_roofs_are_amounts_over_seconds(clock):
    gradients, sizes = [], {"side": 8, "large": 4096, "small": 1024}
    works = {"a": lambda: gradients.append(torch.is_grad_enabled())}
    roofs, taken = hardware.measure(works, rounds=1, **sizes)
    assert roofs == (2 * 8**3 / 4, 4096 / 2, 1024 / 3)
    assert taken == {"a": 4} and not any(gradients)


def test_a_large_product_does_more_with_each_number_than_reading_does():
    roofs, _ = hardware.measure({}, rounds=3)
    assert roofs.peak > 2 * roofs.memory / 4


def test_a_short_work_is_repeated_in_its_turn(monkeypatch):
    ticks = itertools.accumulate(itertools.chain([0], itertools.cycle([0.02, 0, 0.05, 0])))
    monkeypatch.setattr(hardware.time, "perf_counter", lambda: next(ticks))
    done = []
    assert hardware.fastest({"a": lambda: done.append("a")}, rounds=2)["a"] == pytest.approx(0.02)
    assert len(done) == 1 + 2 * 2
