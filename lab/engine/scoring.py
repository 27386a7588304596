"""What does a trained language model cost, how large is it, and how does it write? Asked alike of every kind of model.

The experiments of chapter 8 differ in what they train and on which text. What they measure of it is declared in
`SCORES`; `measure` trains a contender and measures that.
"""

import statistics
from pathlib import Path

import numpy as np
import torch

from lab.engine.experiment import Config
from lab.engine.texts import Encoded
from lab.engine.training import COURSE, CURVE, NATS, SAMPLE, Trained, course, fit
from unrolled import decoding
from unrolled.measure import evaluate, token_nats
from unrolled.models import NeuralModel
from unrolled.records import Metric
from unrolled.text import WordVocabulary, stories
from unrolled.training import History

SAMPLE_LENGTH = 400  # symbols


def size_in_bytes(model: torch.nn.Module) -> int:
    """Return how many bytes the weights take that are trained."""
    return sum(weight.numel() * weight.element_size() for weight in model.parameters() if weight.requires_grad)


def training_nats(history: History) -> float:
    """Return the mean loss of the last tenth of the updates, nats per symbol."""
    return statistics.fmean(history.losses[-max(1, len(history.losses) // 10) :])


def sample(model: NeuralModel, text: Encoded, seed: int) -> str:
    """Return what the model writes after a line break, at the temperature 0.8; words with a space between them.

    Where words know no line break, an unknown word takes its place.
    """
    vocabulary, words = text.vocabulary, isinstance(text.vocabulary, WordVocabulary)
    prompt = vocabulary.decode([vocabulary["\n"]])
    written = decoding.sample(model, vocabulary, prompt=prompt, length=SAMPLE_LENGTH, temperature=0.8, seed=seed)
    return " ".join(written) if words else written


def scores(trained: Trained, config: Config, seed: int) -> dict:
    """Return `SCORES` of a trained model.

    Args:
        trained: the model, its text, and what happened in training.
        config: with the ``recipe`` of that training.
        seed: of the sample.
    """
    model, text, history, _ = trained
    return course(config, trained) | {
        "symbols": len(text.vocabulary),
        "nats": evaluate(model, text.held_out).nats_per_symbol,
        "training_nats": training_nats(history),
        "sample": sample(model, text, seed),
        "bytes": size_in_bytes(model),
    }


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train the model of a configuration and return its `SCORES`; the seed is that of the first weights, too."""
    return scores(fit(config, seed, folder), config, seed)


TRAINING_NATS = Metric("nats per character", "the mean training loss over the last tenth of the updates")
BYTES = Metric("bytes", "what the model takes in memory: a network's trained weights, an n-gram's tables")

SCORES = COURSE | {
    "symbols": Metric("symbols", "V, how many different ones the text has"),
    "nats": NATS,
    "training_nats": TRAINING_NATS,
    "curve": CURVE._replace(
        about="what it cost then, scored as the model is trained: without a carried state, afresh in every window"
    ),
    "sample": SAMPLE,
    "bytes": BYTES,
}


def by_story(model: NeuralModel, read: Encoded, test: stories.StoryCorpus) -> dict:
    """Return what a model of characters or of words pays for each story of the test: `BY_STORY`."""
    split = stories.words if isinstance(read.vocabulary, WordVocabulary) else list
    symbols = np.array([len(split(f"{story.text}\n")) for story in test.stories])
    nats = token_nats(model, read.test, start=read.vocabulary["\n"])
    costs = np.add.reduceat(nats, symbols.cumsum() - symbols)
    return {"by_story": costs.round(3).tolist(), "story_symbols": symbols.tolist()}


BY_STORY = {
    "by_story": Metric("nats", "what each story of the test costs, its line break included", ("story",)),
    "story_symbols": Metric("symbols", "how many each of them has", ("story",)),
}
