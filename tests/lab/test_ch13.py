"""Chapter 13's experiments: networks that know are always right, and what is carried is counted."""

import pytest
import torch

import lab
from lab.ch13_modern_recurrence.associative_recall import AssociativeRecall
from lab.ch13_modern_recurrence.state_tracking import carried, game_of, measure_recall, measure_tracking
from lab.engine.tasks import Attending, network_of
from small_experiments import small
from unrolled import tasks

# State tracking and recall

RECALLS = lab.find("associative-recall-tuning").contenders


def test_a_network_that_knows_is_always_right_also_beyond_what_was_learned(monkeypatch, tmp_path):
    class Knows(torch.nn.Module):
        def forward(self, inputs):
            return torch.nn.functional.one_hot(tasks.ShellGame(1, 5).follow(inputs.argmax(dim=-1)), 5).float()

    monkeypatch.setattr(tasks, "solve", lambda *given, **options: tasks.Outcome(True, False, 1, scores=[0.0]))
    monkeypatch.setattr(tasks, "SequenceModel", lambda *given: Knows())
    metrics = measure_tracking(small("shell-game-delta", "5 cups: lstm", games=30, played=256), 0, tmp_path)
    assert metrics["right"] == [1.0] * 128 and metrics["success"] == 1


@pytest.mark.parametrize(
    "label, size, state",
    [
        ("mingru", 128, 128),
        ("attention", 16, 2 * 16 * 4),  # a key and a value for each pair
    ],
)
def test_the_state_is_what_is_carried(label, size, state, tmp_path):
    assert RECALLS[f"{label}: 4 pairs"]["hidden_size"] == size
    metrics = measure_recall(small("associative-recall", f"{label}: 4 pairs", hidden_size=size), 0, tmp_path)
    assert metrics["state"] == state and 0 <= metrics["right"] <= 1


def test_a_head_of_attention_finds_a_pair_by_its_key_and_sees_nothing_ahead():
    task = AssociativeRecall(pairs=3, keys=5, values=4)
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


def test_a_game_without_an_end_is_trained_until_its_updates_are_spent(tmp_path):
    config = small("shell-game-delta-tuning", "5 cups: delta, negative", sequences=8) | {"learning_rate": 1e-3}
    assert game_of(config).goal == 0 < game_of({**config, "endless": False}).goal
    metrics = measure_tracking(config | {"played": 7, "every": 3}, 0, tmp_path)
    assert metrics["success"] == 0 and metrics["updates"] == config["updates"] and len(metrics["right"]) == 2


@pytest.mark.parametrize(
    "label, state", [("gru", 2 * 128), ("mingru", 2 * 128), ("linear attention", 16**2 + 16), ("delta", 16**2)]
)
def test_networks_that_are_asked_alike_carry_about_as_much(label, state):
    config, task = lab.find("recall-alike-tuning").contenders[f"{label}: 4 pairs"], AssociativeRecall(4)
    model = network_of(config, task)
    assert carried(model, task) == state
    inputs, _ = task.batch(2, torch.Generator().manual_seed(0))
    states, _ = model.core(inputs)
    torch.testing.assert_close(model(inputs), model.output(model.query(inputs) * states))
