"""The counting task: each cell is taught, and asked how far it counts."""

import pytest
from unrolled.experiments import counting_task, find

from counter import Counter
from unrolled import tasks

SMALL = {"length": 3, "limit": 12, "updates": 2}
CONTENDERS = {label: config | SMALL for label, config in find("counting-task").contenders["quick"].items()}


@pytest.mark.parametrize("label", ["rnn", "gru", "lstm"])
def test_each_cell_is_taught_to_count(label, tmp_path, monkeypatch):
    cells, model = [], tasks.SequenceModel
    monkeypatch.setattr(tasks, "SequenceModel", lambda cell, size: cells.append(cell) or model(cell, size))
    metrics = counting_task.measure(CONTENDERS[label], 0, tmp_path)
    assert {*metrics} == {*counting_task.METRICS}
    assert metrics["updates"] == 2 and metrics["success"] == 0 and 0 <= metrics["reach"] <= 12
    assert type(cells[0]).__name__ == f"{label.upper()}Cell" and cells[0].hidden_size == 10
    assert counting_task.measure(CONTENDERS[label], 0, tmp_path) == metrics


@pytest.mark.parametrize("limit, reach", [(4, 4), (100, 12), (0, 0)])
def test_the_reach_ends_before_the_first_wrong_answer(limit, reach, tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "SequenceModel", lambda cell, size: Counter(limit))
    assert counting_task.measure(CONTENDERS["rnn"], 0, tmp_path)["reach"] == reach
