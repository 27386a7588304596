"""What the tasks ask, and what it costs not to remember: each trivial error against another way to it."""

import itertools
import math

import pytest
import sympy
import torch
from torch.nn.functional import one_hot

from unrolled.tasks import TASKS, Adding, Copy, Counting, FlipFlop, ShellGame


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("make", [*TASKS.values(), ShellGame])
def test_the_same_seed_gives_the_same_sequences(make):
    task = make(6)
    inputs, targets = task.batch(5, seeded(3))
    assert inputs.shape[-1] == task.input_size and 0 < task.goal < task.trivial
    assert all(torch.equal(a, b) for a, b in zip((inputs, targets), task.batch(5, seeded(3)), strict=True))
    assert not torch.equal(inputs, task.batch(5, seeded(4))[0])


@pytest.mark.parametrize("length", [2, 7, 10])
def test_adding_has_a_marker_in_each_half_and_wants_the_sum(length):
    inputs, targets = Adding(length).batch(2000, seeded())
    assert inputs.shape == (2000, length, 2) and targets.shape == (2000,)
    numbers, markers = inputs.unbind(2)
    assert numbers.min() >= 0 and numbers.max() <= 1
    half = length // 2
    assert (markers[:, :half].sum(1) == 1).all() and (markers[:, half:].sum(1) == 1).all()
    assert (markers.sum(0) > 0).all()  # every place is marked in some sequence
    assert torch.allclose((numbers * markers).sum(1), targets)


def test_the_trivial_error_of_adding_is_a_sixth():
    """Derived by SymPy: the best constant and its error; and simulated, with 0.1767 far outside."""
    first, second, guess = sympy.symbols("first second guess")
    error = sympy.integrate((first + second - guess) ** 2, (first, 0, 1), (second, 0, 1))
    (best,) = sympy.solve(sympy.diff(error, guess), guess)
    assert best == 1 and Adding.trivial == float(error.subs(guess, best)) == 1 / 6
    task = Adding(10)
    _, targets = task.batch(200_000, seeded())
    assert abs(task.error(torch.ones(200_000, 10, 1), targets).item() - task.trivial) < 0.002


@pytest.mark.parametrize("length", [1, 2, 15])
def test_copy_shows_pauses_and_wants_again(length):
    inputs, targets = Copy(length).batch(500, seeded())
    assert inputs.shape == (500, length + 20, 10) and (inputs.sum(2) == 1).all()
    symbols = inputs.argmax(2)
    assert (symbols[:, :10] < 8).all() and set(symbols[:, :10].unique().tolist()) == set(range(8))
    assert (symbols[:, 10 : length + 9] == 8).all() and (symbols[:, length + 9] == 9).all()
    assert (symbols[:, length + 10 :] == 8).all()
    assert (targets[:, : length + 10] == 8).all() and torch.equal(targets[:, length + 10 :], symbols[:, :10])


@pytest.mark.parametrize("length", [1, 50])
def test_the_trivial_loss_of_copy_is_that_of_the_best_answer_that_knows_only_the_step(length):
    task = Copy(length)
    _, targets = task.batch(20_000, seeded())
    logits = torch.full((length + 20, 9), -60.0)
    logits[: length + 10, 8] = 60.0  # certainly a blank
    logits[length + 10 :, :8] = 0.0  # any symbol
    assert task.error(logits.expand(20_000, -1, -1), targets).item() == pytest.approx(task.trivial, rel=1e-5)
    # No other distribution over time does better: the entropy of what was seen at each step is the least.
    shares = torch.stack([(targets == symbol).double().mean(0) for symbol in range(9)])
    assert torch.special.entr(shares).sum(0).mean().item() == pytest.approx(task.trivial, rel=1e-3)


@pytest.mark.parametrize("length", [2, 7])
def test_counting_shows_as_many_b_as_a_and_wants_the_last(length):
    inputs, targets = Counting(length).batch(3000, seeded())
    assert inputs.shape == (3000, 2 * length, 2) and targets.shape == (3000, 2 * length)
    for row, wanted in zip(inputs[:50], targets[:50], strict=True):
        letters = "".join("ab."[{(1, 0): 0, (0, 1): 1}.get(tuple(step), 2)] for step in row.int().tolist())
        n = letters.count("a")
        assert letters == ("a" * n + "b" * n).ljust(2 * length, ".")
        assert wanted.tolist() == [-1] * n + [0] * (n - 1) + [1] + [-1] * (2 * (length - n))
    assert set(inputs[..., 0].sum(1).int().tolist()) == set(range(1, length + 1))


def test_the_trivial_loss_of_counting_is_that_of_the_best_constant_answer():
    task = Counting(9)
    _, targets = task.batch(50_000, seeded())
    share = targets[targets >= 0].mean()
    logits = share.logit() + torch.arange(-1, 2)
    losses = [task.error(torch.full((50_000, 18, 1), logit.item()), targets) for logit in logits]
    assert losses[1].item() == pytest.approx(task.trivial, rel=0.02) and losses[1] < min(losses[0], losses[2])


@pytest.mark.parametrize("lag", [1, 20])
def test_the_flip_flop_writes_three_times_the_last_a_lag_before_the_read_and_asks_for_that(lag):
    inputs, targets = FlipFlop(lag).batch(2000, seeded())
    symbols, instructions = inputs[..., :8].argmax(dim=2), inputs[..., 8:].argmax(dim=2)
    assert inputs.shape == (2000, 10 + lag, 11) and (inputs.sum(dim=2) == 2).all()
    writes = instructions == 0
    assert writes[:, 0].all() and writes[:, 9].all() and writes.sum(dim=1).min() == 3
    assert not writes[:, 10:].any() and (instructions[:, -1] == 2).all() and (instructions == 2).sum() == 2000
    assert torch.equal(targets, symbols[:, 9])
    counts = torch.stack([symbols[:, step].bincount(minlength=8) for step in range(10 + lag)])
    assert counts.min() > 180 and counts.max() < 325  # of 250; distractors are as likely as what is written


def test_the_error_of_the_flip_flop_is_the_share_of_wrong_reads():
    task, targets = FlipFlop(3), torch.tensor([0, 1, 2, 3])
    outputs = torch.zeros(4, 13, 8)
    outputs[torch.arange(4), -1, torch.tensor([0, 1, 2, 7])] = 5.0
    assert task.error(outputs, targets).item() == 0.25
    assert task.loss(torch.zeros(4, 13, 8), targets).item() == pytest.approx(math.log(8))
    blind = task.error(one_hot(torch.zeros(20_000, 1, dtype=torch.long), 8), task.batch(20_000, seeded())[1])
    assert blind.item() == pytest.approx(task.trivial, abs=0.01)


@pytest.mark.parametrize("cups", [2, 3, 5])
def test_the_ball_goes_where_the_cups_go_and_a_uniform_guess_costs_the_trivial_loss(cups):
    task = ShellGame(length=200, cups=cups)
    inputs, targets = task.batch(300, seeded())
    for symbols, places in zip(inputs[:20].argmax(dim=-1).tolist(), targets.tolist(), strict=False):
        under = [cup == 0 for cup in range(cups)]
        for symbol, place in zip(symbols, places, strict=True):
            if task.moves[symbol]:
                left, right = task.moves[symbol]
                under[left], under[right] = under[right], under[left]
            assert under.index(True) == place
    assert set(task.moves[1:]) == set(itertools.combinations(range(cups), 2))
    assert torch.allclose(inputs.mean(dim=(0, 1)), torch.tensor(1 / task.input_size), atol=6e-3)  # equally often
    assert cups > 2 or torch.equal(targets, inputs[..., 1].cumsum(dim=1).long() % 2)  # two cups are parity
    assert task.loss(torch.zeros(*targets.shape, cups), targets).item() == pytest.approx(task.trivial)
    assert task.loss(one_hot(targets, cups) * 100.0, targets).item() == pytest.approx(0, abs=1e-6)
