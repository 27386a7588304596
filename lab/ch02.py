"""Chapter 2: how far back a vanilla RNN remembers a name, and what a linear readout finds in its state."""

import itertools
import re
from pathlib import Path

import torch
from torch.nn.functional import one_hot

from lab.experiment import Config, Experiment, Metric, model, recipe, text
from lab.texts import encoded, texts
from lab.training import NATS, fit, model_of
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


def readable(network: LanguageModel, vocabulary: Vocabulary, config: Config) -> dict:
    """Return what a linear readout makes of the state: the letter so many places back, and the hero of the story.

    For each question ridge regression to one-hot answers is fitted on one half of the text that is read, and the share
    of right answers counted in the other. The hero is asked for at every character after the first mention.
    """
    corpus = stories.corpus(config["read_out"], seed=2)
    tokens, half, last = vocabulary.encode(corpus.text), len(corpus.text) // 2, max(config["back"])
    with torch.no_grad():
        states = network.cpu().hidden_states(tokens[None])[0][0].double()
    states = torch.cat([states, torch.ones(len(states), 1, dtype=torch.float64)], dim=1)  # with a bias

    def right(answers: torch.Tensor, asked: torch.Tensor) -> torch.Tensor:
        """Return whether each answer in the second half is right; both are (characters,)."""
        known, new = asked.clone(), asked.clone()
        known[half:], new[:half] = False, False
        x, y = states[known], one_hot(answers[known], int(answers.max()) + 1).double()
        ridge = 1e-6 * len(x) * torch.eye(x.shape[1], dtype=torch.float64)
        weights = torch.linalg.solve(x.T @ x + ridge, x.T @ y)
        return (states[new] @ weights).argmax(dim=1) == answers[new]

    everywhere = torch.arange(len(tokens)) >= last
    letters = [right(tokens.roll(back), everywhere).double().mean().item() for back in config["back"]]
    hero, since = heroes(corpus)
    lags = since[half:][since[half:] > 0]
    answers = right(hero, since > 0)
    bins = itertools.pairwise(config["edges"])
    return {
        "letter": letters,
        "hero": [answers[(lags >= low) & (lags < high)].double().mean().item() for low, high in bins],
        "hero_known": hero[since > 0].bincount().max().item() / int((since > 0).sum()),
    }


def heroes(corpus: stories.StoryCorpus) -> tuple[torch.Tensor, torch.Tensor]:
    """Return for each character the number of its story's hero, and how far back the name ends; 0 before it came."""
    names, hero, since = {}, [], []
    for story in corpus.stories:
        name = next((each.value for each in story.recalls if each.variable == "hero" and each.kind == "name"), None)
        ends = {match.end() for match in re.finditer(rf"\b{name}\b", story.text)} if name else set()
        lag = 0
        for place in range(len(story.text) + 1):  # and the line break
            lag = 1 if place in ends else lag + (lag > 0)
            since.append(lag)
        hero += [names.setdefault(name, len(names))] * (len(story.text) + 1)
    return torch.tensor(hero), torch.tensor(since)


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a model on stories; score it, ask it for names and pronouns, and read its state, before training too."""
    network, read, *_ = fit(config, seed, folder)
    torch.manual_seed(seed)
    untrained = readable(model_of(config, len(read.vocabulary)), read.vocabulary, config)
    metrics = {"nats": evaluate(network, read.held_out).nats_per_symbol} | measure_recall(network, config)
    before = {f"{name}_untrained": untrained[name] for name in ("letter", "hero")}
    return metrics | readable(network, read.vocabulary, config) | before


def measure_counted(config: Config, seed: int, folder: Path) -> dict:
    """Count n-grams in the characters that the networks of `measure` read, and ask the same."""
    read = encoded(config)
    counted = ModifiedKneserNey(Counts(read.training[: config["counted"]], len(read.vocabulary), config["order"]))
    return {"nats": evaluate(counted, read.held_out).nats_per_symbol} | measure_recall(counted, config)


READABLE = {
    "letter": Metric(
        "", "the share of letters so many places back that a linear readout of the state gets right", ("back",)
    ),
    "letter_untrained": Metric("", "the same before training", ("back",)),
    "hero": Metric("", "how often one names the story's hero, by the lag since the name", ("lag_bin",)),
    "hero_untrained": Metric("", "the same before training", ("lag_bin",)),
    "hero_known": Metric("", "how often the most frequent name would be right"),
}
ASKED = {"text": text("stories", 20_000_000), "edges": NEAR, "asked": 1_000_000}
RNN = ASKED | {
    "model": model("LanguageModel", hidden_size=256),
    "recipe": recipe(updates=8000, symbols_per_update=2048, seq_len=64, learning_rate=3e-3),
    "read_out": 200_000,
    "back": [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 25, 30, 40],
}

EXPERIMENTS = (
    Experiment(
        "rnn-recall",
        "Stories: how far back a vanilla RNN remembers a name, and whether it was she or he",
        {"nats": NATS} | RECALL | READABLE,
        {"rnn": RNN},
        measure,
        lambda config: recall_axes(config) | {"back": config["back"]},
        small={"asked": 20_000, "read_out": 2_000},
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
