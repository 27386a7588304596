"""Training on a task: new sequences every time, success by their error, and what ends it."""

import pytest
import torch
from torch import nn

from counter import Counter
from unrolled.cells import CELLS, RNNCell, initialise
from unrolled.tasks import TASKS, Adding, Counting, FlipFlop, SequenceModel, score, solve


class Oracle(nn.Module):
    """It remembers everything."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, inputs):
        return inputs.prod(2).cumsum(1)[..., None] + self.bias


@pytest.mark.parametrize("name", TASKS)
def test_the_same_seed_gives_the_same_training(name):
    task = TASKS[name](6)

    def outcome(seed, score_every=5):
        torch.manual_seed(0)
        model = SequenceModel(RNNCell(task.input_size, 8), task.output_size)
        return solve(model, task, updates=12, batch=4, score_every=score_every, sequences=50, seed=seed)

    first = outcome(1)
    assert first == outcome(1) and first.losses == outcome(1, score_every=3).losses != outcome(2).losses
    assert first.scored == [5, 10, 12] and first.updates == len(first.losses) == 12 and not first.success


def test_training_stops_at_success():
    outcome = solve(Oracle(), Adding(30), updates=500, score_every=7)
    assert outcome.success and outcome.updates == 7 and outcome.scored == [7] and not outcome.diverged
    assert outcome.scores[0] < 0.01
    assert solve(Counter(), Counting(20), updates=1, score_every=1).success


def test_no_sequences_are_learned_from_or_scored_twice_and_success_is_judged_by_those_that_are_scored():
    drawn = []

    class Misleading(Adding):
        def batch(self, batch, generator):
            inputs, targets = super().batch(batch, generator)
            drawn.append(inputs)
            return inputs, targets + (batch == 50)

    outcome = solve(Oracle(), Misleading(30), updates=4, batch=8, sequences=50, score_every=2)
    assert not outcome.success and max(outcome.losses) < 0.01 and min(outcome.scores) > 0.9
    assert [len(inputs) for inputs in drawn] == [8, 8, 50, 8, 8, 50]
    assert len({inputs[:8].sum().item() for inputs in drawn}) == 6


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


def test_a_small_network_solves_a_short_task_and_without_memory_it_does_not():
    torch.manual_seed(0)
    task = Adding(6)
    model = SequenceModel(initialise(RNNCell(2, 32, "relu"), "identity"), 1)
    outcome = solve(model, task, updates=1500, batch=32, learning_rate=3e-3, clip=1.0, score_every=50)
    assert outcome.success and score(model, task, 2000, torch.Generator().manual_seed(9)) < 1.3 * task.goal

    class Forgetful(SequenceModel):
        def forward(self, inputs):
            return self.output(torch.tanh(self.cell.project(inputs)))

    outcome = solve(Forgetful(RNNCell(2, 32), 1), task, updates=300, batch=32, score_every=100)
    assert not outcome.success and outcome.updates == 300
    # the last marker may be at the last step, and so a little is known without memory
    assert 0.7 < outcome.scores[-1] / task.trivial < 1.2


@pytest.mark.parametrize("kind", CELLS)
def test_every_cell_answers_at_every_step_and_learns(kind):
    torch.manual_seed(0)
    model, task = SequenceModel(CELLS[kind](2, 4), 1), Adding(6)
    inputs, _ = task.batch(3, torch.Generator().manual_seed(0))
    assert model(inputs).shape == (3, 6, 1) and torch.allclose(model(inputs)[:, :3], model(inputs[:, :3]), atol=1e-6)
    before = [weight.clone() for weight in model.parameters()]
    solve(model, task, updates=1, sequences=10)
    assert all((weight != old).any() for weight, old in zip(model.parameters(), before, strict=True))


def test_divergence_is_reported():
    class Exploding(SequenceModel):
        def forward(self, inputs):
            return super().forward(inputs) * self.output.weight.square().sum() * 1e18

    outcome = solve(Exploding(RNNCell(2, 4), 1), Adding(10), updates=50, learning_rate=10.0)
    assert outcome.diverged and not outcome.success and outcome.updates == len(outcome.losses) < 50


def test_an_update_has_the_learning_rate_and_clipping_bounds_its_gradient():
    model = SequenceModel(RNNCell(2, 4), 1)
    before = model.output.weight.detach().clone()
    solve(model, Adding(10), updates=1, learning_rate=0.25, clip=1e-3)
    norms = [weight.grad.norm() for weight in model.parameters()]
    assert torch.stack(norms).norm().item() == pytest.approx(1e-3, rel=1e-3)
    # Adam's first step has this length, whatever the gradient
    assert (model.output.weight - before).abs().tolist() == [pytest.approx([0.25] * 4, rel=1e-2)]


@pytest.mark.parametrize("way", [{"updates": 0}, {"clip": 0.0}])
def test_bad_input_is_named(way):
    ((name, value),) = way.items()
    with pytest.raises(ValueError, match=f"{name} is {value}.*; both must be above 0"):
        solve(Oracle(), Adding(4), **{"updates": 1} | way)
