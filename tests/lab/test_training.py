"""What the laboratory trains: runs that go on, with seeds and seconds, on the parts of a text; and what is asked."""

import json

import pytest
import torch

import lab
from lab.engine import scoring
from lab.engine.experiment import NotChosen, model, recipe, text
from lab.engine.texts import encoded, texts
from lab.engine.training import answers, fit, mean_loss, model_of, parameters, recipe_of, training_seconds
from small_experiments import small, watch
from unrolled import decoding
from unrolled.measure import evaluate
from unrolled.models import Tagger, load_model
from unrolled.text import Examples, Vocabulary, pad_tagged, stories

CONFIG = {
    "text": text("stories", 20_000),
    "model": model("LanguageModel", core="gru", hidden_size=8),
    "recipe": recipe(updates=20, symbols_per_update=64, seq_len=16, learning_rate=1e-2),
}


def trainings(config: dict) -> list[dict]:
    """Return all that is trained from scratch for a contender."""
    return [part for part in (config, *config.values()) if isinstance(part, dict) and {"model", "recipe"} <= {*part}]


@pytest.mark.parametrize("name", lab.experiments())
def test_every_configuration_is_json_and_can_be_trained(name):
    experiment = lab.find(name)
    for label in experiment.contenders:
        try:
            config = experiment.config(label)
        except NotChosen:  # it waits for a search, and is tried when that has been recorded
            continue
        assert json.loads(json.dumps(config, allow_nan=False)) == config
        for each in trainings(config):
            steps, kind = recipe_of(each), each["model"]["kind"]
            if kind == "TransformerLM":
                assert steps.seq_len == each["model"]["context"] and not steps.carry
            if kind == "ScheduledSampling":
                assert each["model"]["ramp"] == steps.updates  # the text is trusted least at the end, not before
            with torch.device("meta"):
                model_of(each, 100, 20 if answers(each) else None)


def test_a_training_goes_on_and_ends_where_one_that_was_never_stopped_does(tmp_path):
    whole = fit(CONFIG, 0, tmp_path / "whole")
    stopped = fit(CONFIG, 0, tmp_path / "stopped", until=7)
    assert len(stopped.history.losses) == 7 and not (tmp_path / "stopped" / "model.model").exists()
    again = fit(CONFIG, 0, tmp_path / "stopped")
    assert again.history == whole.history and again.history.validated == [2 * score for score in range(1, 11)]
    weights = zip(
        again.model.parameters(), load_model(tmp_path / "stopped" / "model.model")[0].parameters(), strict=True
    )
    assert all(torch.equal(*pair) for pair in weights)
    assert fit(CONFIG, 1, tmp_path / "other").history.losses != whole.history.losses
    assert fit(CONFIG | {"validations": 0}, 0, tmp_path / "unscored").history.losses == whole.history.losses


def test_a_recipe_is_read_as_its_author_writes_it():
    steps = recipe_of({"recipe": recipe(updates=5, symbols_per_update=2048, seq_len=64, learning_rate=1.0, clip=None)})
    assert (steps.batch, steps.clip) == (32, float("inf"))


def test_seconds_are_those_of_all_updates_that_the_log_has(tmp_path):
    lines = [{"update": 2, "tokens_per_second": 64}, {"update": 3, "tokens_per_second": 32}]
    (tmp_path / "a.pt.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    config = {"recipe": recipe(updates=3, batch=4, seq_len=16, learning_rate=1.0)}
    assert training_seconds(config, tmp_path / "a.pt") == 2 + 2  # of 64 symbols each


def test_the_mean_loss_is_total_over_total():
    torch.manual_seed(0)
    tagger = Tagger(9, 4, hidden_size=4, dropout=0.5)
    pairs = [(torch.arange(length) % 9, torch.arange(length) % 4) for length in (1, 7, 3)]
    single, together = (mean_loss(tagger, Examples(pairs, size, pad_tagged).once()) for size in (1, 3))
    assert single == pytest.approx(together) and tagger.training


def test_weights_that_are_not_trained_are_not_counted():
    made = model_of({"model": model("LanguageModel", core="lstm", hidden_size=4, embedding_size=3)}, 7)
    weights = 7 * 3 + 4 * (4 * (3 + 4) + 4) + 7 * (4 + 1)  # embedding, cell, output; h_0 and c_0 stay zero
    assert parameters(made) == weights and scoring.size_in_bytes(made) == 4 * weights


def test_a_model_is_trained_scored_and_saved_and_writes(tmp_path, monkeypatch):
    watched = watch(monkeypatch)
    config = small("tiny-shakespeare", "gru")
    metrics = scoring.measure(config, 1, tmp_path)
    read, (trained, vocabulary) = encoded(config), load_model(tmp_path / "model.model")
    assert {*metrics} == {*scoring.SCORES}
    assert vocabulary.symbols == read.vocabulary.symbols and metrics["symbols"] == len(vocabulary)
    assert metrics["nats"] == pytest.approx(evaluate(trained, read.held_out).nats_per_symbol)
    assert metrics["training_nats"] == watched.losses["model"][-1]  # the last tenth of three
    keywords = {"prompt": "\n", "length": 400, "temperature": 0.8, "seed": 1}
    assert metrics["sample"] == decoding.sample(trained, vocabulary, **keywords)
    assert scoring.measure(config, 1, tmp_path) == metrics  # a run that was killed goes on


# Texts


def test_stories_of_three_parts_are_three_draws_and_each_seed_has_its_own(hold_out):
    hold_out(5000)
    config = {"text": text("stories", 20_000, three_parts=True)}
    parts = texts(config, 3)
    sizes = (20_000, 5000, 5000)
    expected = tuple(
        stories.corpus(size, seed=seed).text for size, seed in zip(sizes, (3, 1_000_003, 2_000_003), strict=True)
    )
    assert parts == expected and not {*parts} & {*texts(config, 4)}
    lines = [{*part.splitlines()} for part in parts]
    assert not lines[0] & lines[1] and not lines[0] & lines[2] and not lines[1] & lines[2]


def test_without_three_parts_the_last_tenth_is_held_out():
    training, held_out = texts({"text": text("stories", 20_000)})
    assert training + held_out == stories.corpus(20_000).text
    assert len(held_out) == pytest.approx(2000, abs=500)


def test_the_parts_of_a_real_text_are_its_own_and_two_become_three(monkeypatch):
    class Two:
        train, validation, test = "abcdefghij" * 3, "klm", ""

    class Three(Two):
        test = "xyz"

    corpora = {"two": Two, "three": Three}
    monkeypatch.setattr("lab.engine.texts.load_corpus", corpora.get)
    assert texts({"text": text("two")}) == (Two.train, "klm")
    assert texts({"text": text("two", three_parts=True)}) == (Two.train[:27], "hij", "klm")
    assert texts({"text": text("three", three_parts=True)}) == (Two.train, "klm", "xyz")
    read = encoded({"text": text("three", three_parts=True)})
    assert isinstance(read.vocabulary, Vocabulary) and read.vocabulary.decode(read.test) == "xyz"
