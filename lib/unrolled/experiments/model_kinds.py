"""What does each kind of model know about the same stories, and where does it fail (chapter 8)?

N-grams of four orders are counted; a window network, three recurrent networks and a transformer, all with about as many
weights, are trained. Of each it is measured what it pays, where in the stories it pays it, and what it recalls. The
contender ``text`` is the held-out stories themselves: what they must cost at least, and how many words of each class
they have.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from unrolled import settings
from unrolled.experiments.base import NATS, Configuration, Experiment, Metric, fit, model, recipe
from unrolled.experiments.gated_stories import EDGES, RECALL, measure_recall, recall_axes
from unrolled.experiments.gradients import last_loss, windows_of
from unrolled.experiments.reading import Encoded, encoded, text
from unrolled.experiments.scoring import SCORES, scores
from unrolled.measure import breakdown, evaluate, gradients, token_nats
from unrolled.measure.evaluation import Model
from unrolled.models import NeuralModel, TransformerLM
from unrolled.ngram import Counts, ModifiedKneserNey
from unrolled.text import stories

POSITIONS = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]  # limits of the bins, in characters from the beginning


def where(scored: Model, text: Encoded, held_out: stories.StoryCorpus, positions: list[int]) -> dict:
    """Return where a model's loss sits in the held-out stories, their very first character scored like all others.

    Args:
        scored: the model.
        text: what it was trained on, with the held-out stories.
        held_out: the same stories, with their structure.
        positions: limits of the bins.

    Returns:
        ``by_position``, ``by_class`` and ``by_story``, as `METRICS` declares them.
    """
    nats = token_nats(scored, text.held_out, start=text.vocabulary["\n"])
    return {
        "by_position": breakdown.by_position(nats, held_out, positions).tolist(),
        "by_class": [share.nats for share in breakdown.by_class(nats, held_out).values()],
        "by_story": breakdown.by_story(nats, held_out).round(2).tolist(),
    }


def gradient_by_lag(network: NeuralModel, tokens: torch.Tensor) -> list[float]:
    """Return the gradient of the last prediction's loss with respect to each input of tokens (batch, time + 1).

    That is the median over the sequences of ‖∂L_T/∂x_t‖ as a share of ‖∂L_T/∂x_T‖, at the lags 0 … time − 1, where x_t
    is the vector E[w_t].
    """

    def read(inputs: torch.Tensor) -> torch.Tensor:
        if isinstance(network, TransformerLM):
            return network.attend(inputs)
        return network.core(inputs, network.initial_state(len(inputs)))[0]

    inputs = network.embed(tokens[:, :-1])
    norms = gradients.gradient_by_input(read, inputs, last_loss(network, tokens[:, -1]))
    return (norms / norms[:, :1]).median(dim=0).values.tolist()


def measure_text(held_out: stories.StoryCorpus) -> dict:
    """Return what the held-out stories cost whoever knows their grammar, and how many words of each class they have."""
    shares = breakdown.by_class(np.zeros(len(held_out.text)), held_out)
    return {
        "nats": held_out.nats_per_character,
        "characters": len(held_out.text),
        "classes": list(shares),
        "class_words": [share.words for share in shares.values()],
        "class_characters": [share.characters for share in shares.values()],
    }


def measure(config: Configuration, seed: int, folder: Path) -> dict:
    """Train the ``model`` of a configuration or count n-grams of its ``order``, and score; without both: the text."""
    _, held_out = stories.corpus(config["text"]["characters"]).split(0.9)  # the stories that `reading.texts` returns
    if "order" in config:
        text = encoded(config)
        counted = ModifiedKneserNey(Counts(text.training, len(text.vocabulary), config["order"]))
        metrics = {"nats": evaluate(counted, text.held_out).nats_per_symbol, "bytes": counted.nbytes}
        return metrics | where(counted, text, held_out, config["positions"])
    if "model" not in config:
        return measure_text(held_out)
    trained = fit(config, seed, folder)
    metrics = scores(trained, config, seed) | where(trained.model, trained.text, held_out, config["positions"])
    metrics |= measure_recall(trained.model, config)
    if "steps" in config:
        tokens = windows_of(trained.text.held_out.to(settings.device()), config["sequences"], config["steps"])
        metrics["lag"] = gradient_by_lag(trained.model, tokens)
    return metrics


METRICS = {
    **SCORES,
    "nats": NATS._replace(about="what a character of the held-out text costs; of the text itself, by its grammar"),
    "by_position": Metric("nats per character", "the same by the place in the story", ("position",)),
    "by_class": Metric("nats", "what all words of a class cost together", ("class",)),
    "by_story": Metric("nats", "what each held-out story costs", ("story",)),
    **RECALL,
    "lag": Metric("", "median over the sequences of ‖∂L_T/∂x_t‖ as a share of ‖∂L_T/∂x_T‖, by the lag T − t", ("lag",)),
    "characters": Metric("characters", "how many the held-out stories have"),
    "classes": Metric("", "the names of the classes of words", ("class",)),
    "class_words": Metric("words", "how many of each class there are", ("class",)),
    "class_characters": Metric("characters", "how many those words have", ("class",)),
}


def axes(config: Configuration) -> dict:
    """Return the coordinates of the axes of `METRICS`: the upper edges of the bins of place and lag, and the lags."""
    coordinates = {"position": config["positions"][1:]} if "positions" in config else {}
    coordinates |= recall_axes(config) if "edges" in config else {}
    return coordinates | ({"lag": range(config["steps"])} if "steps" in config else {})


MODELS = {  # each has 310,000 to 350,000 weights
    "window": model("FixedWindowLM", window=16, hidden_size=256),
    "rnn": model("LanguageModel", core="rnn", hidden_size=520),
    "gru": model("LanguageModel", core="gru", hidden_size=296),
    "lstm": model("LanguageModel", core="lstm", hidden_size=256),
    "transformer": model("TransformerLM", context=256, hidden_size=88, num_layers=3),
}
LARGER_MODELS = {
    "window": model("FixedWindowLM", window=32, hidden_size=640),
    "rnn": model("LanguageModel", core="rnn", hidden_size=1760),
    "gru": model("LanguageModel", core="gru", hidden_size=1010),
    "lstm": model("LanguageModel", core="lstm", hidden_size=870),
    "transformer": model("TransformerLM", context=256, hidden_size=256, num_layers=4),
}


def _recipes(rates: dict[str, float], batch: int, updates: int, transformer: Configuration) -> dict[str, Configuration]:
    """Return a recipe for each network.

    What a transformer learns depends on the number of updates more than on their size, so its updates are smaller than
    the others' and more. It is trained on blocks of its context.
    """
    streams = {"updates": updates, "batch": batch, "seq_len": 64}
    recipes = {label: recipe(**streams, learning_rate=rate) for label, rate in rates.items()}
    return recipes | {"transformer": recipe(seq_len=256, carry=False, **transformer)}


def _contenders(
    characters: int, models: dict[str, Configuration], recipes: dict[str, Configuration]
) -> dict[str, Configuration]:
    read = {"text": text("stories", characters)}
    scored = read | {"positions": POSITIONS}
    asked = scored | {"edges": EDGES, "asked": 250_000}
    probed = asked | {"sequences": 64, "steps": 128}  # not the window network, whose state is the window
    counted = {f"{order}-gram": scored | {"order": order} for order in (1, 2, 3, 12)}
    networks = {
        label: (asked if label == "window" else probed) | {"model": models[label], "recipe": recipes[label]}
        for label in models
    }
    return {"text": read} | counted | networks


_QUICK = _recipes(
    {"window": 3e-3, "rnn": 3e-3, "gru": 3e-3, "lstm": 1e-2},
    batch=32,
    updates=6000,
    transformer={"updates": 16_000, "batch": 2, "learning_rate": 2e-3},
)
_FULL = _recipes(
    {"window": 1e-3, "rnn": 1e-3, "gru": 2e-3, "lstm": 2e-3},
    batch=128,
    updates=20_000,
    transformer={"updates": 40_000, "batch": 16, "learning_rate": 1e-3},
)

EXPERIMENTS = (
    Experiment(
        "stories-chars",
        "Stories: n-grams, window network, RNN, GRU, LSTM and transformer of equally many weights; where each fails",
        METRICS,
        {
            "quick": _contenders(2_000_000, MODELS, _QUICK),
            "full": _contenders(20_000_000, LARGER_MODELS, _FULL),
        },
        measure,
        axes,
        seeds=2,
    ),
)
