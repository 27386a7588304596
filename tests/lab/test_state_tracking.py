"""State tracking: who takes part, and that what is measured is what a network says."""

import pytest
import torch
from unrolled.experiments import find, records
from unrolled.experiments.memory_tasks import Attending
from unrolled.experiments.state_tracking import measure_recall, measure_tracking

from unrolled import tasks

SMALL = {"updates": 4, "batch": 3, "score_every": 2, "sequences": 5, "hidden_size": 4, "learning_rate": 0.01}
GAMES = find("state-tracking-tuning").contenders["quick"]
RECALLS = find("associative-recall-tuning").contenders["quick"]


@pytest.fixture(autouse=True)
def no_record(monkeypatch, tmp_path):
    monkeypatch.setattr(records, "FOLDER", tmp_path / "measured")


def test_every_network_plays_both_games_and_has_as_many_trials():
    names = [{label.split(": ")[1] for label in GAMES if label.startswith(f"{cups} cups")} for cups in (2, 5)]
    assert names[0] == names[1] >= {"mingru", "mingru, signed", "gru", "lstm", "linear attention"}
    for searches in (GAMES, RECALLS):
        assert {len(config["settings"]) for config in searches.values()} == {4}


@pytest.mark.parametrize("label", GAMES)
def test_the_games_go_on_beyond_those_that_were_learned(label, tmp_path):
    config = GAMES[label] | SMALL | {"length": 6, "played": 9, "games": 20}
    metrics = measure_tracking(config, 0, tmp_path)
    assert len(metrics["right"]) == 9 and metrics["updates"] == 4
    assert all(0 <= share <= 1 for share in metrics["right"])


def test_a_network_that_knows_is_always_right(monkeypatch, tmp_path):
    class Knows(torch.nn.Module):
        def forward(self, inputs):
            return torch.nn.functional.one_hot(tasks.ShellGame(1, 5).follow(inputs.argmax(dim=-1)), 5).float()

    monkeypatch.setattr(tasks, "solve", lambda *given, **options: tasks.Outcome(True, False, 1, scores=[0.0]))
    monkeypatch.setattr(tasks, "SequenceModel", lambda *given: Knows())
    metrics = measure_tracking(GAMES["5 cups: gru"] | SMALL | {"games": 30}, 0, tmp_path)
    assert set(metrics["right"]) == {1.0} and metrics["success"] == 1


@pytest.mark.parametrize(
    "label, size, state",
    [
        ("gru 32", 32, 32),
        ("mingru 128", 128, 128),
        ("linear attention, one head 16", 16, 256 + 16),
        ("attention 16", 16, 2 * 16 * 4),  # a key and a value for each pair
    ],
)
def test_the_state_is_what_is_carried(label, size, state, tmp_path):
    config = RECALLS[f"{label}: 4 pairs"]
    assert config["hidden_size"] == size
    metrics = measure_recall(config | SMALL | {"hidden_size": size, "asked": 10}, 0, tmp_path)
    assert metrics["state"] == state and 0 <= metrics["right"] <= 1


def test_a_head_of_attention_finds_a_pair_by_its_key_and_sees_nothing_ahead():
    task = tasks.AssociativeRecall(pairs=3, keys=5, values=4)
    head, size = Attending(task.input_size, 9, task.output_size), task.keys + task.values
    with torch.no_grad():
        for part in (head.project, head.output):
            part.weight.zero_(), part.bias.zero_()
        queries, keys, values = head.project.weight.chunk(3)  # (9, 9) each
        queries[:5, :5], keys[:5, :5], values[:size, :size] = 50 * torch.eye(5), torch.eye(5), torch.eye(size)
        head.output.weight[:, 5:] = torch.eye(4)
    inputs, targets = task.batch(20, torch.Generator().manual_seed(0))
    answers = head(inputs)
    assert torch.equal(answers.argmax(dim=2)[:, 3:], targets[:, 3:])
    other = inputs.clone()
    other[:, 4:] = 0
    torch.testing.assert_close(head(other)[:, :4], answers[:, :4])
