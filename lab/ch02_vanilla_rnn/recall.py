"""How far back does a model of stories remember a name, and whether it was she or he (chapters 2 and 8)?"""

from pathlib import Path

from lab.engine.experiment import Config, Experiment, Metric, model, recipe, text
from lab.engine.texts import encoded, texts
from lab.engine.training import NATS, fit
from unrolled.measure import evaluate, recall_by_lag
from unrolled.models import LanguageModel
from unrolled.ngram import Counts, ModifiedKneserNey
from unrolled.text import Vocabulary, stories

EDGES = [1, 10, 20, 40, 80, 160, 320, 640]  # of the bins of lag, in characters
NEAR = [1, 4, 8, 10, 12, 16, 22, 26, 30, 40, 80, 160, 320, 640]  # finer where it is lost


def measure_recall(network: LanguageModel | ModifiedKneserNey, config: Config) -> dict:
    """Ask a model of stories for names and pronouns at every lag, in stories that it has not seen: `RECALL`."""
    metrics = {}
    vocabulary, unseen = Vocabulary("".join(texts(config))), stories.corpus(config["asked"], seed=1)
    for kind in ("name", "pronoun"):
        shares, counts = recall_by_lag(network, vocabulary, unseen, kind, config["edges"])
        metrics[kind], metrics[f"{kind}_asked"] = shares.tolist(), counts.tolist()
    return metrics


RECALL = {
    "name": Metric("", "the share of right answers where a name returns", ("lag_bin",)),
    "name_asked": Metric("questions", "how many there were", ("lag_bin",)),
    "pronoun": Metric("", "the share of right answers to whether it was she or he", ("lag_bin",)),
    "pronoun_asked": Metric("questions", "how many there were", ("lag_bin",)),
}


def recall_axes(config: Config) -> dict:
    """Return the coordinates of the axis of `RECALL`: the upper edges of the bins of lag."""
    return {"lag_bin": config["edges"][1:]}


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a model on stories; score it, and ask it for names and pronouns."""
    network, read, *_ = fit(config, seed, folder)
    return {"nats": evaluate(network, read.held_out).nats_per_symbol} | measure_recall(network, config)


def measure_counted(config: Config, seed: int, folder: Path) -> dict:
    """Count n-grams in the characters that the networks of `measure` read, and ask the same."""
    read = encoded(config)
    counted = ModifiedKneserNey(Counts(read.training[: config["counted"]], len(read.vocabulary), config["order"]))
    return {"nats": evaluate(counted, read.held_out).nats_per_symbol} | measure_recall(counted, config)


ASKED = {"text": text("stories", 20_000_000), "edges": NEAR, "asked": 1_000_000}
RNN = ASKED | {
    "model": model("LanguageModel", hidden_size=256),
    "recipe": recipe(updates=8000, symbols_per_update=2048, seq_len=64, learning_rate=3e-3),
}

EXPERIMENTS = (
    Experiment(
        "rnn-recall",
        "Stories: how far back a vanilla RNN remembers a name, and whether it was she or he",
        {"nats": NATS} | RECALL,
        {"rnn": RNN},
        measure,
        recall_axes,
        small={"asked": 20_000},
    ),
    Experiment(
        "ngram-recall",
        "Stories: how far back a 12-gram counted from as many characters remembers a name, and she or he",
        {"nats": NATS} | RECALL,
        {"12-gram": ASKED | {"order": 12, "counted": 8000 * 2048}},
        measure_counted,
        recall_axes,
        seeds=1,
        small={"asked": 20_000, "counted": 20_000},
    ),
)
