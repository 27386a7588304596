"""Does what the stories show hold on real texts, of characters and of words (chapters 2 and 7)?"""

from pathlib import Path

from lab.engine.experiment import Config, Experiment, model, recipe, text
from lab.engine.scoring import SCORES, TRAINING_NATS, measure, scores
from lab.engine.texts import texts
from lab.engine.training import NATS, fit
from unrolled.measure import evaluate
from unrolled.text import split_words


def measure_words(config: Config, seed: int, folder: Path) -> dict:
    """Train a model of words and return its `WORD_SCORES`."""
    trained = fit(config, seed, folder)
    *_, test_text = texts({"text": config["text"] | {"three_parts": True}})
    test = trained.text.vocabulary.encode(split_words(test_text))
    return scores(trained, config, seed) | {"test": evaluate(trained.model, test).nats_per_symbol}


_A_WORD = {"unit": "nats per word"}
WORD_SCORES = {
    **SCORES,
    "nats": NATS._replace(**_A_WORD, about="what a word of the validation text costs"),
    "training_nats": TRAINING_NATS._replace(**_A_WORD),
    "curve": SCORES["curve"]._replace(**_A_WORD),
    "test": NATS._replace(**_A_WORD, about="what a word of the test text costs"),
}


def _recurrent(corpus: str, core: str, rate: float, updates: int, dropout: float = 0.0) -> Config:
    """Return a network of 512 units on a text of characters."""
    return {
        "text": text(corpus),
        "model": model("LanguageModel", core=core, hidden_size=512, embedding_size=64, dropout=dropout),
        "recipe": recipe(updates=updates, batch=32, seq_len=100, learning_rate=rate),
    }


def _of_words(hidden_size: int, dropout: float, words: int, updates: int) -> Config:
    """Return an LSTM of words, trained as PyTorch's word-language-model example does it.

    That is plain gradient descent from a rate of 20, in 20 streams of 35 words.
    """
    sizes = {"hidden_size": hidden_size, "embedding_size": hidden_size, "num_layers": 2}
    return {
        "text": text("wikitext-2", words=words),
        "model": model("LanguageModel", core="torch-lstm", **sizes, dropout=dropout, tied=True),
        "recipe": recipe(updates=updates, batch=20, seq_len=35, learning_rate=20.0, optimizer="sgd", clip=0.25),
        "validations": 3,
    }


SHAKESPEARE = {
    "gru": _recurrent("tiny-shakespeare", "gru", 3e-3, updates=3600, dropout=0.4),  # eleven times through the text
    "lstm": _recurrent("tiny-shakespeare", "lstm", 1e-2, updates=3600, dropout=0.4),
    "transformer": {
        "text": text("tiny-shakespeare"),
        "model": model("TransformerLM", context=128, hidden_size=128, num_layers=4),
        "recipe": recipe(seq_len=128, carry=False, batch=8, learning_rate=2e-3, updates=10_400),  # as long as the LSTM
    },
}
TINYSTORIES = {
    "rnn": _recurrent("tinystories-sample", "rnn", 2e-3, updates=3200, dropout=0.2),
    "gru": _recurrent("tinystories-sample", "gru", 3e-3, updates=3200, dropout=0.3),
    "lstm": _recurrent("tinystories-sample", "lstm", 1e-2, updates=3200, dropout=0.3),
}
FAIRY_BOOKS = {  # not twice through the text, where dropout has little to prevent
    "gru": _recurrent("fairy-books", "gru", 3e-3, updates=3000) | {"validations": 4},
    "lstm": _recurrent("fairy-books", "lstm", 1e-2, updates=3000) | {"validations": 4},
}
VANILLA = {  # the network of chapter 2
    "text": text("tiny-shakespeare"),
    "model": model("LanguageModel", hidden_size=256),
    "recipe": recipe(updates=4000, symbols_per_update=4096, seq_len=64, learning_rate=2e-3),
}

EXPERIMENTS = (
    Experiment(
        "tiny-shakespeare",
        "Tiny Shakespeare: LSTM and GRU, and a transformer trained equally long",
        SCORES,
        SHAKESPEARE,
        measure,
        seeds=2,
    ),
    Experiment(
        "tinystories-sample",
        "TinyStories sample: RNN, GRU and LSTM, large enough to be measured against counting",
        SCORES,
        TINYSTORIES,
        measure,
        seeds=2,
    ),
    Experiment(
        "fairy-books",
        "Fairy books: GRU and LSTM on seven million characters",
        SCORES,
        FAIRY_BOOKS,
        measure,
        seeds=2,
    ),
    Experiment(
        "wikitext-2-words",
        "WikiText-2, words: LSTMs of two layers, tied, with dropout",
        WORD_SCORES,
        {"200": _of_words(200, 0.2, words=10_000, updates=9000)},
        measure_words,
        seeds=2,
    ),
    Experiment(
        "rnn-tiny-shakespeare",
        "Tiny Shakespeare: a vanilla RNN, state carried",
        SCORES,
        {"rnn": VANILLA},
        measure,
    ),
)
