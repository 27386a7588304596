"""Time two ways to do the same work in alternation, and check that they do the same."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

WIDTH = 46  # of a row's name
FEWEST = 3  # pairs are timed, however long they take


@dataclass(frozen=True)
class Pair:
    """A row of a table: the book's way and a peer's way to the same result.

    Attributes:
        name: what they do.
        ours: the book's way. It returns its answer, or None where a test elsewhere compares them.
        peer: the other way.
        within: how far apart the answers may be.
    """

    name: str
    ours: Callable[[], float | None]
    peer: Callable[[], float | None]
    within: float = 0.0


@dataclass(frozen=True)
class Measured:
    """What a pair took.

    Attributes:
        ratios: ours ÷ peer for each time that both ran.
        ours: how many seconds ours took each time.
    """

    ratios: list[float]
    ours: list[float]

    @property
    def quartiles(self) -> list[float]:
        """The lower quartile of the ratios, their median, and the upper quartile."""
        return statistics.quantiles(self.ratios, n=4, method="inclusive")

    def __str__(self) -> str:
        low, middle, high = map(figure, self.quartiles)
        took = figure(statistics.median(self.ours) * 1000)
        return f"{middle:>7}   {f'{low} – {high}':18} {len(self.ratios):5}  {took:>8}"


def measure(pair: Pair, pairs: int, seconds: float) -> Measured:
    """Run ours and the peer in turn, so many times or, from `FEWEST` times on, until so many seconds have passed.

    The first time warms both up, and counts only where there would be too few without it.

    Raises:
        ValueError: their answers differ, so that they did not do the same work.
    """
    measured, started = Measured([], []), time.perf_counter()
    while len(measured.ratios) <= pairs:
        ours, took = timed(pair.ours)
        peer, others = timed(pair.peer)
        agree(pair, ours, peer)
        measured.ours.append(took)
        measured.ratios.append(took / others)
        if len(measured.ratios) >= FEWEST and time.perf_counter() - started > seconds:
            break
    if len(measured.ratios) > FEWEST:
        del measured.ours[0], measured.ratios[0]
    return measured


def agree(pair: Pair, ours: float | None, peer: float | None) -> None:
    """Raise ValueError where the two answers are further apart than they may be."""
    if ours is not None and not abs(ours - peer) <= pair.within:
        raise ValueError(f"{pair.name}: ours says {ours}, the peer {peer}; they must agree within {pair.within}")


def timed(run: Callable[[], float | None]) -> tuple[float | None, float]:
    """Return the answer of one call, and how many seconds it took."""
    started = time.perf_counter()
    answer = run()
    return answer, time.perf_counter() - started


def heading(title: str) -> str:
    """Return the line above the rows of `Measured`."""
    return f"{title:{WIDTH}}   median   {'quartiles':18} pairs  ours, ms"


def figure(number: float) -> str:
    """Return a number with two decimals, or where it is small with two digits that count."""
    return f"{number:.2f}" if number >= 0.1 else f"{number:#.2g}"
