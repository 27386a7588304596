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
        seen.add([text == task.write(day, way) for way in range(len(task.ways))].index(True))
        assert len(target) == task.most and str(day.year) in text and str(day.day) in text
        assert f"{day:%A}" in text or not any(name in text for name in task.weekdays)
        assert f"{day:%b}" in text or f".{day.month}." in text
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
    batches = [fresh.batch_of(update) for update in range(20)] + [Fresh(task, batch=5, seed=1).batch_of(0)]
    assert len({str(batch.targets.tolist()) for batch in batches}) == 21
    assert all(torch.equal(a, b) for a, b in zip(batches[3], Fresh(task, batch=5).batch_of(3), strict=True))
    assert (batches[0].inputs[:, 0] == START).all() and batches[0].sources.max() < len(task.sources)
    assert batches[0].targets.max() < 2 + len(task.targets)
    assert fresh.digest == Fresh(task, batch=5).digest != Fresh(task, batch=5, seed=1).digest


def test_a_target_is_right_when_it_is_written_to_its_end(monkeypatch):
    pairs = Reversal(5).pairs(4, generator())
    written = [target for _, target in pairs]

    def share(answers):
        monkeypatch.setattr(rewriting, "translate", lambda *_, **__: [SimpleNamespace(tokens=each) for each in answers])
        return right(None, pairs, 6)

    assert share(written) == 1 and share([written[0][:-1], *written[1:]]) == 0.75
