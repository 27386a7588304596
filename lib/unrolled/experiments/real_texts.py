"""Does what the stories show hold on real texts, of characters and of words (chapters 2 and 7)?"""

from __future__ import annotations

from pathlib import Path

from unrolled.experiments.base import NATS, Configuration, Experiment, fit, model, recipe
from unrolled.experiments.reading import text
from unrolled.experiments.scoring import SCORES, TRAINING_NATS, measure, scores
from unrolled.measure import evaluate
from unrolled.text import load_corpus, split_words


def measure_words(config: Configuration, seed: int, folder: Path) -> dict:
    """Train a model of words and return its `WORD_SCORES`."""
    trained = fit(config, seed, folder)
    test = trained.text.vocabulary.encode(split_words(load_corpus(config["text"]["corpus"]).test))
    return scores(trained, config, seed) | {"test": evaluate(trained.model, test).nats_per_symbol}


_A_WORD = {"unit": "nats per word"}
WORD_SCORES = {
    **SCORES,
    "nats": NATS._replace(**_A_WORD, about="what a word of the validation text costs"),
    "training_nats": TRAINING_NATS._replace(**_A_WORD),
    "curve": SCORES["curve"]._replace(**_A_WORD),
    "test": NATS._replace(**_A_WORD, about="what a word of the test text costs"),
}


def _recurrent(corpus: str, core: str, rate: float, updates: int, dropout: float = 0.0) -> Configuration:
    """Return a network of 512 units on a text of characters."""
    return {
        "text": text(corpus),
        "model": model("LanguageModel", core=core, hidden_size=512, embedding_size=64, dropout=dropout),
        "recipe": recipe(updates=updates, batch=32, seq_len=100, learning_rate=rate),
    }


def _larger(corpus: str, core: str, embedding_size: int = 64, batch: int = 32, updates: int = 20_000) -> Configuration:
    """Return a network for a GPU: two layers of 1024 units, PyTorch's own, with more dropout."""
    size = {"hidden_size": 1024, "num_layers": 2, "embedding_size": embedding_size}
    return {
        "text": text(corpus),
        "model": model("LanguageModel", core=f"torch-{core}", **size, dropout=0.5),
        "recipe": recipe(updates=updates, batch=batch, seq_len=100, learning_rate=2e-3, patience=8),
        "validations": 40,
    }


def _attending(corpus: str, context: int, size: dict, **steps) -> Configuration:
    """Return a transformer of such a size, trained on blocks of its context."""
    return {
        "text": text(corpus),
        "model": model("TransformerLM", context=context, **size),
        "recipe": recipe(seq_len=context, carry=False, **steps),
    }


def _of_words(hidden_size: int, dropout: float, words: int | bool, validations: int, **steps) -> Configuration:
    """Return an LSTM of words, trained as PyTorch's word-language-model example does it.

    That is plain gradient descent from a rate of 20, in 20 streams of 35 words.
    """
    sizes = {"hidden_size": hidden_size, "embedding_size": hidden_size, "num_layers": 2}
    descent = {"batch": 20, "seq_len": 35, "learning_rate": 20.0, "optimizer": "sgd", "clip": 0.25}
    return {
        "text": text("wikitext-2", words=words),
        "model": model("LanguageModel", core="torch-lstm", **sizes, dropout=dropout, tied=True),
        "recipe": recipe(**descent, **steps),
        "validations": validations,
    }


def _vanilla(hidden_size: int, updates: int) -> Configuration:
    """Return the network of chapter 2."""
    steps = {"updates": updates, "symbols_per_update": 4096, "seq_len": 64, "learning_rate": 2e-3}
    return {
        "text": text("tiny-shakespeare"),
        "model": model("LanguageModel", hidden_size=hidden_size),
        "recipe": recipe(**steps),
    }


_SHAKESPEARE = {
    "gru": _recurrent("tiny-shakespeare", "gru", 3e-3, updates=3600, dropout=0.4),  # eleven times through the text
    "lstm": _recurrent("tiny-shakespeare", "lstm", 1e-2, updates=3600, dropout=0.4),
    "transformer": _attending(  # as many updates as take as long as the LSTM's
        "tiny-shakespeare", 128, {"hidden_size": 128, "num_layers": 4}, updates=10_400, batch=8, learning_rate=2e-3
    ),
}
_LARGER_SHAKESPEARE = {
    "gru": _larger("tiny-shakespeare", "gru", embedding_size=128, batch=64, updates=10_000),
    "lstm": _larger("tiny-shakespeare", "lstm", embedding_size=128, batch=64, updates=10_000),
    "transformer": _attending(
        "tiny-shakespeare",
        256,
        {"hidden_size": 384, "num_layers": 6, "num_heads": 6, "dropout": 0.2},
        updates=5000,
        batch=64,
        learning_rate=1e-3,
        patience=8,
    )
    | {"validations": 40},
}
_TINYSTORIES = {
    "rnn": _recurrent("tinystories-sample", "rnn", 2e-3, updates=3200, dropout=0.2),
    "gru": _recurrent("tinystories-sample", "gru", 3e-3, updates=3200, dropout=0.3),
    "lstm": _recurrent("tinystories-sample", "lstm", 1e-2, updates=3200, dropout=0.3),
}
_FAIRY_BOOKS = {  # not twice through the text, where dropout has little to prevent
    "gru": _recurrent("fairy-books", "gru", 3e-3, updates=3000) | {"validations": 4},
    "lstm": _recurrent("fairy-books", "lstm", 1e-2, updates=3000) | {"validations": 4},
}
_FORTY_TIMES = {"words": True, "validations": 40, "updates": 40 * 2983, "schedule": "plateau", "patience": 10}

EXPERIMENTS = (
    Experiment(
        "tiny-shakespeare",
        "Tiny Shakespeare: LSTM and GRU, and a transformer trained equally long",
        SCORES,
        {"quick": _SHAKESPEARE, "full": _LARGER_SHAKESPEARE},
        measure,
        seeds=2,
    ),
    Experiment(
        "tinystories-sample",
        "TinyStories sample: RNN, GRU and LSTM, large enough to be measured against counting",
        SCORES,
        {"quick": _TINYSTORIES, "full": {core: _larger("tinystories-sample", core) for core in _TINYSTORIES}},
        measure,
        seeds=2,
    ),
    Experiment(
        "fairy-books",
        "Fairy books: GRU and LSTM on seven million characters",
        SCORES,
        {"quick": _FAIRY_BOOKS, "full": {core: _larger("fairy-books", core) for core in _FAIRY_BOOKS}},
        measure,
        seeds=2,
    ),
    Experiment(
        "wikitext-2-words",
        "WikiText-2, words: LSTMs of two layers, tied, with dropout",
        WORD_SCORES,
        {
            "quick": {"200": _of_words(200, 0.2, words=10_000, validations=3, updates=9000)},
            "full": {"200": _of_words(200, 0.2, **_FORTY_TIMES), "650": _of_words(650, 0.5, **_FORTY_TIMES)},
        },
        measure_words,
        seeds=2,
    ),
    Experiment(
        "rnn-tiny-shakespeare",
        "Tiny Shakespeare: a vanilla RNN, state carried",
        SCORES,
        {"quick": {"rnn": _vanilla(256, 4000)}, "full": {"rnn": _vanilla(1024, 8000)}},
        measure,
    ),
)
