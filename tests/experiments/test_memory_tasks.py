"""Memory tasks: which remedies are tried, with which remedies and on which budgets, and how their ends are measured."""

import math

import pytest
import torch

from unrolled import tasks
from unrolled.experiments import find, memory_tasks
from unrolled.tasks import Adding, Outcome

SMALL = {"updates": 4, "batch": 3, "hidden_size": 5, "sequences": 20}


def small(name, profile="quick"):
    """Return the contenders of an experiment, each of them small; of two lengths if it adds, of one if it copies."""
    lengths = {"adding": [2, 4], "copy": [1]}
    return {
        label: config | SMALL | {"lengths": lengths[config["task"]]}
        for label, config in find(name).contenders[profile].items()
    }


@pytest.fixture
def trained(monkeypatch):
    """What the trainer was asked for last; it trains nothing, and returns ``outcome``."""
    asked = {"outcome": Outcome(updates=4, scores=[0.1])}

    def train(model, task, **options):
        asked.update(options, cell=model.cell, task=task)
        return asked["outcome"]

    monkeypatch.setattr(tasks, "solve", train)
    return asked


def test_every_remedy_is_tried_on_both_tasks():
    labels = list(find("memory-tasks").contenders["quick"])
    assert labels == [f"{task}/{label}" for task in ("adding", "copy") for label in memory_tasks.VANILLA]


@pytest.mark.parametrize("label", small("memory-tasks"))
def test_a_remedy_is_what_its_label_says(label, trained):
    config = small("memory-tasks")[label]
    memory_tasks.measure(config, 7, None)
    cell, eye = trained["cell"], torch.eye(5)
    assert cell.nonlinearity == ("relu" if "irnn" in label else "tanh")
    assert torch.equal(cell.W_hh, eye) == ("irnn" in label)
    assert torch.allclose(cell.W_hh @ cell.W_hh.T, eye, atol=1e-5) == ("tanh" not in label)
    assert trained["clip"] == (1.0 if label.endswith("clipped") else math.inf)
    assert (trained["learning_rate"], trained["seed"]) == (1e-3 if "irnn" in label else 3e-3, 7)
    assert trained["task"] == tasks.TASKS[label.split("/")[0]](config["lengths"][-1])
    assert all(trained[name] == config[name] for name in ("updates", "batch", "score_every", "sequences"))


def test_each_length_is_measured_and_begins_with_the_same_seed(tmp_path):
    config = small("memory-tasks")["adding/tanh"]
    metrics = memory_tasks.measure(config, 3, tmp_path)
    assert {*metrics} == {*memory_tasks.METRICS} and metrics["solved"] == 0
    assert metrics["success"] == metrics["diverged"] == [0, 0] and metrics["updates"] == [4, 4]
    assert all(math.isfinite(loss) for loss in metrics["loss"]) and metrics["loss"][0] != metrics["loss"][1]
    alone = memory_tasks.measure(config | {"lengths": [4]}, 3, tmp_path)
    assert alone["loss"] == metrics["loss"][1:]
    assert memory_tasks.measure(config, 4, tmp_path)["loss"] != metrics["loss"]


def test_subnormal_numbers_are_flushed_and_afterwards_as_they_were(monkeypatch, tmp_path):
    flushed, attempt = [], memory_tasks.attempt

    def watched(*arguments):
        flushed.append((torch.tensor(1e-30) * torch.tensor(1e-10)).item() == 0)
        return attempt(*arguments)

    monkeypatch.setattr(memory_tasks, "attempt", watched)
    can = torch.set_flush_denormal(True)
    torch.set_flush_denormal(False)
    memory_tasks.measure(small("memory-tasks")["adding/tanh"], 0, tmp_path)
    assert flushed == [can] * 2
    assert torch.tensor(1e-30) * torch.tensor(1e-10) > 0


def test_the_loss_is_the_last_finite_one_as_a_share_of_the_trivial_one():
    task = Adding(4)
    ended = Outcome(success=True, updates=9, scores=[task.trivial, task.trivial / 2, math.inf])
    assert memory_tasks.ending(ended, task) == {"success": 1, "diverged": 0, "updates": 9, "loss": pytest.approx(0.5)}


def test_a_run_that_diverged_before_it_was_scored_counts_as_no_better_than_trivial():
    ended = Outcome(diverged=True, updates=3, losses=[1.0] * 3)
    assert memory_tasks.ending(ended, Adding(4)) == {"success": 0, "diverged": 1, "updates": 3, "loss": 1.0}
