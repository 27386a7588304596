"""Memory tasks: what they ask, what it costs not to remember, and who succeeds."""

import math

import pytest
import sympy
import torch
from torch import nn

from counter import Counter
from unrolled.cells import CELLS, RNNCell, initialise, unroll
from unrolled.tasks import TASKS, Adding, Copy, Counting, FlipFlop, SequenceModel, score, solve


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


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
    assert best == 1 and error.subs(guess, best) == sympy.Rational(1, 6)
    assert Adding.trivial == float(sympy.Rational(1, 6)) > Adding.goal == 0.01

    task = Adding(10)
    inputs, targets = task.batch(200_000, seeded())
    squares = (targets - 1) ** 2
    uncertainty = squares.std().item() / math.sqrt(len(squares))
    assert abs(squares.mean().item() - task.trivial) < 4 * uncertainty
    assert abs(squares.mean().item() - 0.1767) > 20 * uncertainty
    assert task.loss(torch.ones(200_000, 10, 1), targets).item() == pytest.approx(squares.mean().item(), rel=1e-4)


@pytest.mark.parametrize("length", [1, 2, 15])
def test_copy_shows_pauses_and_wants_again(length):
    inputs, targets = Copy(length).batch(500, seeded())
    assert inputs.shape == (500, length + 20, 10) and targets.shape == (500, length + 20)
    assert (inputs.sum(2) == 1).all()
    symbols = inputs.argmax(2)
    assert (symbols[:, :10] < 8).all() and set(symbols[:, :10].unique().tolist()) == set(range(8))
    assert (symbols[:, 10 : length + 9] == 8).all() and (symbols[:, length + 9] == 9).all()
    assert (symbols[:, length + 10 :] == 8).all()
    assert (targets[:, : length + 10] == 8).all() and torch.equal(targets[:, length + 10 :], symbols[:, :10])


@pytest.mark.parametrize("length", [1, 5, 50])
def test_the_trivial_loss_of_copy_is_that_of_the_best_answer_that_knows_only_the_step(length):
    task = Copy(length)
    _, targets = task.batch(20_000, seeded())
    logits = torch.full((length + 20, 9), -60.0)
    logits[: length + 10, 8] = 60.0  # certainly a blank
    logits[length + 10 :, :8] = 0.0  # any symbol
    assert task.trivial == pytest.approx(10 * math.log(8) / (length + 20)) and task.goal == task.trivial / 10
    assert task.loss(logits.expand(20_000, -1, -1), targets).item() == pytest.approx(task.trivial, rel=1e-5)
    # No other distribution over time does better: the entropy of what was seen at each step is the least.
    shares = torch.stack([(targets == symbol).double().mean(0) for symbol in range(9)])
    assert torch.special.entr(shares).sum(0).mean().item() == pytest.approx(task.trivial, rel=1e-3)


@pytest.mark.parametrize("length", [2, 7])
def test_counting_shows_as_many_b_as_a_and_wants_the_last(length):
    task = Counting(length)
    inputs, targets = task.batch(3000, torch.Generator().manual_seed(0))
    assert inputs.shape == (3000, 2 * length, 2) and targets.shape == (3000, 2 * length)
    for row, wanted in zip(inputs[:50], targets[:50], strict=True):
        letters = "".join("ab."[{(1, 0): 0, (0, 1): 1}.get(tuple(step), 2)] for step in row.int().tolist())
        n = letters.count("a")
        assert letters == ("a" * n + "b" * n).ljust(2 * length, ".")
        assert wanted.tolist() == [-1] * n + [0] * (n - 1) + [1] + [-1] * (2 * (length - n))
    assert set(inputs[..., 0].sum(1).int().tolist()) == set(range(1, length + 1))


def test_the_trivial_loss_of_counting_is_that_of_the_best_constant_answer():
    task = Counting(9)
    _, targets = task.batch(50_000, torch.Generator().manual_seed(0))
    share = targets[targets >= 0].mean()
    losses = [
        task.loss(torch.full((50_000, 18, 1), logit.item()), targets) for logit in share.logit() + torch.arange(-1, 2)
    ]
    assert share.item() == pytest.approx(2 / 10, rel=0.02)
    assert losses[1].item() == pytest.approx(task.trivial, rel=0.02) and losses[1] < min(losses[0], losses[2])
    assert task.goal == task.trivial / 1000


def test_who_counts_has_solved_the_task():
    assert solve(Counter(), Counting(20), updates=1, score_every=1).success


@pytest.mark.parametrize("name", TASKS)
def test_the_same_seed_gives_the_same_sequences_and_training(name):
    task = TASKS[name](6)
    assert all(torch.equal(a, b) for a, b in zip(task.batch(5, seeded(3)), task.batch(5, seeded(3)), strict=True))
    assert not torch.equal(task.batch(5, seeded(3))[0], task.batch(5, seeded(4))[0])

    def outcome(seed):
        torch.manual_seed(0)
        model = SequenceModel(RNNCell(task.input_size, 8), task.output_size)
        return solve(model, task, updates=12, batch=4, score_every=5, sequences=50, seed=seed)

    first = outcome(1)
    assert first == outcome(1) and first.losses != outcome(2).losses
    assert first.scored == [5, 10, 12] and first.updates == len(first.losses) == 12 and not first.success


class Oracle(nn.Module):
    """It remembers everything."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, inputs):
        return inputs.prod(2).cumsum(1)[..., None] + self.bias


def test_training_stops_at_success():
    outcome = solve(Oracle(), Adding(30), updates=500, score_every=7)
    assert outcome.success and outcome.updates == 7 and outcome.scored == [7] and not outcome.diverged
    assert outcome.scores[0] < 0.01


def test_no_sequences_are_learned_from_or_scored_twice():
    drawn = []

    class Watched(Adding):
        def batch(self, batch, generator):
            drawn.append(super().batch(batch, generator))
            return drawn[-1]

    solve(SequenceModel(RNNCell(2, 4), 1), Watched(6), updates=4, batch=20, sequences=20, score_every=2)
    assert len({inputs.sum().item() for inputs, _ in drawn}) == len(drawn) == 4 + 2


def test_success_is_judged_by_the_fresh_sequences():
    class Misleading(Adding):
        def batch(self, batch, generator):
            inputs, targets = super().batch(batch, generator)
            return inputs, targets + (batch == 50)

    outcome = solve(Oracle(), Misleading(30), updates=2, batch=8, sequences=50, score_every=1)
    assert not outcome.success and max(outcome.losses) < 0.01 and min(outcome.scores) > 0.9


def test_a_small_network_solves_a_short_task_and_without_memory_it_does_not():
    torch.manual_seed(0)
    task = Adding(6)
    cell = initialise(RNNCell(2, 32, "relu"), "identity")
    model = SequenceModel(cell, 1)
    outcome = solve(model, task, updates=1500, batch=32, learning_rate=3e-3, clip=1.0, score_every=50)
    assert outcome.success and score(model, task, 2000, seeded(9)) < 1.3 * task.goal

    class Forgetful(SequenceModel):
        def forward(self, inputs):
            return self.output(torch.tanh(self.cell.project(inputs)))

    outcome = solve(Forgetful(RNNCell(2, 32), 1), task, updates=300, batch=32, score_every=100)
    assert not outcome.success and outcome.updates == 300
    # the last marker may be at the last step, and so a little is known without memory
    assert 0.7 < outcome.scores[-1] / task.trivial < 1.2


@pytest.mark.parametrize("kind", CELLS)
def test_every_cell_answers_and_learns(kind):
    torch.manual_seed(0)
    model, task = SequenceModel(CELLS[kind](2, 4), 1), Adding(6)
    inputs, _ = task.batch(3, seeded(0))
    answers = model(inputs)
    assert answers.shape == (3, 6, 1)
    assert torch.allclose(answers[:, 2], model.output(unroll(model.cell, inputs[:, :3])[0][:, -1]), atol=1e-6)
    before = [weight.clone() for weight in model.parameters()]
    solve(model, task, updates=1, sequences=10)
    assert all((weight != old).any() for weight, old in zip(model.parameters(), before, strict=True))


def test_divergence_is_reported():
    class Exploding(SequenceModel):
        def forward(self, inputs):
            return super().forward(inputs) * self.output.weight.square().sum() * 1e18

    model = Exploding(RNNCell(2, 4), 1)
    outcome = solve(model, Adding(10), updates=50, learning_rate=10.0)
    assert outcome.diverged and not outcome.success and outcome.updates == len(outcome.losses) < 50


def test_an_update_has_the_learning_rate_and_clipping_bounds_its_gradient():
    model = SequenceModel(RNNCell(2, 4), 1)
    before = model.output.weight.detach().clone()
    solve(model, Adding(10), updates=1, learning_rate=0.25, clip=1e-3)
    norms = [weight.grad.norm() for weight in model.parameters()]
    assert torch.stack(norms).norm().item() == pytest.approx(1e-3, rel=1e-3)
    # Adam's first step has this length, whatever the gradient
    assert (model.output.weight - before).abs().tolist() == [pytest.approx([0.25] * 4, rel=1e-2)]


MODEL = SequenceModel(RNNCell(2, 3), 1)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: Adding(1), "length is 1; two markers need at least 2"),
        (lambda: Copy(0), "length is 0; the delimiter needs at least 1"),
        (lambda: Counting(1), "length is 1; counting needs at least 2"),
        (lambda: solve(MODEL, Adding(4), updates=0), "updates is 0; it must be above 0"),
        (lambda: solve(MODEL, Adding(4), updates=1, clip=0.0), "clip is 0.0"),
        (lambda: solve(MODEL, Adding(4), updates=1, learning_rate=-1.0), "learning_rate is -1.0"),
        (lambda: solve(MODEL, Adding(4), updates=1, batch=0), "batch is 0"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


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
    blind = task.error(torch.eye(8)[torch.zeros(20_000, 1, dtype=torch.long)], task.batch(20_000, seeded())[1])
    assert blind.item() == pytest.approx(task.trivial, abs=0.01)
    with pytest.raises(ValueError, match="lag is 0; the read needs at least 1 step"):
        FlipFlop(0)


def test_a_task_is_solved_by_its_error_not_by_its_loss():
    """The loss of the flip-flop is in nats, its goal a share of reads: the first may be large where the second is 0."""

    class Sure(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.tensor(0.01))

        def forward(self, inputs):
            written = inputs[:, 9, :8]
            return (self.scale * written)[:, None].expand(-1, inputs.shape[1], -1)

    outcome = solve(Sure(), FlipFlop(2), updates=1, learning_rate=1e-6, sequences=50)
    assert outcome.success and outcome.scores == [0.0] and outcome.losses[0] > 2
