"""How well do taggers of both directions tag stories and questions about flights (chapter 10)?

Beside networks that read from the left, from the right and from both sides stand a window and two taggers that count.
All networks have about as many weights, and settings from a search of its own for each number of updates.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import torch

from lab.ch10_depth_and_direction.atis import load_atis
from lab.engine.experiment import Config, Experiment, Metric, model, recipe, text
from lab.engine.search import TRIALS, Budgets, Setting, search_answering
from lab.engine.training import Answering, answering_course, course, fit_examples, mean_loss, model_of, recipe_of
from unrolled.models import TaggingNetwork
from unrolled.ngram import HiddenMarkovTagger, MostFrequentTag
from unrolled.text import Examples, TaggedCorpus, TaggedSentence, WordVocabulary, pad_tagged, stories, tagged_stories
from unrolled.text.tagged import ambiguous_words

COUNTING = {"most-frequent": MostFrequentTag, "hidden-markov": HiddenMarkovTagger}
CHOSEN_BY, ASKED = 100, 150  # stories, of those that are held out and of the test


@lru_cache(maxsize=2)
def tagged(corpus: str, characters: int | None) -> TaggedCorpus:
    """Return the tagged sentences of a text that a configuration names; of stories, each is one sentence.

    Args:
        corpus: ``"atis"`` or ``"stories"``.
        characters: how many characters of stories to learn from.
    """
    if corpus == "atis":
        return load_atis()
    return tagged_stories(len(stories.corpus(characters).stories), CHOSEN_BY, ASKED)


class Numbered(NamedTuple):
    """Tagged sentences in numbers, and what the numbers stand for; tag number 0 is ``<unk>``, which no word has."""

    words: WordVocabulary
    tags: WordVocabulary
    corpus: TaggedCorpus

    def pairs(self, sentences: Sequence[TaggedSentence]) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Return the numbers of words and tags of each sentence."""
        return [(self.words.encode(each.words), self.tags.encode(each.tags)) for each in sentences]


def numbered(config: Config) -> Numbered:
    """Return the tagged sentences that a configuration has under ``text``, in numbers."""
    corpus = tagged(config["text"]["corpus"], config["text"].get("characters"))
    return Numbered(WordVocabulary(corpus.words), WordVocabulary.of(["<unk>", *corpus.tags]), corpus)


def answering(config: Config) -> Answering:
    """Return what a tagger of a configuration learns from."""
    read = numbered(config)
    learnt, held_out = read.pairs(read.corpus.train), read.pairs(read.corpus.validation)
    return Answering(
        lambda tried: model_of(tried, len(read.words), len(read.tags)),
        lambda tried: Examples(learnt, recipe_of(tried).batch, pad_tagged),
        Examples(held_out, 64, pad_tagged).once(),
        (read.words, read.tags),
    )


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a tagger, or let it count, and ask it for the tags of the test."""
    read = numbered(config)
    if "counts" in config:
        tagger = COUNTING[config["counts"]](read.corpus.train)
        return answers([tagger.tags(each.words) for each in read.corpus.test], read.corpus, config)
    trained = fit_examples(config, seed, folder, answering(config))
    test = read.pairs(read.corpus.test)
    nats = mean_loss(trained.model, Examples(test, 64, pad_tagged).once())
    return course(config, trained) | {"nats": nats} | answers(given_tags(trained.model, read), read.corpus, config)


def given_tags(network: TaggingNetwork, read: Numbered) -> list[list[str]]:
    """Return the tags that a network gives to each sentence of the test."""
    test = read.pairs(read.corpus.test)
    return [
        read.tags.decode(row)
        for start in range(0, len(test), 64)
        for row in network.tags(pad_tagged(test[start : start + 64]))
    ]


def answers(given: Sequence[Sequence[str]], corpus: TaggedCorpus, config: Config) -> dict:
    """Return what the tags given to the sentences of the test come to.

    Args:
        given: the tags of each sentence.
        corpus: with the test, and with the training sentences, which decide what is ambiguous and what is known.
        config: of the tagger; with ``by_sentence``, what each sentence came to is returned, too.
    """
    ambiguous, known = ambiguous_words(corpus.train), set(corpus.words)
    right = [
        [tag == other for tag, other in zip(row, each.tags, strict=True)]
        for row, each in zip(given, corpus.test, strict=True)
    ]
    words = [word for each in corpus.test for word in each.words]
    flat = [match for row in right for match in row]
    apart = [match for match, word in zip(flat, words, strict=True) if word in ambiguous]
    unseen = [match for match, word in zip(flat, words, strict=True) if word not in known]
    result = {
        "accuracy": sum(flat) / len(flat),
        "ambiguous": sum(apart) / len(apart),
        "ambiguous_asked": len(apart),
        "unknown_right": sum(unseen),
        "unknown_asked": len(unseen),
    }
    if config.get("by_sentence"):
        result |= {"errors": [row.count(False) for row in right], "words": [len(row) for row in right]}
        result["wrong_at"] = " ".join(str(place) for place, match in enumerate(flat) if not match)
    return result


RIGHT = {
    "nats": Metric("nats per word", "what a tag costs in the test"),
    "accuracy": Metric("", "the share of words of the test with the right tag"),
    "ambiguous": Metric("", "the same of those words that have more than one tag in training"),
}
METRICS = {
    **answering_course("nats per word"),
    **RIGHT,
    "ambiguous_asked": Metric("words", "how many of these there are"),
    "unknown_right": Metric("words", "how many words of the test that training lacks have the right tag"),
    "unknown_asked": Metric("words", "how many of these there are"),
    "errors": Metric("words", "how many of each sentence of the test have a wrong tag", ("sentence",)),
    "words": Metric("words", "how many each of them has", ("sentence",)),
    "wrong_at": Metric(
        "", "the places of the words with a wrong tag, counted through the test from 0, with spaces between"
    ),
}

NETWORKS = {  # the model; with the words of ATIS and of the stories, each has about as many weights
    "window": {"atis": model("WindowTagger", hidden_size=290), "stories": model("WindowTagger", hidden_size=286)},
    "left-to-right": {each: model("Tagger", direction="forward", hidden_size=96) for each in ("atis", "stories")},
    "right-to-left": {each: model("Tagger", direction="backward", hidden_size=96) for each in ("atis", "stories")},
    "both": {each: model("Tagger", direction="both", hidden_size=64) for each in ("atis", "stories")},
    "both-stacked": {
        each: model("Tagger", direction="both", hidden_size=36, num_layers=2) for each in ("atis", "stories")
    },
}
RATES = {name: [1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2] for name in NETWORKS}
VARIANTS: dict[str, list[Setting]] = {
    name: [{"initialisation": kind, "dropout": rate} for kind in ("uniform", "orthogonal") for rate in (0.0, 0.3)]
    for name in NETWORKS
    if name != "window"
}
VARIANTS["window"] = [  # a window twice as wide with as many weights, in place of an initialisation
    size | {"dropout": rate}
    for size in ({"reach": 2, "hidden_size": 290}, {"reach": 4, "hidden_size": 166})
    for rate in (0.0, 0.3)
]
SIZES = {"atis": {"batch": 32}, "stories": {"batch": 4}}
TEXTS = {
    "atis": text("atis", words=True, three_parts=True),
    "stories": text("stories", 300_000, words=True, three_parts=True),
}
LABELS = [f"{corpus}/{name}" for corpus in SIZES for name in NETWORKS]


def _base(label: str, updates: int) -> Config:
    corpus, _, name = label.partition("/")
    return {
        "text": TEXTS[corpus],
        "model": NETWORKS[name][corpus],
        "recipe": recipe(updates=updates, seq_len=1, carry=False, **SIZES[corpus]),
    }


BUDGETS = Budgets(
    "tagging-tuning",
    {label: RATES[label.partition("/")[2]] for label in LABELS},
    {label: VARIANTS[label.partition("/")[2]] for label in LABELS},
    (150, 600, 2400),
    _base,
    keep=((0.25, 10), (0.5, 5)),
    not_longest=[label for label in LABELS if label.startswith("stories")],  # their optimum is known and soon reached
)
COUNTED = {
    f"{corpus}/{name}": {"text": TEXTS[corpus], "counts": name, "by_sentence": True}
    for corpus in SIZES
    for name in COUNTING
}


def _longest(config: Config) -> Config:
    """Return what is kept of those trained longest only: each sentence."""
    longest = BUDGETS.updates[-1 if config["text"]["corpus"] == "atis" else -2]
    return {"by_sentence": True} if config["recipe"]["updates"] == longest else {}


EXPERIMENTS = (
    Experiment(
        BUDGETS.search,
        "Tags: learning rate, initialisation and dropout for each tagger and number of updates",
        TRIALS,
        BUDGETS.searches,
        partial(search_answering, answering=answering),
        seeds=1,
    ),
    Experiment(
        "tagging",
        "Stories and ATIS: taggers that count, a window, and networks that read from one side or from both",
        METRICS,
        COUNTED | BUDGETS.contenders(_longest),
        measure,
        seeds=5,
    ),
)
