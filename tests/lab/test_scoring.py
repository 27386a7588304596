"""What every trained language model is asked: its score, its size, its time, and what it writes."""

import json

import pytest
import torch
from unrolled.experiments import EXPERIMENTS, base, find, reading, scoring

from small_experiments import small, watch
from unrolled import decoding
from unrolled.measure import evaluate
from unrolled.models import load_model


def trainings(config):
    """Return all that is trained from scratch for a contender."""
    return [part for part in (config, *config.values()) if isinstance(part, dict) and {"model", "recipe"} <= {*part}]


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("profile", ["quick", "full"])
def test_every_configuration_can_be_trained(name, profile):
    for config in find(name).contenders[profile].values():
        assert json.loads(json.dumps(config, allow_nan=False)) == config
        for training in trainings(config):
            recipe, kind, options = base.recipe_of(training), training["model"]["kind"], training["model"]["options"]
            if kind == "TransformerLM":
                assert recipe.seq_len == options["context"] and not recipe.carry
            if kind == "ScheduledSampling":
                assert options["ramp"] == recipe.updates  # the text is trusted least at the end, not before
            with torch.device("meta"):
                base.model_of(training, 100)


def test_what_inherits_its_options_has_them_all():
    options = base.model("ScheduledSampling", least=0.5, ramp=3, core="gru")["options"]
    assert options["dropout"] == 0.0 and options["core"] == "gru" and "options" not in options
    assert options["cell_options"] == base.cell("gru")["options"]
    with pytest.raises(ValueError, match="ScheduledSampling has no argument 'size'; it has"):
        base.model("ScheduledSampling", least=0.5, ramp=3, size=4)


@pytest.mark.parametrize("label", ["gru", "lstm", "transformer"])
def test_a_model_is_trained_scored_and_saved_and_writes(label, tmp_path, monkeypatch):
    watched = watch(monkeypatch)
    config = small(find("tiny-shakespeare").contenders["quick"][label])
    metrics = scoring.measure(config, 1, tmp_path)
    assert set(metrics) == set(scoring.SCORES)
    text, (model, vocabulary) = reading.encoded(config), load_model(tmp_path / "model.model")
    assert vocabulary.symbols == text.vocabulary.symbols and metrics["symbols"] == len(vocabulary)
    assert metrics["nats"] == pytest.approx(evaluate(model, text.held_out).nats_per_symbol)
    assert metrics["updates"] == [1, 2, 3] and len(metrics["curve"]) == 3
    assert metrics["training_nats"] == watched.losses["model"][-1]  # the last tenth of three
    assert metrics["bytes"] == 4 * metrics["parameters"]
    keywords = {"prompt": "\n", "length": 400, "temperature": 0.8, "seed": 1}
    assert metrics["sample"] == decoding.sample(model, vocabulary, **keywords)
    assert 0 < metrics["seconds"] < 60


def test_a_run_that_was_killed_goes_on(tmp_path):
    config = small(find("tiny-shakespeare").contenders["quick"]["lstm"])
    first, again = (scoring.measure(config, 0, tmp_path) for _ in range(2))
    assert again == first


def test_seconds_are_those_of_all_updates_that_the_log_has(tmp_path):
    lines = [{"update": 2, "tokens_per_second": 64}, {"update": 3, "tokens_per_second": 32}]
    (tmp_path / "a.pt.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    config = {"recipe": base.recipe(updates=3, batch=4, seq_len=16)}
    assert base.training_seconds(config, tmp_path / "a.pt") == 2 + 2  # of 64 symbols each


def test_weights_that_are_not_trained_are_not_counted():
    config = {"model": base.model("LanguageModel", core="lstm", hidden_size=4, embedding_size=3)}
    model = base.model_of(config, 7)
    weights = 7 * 3 + 4 * (4 * (3 + 4) + 4) + 7 * (4 + 1)  # embedding, cell, output; h_0 and c_0 stay zero
    assert base.parameters(model) == weights and scoring.size_in_bytes(model) == 4 * weights
