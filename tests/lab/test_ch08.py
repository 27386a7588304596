"""Chapter 8's experiments: each model is asked the same of unseen text, and losses are found where they are."""

import json

import numpy as np
import pytest
import torch

import lab
from lab.ch08_fair_comparisons import breakdown, learning_rates, memory, model_kinds, names, real_texts
from lab.ch08_fair_comparisons.recipe_factors import RATE_FILE
from lab.engine import scoring, search, texts
from lab.engine.experiment import text
from lab.engine.texts import Encoded, encoded, unseen_stories
from small_experiments import small, watch
from unrolled.measure import evaluate, token_nats
from unrolled.models import load_model
from unrolled.ngram import Counts, ModifiedKneserNey
from unrolled.text import WordVocabulary, split_words, stories


def nats(model, tokens: torch.Tensor) -> float:
    """Return what a symbol costs, to be compared with what was measured."""
    return pytest.approx(evaluate(model, tokens).nats_per_symbol)


# Names


def test_the_network_that_the_validation_prefers_is_asked_in_the_test(tmp_path):
    config = small("names-textbook", "lstm") | {"learning_rates": [1e-3, 3e-2, 1e-1]}
    metrics, read = names.measure(config, 0, tmp_path), encoded(config)
    tried = json.loads(metrics["tried"])
    assert metrics["validation"] == min(tried.values()) == tried[str(metrics["learning_rate"])]
    network = load_model(tmp_path / f"{RATE_FILE.format(metrics['learning_rate'])}.model")[0]
    assert metrics["nats"] == nats(network, read.test) and metrics["validation"] == nats(network, read.held_out)
    assert sum(metrics["by_story"]) / sum(metrics["story_symbols"]) == pytest.approx(metrics["nats"], rel=0.05)


def test_longer_trainings_take_their_settings_from_the_search_and_a_larger_network_from_the_smaller_one():
    searched = lab.find("names-tuning")
    for core in ("rnn", "lstm", "gru"):
        rate = search.chosen("names-tuning", core)["learning_rate"]
        longer, larger = (lab.find("names").config(label) for label in (core, f"{core}, larger"))
        assert longer["learning_rates"] == larger["learning_rates"] == [rate / 4, rate / 2, rate]
        assert longer["model"]["cell_options"] == larger["model"]["cell_options"]
        assert longer["recipe"] == {**searched.config(core)["recipe"], "updates": 8000}


# Learning rates


def test_a_stream_that_pays_more_than_twice_the_median_is_expensive(monkeypatch):
    paid = np.repeat([1.0, 1.0, 3.0, 1.2], [5, 5, 5, 3])  # a text of 19 symbols in 4 streams
    monkeypatch.setattr(learning_rates, "token_nats", lambda model, tokens, streams: paid)
    read = Encoded(None, None, torch.zeros(19))
    assert learning_rates.expensive_streams(None, read, 4) == 1
    paid[15:] = 4.0  # of the streams at 1, 1, 3 and 4 the median is 2
    assert learning_rates.expensive_streams(None, read, 4) == 0
    paid[10:15] = 1.0
    assert learning_rates.expensive_streams(None, read, 4) == 1


# Memory by lag


@pytest.mark.parametrize("core", memory.MODELS)
def test_each_model_is_asked_on_the_way_and_in_the_test_at_the_end(core, hold_out, tmp_path, monkeypatch):
    hold_out(15_000)
    config = small("memory-by-lag", f"{core} 500") | {"story": True}
    config["text"]["characters"] = 400_000  # so that every name is known
    asked, ask = [], memory._ask
    monkeypatch.setattr(memory, "_ask", lambda *arguments: asked.append(arguments[2:]) or ask(*arguments))
    measured = memory.measure(config, 0, tmp_path)
    lab.find("memory-by-lag").check(core, measured, config)
    (validation, test), read = unseen_stories(), encoded(config)
    assert [corpus for corpus, _ in asked] == [validation, validation, test]
    assert torch.equal(asked[0][1], read.held_out) and torch.equal(asked[2][1], read.test)
    assert measured["story"] in [stories.words(each.text) for each in test.stories]
    assert measured["hero"] in measured["story"] and len(measured["chance"]) == len(measured["story"])
    assert ("unit_states" in measured) == (core != "transformer")
    assert ("unit_gates" in measured) == (core in ("lstm", "gru"))
    asked.clear()
    assert memory.measure(config, 0, tmp_path) == measured | {"seconds": pytest.approx(measured["seconds"])}
    assert len(asked) == 1  # what was asked on the way is kept


def test_a_unit_that_holds_the_name_tells_all_of_it(monkeypatch):
    """A network whose unit 0 is the number of the last name, and whose unit 1 is the number of the last word."""
    corpus, values = stories.corpus(60_000, seed=3), stories.grammar().values["name"]
    read = encoded({"text": text("stories", 400_000, words=True)})

    def trace(network, tokens):
        words, last, states = read.vocabulary.decode(tokens.tolist()), 0, []
        for word, number in zip(words, tokens.tolist(), strict=True):
            last = values.index(word) if word in values else last
            states.append([float(last), float(number), 1.0])
        return torch.tensor(states), None

    monkeypatch.setattr(memory, "_trace", trace)
    alone = [story for story in corpus.stories if len({r.value for r in story.recalls if r.kind == "name"}) == 1]
    shares = memory.name_shares(None, read, stories.StoryCorpus(tuple(alone)))
    assert shares[0] > 0.9 and shares[1] < 0.6 and shares[2] == 0


# Kinds of models


@pytest.mark.parametrize("label", ["3-gram", *model_kinds.RATES])
def test_each_model_is_asked_in_every_respect_in_the_test(label, tmp_path, hold_out):
    hold_out(2000)
    config = small("stories-chars", label, positions=[0, 1, 2000], edges=[1, 50, 500], asked=8000)
    if "context" in config.get("model", {}):
        config["model"]["context"] = 16
    metrics, read, (_, test) = model_kinds.measure(config, 0, tmp_path), encoded(config), unseen_stories()
    if label == "3-gram":
        model = ModifiedKneserNey(Counts(read.training, len(read.vocabulary), 3))
        assert metrics["bytes"] == model.nbytes
    else:
        model, _ = load_model(tmp_path / "model.model")
        assert metrics["pronoun_asked"][0] > 0 and 0 <= metrics["name"][0] <= 1
    costs = token_nats(model, read.test, start=read.vocabulary["\n"])
    assert metrics["nats"] == nats(model, read.test) and sum(metrics["by_class"]) == pytest.approx(costs.sum())
    ends = np.cumsum([len(story.text) + 1 for story in test.stories])
    assert metrics["by_story"] == pytest.approx([part.sum() for part in np.split(costs, ends[:-1])], abs=0.01)
    first = breakdown.by_position(costs, test, [0, 1]).item()
    assert metrics["by_position"][0] == pytest.approx(first, rel=1e-4) and len(metrics["by_position"]) == 2


# Real texts


@pytest.fixture
def wikitext(monkeypatch):
    """A corpus of seven words in place of WikiText-2."""
    words = ["the", "cat", "sat", "on", "a", "mat", "\n"]

    class Corpus:
        train, validation, test = (" ".join(np.random.default_rng(seed).choice(words, 800)) for seed in range(3))

    monkeypatch.setattr(texts, "load_corpus", lambda name: Corpus)
    texts._texts.cache_clear()
    yield Corpus
    texts._texts.cache_clear()


def test_words_are_trained_scored_and_saved(wikitext, tmp_path, monkeypatch):
    watched = watch(monkeypatch)
    config = small("wikitext-2-words", "200") | {"text": text("wikitext-2", words=5)}
    metrics = real_texts.measure_words(config, 0, tmp_path)
    assert {*metrics} == {*real_texts.WORD_SCORES}
    model, vocabulary = load_model(tmp_path / "model.model")
    assert isinstance(vocabulary, WordVocabulary) and metrics["symbols"] == len(vocabulary) == 5
    assert torch.equal(watched.read["model"], vocabulary.encode(split_words(wikitext.train)))
    for name, part in (("nats", wikitext.validation), ("test", wikitext.test)):
        assert metrics[name] == nats(model, vocabulary.encode(split_words(part)))
    recipe = watched.recipes["model"]
    assert (recipe.optimizer, recipe.learning_rate, recipe.clip) == ("sgd", 20.0, 0.25)
    assert len(metrics["sample"].split(" ")) >= scoring.SAMPLE_LENGTH


@pytest.mark.parametrize("words, symbols", [(True, 8), (5, 5)])  # seven words and the unknown
def test_the_most_frequent_words_are_known(wikitext, words, symbols):
    read = encoded({"text": text("wikitext-2", words=words)})
    assert len(read.training) == len(split_words(wikitext.train)) and len(read.vocabulary) == symbols
