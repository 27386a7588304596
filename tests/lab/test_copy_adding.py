"""Copying and adding: how every network begins, how its rate is chosen, and what is kept of the way."""

import math

import pytest
import torch
from unrolled.experiments import copy_adding, find, records
from unrolled.experiments.memory_tasks import cell_of

from unrolled import cells, tasks
from unrolled.tasks import Outcome

SEARCHES = find("copy-adding-tuning").contenders["quick"]
SEARCH = find("copy-adding-tuning").measure
SMALL = {"updates": 8, "batch": 3, "hidden_size": 5, "sequences": 20, "score_every": 2}


@pytest.fixture(autouse=True)
def no_record(monkeypatch, tmp_path):
    monkeypatch.setattr(records, "FOLDER", tmp_path / "measured")


@pytest.fixture
def outcomes(monkeypatch):
    """The outcome of every training by its learning rate, in place of the training."""
    by_rate = {}

    def solve(model, task, *, learning_rate, updates, **options):
        outcome = by_rate[learning_rate]
        assert outcome.updates <= updates
        return outcome

    monkeypatch.setattr(tasks, "solve", solve)
    return by_rate


def shares(*losses: float) -> dict:
    return {"updates": 2, "scores": [tasks.Adding.trivial * loss for loss in losses]}


def test_remedies_are_on_both_tasks_and_the_lstms_biases_at_two_lags():
    names = {label: {each.split(": ")[1] for each in SEARCHES if each.startswith(label)} for label in copy_adding.TASKS}
    assert names["copy 10"] == names["adding 100"]
    assert names["adding 25"] == {name for name in names["adding 100"] if name.startswith("lstm, ")}
    assert names["adding 160"] == {"irnn"}


@pytest.mark.parametrize("label", SEARCHES)
def test_a_network_begins_as_its_label_says(label):
    task, name = label.split(": ")
    config = SEARCHES[label]
    torch.manual_seed(0)
    cell = cell_of(config, 3)
    assert config["clip"] == (None if "not clipped" in name else 1)
    blocks = [cell.block(each) for each in cell.blocks]
    eye = torch.eye(cell.hidden_size)
    orthogonal = all(torch.allclose(block.W_hh @ block.W_hh.T, eye, atol=1e-5) for block in blocks)
    assert orthogonal == (name != "tanh")
    if name.startswith("irnn"):
        assert torch.equal(cell.W_hh, eye) and cell.nonlinearity == "relu"
    if name.startswith("lstm, bias"):
        assert (cell.block("f").b_h == float(name.removeprefix("lstm, bias "))).all()
    if name.startswith("lstm-1997"):
        assert (cell.block("i").b_h == (-3 if "bias" in name else 0)).all()
    if "chrono" in name:
        kept = cell.block("f").b_h if isinstance(cell, cells.LSTMCell) else -cell.block("z").b_h
        steps = next(iter(tasks.TASKS[config["task"]](config["length"]).batch(1, torch.Generator())[0])).shape[0]
        assert (
            (kept >= 0).all() and (kept.exp() <= steps - 1 + 1e-3).all() and config["cell"]["options"]["t_max"] == steps
        )


def test_the_rate_that_solves_soonest_is_chosen_or_else_the_lowest_loss(outcomes, tmp_path):
    config = SEARCHES["adding 25: lstm, bias 1"] | SMALL
    low, lower, soon, sooner = copy_adding.RATES
    outcomes |= {
        low: Outcome(**shares(0.9)),
        lower: Outcome(**shares(0.2)),
        soon: Outcome(success=True, **shares(0.05)),
        sooner: Outcome(success=True, **shares(0.04) | {"updates": 1}),
    }
    found = SEARCH(config, 0, tmp_path / "all")
    assert found["chosen"] == 3 and found["trial_loss"] == pytest.approx([0.9, 0.2, 0.05, 0.04])
    assert found["trial_updates"] == [2, 2, 2, 1]
    outcomes |= {soon: Outcome(diverged=True, **shares(0.1)), sooner: Outcome(**shares(0.3))}
    assert SEARCH(config, 0, tmp_path / "none")["chosen"] == 1
    assert SEARCH(config, 0, tmp_path / "all") == found  # it was kept


def test_trials_have_a_quarter_of_the_updates(monkeypatch, tmp_path):
    given = []
    monkeypatch.setattr(
        copy_adding, "attempt", lambda config, *rest: given.append(config["updates"]) or (None, Outcome(**shares(1)))
    )
    SEARCH(SEARCHES["adding 25: lstm, bias 1"], 0, tmp_path)
    assert given == [2500] * 4


def test_a_curve_ends_where_the_task_is_solved(outcomes, tmp_path):
    config = SEARCHES["adding 25: lstm, bias 1"] | SMALL | {"learning_rate": 5e-3}
    outcomes[5e-3] = Outcome(success=True, updates=4, scores=[tasks.Adding.trivial, tasks.Adding.trivial / 100])
    metrics = copy_adding.measure(config, 0, tmp_path)
    assert metrics["curve"][:2] == pytest.approx([1, 0.01]) and all(map(math.isnan, metrics["curve"][2:]))
    find("copy-adding").check(records.Contender("lstm", config, [metrics], copy_adding.axes(config)))
    assert list(copy_adding.axes(config)["score"]) == [2, 4, 6, 8]


@pytest.mark.parametrize("label", [label for label in SEARCHES if not label.startswith("adding 100")])
def test_every_network_is_trained(label, tmp_path):
    config = SEARCHES[label] | SMALL | {"learning_rate": 5e-3}
    metrics = copy_adding.measure(config, 3, tmp_path)
    find("copy-adding").check(records.Contender(label, config, [metrics], copy_adding.axes(config)))
    assert copy_adding.measure(config, 3, tmp_path) == metrics != copy_adding.measure(config, 4, tmp_path)


def test_what_is_compared_waits_for_its_rate_and_takes_it(tmp_path):
    assert all("waits_for" in config for config in find("copy-adding").contenders["quick"].values())
    with pytest.raises(ValueError, match="its settings wait for 'copy 10: gru' of the search copy-adding-tuning"):
        copy_adding.measure(find("copy-adding").contenders["quick"]["copy 10: gru"], 0, tmp_path)
