"""Regularisers: one change at a time, a rate of its own for each, and an early end that keeps the best weights."""

import math

import pytest

from small_experiments import small
from unrolled.experiments import base, find, reading, records, regularisers, tuning

SEARCHES = find("regularisers-tuning").contenders["quick"]


@pytest.fixture(autouse=True)
def no_record(monkeypatch, tmp_path):
    monkeypatch.setattr(records, "FOLDER", tmp_path / "measured")


def little(label: str, **steps) -> dict:
    config = small(SEARCHES[label])
    config["text"] = reading.text("stories", 20_000, words=True, three_parts=True)
    config["recipe"] |= {"updates": 6, "learning_rate": 4e-3} | steps
    return config | {"validations": 3}


def test_each_contender_changes_what_its_label_says_and_nothing_else():
    plain = SEARCHES["plain"]
    differing = {}
    for label, config in SEARCHES.items():
        for part in ("recipe", "text"):
            differing[label, part] = {k for k, value in config[part].items() if value != plain[part][k]}
        options = config["model"]["options"]
        differing[label, "model"] = {k for k, value in options.items() if value != plain["model"]["options"][k]}
        assert not differing[label, "text"]
    assert differing["tied", "model"] == {"tied", "embedding_scale"} and not differing["tied", "recipe"]
    assert SEARCHES["tied"]["model"]["options"]["embedding_scale"] == pytest.approx(math.sqrt(192))
    assert differing["tied, not scaled", "model"] == {"tied"} and differing["dropout 0.5", "model"] == {"dropout"}
    assert differing["weight decay", "recipe"] == {"optimizer", "weight_decay"}
    assert differing["early stopping", "recipe"] == {"patience"} and differing["not clipped", "recipe"] == {"clip"}
    assert differing["constant rate", "recipe"] == {"schedule"} and differing["descent", "recipe"] == {
        "optimizer",
        "clip",
    }
    assert SEARCHES["descent, not clipped"]["recipe"]["clip"] is None


def test_all_have_as_many_trials_and_descent_larger_rates():
    for label, config in SEARCHES.items():
        rates = [setting["learning_rate"] for setting in config["settings"]]
        assert len(rates) == 4 and (min(rates) > 1) == ("descent" in label)


def test_the_text_is_read_dozens_of_times():
    recipe = SEARCHES["plain"]["recipe"]
    words = len(reading.encoded(SEARCHES["plain"]).training)
    assert 30 < recipe["updates"] * recipe["batch"] * recipe["seq_len"] / words < 50


@pytest.mark.parametrize("label", SEARCHES)
def test_every_contender_is_searched_and_measured(label, tmp_path, hold_out):
    hold_out(5000)
    found = tuning.search(little(label), 0, tmp_path / "search")
    assert len(found["trial_nats"]) == 4
    config = little(label)
    metrics = regularisers.measure(config, 0, tmp_path / "measure")
    find("regularisers").check(records.Contender(label, config, [metrics], {}))
    assert ("curve" in metrics) == (config["recipe"]["patience"] == 0)


def test_an_early_end_gives_back_the_best_weights(tmp_path, hold_out):
    hold_out(5000)
    # a rate that destroys what was learned: the first scores are the best
    config = little("early stopping", updates=60, learning_rate=3.0) | {"validations": 20}
    stopped = base.fit(config, 0, tmp_path)
    assert len(stopped.history.losses) < 60
    assert min(stopped.history.validation) == pytest.approx(
        regularisers.evaluate(stopped.model, stopped.text.held_out).nats_per_symbol, rel=0.05
    )
