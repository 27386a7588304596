"""A machine's roofs are operations and bytes over the shortest time."""

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
    assert hardware.fastest(lambda: done.append(1), rounds=3) == 2.0
    assert len(done) == 4


def test_peak_and_bandwidth_are_amounts_over_seconds(clock):
    assert hardware.peak(8, rounds=3) == 2 * 8**3 / 2
    assert hardware.bandwidth(8192, rounds=3) == 8192 / 2


def test_a_large_product_is_no_slower_than_a_matrix_and_a_vector():
    assert hardware.peak(256, rounds=3) > 2 * hardware.bandwidth(2**22, rounds=3) / 4


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (lambda: hardware.fastest(lambda: None, 0), "rounds is 0"),
        (lambda: hardware.peak(0), "size is 0"),
        (lambda: hardware.bandwidth(4097), "size is 4097"),
        (lambda: hardware.bandwidth(0), "size is 0"),
    ],
)
def test_amounts_that_measure_nothing_are_named(measure, message):
    with pytest.raises(ValueError, match=message):
        measure()


def test_no_gradient_is_recorded(monkeypatch):
    seen = []
    monkeypatch.setattr(hardware, "fastest", lambda work, rounds: seen.append(torch.is_grad_enabled()) or 1.0)
    hardware.peak(4), hardware.bandwidth(4096)
    assert seen == [False, False]
