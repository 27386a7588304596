"""Every way of decoding goes on from the same beginnings, with the same model."""

import pytest
import torch
from unrolled.experiments import base, decoding_ways, find, reading
from unrolled.experiments.judge import Judge, beginnings

from small_experiments import small
from unrolled.models import load_model

WAYS = {
    "greedy": {"top_k": 1},
    "cold": {"temperature": 0.5},
    "plain": {},
    "hot": {"temperature": 1.5},
    "top-k": {"top_k": 10},
    "nucleus": {"top_p": 0.9},
    "beam": {"width": 8},
}


@pytest.fixture
def contenders():
    """Contenders with a GRU that learns enough in sixty updates to prefer one symbol to another."""
    configs = find("decoding-diversity").contenders["quick"]
    configs = {label: small(config, texts=3, prompt=10, length=60, order=3) for label, config in configs.items()}
    for config in configs.values():
        config["writer"] |= {"model": base.model("LanguageModel", core="gru", hidden_size=24)}
        config["writer"]["recipe"] |= {"updates": 60, "learning_rate": 3e-2}
    return configs


def test_every_way_is_measured(contenders, tmp_path, monkeypatch):
    asked, generate = [], decoding_ways.decoding.generate

    def watch(model, prompts, **keywords):
        asked.append(keywords)
        return generate(model, prompts, **keywords)

    monkeypatch.setattr(decoding_ways.decoding, "generate", watch)
    metrics = {
        label: decoding_ways.measure(config, 2, tmp_path / label / "seed-2") for label, config in contenders.items()
    }
    assert {label: config["way"] for label, config in contenders.items()} == {"text": None} | WAYS
    steps = [{name: value for name, value in each.items() if name not in ("length", "seed")} for each in asked]
    assert steps == [way for label, way in WAYS.items() if label != "beam"]
    assert {each["seed"] for each in asked} == {2 * 3}  # each row of each seed draws numbers of its own
    text = reading.encoded(contenders["text"])
    assert len(metrics["beam"]["sample"]) == 70 and metrics["text"]["sample"] in text.vocabulary.decode(text.held_out)
    for measured in metrics.values():
        assert len(measured["distinct"]) == len(measured["repetition"]) == 4
        assert 0 <= measured["repetition"][3] < 1 and 0 < measured["distinct"][0] <= 1
    own = {label: measured["own"] for label, measured in metrics.items()}
    assert own["greedy"] < own["plain"] < own["hot"] and own["beam"] <= own["greedy"]
    assert metrics["text"]["strange"] < 0.2
    (trained,) = tmp_path.glob("shared-2-*/lstm.model")
    prompts, rest = beginnings(text, contenders["text"])
    both = torch.cat([prompts, rest], dim=1)
    nats, _ = load_model(trained)[0].costs(both[:, :-1], both[:, 1:])
    assert metrics["text"]["own"] == pytest.approx(nats[:, 9:].mean().item())  # the prompts were not written
    judge = Judge(text.vocabulary.decode(text.training), text.vocabulary, 3)
    assert metrics["text"]["judged"] == pytest.approx(judge.nats(prompts, rest).mean())
    assert [label for label, measured in metrics.items() if "nats" in measured] == ["text"]
