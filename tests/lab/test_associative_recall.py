"""Associative recall asks for what was shown, and knows what nothing is worth."""

import pytest
import torch

from lab.ch13_modern_recurrence.associative_recall import AssociativeRecall


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


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


def test_a_uniform_guess_costs_the_trivial_loss():
    task = AssociativeRecall(3, keys=8, values=7)
    inputs, targets = task.batch(30, generator())
    assert inputs.shape[-1] == task.input_size
    outputs = torch.zeros(*targets.shape, task.output_size)
    assert task.loss(outputs, targets).item() == pytest.approx(task.trivial) and task.goal < task.trivial
    sure = torch.nn.functional.one_hot(targets.clamp(min=0), task.output_size) * 100.0
    assert task.loss(sure, targets).item() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"pairs": 9, "keys": 8}, "pairs is 9; with 8 keys, all different, it can be 1 to 8"),
        ({"pairs": 0}, "pairs is 0"),
        ({"pairs": 2, "values": 1}, "values is 1; there must be at least 2 to choose from"),
    ],
)
def test_impossible_tasks_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        AssociativeRecall(**arguments)
