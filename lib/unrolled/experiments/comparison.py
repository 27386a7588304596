"""The experiments of chapter 7 that compare: kinds of model on one text, learning rates, and amounts of text."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import torch

from unrolled import settings
from unrolled.experiments.base import Encoded, Experiment, encoded, fit, kept
from unrolled.experiments.gradients import last_loss, windows_of
from unrolled.experiments.language import attending, measure_each, model_of, recurrent, sizes
from unrolled.experiments.recurrent import recall_by_lag
from unrolled.measure import breakdown, evaluate, gradients, token_nats
from unrolled.measure.evaluation import Model
from unrolled.models import FixedWindowLM, NeuralModel, TransformerLM
from unrolled.ngram import Counts, ModifiedKneserNey
from unrolled.text import stories


def where(model: Model, text: Encoded, held_out: stories.StoryCorpus, edges: list[int]) -> dict:
    """Return where the loss of a model sits in the held-out stories, its first character priced like all others.

    Returns:
        ``by-position``, nats per character in the bins between the edges; ``by-class``, the nats of all words of each
        class together, in the order of `breakdown.by_class`; ``by-story``, the nats of each story.
    """
    nats = token_nats(model, text.held_out, start=text.vocabulary["\n"])
    return {
        "by-position": breakdown.by_position(nats, held_out, edges).tolist(),
        "by-class": [share.nats for share in breakdown.by_class(nats, held_out).values()],
        "by-story": breakdown.by_story(nats, held_out).round(2).tolist(),
    }


def lag(model: NeuralModel, tokens: torch.Tensor) -> list[float]:
    """Return what the last prediction owes to each input of tokens (batch, time + 1), at the lags 0 … time − 1.

    That is the median over the sequences of ‖∂L_T/∂x_t‖ as a share of ‖∂L_T/∂x_T‖, where x_t is the vector E[w_t].
    """

    def read(inputs: torch.Tensor) -> torch.Tensor:
        if isinstance(model, TransformerLM):
            return model.attend(inputs)
        return model.core(inputs, model.initial_state(len(inputs)))[0]

    inputs = model.embedding(tokens[:, :-1])
    norms = gradients.gradient_by_input(read, inputs, last_loss(model, tokens[:, -1]))
    return (norms / norms[:, :1]).median(dim=0).values.tolist()


def measure_stories(config: dict, seed: int, folder: Path) -> dict:
    """Score n-grams and train every kind of neural model on the same stories; see what each knows, and where it fails.

    Returns:
        What `measure_each` tells of the neural models, with recall by lag and the loss by place (`where`) for each; and
        for all but the window network ``LABEL-lag`` (`lag`); for each order of n-gram ``ngram-N-nats``,
        ``ngram-N-bytes`` and the loss by place. Of the held-out stories ``floor``, their own nats per character;
        ``characters``, how many there are; and ``classes``, ``class-words`` and ``class-characters`` as
        `breakdown.Share` tells them.
    """
    _, held_out = stories.corpus(config["characters"]).split(0.9)  # the stories whose texts `base.texts` returns

    def count() -> dict:
        text, found = encoded(config), {}
        counts = Counts(text.training, len(text.vocabulary), max(config["orders"]))
        for order in config["orders"]:
            model = ModifiedKneserNey(counts, order)
            scored = {"nats": evaluate(model, text.held_out).nats_per_symbol, "bytes": model.nbytes}
            scored |= where(model, text, held_out, config["positions"])
            found |= {f"ngram-{order}-{what}": value for what, value in scored.items()}
        return found

    def look(model: NeuralModel, text: Encoded) -> dict:
        found = where(model, text, held_out, config["positions"]) | recall_by_lag(model, config)
        if isinstance(model, FixedWindowLM):
            return found
        tokens = windows_of(text.held_out.to(settings.device()), config["sequences"], config["steps"])
        return found | {"lag": lag(model, tokens)}

    shares = breakdown.by_class(np.zeros(len(held_out.text)), held_out)
    metrics = {
        "floor": held_out.nats_per_character,
        "characters": len(held_out.text),
        "classes": list(shares),
        "class-words": [share.words for share in shares.values()],
        "class-characters": [share.characters for share in shares.values()],
        "edges": config["edges"],
        "positions": config["positions"],
        "lags": list(range(config["steps"])),
    }
    return metrics | kept(folder / "ngrams.json", count) | measure_each(config, seed, folder, look)


def lost(model: NeuralModel, text: Encoded, streams: int = 32) -> int:
    """Return how many of the streams in which a held-out text is read pay more than twice what the median one pays."""
    nats = token_nats(model, text.held_out, streams=streams)
    length = math.ceil(len(nats) / streams)
    paid = np.array([stream.mean() for stream in np.split(nats, range(length, len(nats), length))])
    return int((paid > 2 * np.median(paid)).sum())


def measure_rates(config: dict, seed: int, folder: Path) -> dict:
    """Train each of the ``models`` at each of the ``rates``.

    Returns:
        ``rates``; and for each model ``LABEL-nats`` on the held-out text, ``LABEL-training-nats`` as `measure_each`
        tells it, and ``LABEL-lost`` (`lost`), a number for each rate.
    """
    rates, models = config["rates"], config["models"]
    each = {
        f"{label}-{rate:g}": told | {"recipe": told["recipe"] | {"learning_rate": rate}}
        for label, told in models.items()
        for rate in rates
    }
    found = measure_each(config | {"models": each}, seed, folder, lambda model, text: {"lost": lost(model, text)})
    return {"rates": rates} | {
        f"{label}-{what}": [found[f"{label}-{rate:g}-{what}"] for rate in rates]
        for label in models
        for what in ("nats", "training-nats", "lost")
    }


def measure_corpus_size(config: dict, seed: int, folder: Path) -> dict:
    """Estimate n-grams and train neural models from more and more of a text, and score all on the same held-out part.

    The neural models see no more than the counts do, but many times: ``passes``, within the ``updates``. Scores on
    another held-out part end a training that no longer helps, and the weights at the best of them are kept.

    Returns:
        ``sizes``; and for each label, of a neural model or ``ngram-N``, a number for each size: ``LABEL-nats``,
        ``LABEL-bytes``; and for a neural model ``LABEL-updates``, how many it took.
    """
    text = encoded(config, seed)
    watched, scored, _ = text.held_out.tensor_split([config["watched"], config["watched"] + config["scored"]])

    def count(size: int) -> dict:
        counts, found = Counts(text.training[:size], len(text.vocabulary), max(config["orders"])), {}
        for order in config["orders"]:
            model = ModifiedKneserNey(counts, order)
            found[f"ngram-{order}-nats"] = evaluate(model, scored).nats_per_symbol
            found[f"ngram-{order}-bytes"] = model.nbytes
        return found

    def one(label: str, told: dict, size: int) -> dict:
        part = Encoded(text.vocabulary, text.training[:size], watched)
        updates = min(config["updates"], math.ceil(config["passes"] * size / config["symbols_per_update"]))
        here, checkpoint = config | told["recipe"] | {"updates": updates}, folder / f"{label}-{size}.pt"
        model, history = fit(lambda vocab_size: model_of(vocab_size, told), part, here, seed, checkpoint)
        return {
            f"{label}-nats": evaluate(model, scored).nats_per_symbol,
            f"{label}-bytes": sizes(model)["bytes"],
            f"{label}-updates": len(history.losses),
        }

    def at(size: int) -> dict:
        found = kept(folder / f"ngrams-{size}.json", lambda: count(size))
        for label, told in config["models"].items():
            found |= kept(folder / f"{label}-{size}.json", lambda label=label, told=told: one(label, told, size))
        return found

    columns = [at(size) for size in config["sizes"]]
    return {"sizes": config["sizes"]} | {what: [column[what] for column in columns] for what in columns[0]}


_STORIES = {"corpus": "stories", "symbols_per_update": 2048, "seq_len": 64, "carry": True}
_CHARS = _STORIES | {
    "characters": 2_000_000,
    "updates": 6000,
    "orders": [1, 2, 3, 12],
    "edges": [1, 10, 20, 40, 80, 160, 320, 640],
    "asked": 250_000,
    "positions": [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
    "sequences": 64,
    "steps": 128,
}


def _window(size: int, hidden_size: int, learning_rate: float) -> dict:
    """Return the configuration of a window network."""
    options = {"window": size, "hidden_size": hidden_size}
    return {"kind": "FixedWindowLM", "options": options, "recipe": {"learning_rate": learning_rate}}


_COMPARED = {  # each has 310,000 to 350,000 weights
    "window": _window(16, 256, 3e-3),
    "rnn": recurrent("rnn", 520, 3e-3),
    "gru": recurrent("gru", 296, 3e-3),
    "lstm": recurrent("lstm", 256, 1e-2),
    "transformer": attending(88, 3, (2, 256), {"learning_rate": 2e-3, "updates": 16_000}),
}
_RATES = _STORIES | {
    "characters": 2_000_000,
    "updates": 1000,
    "rates": [1e-3, 3e-3, 1e-2, 3e-2],
    "models": {cell: _COMPARED[cell] for cell in ("rnn", "gru", "lstm")},
}
_SIZE = _STORIES | {
    "characters": 10_000_000,
    "updates": 4000,
    "passes": 200,
    "validations": 20,
    "patience": 5,
    "sizes": [10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 9_000_000],
    "orders": [4, 8, 12],
    "watched": 50_000,
    "scored": 300_000,
}

EXPERIMENTS = (
    Experiment(
        "stories-chars",
        "Stories: n-grams, window network, RNN, GRU, LSTM and transformer of equally many weights; where each fails",
        {
            "quick": _CHARS | {"models": _COMPARED},
            "full": _CHARS
            | {
                "characters": 20_000_000,
                "symbols_per_update": 8192,
                "updates": 20_000,
                "models": {
                    "window": _window(32, 640, 1e-3),
                    "rnn": recurrent("rnn", 1760, 1e-3),
                    "gru": recurrent("gru", 1010, 2e-3),
                    "lstm": recurrent("lstm", 870, 2e-3),
                    "transformer": attending(256, 4, (16, 256), {"learning_rate": 1e-3, "updates": 40_000}),
                },
            },
        },
        measure_stories,
    ),
    Experiment(
        "learning-rates",
        "Stories: RNN, GRU and LSTM of equally many weights, each at four learning rates",
        {"quick": _RATES, "full": _RATES | {"characters": 20_000_000, "updates": 6000}},
        measure_rates,
    ),
    Experiment(
        "corpus-size",
        "Stories: n-grams, GRU and LSTM from 10,000 to 9,000,000 characters, and the bytes that each takes",
        {
            "quick": _SIZE | {"models": {"gru": recurrent("gru", 192, 3e-3), "lstm": recurrent("lstm", 192, 1e-2)}},
            "full": _SIZE
            | {
                "updates": 20_000,
                "models": {"gru": recurrent("torch-gru", 512, 3e-3), "lstm": recurrent("torch-lstm", 512, 3e-3)},
            },
        },
        measure_corpus_size,
    ),
)
