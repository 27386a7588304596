"""What does each kind of model know about the same stories, and where does it fail (chapter 8)?

N-grams of four orders are counted; a window network, three recurrent networks and a transformer, all with about as many
weights, are trained, each at a learning rate from a search of its own. Initialisation and gates' biases of a cell are
those that `cells_over_budget` found. Of each model it is measured what it pays, where in the stories it pays it, and
what it recalls. The contender ``text`` is the stories of the test themselves: what they must cost at least, and how
many words of each class they have.
"""

from functools import partial
from pathlib import Path

import numpy as np

from lab.ch02_vanilla_rnn.recall import EDGES, RECALL, measure_recall, recall_axes
from lab.ch06_gru import cells_over_budget
from lab.ch08_fair_comparisons import breakdown
from lab.engine.experiment import Config, Experiment, Metric, model, recipe, text
from lab.engine.scoring import SCORES, scores
from lab.engine.search import TRIALS, chosen, grid, search, with_setting
from lab.engine.texts import Encoded, encoded, unseen_stories
from lab.engine.training import NATS, fit
from unrolled.measure import evaluate, token_nats
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
    """
    nats = token_nats(scored, text.test, start=text.vocabulary["\n"])
    return {
        "by_position": breakdown.by_position(nats, test, positions).tolist(),
        "by_class": [share.nats for share in breakdown.by_class(nats, test).values()],
        "by_story": np.add.reduceat(nats, test.starts).round(2).tolist(),
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


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train the ``model`` of a configuration or count n-grams of its ``order``, and score; without both: the text."""
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


def axes(config: Config) -> dict:
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
RATES = {
    "window": [5e-4, 1e-3, 2e-3, 4e-3],
    "rnn": [1e-3, 2e-3, 4e-3, 8e-3],
    "gru": [2e-3, 4e-3, 8e-3, 1.6e-2],
    "lstm": [4e-3, 8e-3, 1.6e-2, 3.2e-2],
    "transformer": [5e-4, 1e-3, 2e-3, 4e-3],
}
CHARACTERS = 4000 * 2048  # that a training reads, none of them twice
CELLS = ("rnn", "gru", "lstm")
SEARCHED = "stories-chars-tuning"
READ = {"text": text("stories", round(1.01 * CHARACTERS), three_parts=True)}


def network(name: str) -> Config:
    """Return a network and its recipe before its learning rate is chosen.

    What a transformer learns depends on the number of updates more than on their size, so its updates are smaller than
    the others' and more. It is trained on blocks of its context.
    """
    steps = {"symbols_per_update": 2048, "seq_len": 64}
    if name in CELLS:
        steps["reset"] = 0.05
    elif name == "transformer":
        steps = {"symbols_per_update": 512, "seq_len": 256, "carry": False}
    updates = CHARACTERS // steps["symbols_per_update"]
    config = READ | {"model": MODELS[name], "recipe": recipe(updates=updates, **steps)}
    return cells_over_budget.begun_as_chosen(config, name) if name in CELLS else config


def _search(name: str) -> Config:
    return network(name) | {"grid": grid(RATES[name], [{}]), "keep": [[0.25, 2]]}


def _contender(name: str) -> Config:
    asked = {"positions": POSITIONS, "edges": EDGES, "asked": 250_000}
    return with_setting(network(name), chosen(SEARCHED, name)) | asked


EXPERIMENTS = (
    Experiment(
        SEARCHED,
        "Stories: the learning rate of each kind of network",
        TRIALS,
        {name: partial(_search, name) for name in RATES},
        search,
        seeds=1,
    ),
    Experiment(
        "stories-chars",
        "Stories: n-grams, window network, RNN, GRU, LSTM and transformer of equally many weights; where each fails",
        METRICS,
        {"text": READ}
        | {f"{order}-gram": READ | {"positions": POSITIONS, "order": order} for order in (1, 2, 3, 12)}
        | {name: partial(_contender, name) for name in RATES},
        measure,
        axes,
        small={"asked": 20_000},
    ),
)
