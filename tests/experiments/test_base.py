"""What the experiments share: a configuration becomes a text, a recipe and a training."""

import pytest
import torch

from small_experiments import small
from unrolled.experiments import base, find, reading
from unrolled.text import Vocabulary, stories
from unrolled.text.corpora import Corpus
from unrolled.training import History, Recipe


@pytest.fixture
def config():
    return small(find("rnn-windows").contenders["quick"]["carried 16"])


def test_a_configuration_becomes_a_training(config, tmp_path, monkeypatch):
    asked = {}

    def train(model, tokens, recipe, **options):
        asked.update(options, tokens=tokens, recipe=recipe)
        return History()

    monkeypatch.setattr(base, "train", train)
    config["recipe"] = config["recipe"] | {"updates": 20, "carry": False}
    fitted = base.fit(config, 0, tmp_path)
    assert asked["recipe"] == Recipe(updates=20, batch=4, seq_len=16, learning_rate=1e-2, carry=False)
    training, held_out = reading.texts(config)
    vocabulary = Vocabulary(training + held_out)
    assert "".join(vocabulary.decode(asked["tokens"])) == training
    assert "".join(vocabulary.decode(fitted.text.held_out)) == held_out
    assert torch.equal(fitted.text.held_out, asked["validation"])
    assert (asked["validate_every"], asked["checkpoint"]) == (2, tmp_path / "model.pt")
    for validations, every in ((4, 5), (100, 1)):
        base.fit(config | {"validations": validations}, 0, tmp_path)
        assert asked["validate_every"] == every
    assert 8 < len(training) / len(held_out) < 10


def test_three_parts_of_stories_are_three_draws(hold_out):
    hold_out(3000)
    config = {"text": reading.text("stories", 20_000, three_parts=True)}
    training, validation, test = reading.texts(config)
    assert [len(part) // 1000 for part in (training, validation, test)] == [20, 3, 3]
    written = [set(part.splitlines()) for part in (training, validation, test)]
    assert not (written[0] & written[1] or written[0] & written[2] or written[1] & written[2])
    assert [part.text for part in reading.unseen_stories()] == [validation, test]
    assert reading.texts(config, seed=1) != reading.texts(config) == (training, validation, test)
    read = reading.encoded(config)
    assert "".join(read.vocabulary.decode(read.test)) == test
    words = reading.encoded({"text": reading.text("stories", 20_000, words=True, three_parts=True)})
    assert words.vocabulary.decode(words.training) == stories.words(training)


@pytest.mark.parametrize(
    "published_test, parts", [("", ("a" * 90, "b" * 10, "v")), ("t", ("a" * 90 + "b" * 10, "v", "t"))]
)
def test_a_real_text_of_two_parts_gives_up_its_last_tenth(published_test, parts, monkeypatch, hold_out):
    corpus = Corpus("fox", "a" * 90 + "b" * 10, "v", published_test, "public domain", ())
    hold_out(0)  # nothing of a real text
    monkeypatch.setattr(reading, "load_corpus", lambda name: corpus)
    config = {"text": reading.text("fox", three_parts=True)}
    assert reading.texts(config) == parts
    assert reading.texts({"text": reading.text("fox")}) == (corpus.train, "v")


def test_a_training_that_stops_on_the_way_goes_on(config, tmp_path):
    config["recipe"] = config["recipe"] | {"updates": 6}
    whole = base.fit(config, 0, tmp_path / "whole")
    stopped = base.fit(config, 0, tmp_path / "stopped", until=2)
    assert len(stopped.history.losses) == 2 and not list((tmp_path / "stopped").glob("*.model"))
    again = base.fit(config, 0, tmp_path / "stopped", until=6)
    assert again.history.losses == whole.history.losses and (tmp_path / "stopped" / "model.model").exists()


def test_what_is_kept_is_computed_once(tmp_path):
    calls = []
    values = [base.kept(tmp_path / "deep" / "x.json", lambda: calls.append(1) or {"nats": 0.5}) for _ in range(2)]
    assert values == [{"nats": 0.5}] * 2 and len(calls) == 1


def test_a_seed_decides_the_first_weights(config, tmp_path):
    first, again, other = (
        base.fit(config, seed, tmp_path / str(run)).history.losses for run, seed in enumerate((0, 0, 1))
    )
    assert first == again != other


def test_a_class_that_hands_keywords_on_keeps_its_own_defaults():
    residual, plain = (base.model(kind)["options"] for kind in ("ResidualLM", "LanguageModel"))
    assert (residual["num_layers"], plain["num_layers"]) == (2, 1)
    assert residual.keys() == plain.keys()
    assert base.model("ResidualLM", num_layers=3)["options"]["num_layers"] == 3
