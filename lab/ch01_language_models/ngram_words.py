"""How much does counting know of words, and what is Kneser–Ney made for (chapter 1)?"""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from lab.ch01_language_models.ngrams import OPTIONS, score_metrics, scores, smoothed
from lab.engine.experiment import Config, Experiment, Metric, text
from lab.engine.texts import texts
from lab.engine.training import SAMPLE
from unrolled import decoding
from unrolled.measure import evaluate
from unrolled.ngram import Counts, ModifiedKneserNey
from unrolled.text import WordVocabulary, load_corpus, split_words, stories


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Score n-grams of words, with vocabularies of several sizes; and look at what Kneser–Ney is made for.

    A corpus that was published as tokens (``tokenised``) has a test text, too, which is scored.
    """
    split = split_words if config["tokenised"] else stories.words
    training_text, held_out_text = texts(config)
    training, held_out = split(training_text), split(held_out_text)
    vocabulary = WordVocabulary(training)
    counts = Counts(vocabulary.encode(training), len(vocabulary), max(config["orders"]))
    tokens = vocabulary.encode(held_out)
    trigrams, prompt = smoothed(counts, "modified", 3, config), vocabulary.decode([vocabulary["\n"]])
    limited = list(score_limited(training, held_out, config["limits"]))
    metrics = {
        "symbols": len(vocabulary),
        "words": len(tokens),
        "unknown": unknown(vocabulary, tokens),
        **scores(counts, tokens, config),
        "sample": " ".join(decoding.sample(trigrams, vocabulary, prompt=prompt, length=80)),
        **loners(training, config["frequent"]),
        "again": again(training_text, split, config["times"]),
        "limited": [nats for nats, _ in limited],
        "limited_unknown": [share for _, share in limited],
    }
    if config["tokenised"]:
        corpus = load_corpus(config["text"]["corpus"])
        file, test = corpus.files[0], vocabulary.encode(split(corpus.test))
        models = (smoothed(counts, "modified", order, config) for order in config["orders"])
        metrics["file"] = file
        metrics["test"] = [evaluate(model, test).nats_per_symbol for model in models]
    return metrics


def unknown(vocabulary: WordVocabulary, tokens: torch.Tensor) -> float:
    """Return the share of unknown words among tokens (length,)."""
    return (tokens == vocabulary.unknown).float().mean().item()


def score_limited(training: list[str], held_out: list[str], limits: list[int]) -> Iterator[tuple[float, float]]:
    """Yield nats per word, and the share of unknown words, of trigrams that know so many words at most."""
    for limit in limits:
        vocabulary = WordVocabulary(training, limit)
        model = ModifiedKneserNey(Counts(vocabulary.encode(training), len(vocabulary), 3))
        tokens = vocabulary.encode(held_out)
        yield evaluate(model, tokens).nats_per_symbol, unknown(vocabulary, tokens)


def loners(words: list[str], frequent: int) -> dict:
    """Return what the counts of words, and of the words before them, say: totals, and the words that keep to few.

    A loner occurs `frequent` times or more, and what stands before it most often is a word and no punctuation mark.
    """
    counts, pairs, before = Counter(words), Counter(zip(words[:-1], words[1:], strict=True)), {}
    for (first, second), count in pairs.items():
        before.setdefault(second, {})[first] = count
    ranked = sorted(
        (word for word in before if counts[word] >= frequent), key=lambda w: (-counts[w] / len(before[w]), w)
    )
    rows = [[word, counts[word], len(before[word]), max(before[word], key=before[word].get)] for word in ranked]
    return {"count": len(words), "pairs": len(pairs), "loners": [row for row in rows if row[3].isalpha()][:8]}


def again(text: str, split: Callable[[str], list[str]], times: int) -> list[float]:
    """Return how often, on average, the pairs of words that occur 1, 2, … times in one half of a text are in the other.

    The lines are dealt to the two halves in turn, so that both are about the same things.
    """
    lines = text.splitlines()
    halves = (split("\n".join(lines[first::2])) for first in (0, 1))
    here, there = (Counter(zip(words[:-1], words[1:], strict=True)) for words in halves)
    seen = [[pair for pair, count in here.items() if count == number] for number in range(1, times + 1)]
    return [sum(there[pair] for pair in pairs) / len(pairs) for pairs in seen]


METRICS = {
    "symbols": Metric("symbols", "how many different words the training text has, and one for the unknown"),
    "words": Metric("words", "how many the held-out text has"),
    "unknown": Metric("", "the share of those that the training text lacks"),
    **score_metrics("nats per word"),
    "file": Metric("", "which file was read, where a corpus has a stand-in for its own"),
    "test": Metric("nats per word", "what modified Kneser–Ney n-grams pay for the test text", ("order",)),
    "sample": SAMPLE._replace(about="what modified Kneser–Ney trigrams write"),
    "count": Metric("words", "how many the training text has"),
    "pairs": Metric("pairs", "how many different pairs of words follow each other in it"),
    "loners": Metric("", "frequent words that follow few others", ("loner", "column")),
    "again": Metric("times", "how often the pairs of one half are in the other, on average", ("times",)),
    "limited": Metric("nats per word", "what modified Kneser–Ney trigrams of the most frequent words pay", ("limit",)),
    "limited_unknown": Metric("", "the share of the held-out words that those do not know", ("limit",)),
}


def axes(config: Config) -> dict:
    """Return the coordinates of the axes of `METRICS`; the text alone decides how many loners there are."""
    return {
        "order": config["orders"],
        "column": ("word", "occurrences", "different words before it", "the most frequent of those"),
        "times": range(1, config["times"] + 1),  # in the one half
        "limit": config["limits"],
    }


def _words(corpus: str, characters: int | None = None) -> Config:
    return {
        "text": text(corpus, characters, words=True),
        "tokenised": corpus == "wikitext-2",
        "orders": [1, 2, 3, 4, 5],
        "smoothings": OPTIONS,
        "frequent": 100,
        "times": 9,
        "limits": [100, 300, 1000, 3000, 10_000],
    }


_EVERY_CORPUS = {
    "stories": _words("stories", 2_000_000),
    **{name: _words(name) for name in ("tinystories-sample", "fairy-books", "wikitext-2")},
}

EXPERIMENTS = (
    Experiment(
        "ngram-words",
        "Stories, fairy tales and Wikipedia: n-grams of words of orders 1 to 5",
        METRICS,
        _EVERY_CORPUS,
        measure,
        axes,
        seeds=1,
    ),
)
