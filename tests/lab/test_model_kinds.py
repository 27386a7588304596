"""Every kind of model is scored on the same stories, and the loss is found where it is."""

import numpy as np
import pytest
from unrolled.experiments import base, cells_over_budget, find, model_kinds, reading, tuning

from small_experiments import small
from unrolled.measure import breakdown, evaluate, token_nats
from unrolled.models import load_model
from unrolled.ngram import Counts, ModifiedKneserNey
from unrolled.text import stories

CONTENDERS = find("stories-chars").contenders["quick"]
TEST = stories.corpus(2000, seed=2_000_000)


@pytest.fixture(autouse=True)
def little_text(hold_out):
    """Let the validation and the test be short."""
    hold_out(2000)


def little(config: dict, **instead) -> dict:
    """Return a configuration that takes a second, with a text in three parts."""
    return small(config, text=reading.text("stories", 20_000, three_parts=True), **instead)


def networks() -> dict:
    """Return all networks as they are before anything is chosen."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells_over_budget, "begun_as_chosen", lambda config, name, profile: config)
        return {name: model_kinds._network(name, "quick") for name in model_kinds.RATES}


def test_the_text_is_the_held_out_stories_themselves(tmp_path):
    metrics = model_kinds.measure(little(CONTENDERS["text"]), 0, tmp_path)
    assert metrics["nats"] == TEST.nats_per_character and metrics["characters"] == len(TEST.text)
    shares = breakdown.by_class(np.zeros(len(TEST.text)), TEST)
    assert metrics["classes"] == list(shares)
    assert metrics["class_words"] == [share.words for share in shares.values()]
    assert metrics["class_characters"] == [share.characters for share in shares.values()]


def test_ngrams_of_each_order_are_scored(tmp_path):
    metrics = {label: model_kinds.measure(little(CONTENDERS[label]), 0, tmp_path) for label in ("1-gram", "3-gram")}
    text = reading.encoded(little(CONTENDERS["3-gram"]))
    counted = ModifiedKneserNey(Counts(text.training, len(text.vocabulary), 12), 3)
    assert metrics["3-gram"]["nats"] == pytest.approx(evaluate(counted, text.test).nats_per_symbol)
    assert metrics["1-gram"]["bytes"] < metrics["3-gram"]["bytes"] == counted.nbytes
    nats = token_nats(counted, text.test, start=text.vocabulary["\n"])
    assert sum(metrics["3-gram"]["by_class"]) == pytest.approx(nats.sum())


@pytest.mark.parametrize("label", model_kinds.RATES)
def test_each_network_is_asked_in_every_respect(label, tmp_path):
    config = little(networks()[label], positions=[0, 1, 2000], edges=[1, 50, 500], asked=20_000)
    metrics = model_kinds.measure(config, 0, tmp_path)
    text, (network, vocabulary) = reading.encoded(config), load_model(tmp_path / "model.model")
    nats = token_nats(network, text.test, start=vocabulary["\n"])
    assert metrics["nats"] == pytest.approx(evaluate(network, text.test).nats_per_symbol)
    assert sum(metrics["by_class"]) == pytest.approx(nats.sum())
    assert metrics["by_story"] == pytest.approx(breakdown.by_story(nats, TEST), abs=0.01)
    first = breakdown.by_position(nats, TEST, [0, 1]).item()
    assert metrics["by_position"][0] == pytest.approx(first, rel=1e-4) and len(metrics["by_position"]) == 2
    assert metrics["pronoun_asked"][0] > 0 and 0 <= metrics["name"][0] <= 1


def test_no_network_reads_a_character_twice_and_all_read_equally_many():
    for config in networks().values():
        steps = config["recipe"]
        read = steps["updates"] * steps["batch"] * steps["seq_len"]
        assert read == model_kinds.CHARACTERS["quick"] < config["text"]["characters"]


def test_a_cell_begins_as_the_search_of_the_cells_chose(monkeypatch):
    chosen = {"learning_rate": 0.5, "initialisation": "chrono", "t_max": 7}
    monkeypatch.setattr(tuning.Comparison, "chosen", lambda self, name, updates, profile: chosen)
    config = model_kinds._network("gru", "quick")
    assert config["model"]["options"]["cell_options"]["t_max"] == 7
    assert config["recipe"]["learning_rate"] == model_kinds.RATES["gru"][0]


def test_equally_many_weights_are_compared():
    weights = [base.parameters(base.model_of(config, 57)) for config in networks().values()]
    assert min(weights) > 300_000 and max(weights) < 350_000
