"""Real texts are read as characters and as words, and scored as what they are."""

import numpy as np
import pytest
from unrolled.experiments import find, reading, real_texts, scoring

from small_experiments import small, watch
from unrolled.measure import evaluate
from unrolled.models import load_model
from unrolled.text import WordVocabulary, split_words
from unrolled.training import Recipe

WORDS = ["the", "cat", "sat", "on", "a", "mat", "\n"]


def contender(name, label):
    return find(name).contenders["quick"][label]


def test_each_network_has_a_rate_and_dropout_of_its_own(tmp_path, monkeypatch):
    watched = watch(monkeypatch)
    scoring.measure(small(contender("tiny-shakespeare", "transformer")), 0, tmp_path / "transformer")
    assert watched.recipes["model"] == Recipe(updates=3, batch=4, seq_len=16, learning_rate=2e-3, carry=False)
    scoring.measure(small(contender("tiny-shakespeare", "lstm")), 0, tmp_path / "lstm")
    assert watched.recipes["model"].carry and watched.recipes["model"].learning_rate == 1e-2
    assert watched.models["model"].dropout.rate == 0.4


def test_the_vanilla_network_of_chapter_2_is_scored_and_goes_on(tmp_path):
    config = small(contender("rnn-tiny-shakespeare", "rnn"))
    metrics = scoring.measure(config, 0, tmp_path)
    assert len(metrics["sample"]) == 401 and metrics["sample"][0] == "\n"
    assert metrics["curve"][-1] == pytest.approx(metrics["nats"], rel=1e-4)
    # an embedding of 4, the cell's two matrices and bias, the output's matrix and bias; h_0 is not trained
    assert metrics["parameters"] == 4 * metrics["symbols"] + 4 * (4 + 4 + 1) + (4 + 1) * metrics["symbols"]


@pytest.fixture
def wikitext(monkeypatch):
    """A corpus of words in place of WikiText-2."""

    def text(number):
        return " ".join(np.random.default_rng(number).choice(WORDS, 800))

    class Corpus:
        train, validation, test = text(0), text(1), text(2)

    for module in (reading, real_texts):
        monkeypatch.setattr(module, "load_corpus", lambda name: Corpus)
    return Corpus


def test_words_are_trained_scored_and_saved(wikitext, tmp_path, monkeypatch):
    watched = watch(monkeypatch)
    config = small(contender("wikitext-2-words", "200")) | {"text": reading.text("wikitext-2", words=5)}
    metrics = real_texts.measure_words(config, 0, tmp_path)
    assert set(metrics) == set(real_texts.WORD_SCORES)
    model, vocabulary = load_model(tmp_path / "model.model")
    assert isinstance(vocabulary, WordVocabulary) and metrics["symbols"] == len(vocabulary) == 5
    for name, part in (("nats", wikitext.validation), ("test", wikitext.test)):
        tokens = vocabulary.encode(split_words(part))
        assert metrics[name] == pytest.approx(evaluate(model, tokens).nats_per_symbol)
    recipe = watched.recipes["model"]
    assert (recipe.optimizer, recipe.learning_rate, recipe.clip) == ("sgd", 20.0, 0.25)
    assert len(metrics["sample"].split(" ")) >= scoring.SAMPLE_LENGTH


@pytest.mark.parametrize("words, symbols", [(True, 8), (5, 5)])  # seven words and the unknown
def test_the_most_frequent_words_are_known(wikitext, words, symbols):
    text = reading.encoded({"text": reading.text("wikitext-2", words=words)})
    assert len(text.training) == len(split_words(wikitext.train)) and len(text.vocabulary) == symbols
