"""Does a story that a model of words writes stay the story of one hero (chapter 9)?

Each model draws stories word by word. Whose story it is, its first name says. In the grammar's stories some words are
followed by no other name than the hero's: after each of them the name is asked for again.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from lab.ch08_fair_comparisons import names
from lab.ch08_fair_comparisons.recipe_factors import RATE_FILE, at_each_rate
from lab.engine.experiment import Config, Experiment, Metric
from lab.engine.search import with_setting
from lab.engine.texts import Encoded, encoded, unseen_stories
from lab.engine.training import fit
from unrolled.decoding import generate
from unrolled.measure import evaluate
from unrolled.ngram import Counts, ModifiedKneserNey
from unrolled.text import stories

NAMES = frozenset(stories.grammar().values["name"])


def cues(texts: Iterable[Sequence[str]]) -> set[str]:
    """Return the words that names follow, and never another name than the first of the story.

    Args:
        texts: the words of many stories.
    """
    follows = defaultdict(set)
    for words in texts:
        hero = next(word for word in words if word in NAMES)
        for before, word in zip(words, words[1:], strict=False):
            if word in NAMES:
                follows[before].add(word == hero)
    return {word for word, same in follows.items() if same == {True}}


def named_again(words: Sequence[str], after: set[str]) -> list[bool]:
    """Return whether each name that follows one of some words is the first of the story; that one is not asked."""
    names = [(before, word) for before, word in zip(("", *words), words, strict=False) if word in NAMES]
    return [word == names[0][1] for before, word in names[1:] if before in after]


def by_counting(config: Config, read: Encoded) -> tuple[ModifiedKneserNey, float]:
    """Return the n-grams of words, of the order that costs the validation text least, and what it costs."""
    counts = Counts(read.training, len(read.vocabulary), max(config["orders"]))
    models = [ModifiedKneserNey(counts, order) for order in config["orders"]]
    nats = [evaluate(model, read.held_out).nats_per_symbol for model in models]
    return models[int(np.argmin(nats))], min(nats)


def by_network(config: Config, seed: int, folder: Path, read: Encoded) -> tuple[object, float]:
    """Return the network at the rate that costs the validation text least, and what it costs."""
    rates = at_each_rate(config, seed, folder)
    rate, nats = rates["learning_rate"][rates["best"]], rates["nats"][rates["best"]]
    tried = with_setting(config, {"learning_rate": rate})
    return fit(tried, seed, folder, text=read, name=RATE_FILE.format(rate)).model, nats


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Let a model write stories, and ask after each cue whether the name is still the hero's."""
    read = encoded(config)
    validation, test = unseen_stories()
    metrics = {}
    if config["written_by"] == "the grammar":
        texts = [[*stories.words(story.text), "\n"] for story in test.stories[: config["stories"]]]
    else:
        writer, metrics["nats"] = (
            by_counting(config, read) if config["written_by"] == "counts" else by_network(config, seed, folder, read)
        )
        start, stop = read.vocabulary.encode(["\n"]).expand(config["stories"], 1), read.vocabulary["\n"]
        rows = generate(writer, start, length=config["length"], stop=stop, seed=seed * config["stories"])
        texts = [read.vocabulary.decode(row) for row in rows]
    asked = cues(stories.words(story.text) for story in validation.stories)
    again = [named_again(words, asked) for words in texts]
    due = [[same[place] for same in again if len(same) > place] for place in range(config["mentions"])]
    return metrics | {
        "same": [sum(each) / max(len(each), 1) for each in due],
        "asked": [len(each) for each in due],
        "to_the_end": float(np.mean([all(same) for same in again])),
        "names": float(np.mean([len(NAMES.intersection(words)) for words in texts])),
        "story": [" ".join(words[:-1]) for words in texts[:10]],
    }


METRICS = {
    "nats": Metric("nats per word", "what a word of the validation text costs the writer"),
    "same": Metric("", "the share of these in which the name that comes is the hero's", ("mention",)),
    "asked": Metric("stories", "those in which it is due so often", ("mention",)),
    "to_the_end": Metric("", "the share of stories in which it is the hero's every time"),
    "names": Metric("", "how many different names a story has"),
    "story": Metric("", "the first ten, their words with spaces between them", ("story",)),
}

SHARED = {"stories": 200, "length": 400, "mentions": 6}
COUNTED = {"text": names.base("gru", names.LONG)["text"], "orders": [3, 4, 5, 6, 8]}


def writer(core: str) -> Config:
    """Return the larger network of a kind, as `names` trains it, and what is asked of it."""
    return names.longer(f"{core}, larger") | SHARED | {"written_by": "a network"}


CONTENDERS: dict[str, Config | Callable[[], Config]] = {core: partial(writer, core) for core in ("rnn", "lstm", "gru")}
CONTENDERS["n-grams"] = COUNTED | SHARED | {"written_by": "counts"}
CONTENDERS["the grammar"] = {"text": COUNTED["text"]} | SHARED | {"written_by": "the grammar"}

EXPERIMENTS = (
    Experiment(
        "whose-story",
        "Stories, words: does what networks of 845,000 weights and n-grams write stay the story of one hero",
        METRICS,
        CONTENDERS,
        measure,
        lambda config: {"mention": range(1, config["mentions"] + 1)},
        seeds=1,
        small={"stories": 12, "length": 60, "mentions": 1, "orders": [2, 3]},
    ),
)
