"""The experiments of chapter 7 that train language models, of whatever kind, on whatever text, and score them."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path

from unrolled import decoding
from unrolled.experiments.base import Encoded, Experiment, encoded, fit, kept, training_seconds
from unrolled.measure import evaluate
from unrolled.models import KINDS, NeuralModel
from unrolled.text import WordVocabulary, corpora, split_words

SAMPLE = 400  # symbols


def model_of(vocab_size: int, told: dict) -> NeuralModel:
    """Return an untrained model of the ``kind`` and with the ``options`` that a configuration tells."""
    return KINDS[told["kind"]](vocab_size, **told["options"])


def sizes(model: NeuralModel) -> dict:
    """Return ``parameters``, the number of weights that are trained, and ``bytes``, what they take."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    return {
        "parameters": sum(weight.numel() for weight in weights),
        "bytes": sum(weight.numel() * weight.element_size() for weight in weights),
    }


def sample(model: NeuralModel, text: Encoded, seed: int) -> str:
    """Return what the model writes after a line break, at the temperature 0.8; words with a space between them."""
    words = isinstance(text.vocabulary, WordVocabulary)
    prompt = ["\n"] if words else "\n"
    written = decoding.sample(model, text.vocabulary, prompt=prompt, length=SAMPLE, temperature=0.8, seed=seed)
    return " ".join(written) if words else written


def measure_each(
    config: dict, seed: int, folder: Path, look: Callable[[NeuralModel, Encoded], dict] = lambda model, text: {}
) -> dict:
    """Train each of the ``models`` of a configuration, and score it.

    Args:
        config: the text, and the recipe as far as it is the same for all; a model may tell its own.
        seed: of the first weights, and of the sample.
        folder: where to keep what is trained.
        look: what else to measure of a trained model.

    Returns:
        ``symbols``, V; and for each label ``LABEL-nats`` on the held-out text, ``LABEL-training-nats``, the mean loss
        of the last tenth of the updates, ``LABEL-updates`` and ``LABEL-curve``, `sizes`, ``LABEL-seconds`` of training,
        ``LABEL-sample``, and what `look` returns. The curve is scored as the model is trained: where no state is
        carried, it is forgotten after every window.
    """
    text = encoded(config)

    def one(label: str, told: dict) -> dict:
        here, checkpoint = config | told["recipe"], folder / f"{label}.pt"
        model, history = fit(lambda vocab_size: model_of(vocab_size, told), text, here, seed, checkpoint)
        scored = {
            "nats": evaluate(model, text.held_out).nats_per_symbol,
            "training-nats": statistics.fmean(history.losses[-max(1, len(history.losses) // 10) :]),
            "updates": history.validated,
            "curve": history.validation,
            "seconds": training_seconds(here, checkpoint),
            "sample": sample(model, text, seed),
        }
        return scored | sizes(model) | look(model, text)

    metrics = {"symbols": len(text.vocabulary)}
    for label, told in config["models"].items():
        found = kept(folder / f"{label}.json", lambda label=label, told=told: one(label, told))
        metrics |= {f"{label}-{what}": value for what, value in found.items()}
    return metrics


def measure_words(config: dict, seed: int, folder: Path) -> dict:
    """Train each model of words, and score it; ``LABEL-test`` is what it pays for a word of the test text, in nats."""

    def look(model: NeuralModel, text: Encoded) -> dict:
        test = text.vocabulary.encode(split_words(corpora.load_corpus(config["corpus"]).test))
        return {"test": evaluate(model, test).nats_per_symbol}

    return measure_each(config, seed, folder, look)


def recurrent(core: str, hidden_size: int, learning_rate: float, recipe: dict | None = None, **options) -> dict:
    """Return the configuration of a recurrent language model, with what its recipe has of its own."""
    return {
        "kind": "LanguageModel",
        "options": {"core": core, "hidden_size": hidden_size} | options,
        "recipe": {"learning_rate": learning_rate} | (recipe or {}),
    }


def attending(hidden_size: int, num_layers: int, blocks: tuple[int, int], recipe: dict, **options) -> dict:
    """Return the configuration of a transformer, trained on so many blocks an update of so many symbols, its context.

    What it learns depends on the number of updates more than on their size, so its updates are smaller than the others'
    and more: `recipe` says how many, and the learning rate.
    """
    number, context = blocks
    return {
        "kind": "TransformerLM",
        "options": {"context": context, "hidden_size": hidden_size, "num_layers": num_layers} | options,
        "recipe": {"seq_len": context, "symbols_per_update": number * context, "carry": False} | recipe,
    }


_BARE = recurrent(
    "lstm",
    128,
    2e-2,
    recipe={"clip": None, "schedule": "constant"},
    embedding_size=128,
    cell_options={"forget_bias": 0.0},
)
_RUNGS = {
    "forget-bias": ("options", {"cell_options": {"forget_bias": 1.0}}),
    "clipping": ("recipe", {"clip": 0.25}),  # as for the words below
    "schedule": ("recipe", {"schedule": "cosine"}),
    "tying": ("options", {"tied": True}),
    "dropout": ("options", {"dropout": 0.2}),
}


def _with(*rungs: str) -> dict:
    """Return the bare model's configuration with these rungs of the ladder added."""
    told = _BARE
    for part, changes in map(_RUNGS.get, rungs):
        told = told | {part: told[part] | changes}
    return told


def _ladder() -> dict:
    """Return the models of the ladder: each rung adds one thing to those before; and the whole without each of them."""
    whole = _with(*_RUNGS)
    names = list(_RUNGS)
    climbed = {rung: _with(*names[: names.index(rung) + 1]) for rung in names}
    lacking = {f"without-{rung}": _with(*(name for name in names if name != rung)) for rung in names[:-1]}
    variational = whole | {"options": whole["options"] | {"variational": True}}
    return {"bare": _BARE} | climbed | lacking | {"variational": variational}


_ABLATIONS = {
    "corpus": "stories",
    "characters": 100_000,  # little enough to be read 45 times over, so that there is something to overfit
    "symbols_per_update": 2048,
    "updates": 2000,
    "seq_len": 64,
    "carry": True,
    "models": _ladder(),
}
_CHARACTERS = {"seq_len": 100, "symbols_per_update": 3200, "carry": True}  # 32 streams
_SHAKESPEARE = {
    "corpus": "tiny-shakespeare",
    "updates": 3600,  # eleven times through the text
    "models": {
        "gru": recurrent("gru", 512, 3e-3, embedding_size=64, dropout=0.4),
        "lstm": recurrent("lstm", 512, 1e-2, embedding_size=64, dropout=0.4),
        # As many updates as take as long as the LSTM's.
        "transformer": attending(128, 4, (8, 128), {"learning_rate": 2e-3, "updates": 10_400}),
    },
}
_SHAKESPEARE_ON_A_GPU = {
    "updates": 10_000,
    "symbols_per_update": 6400,
    "validations": 40,
    "patience": 8,
    "models": {
        **{
            core: recurrent(f"torch-{core}", 1024, 2e-3, num_layers=2, embedding_size=128, dropout=0.5)
            for core in ("gru", "lstm")
        },
        "transformer": attending(384, 6, (64, 256), {"learning_rate": 1e-3, "updates": 5000}, num_heads=6, dropout=0.2),
    },
}
_TINYSTORIES = {
    "corpus": "tinystories-sample",
    "updates": 3200,
    "models": {
        "rnn": recurrent("rnn", 512, 2e-3, embedding_size=64, dropout=0.2),
        "gru": recurrent("gru", 512, 3e-3, embedding_size=64, dropout=0.3),
        "lstm": recurrent("lstm", 512, 1e-2, embedding_size=64, dropout=0.3),
    },
}
_FAIRY = {
    "corpus": "fairy-books",
    "updates": 3000,  # not twice through the text, where dropout has little to prevent
    "validations": 4,
    "models": {
        "gru": recurrent("gru", 512, 3e-3, embedding_size=64),
        "lstm": recurrent("lstm", 512, 1e-2, embedding_size=64),
    },
}


def _larger(config: dict) -> dict:
    """Return a configuration for a GPU: two layers of twice the size, PyTorch's own, with more dropout, and longer."""
    models = {
        label: told
        | {
            "options": told["options"]
            | {"core": f"torch-{told['options']['core']}", "hidden_size": 1024, "num_layers": 2, "dropout": 0.5},
            "recipe": {"learning_rate": 2e-3},
        }
        for label, told in config["models"].items()
    }
    return config | {"updates": 20_000, "validations": 40, "patience": 8, "models": models}


# As PyTorch's word-language-model example: plain gradient descent from a rate of 20, in 20 streams of 35 words.
_WORDS = {
    "corpus": "wikitext-2",
    "seq_len": 35,
    "symbols_per_update": 700,
    "carry": True,
    "optimizer": "sgd",
    "clip": 0.25,
}


def _tied(size: int, dropout: float) -> dict:
    return recurrent("torch-lstm", size, 20.0, num_layers=2, embedding_size=size, dropout=dropout, tied=True)


EXPERIMENTS = (
    Experiment(
        "stories-ablations",
        "Stories: the LSTM with forget bias, clipping, schedule, tying and dropout added one by one, and each left out",
        {"quick": _ABLATIONS, "full": _ABLATIONS | {"characters": 2_000_000, "updates": 20_000}},
        measure_each,
    ),
    Experiment(
        "tiny-shakespeare",
        "Tiny Shakespeare: LSTM and GRU, and a transformer trained equally long",
        {"quick": _CHARACTERS | _SHAKESPEARE, "full": _CHARACTERS | _SHAKESPEARE | _SHAKESPEARE_ON_A_GPU},
        measure_each,
    ),
    Experiment(
        "tinystories-sample",
        "TinyStories sample: RNN, GRU and LSTM, large enough to be measured against counting",
        {"quick": _CHARACTERS | _TINYSTORIES, "full": _larger(_CHARACTERS | _TINYSTORIES)},
        measure_each,
    ),
    Experiment(
        "fairy-books",
        "Fairy books: GRU and LSTM on seven million characters",
        {"quick": _CHARACTERS | _FAIRY, "full": _larger(_CHARACTERS | _FAIRY)},
        measure_each,
    ),
    Experiment(
        "wikitext-2-words",
        "WikiText-2, words: LSTMs of two layers, tied, with dropout",
        {
            "quick": _WORDS | {"words": 10_000, "updates": 9000, "validations": 3, "models": {"200": _tied(200, 0.2)}},
            "full": _WORDS
            | {
                "words": None,
                "updates": 40 * 2983,  # forty times through the text
                "validations": 40,
                "schedule": "plateau",
                "patience": 10,
                "models": {"200": _tied(200, 0.2), "650": _tied(650, 0.5)},
            },
        },
        measure_words,
    ),
)
