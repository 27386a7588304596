"""The shell game follows the ball, associative recall asks for what was shown, and both know what nothing is worth."""

import itertools
import math

import pytest
import torch

from unrolled.tasks import AssociativeRecall, ShellGame


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("cups", [2, 3, 5])
def test_the_ball_goes_where_the_cups_go(cups):
    task = ShellGame(length=30, cups=cups)
    inputs, targets = task.batch(20, generator())
    for symbols, places in zip(inputs.argmax(dim=-1).tolist(), targets.tolist(), strict=True):
        under = [cup == 0 for cup in range(cups)]
        for symbol, place in zip(symbols, places, strict=True):
            if task.moves[symbol]:
                left, right = task.moves[symbol]
                under[left], under[right] = under[right], under[left]
            assert under.index(True) == place


def test_two_cups_are_parity():
    inputs, targets = ShellGame(length=50).batch(100, generator())
    assert torch.equal(targets, inputs[..., 1].cumsum(dim=1).long() % 2)


def test_every_two_cups_change_places_equally_often():
    task = ShellGame(length=200, cups=5)
    inputs, targets = task.batch(500, generator())
    assert set(task.moves[1:]) == set(itertools.combinations(range(5), 2))
    assert torch.allclose(inputs.mean(dim=(0, 1)), torch.full((11,), 1 / 11), atol=3e-3)
    assert torch.allclose(targets[:, -1].bincount() / 500, torch.full((5,), 0.2), atol=0.08)


def test_every_key_is_asked_for_once_and_has_its_value():
    task = AssociativeRecall(pairs=6, keys=20, values=4)
    inputs, targets = task.batch(50, generator())
    assert (targets[:, :6] == -1).all() and (inputs[:, 6:, 20:] == 0).all()
    for row, wanted in zip(inputs, targets[:, 6:], strict=True):
        pairs = {step[:20].argmax().item(): step[20:].argmax().item() for step in row[:6]}
        asked = [step[:20].argmax().item() for step in row[6:]]
        assert len(pairs) == 6 and sorted(asked) == sorted(pairs)
        assert [pairs[key] for key in asked] == wanted.tolist()
    assert (row.sum(dim=-1) == torch.tensor([2.0] * 6 + [1.0] * 6)).all()


@pytest.mark.parametrize("task", [ShellGame(9, 5), AssociativeRecall(3, keys=8, values=7)])
def test_a_uniform_guess_costs_the_trivial_loss(task):
    inputs, targets = task.batch(30, generator())
    assert inputs.shape[-1] == task.input_size
    outputs = torch.zeros(*targets.shape, task.output_size)
    assert task.loss(outputs, targets).item() == pytest.approx(task.trivial) and task.goal < task.trivial
    sure = torch.nn.functional.one_hot(targets.clamp(min=0), task.output_size) * 100.0
    assert task.loss(sure, targets).item() == pytest.approx(0, abs=1e-6)


def test_what_a_state_must_hold_is_the_values_of_all_pairs():
    assert AssociativeRecall(pairs=8, values=16).bits == 32 and ShellGame(1, 3).trivial == math.log(3)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: ShellGame(0), "length is 0; a game has at least 1 step"),
        (lambda: ShellGame(5, cups=1), "cups is 1; a ball can hide under one of at least 2"),
        (lambda: AssociativeRecall(9, keys=8), "pairs is 9; with 8 keys, all different, it can be 1 to 8"),
        (lambda: AssociativeRecall(0), "pairs is 0"),
        (lambda: AssociativeRecall(2, values=1), "values is 1; there must be at least 2 to choose from"),
    ],
)
def test_impossible_tasks_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
