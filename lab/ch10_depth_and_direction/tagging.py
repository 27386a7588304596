"""How well do two taggers that count tag questions about flights (chapter 10)?

And what every tagger of them shares: the numbers of words and tags, what the answers come to, and networks with about
as many weights that see a window, or read from the left, from the right or from both sides; `tagging_stopped` trains
those.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import torch

from lab.ch10_depth_and_direction.atis import load_atis
from lab.ch10_depth_and_direction.window_tagger import WindowTagger
from lab.engine.experiment import Config, Experiment, Metric, model, text
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
        corpus: ``"atis"``, or ``"stories"``, on which the tests of the laboratory train small taggers.
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
WORD_BY_WORD = {
    "ambiguous_asked": Metric("words", "how many of these there are"),
    "unknown_right": Metric("words", "how many words of the test that training lacks have the right tag"),
    "unknown_asked": Metric("words", "how many of these there are"),
    "errors": Metric("words", "how many of each sentence of the test have a wrong tag", ("sentence",)),
    "words": Metric("words", "how many each of them has", ("sentence",)),
    "wrong_at": Metric(
        "", "the places of the words with a wrong tag, counted through the test from 0, with spaces between"
    ),
}
METRICS = {**answering_course("nats per word"), **RIGHT, **WORD_BY_WORD}

NETWORKS = {  # with the words and tags of ATIS, each has about as many weights
    "window": model(WindowTagger.__name__, hidden_size=290),
    "left-to-right": model("Tagger", direction="forward", hidden_size=96),
    "right-to-left": model("Tagger", direction="backward", hidden_size=96),
    "both": model("Tagger", direction="both", hidden_size=64),
    "both-stacked": model("Tagger", direction="both", hidden_size=36, num_layers=2),
}
TEXT = text("atis", words=True, three_parts=True)
COUNTED = {name: {"text": TEXT, "counts": name, "by_sentence": True} for name in COUNTING}

EXPERIMENTS = (
    Experiment(
        "tagging",
        "ATIS: taggers that count",
        {"accuracy": RIGHT["accuracy"], "ambiguous": RIGHT["ambiguous"], **WORD_BY_WORD},
        COUNTED,
        measure,
        seeds=5,
    ),
)
