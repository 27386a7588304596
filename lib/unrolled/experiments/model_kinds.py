"""What does each kind of model know about the same stories, and where does it fail (chapter 8)?

N-grams of four orders are counted; a window network, three recurrent networks and a transformer, all with about as many
weights, are trained, each at a learning rate from a search of its own. Initialisation and gates' biases of a cell are
those that `cells_over_budget` found. Of each model it is measured what it pays, where in the stories it pays it, and
what it recalls. The contender ``text`` is the stories of the test themselves: what they must cost at least, and how
many words of each class they have.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unrolled.experiments import cells_over_budget
from unrolled.experiments.base import NATS, Configuration, Experiment, Metric, fit, model, recipe
from unrolled.experiments.reading import Encoded, encoded, text, unseen_stories
from unrolled.experiments.recall import EDGES, RECALL, measure_recall, recall_axes
from unrolled.experiments.scoring import SCORES, scores
from unrolled.experiments.tuning import SEARCH, Tuned, check_chosen, decided, grid, tune
from unrolled.measure import breakdown, evaluate, token_nats
from unrolled.measure.evaluation import Model
from unrolled.ngram import Counts, ModifiedKneserNey
from unrolled.text import stories

POSITIONS = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]  # limits of the bins, in characters from the beginning


def where(scored: Model, text: Encoded, test: stories.StoryCorpus, positions: list[int]) -> dict:
    """Return where a model's loss sits in the stories of the test, their very first character scored like all others.

    Args:
        scored: the model.
        text: what it was trained on, with the test.
        test: the stories of the test, with their structure.
        positions: limits of the bins.

    Returns:
        ``by_position``, ``by_class`` and ``by_story``, as `METRICS` declares them.
    """
    nats = token_nats(scored, text.test, start=text.vocabulary["\n"])
    return {
        "by_position": breakdown.by_position(nats, test, positions).tolist(),
        "by_class": [share.nats for share in breakdown.by_class(nats, test).values()],
        "by_story": breakdown.by_story(nats, test).round(2).tolist(),
    }


def measure_text(test: stories.StoryCorpus) -> dict:
    """Return what the stories of the test cost whoever knows their grammar, and how many words each class has."""
    shares = breakdown.by_class(np.zeros(len(test.text)), test)
    return {
        "nats": test.nats_per_character,
        "characters": len(test.text),
        "classes": list(shares),
        "class_words": [share.words for share in shares.values()],
        "class_characters": [share.characters for share in shares.values()],
    }


def measure(config: Configuration, seed: int, folder: Path) -> dict:
    """Train the ``model`` of a configuration or count n-grams of its ``order``, and score; without both: the text."""
    check_chosen(config)
    _, test = unseen_stories()
    if "order" in config:
        read = encoded(config)
        counted = ModifiedKneserNey(Counts(read.training, len(read.vocabulary), config["order"]))
        metrics = {"nats": evaluate(counted, read.test).nats_per_symbol, "bytes": counted.nbytes}
        return metrics | where(counted, read, test, config["positions"])
    if "model" not in config:
        return measure_text(test)
    trained = fit(config, seed, folder)
    metrics = scores(trained, config, seed) | {"nats": evaluate(trained.model, trained.text.test).nats_per_symbol}
    metrics |= where(trained.model, trained.text, test, config["positions"])
    return metrics | measure_recall(trained.model, config)


METRICS = {
    **SCORES,
    "nats": NATS._replace(about="what a character of the test costs; of the text itself, by its grammar"),
    "by_position": Metric("nats per character", "the same by the place in the story", ("position",)),
    "by_class": Metric("nats", "what all words of a class cost together", ("class",)),
    "by_story": Metric("nats", "what each story of the test costs", ("story",)),
    **RECALL,
    "characters": Metric("characters", "how many the stories of the test have"),
    "classes": Metric("", "the names of the classes of words", ("class",)),
    "class_words": Metric("words", "how many of each class there are", ("class",)),
    "class_characters": Metric("characters", "how many those words have", ("class",)),
}


def axes(config: Configuration) -> dict:
    """Return the coordinates of the axes of `METRICS`: the upper edges of the bins of place and of lag."""
    coordinates = {"position": config["positions"][1:]} if "positions" in config else {}
    return coordinates | (recall_axes(config) if "edges" in config else {})


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


RATES = {
    "window": [5e-4, 1e-3, 2e-3, 4e-3],
    "rnn": [1e-3, 2e-3, 4e-3, 8e-3],
    "gru": [2e-3, 4e-3, 8e-3, 1.6e-2],
    "lstm": [4e-3, 8e-3, 1.6e-2, 3.2e-2],
    "transformer": [5e-4, 1e-3, 2e-3, 4e-3],
}
CHARACTERS = {"quick": 4000 * 2048, "full": 20_000 * 8192}  # that a training reads, none of them twice
CELLS = ("rnn", "gru", "lstm")
SEARCHED = "stories-chars-tuning"


def _read(profile: str) -> Configuration:
    return {"text": text("stories", round(1.01 * CHARACTERS[profile]), three_parts=True)}


def _network(name: str, profile: str) -> Configuration:
    """Return a network and its recipe before its learning rate is chosen.

    What a transformer learns depends on the number of updates more than on their size, so its updates are smaller than
    the others' and more. It is trained on blocks of its context.
    """
    small, large = (512, 2048) if profile == "quick" else (4096, 8192)
    steps = {"symbols_per_update": large, "seq_len": 64}
    if name in CELLS:
        steps["reset"] = 0.05
    elif name == "transformer":
        steps = {"symbols_per_update": small, "seq_len": 256, "carry": False}
    steps["updates"] = CHARACTERS[profile] // steps["symbols_per_update"]
    network = MODELS[name] if profile == "quick" else LARGER_MODELS[name]
    config = _read(profile) | {"model": network, "recipe": recipe(learning_rate=RATES[name][0], **steps)}
    return cells_over_budget.begun_as_chosen(config, name, profile) if name in CELLS else config


def _searches(profile: str) -> dict[str, Configuration]:
    networks = {name: _network(name, profile) for name in RATES}
    return {
        name: config if "waits_for" in config else config | {"settings": grid(RATES[name], [{}]), "keep": [[0.25, 2]]}
        for name, config in networks.items()
    }


def _contenders(profile: str) -> dict[str, Configuration]:
    read, scored = _read(profile), {"positions": POSITIONS}
    counted = {f"{order}-gram": read | scored | {"order": order} for order in (1, 2, 3, 12)}
    chosen = decided(SEARCHED, _searches(profile), {name: _network(name, profile) for name in RATES})
    asked = scored | {"edges": EDGES, "asked": 250_000}
    networks = {name: config if "waits_for" in config else config | asked for name, config in chosen.items()}
    return {"text": read} | counted | networks


EXPERIMENTS = (
    Experiment(
        SEARCHED,
        "Stories: the learning rate of each kind of network",
        SEARCH,
        Tuned(_searches),
        tune,
        seeds=1,
    ),
    Experiment(
        "stories-chars",
        "Stories: n-grams, window network, RNN, GRU, LSTM and transformer of equally many weights; where each fails",
        METRICS,
        Tuned(_contenders),
        measure,
        axes,
    ),
)
