"""The shell game follows the ball, and knows what it costs to have lost it."""

import itertools
import math

import pytest
import torch

from unrolled.tasks import ShellGame


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


def test_a_uniform_guess_costs_the_trivial_loss():
    task = ShellGame(9, 5)
    inputs, targets = task.batch(30, generator())
    assert inputs.shape[-1] == task.input_size and task.trivial == math.log(5)
    outputs = torch.zeros(*targets.shape, task.output_size)
    assert task.loss(outputs, targets).item() == pytest.approx(task.trivial) and task.goal < task.trivial
    sure = torch.nn.functional.one_hot(targets, task.output_size) * 100.0
    assert task.loss(sure, targets).item() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: ShellGame(0), "length is 0; a game has at least 1 step"),
        (lambda: ShellGame(5, cups=1), "cups is 1; a ball can hide under one of at least 2"),
    ],
)
def test_impossible_tasks_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
