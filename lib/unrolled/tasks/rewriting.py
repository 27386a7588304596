"""Tasks from one sequence to another, generated and exact: reversing letters and rewriting dates (chapter 11).

A task draws pairs of a source and a target, as many as are wanted, and knows the symbols of both sides. `Fresh` makes
an endless supply of batches of them, to train on.
"""

import datetime
import hashlib
import itertools
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from unrolled.decoding import translate
from unrolled.models import EncoderDecoder
from unrolled.text import PairBatch, pad_pairs
from unrolled.text.pairs import Pair

START, STOP = 0, 1  # the first symbols of every target vocabulary


class _Spelt:
    """A task whose symbols are letters.

    Attributes:
        sources: the symbols of the sources, in the order of their numbers.
        targets: those of the targets; the first one has the number 2, after `START` and `STOP`.
        most: the largest number of symbols of a target, its end symbol included.
    """

    sources: str
    targets: str
    most: int

    def read(self, source: torch.Tensor) -> str:
        """Return a source as text."""
        return "".join(self.sources[token] for token in source.tolist())

    def written(self, target: torch.Tensor) -> str:
        """Return a target as text, up to its end symbol."""
        tokens = itertools.takewhile(lambda token: token != STOP, target.tolist())
        return "".join(self.targets[token - 2] for token in tokens)


@dataclass(frozen=True)
class Reversal(_Spelt):
    """Write letters in reverse order.

    The letters are independent and uniform, so a model that has forgotten one can do no better than guess it.

    >>> task = Reversal(longest=4)
    >>> [(source, target)] = task.pairs(1, torch.Generator().manual_seed(0), length=4)
    >>> task.read(source), task.written(target)
    ('pbqz', 'zqbp')
    """

    longest: int  # the number of letters of a source is uniform between 1 and this one
    letters: int = 26  # how many different ones there are, at most 26

    @property
    def sources(self) -> str:
        return string.ascii_lowercase[: self.letters]

    targets = sources

    @property
    def most(self) -> int:
        return self.longest + 1

    def pairs(self, count: int, generator: torch.Generator, length: int | None = None) -> list[Pair]:
        """Return sources and targets with their end symbol, drawn on the CPU; None draws the length of each, too."""
        lengths = torch.randint(1, self.longest + 1, (count,), generator=generator)
        if length is not None:
            lengths = lengths.fill_(length)
        rows = [torch.randint(self.letters, (n,), generator=generator) for n in lengths.tolist()]
        return [(row, torch.cat([row.flip(0) + 2, torch.tensor([STOP])])) for row in rows]


@dataclass(frozen=True)
class Dates(_Spelt):
    """Rewrite a date as ISO 8601 has it: "Monday, 3 March 1997" becomes "1997-03-03".

    The days are uniform over the years; the ways to write one are equally likely. Each way names the day, so the target
    is certain.

    >>> task = Dates()
    >>> [(source, target)] = task.pairs(1, torch.Generator().manual_seed(0))
    >>> task.read(source), task.written(target)
    ('Wednesday the 13th of February, 2075', '2075-02-13')
    """

    first: int = 1900  # the years, of four digits
    last: int = 2099
    ways: ClassVar[tuple[str, ...]] = (
        "{day} {month} {year}",
        "{month} {day}, {year}",
        "{weekday}, {day} {month} {year}",
        "{weekday} the {day}{th} of {month}, {year}",
        "{short} {day} {year}",
        "{day}.{number}.{year}",
        "{year}, {month} {day}",
    )
    months: ClassVar[list[str]] = ["January", "February", "March", "April", "May", "June", "July"]
    months += ["August", "September", "October", "November", "December"]
    weekdays: ClassVar[list[str]] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    targets: ClassVar[str] = "-" + string.digits
    most: ClassVar[int] = 11

    @property
    def sources(self) -> str:
        text = "".join((*self.ways, *self.months, *self.weekdays, string.digits, "stndrdth"))
        return "".join(sorted(set(text) - set("{}")))

    def pairs(self, count: int, generator: torch.Generator) -> list[Pair]:
        """Return sources and targets with their end symbol, drawn on the CPU."""
        first, last = (datetime.date(*day).toordinal() for day in ((self.first, 1, 1), (self.last, 12, 31)))
        days = torch.randint(first, last + 1, (count,), generator=generator).tolist()
        ways = torch.randint(len(self.ways), (count,), generator=generator).tolist()
        sources, pairs = self.sources, []
        for date, way in zip(map(datetime.date.fromordinal, days), ways, strict=True):
            source = [sources.index(letter) for letter in self.write(date, way)]
            target = [2 + self.targets.index(letter) for letter in date.isoformat()]
            pairs.append((torch.tensor(source), torch.tensor([*target, STOP])))
        return pairs

    def write(self, date: datetime.date, way: int) -> str:
        """Return a date as one of the ways, counted from 0, writes it."""
        month = self.months[date.month - 1]
        th = "th" if 11 <= date.day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(date.day % 10, "th")
        weekday = self.weekdays[date.weekday()]
        names = {"day": date.day, "month": month, "short": month[:3], "number": date.month, "th": th}
        return self.ways[way].format(**names, year=date.year, weekday=weekday)


TASKS = {"reversal": Reversal, "dates": Dates}
Task = Reversal | Dates


class Fresh:
    """An endless supply of batches of so many pairs, of which none comes twice, for `training.train_examples`.

    >>> Fresh(Reversal(5), batch=3).batch_of(7).sources.shape[0]
    3
    """

    def __init__(self, task: Task, batch: int, seed: int = 0):
        self.task, self.batch, self.seed = task, batch, seed

    def batch_of(self, update: int) -> PairBatch:
        """Return the batch for an update, counted from 0: for fewer than a million updates all are different."""
        generator = torch.Generator().manual_seed(1_000_000 * self.seed + update)
        return pad_pairs(self.task.pairs(self.batch, generator), start=START)

    @property
    def digest(self) -> str:
        """A short hash of what there is to learn."""
        return hashlib.sha256(f"{self.task} {self.batch} {self.seed}".encode()).hexdigest()[:16]


def right(network: EncoderDecoder, pairs: Sequence[Pair], most: int) -> float:
    """Return the share of pairs whose target a network writes without a mistake, end symbol included, greedily.

    A target has at most so many symbols; what goes on longer is wrong in any case.
    """
    batch = pad_pairs(pairs, start=START)
    written = translate(network, batch.sources, batch.lengths, start=START, stop=STOP, length=most)
    matches = (torch.equal(best.tokens, target) for best, (_, target) in zip(written, pairs, strict=True))
    return sum(matches) / len(pairs)
