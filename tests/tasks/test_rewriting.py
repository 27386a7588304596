"""Reversal and dates: every target is the right one, and every batch a new one."""

import datetime
from types import SimpleNamespace

import pytest
import torch

from unrolled.tasks import rewriting
from unrolled.tasks.rewriting import START, STOP, Dates, Fresh, Reversal, right


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_a_reversal_is_the_source_from_its_end():
    task = Reversal(longest=9, letters=5)
    lengths = set()
    for source, target in task.pairs(400, generator()):
        assert task.written(target) == task.read(source)[::-1] and int(target[-1]) == STOP and len(target) <= task.most
        assert STOP not in target[:-1] and START not in target
        lengths.add(len(source))
    assert lengths == set(range(1, 10))
    assert {len(source) for source, _ in task.pairs(20, generator(), length=30)} == {30}  # longer than in training


def test_a_date_is_the_day_that_its_source_names():
    task, seen = Dates(), set()
    for source, target in task.pairs(3000, generator()):
        text, iso = task.read(source), task.written(target)
        day = datetime.date.fromisoformat(iso)
        way = [text == task.write(day, way) for way in range(len(task.ways))].index(True)
        seen.add(way)
        assert len(target) == task.most and str(day.year) in text and str(day.day) in text
        if task.weekdays[day.weekday()] in text:
            assert f"{day:%A}" in text
        assert 1900 <= day.year <= 2099
    assert seen == set(range(len(task.ways)))


def test_no_two_days_are_written_alike_and_days_have_their_endings():
    task, first = Dates(), datetime.date(2000, 1, 1)
    days = [first + datetime.timedelta(n) for n in range(1500)]
    for way in range(len(task.ways)):
        assert len({task.write(day, way) for day in days}) == len(days)
    for day, th in {1: "st", 2: "nd", 3: "rd", 4: "th", 11: "th", 12: "th", 13: "th", 21: "st"}.items():
        assert f" {day}{th} of " in task.write(datetime.date(1999, 5, day), 3)


@pytest.mark.parametrize("task", [Reversal(6), Dates()])
def test_every_batch_is_new_and_comes_again_with_its_number(task):
    fresh = Fresh(task, batch=5)
    first, second = fresh.batch_of(0), fresh.batch_of(1)
    assert first.sources.shape != second.sources.shape or not torch.equal(first.sources, second.sources)
    assert all(torch.equal(a, b) for a, b in zip(first, Fresh(task, batch=5).batch_of(0), strict=True))
    assert (first.inputs[:, 0] == START).all() and first.sources.max() < len(task.sources)
    assert first.targets.max() < 2 + len(task.targets)
    assert fresh.digest == Fresh(task, batch=5).digest != Fresh(task, batch=5, seed=1).digest


def test_a_target_is_right_when_it_is_written_to_its_end(monkeypatch):
    pairs = Reversal(5).pairs(4, generator())
    written = [target for _, target in pairs]

    def share(answers: list) -> float:
        hypotheses = [SimpleNamespace(tokens=answer) for answer in answers]
        monkeypatch.setattr(rewriting, "translate", lambda *_, **__: hypotheses)
        return right(None, pairs, 6)

    assert share(written) == 1 and share([written[0][:-1], *written[1:]]) == 0.75
    with pytest.raises(ValueError, match="there are no pairs"):
        right(None, [], 6)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Reversal(0), "longest is 0"),
        (lambda: Reversal(5, letters=27), "letters 27"),
        (lambda: Reversal(5).pairs(1, generator(), length=0), "length is 0"),
        (lambda: Dates(1999, 1998), "first is 1999 and last 1998"),
        (lambda: Fresh(Dates(), 0), "batch is 0"),
        (lambda: Fresh(Dates(), 1, seed=-1), "seed is -1"),
    ],
)
def test_what_is_no_task_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
