"""Models that read their own writing are judged, and the remedies begin where they should."""

import numpy as np
import pytest
import torch
from unrolled.experiments import base, exposure, find, reading

from small_experiments import small, watch
from unrolled import decoding
from unrolled.measure import evaluate
from unrolled.models import load_model
from unrolled.text import stories
from unrolled.training import History

LABELS = ("text", "teacher", "scheduled", "sparing", "real", "own")
CHANGES = {"texts": 3, "prompt": 10, "edges": [0, 20, 60], "length": 60, "judge": 20_000, "order": 3}


@pytest.fixture
def contenders():
    """Small contenders; the teacher is trained further for two updates."""
    configs = {label: small(config, **CHANGES) for label, config in find("exposure-bias").contenders["quick"].items()}
    for label in ("real", "own"):
        configs[label]["recipe"] |= {"updates": 2}
    configs["own"] |= {"own": 800, "rows": 4}
    assert tuple(configs) == LABELS
    return configs


def test_means_are_by_distance():
    values = np.array([[1.0, 2.0, np.nan, 4.0], [3.0, 2.0, 5.0, np.nan]])
    assert exposure.by_distance(values, [0, 1, 3, 4]) == [2, 3, 4]


def test_each_contender_is_judged(contenders, tmp_path, monkeypatch):
    heard, judge = [], exposure.Judge
    monkeypatch.setattr(exposure, "Judge", lambda text, *rest: heard.append(text) or judge(text, *rest))
    metrics, watched, models = {}, watch(monkeypatch), {}
    for label in LABELS:
        metrics[label] = exposure.measure(contenders[label], 1, tmp_path / label / "seed-1")
        if label not in ("text", "teacher"):
            models[label], _ = load_model(tmp_path / label / "seed-1" / "model.model")
            if label == "scheduled":
                assert type(watched.models["model"]).__name__ == "ScheduledSampling"
                assert watched.models["model"].calls == 3
    assert set(heard) == {stories.corpus(20_000, seed=1).text}  # other stories than the models'
    (teacher,) = tmp_path.glob("shared-1-*/teacher.model")
    models["teacher"], _ = load_model(teacher)
    text = reading.encoded(contenders["text"])
    for label, model in models.items():
        assert metrics[label]["nats"] == pytest.approx(evaluate(model, text.held_out).nats_per_symbol)
        assert len(metrics[label]["judged"]) == len(metrics[label]["strange"]) == 2
    assert len({metrics[label]["nats"] for label in ("teacher", "real", "own")}) == 3
    assert metrics["text"]["judged"][1] < metrics["teacher"]["judged"][1] and metrics["text"]["strange"][1] < 0.2
    starts = torch.full((4, 1), text.vocabulary["\n"])
    own = decoding.generate(models["teacher"], starts, length=200, seed=1 * 4)
    assert torch.equal(watched.read["model"], torch.cat(own)) and watched.recipes["model"].updates == 2
    assert exposure.measure(contenders["own"], 1, tmp_path / "own" / "seed-1") == metrics["own"]


def test_training_further_begins_with_the_teachers_weights(contenders, tmp_path, monkeypatch):
    first = {}

    def train(model, tokens, recipe, *, checkpoint, **keywords):
        label = "teacher" if checkpoint.stem == "teacher" else checkpoint.parent.parent.name
        first[label] = (model.output.bias.detach().clone(), tokens)
        model.output.bias.data += 1 + len(first)
        return History(losses=[1.0], validated=[1], validation=[1.0])

    monkeypatch.setattr(base, "train", train)
    for label in ("scheduled", "real"):
        exposure.measure(contenders[label], 0, tmp_path / label / "seed-0")
    (teacher,) = tmp_path.glob("shared-0-*/teacher.model")
    taught = load_model(teacher)[0].output.bias
    assert torch.equal(first["real"][0], taught) and not torch.equal(first["scheduled"][0], taught)
    assert torch.equal(first["real"][1], reading.encoded(contenders["real"]).training)
