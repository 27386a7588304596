"""What does each layer of a network of characters know, and how much of it is its training (chapter 10)?

A language model of two layers learns stories. Linear probes read three labels of each letter off its vectors and its
layers, in stories that are new to it. Beside it stand the same network as it was drawn, and a control task, in which
every beginning of a word has a label of its own, drawn at random (Hewitt & Liang 2019).
"""

import itertools
from pathlib import Path
from typing import NamedTuple

import torch

from lab.engine.experiment import Config, Experiment, Metric, at, model, recipe, text
from lab.engine.texts import encoded, unseen_stories
from lab.engine.training import NATS, PARAMETERS, fit, model_of, parameters
from unrolled.measure import evaluate, probes
from unrolled.models import LanguageModel, evaluating
from unrolled.models.layers import unroll_layer
from unrolled.text import Vocabulary, stories, tagged_stories
from unrolled.text.tagged import OTHER

LABELS = ("place in word", "place in sentence", "word class")
TEST_SEED = 2_000_000  # of the stories of the test, tagged


class Labelled(NamedTuple):
    """A label for each letter of a text, (letters,), which letters have it, and the beginnings of words up to them."""

    label: torch.Tensor
    asked: torch.Tensor
    beginnings: list[str]


def labelled(text: str, tags: list[str]) -> dict[str, Labelled]:
    """Return the three labels of the letters of a text.

    They are the place of a letter in its word, up to 6; the place of its word in its sentence, in steps of two, up to
    6; and, of the last letter of a word that has a class, that class.

    Args:
        text: stories.
        tags: the class of each of its words, as `tagged_stories` has them.
    """
    starts, names = stories.word_positions(text), sorted(set(tags))
    rows: dict[str, list] = {name: [] for name in LABELS}
    asked: dict[str, list] = {name: [] for name in LABELS}
    beginnings, since = [], 0
    words = stories.words(text)
    for start, end, word, tag in zip(starts, [*starts[1:], len(text)], words, tags, strict=True):
        for inside in range(end - start):
            letter, last = inside < len(word), inside == len(word) - 1
            rows["place in word"].append(min(inside, 6))
            rows["place in sentence"].append(min(since // 2, 6))
            rows["word class"].append(names.index(tag))
            asked["place in word"].append(letter)
            asked["place in sentence"].append(letter)
            asked["word class"].append(last and tag != OTHER)
            beginnings.append(text[start : start + inside + 1])
        since = 0 if word in ".!?\n" else since + 1
    return {name: Labelled(torch.tensor(rows[name]), torch.tensor(asked[name]), beginnings) for name in LABELS}


def layers(network: LanguageModel, tokens: torch.Tensor) -> list[torch.Tensor]:
    """Return the vectors of symbols and the states of each layer, each (batch, time, units)."""
    with evaluating(network), torch.no_grad():
        states = [network.embed(tokens)]
        for layer in network.core.layers:
            states.append(unroll_layer(layer, states[-1])[0])
    return states


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a network, unless it is asked as it was drawn, and probe its layers in the stories of the test."""
    read = encoded(config)
    if "recipe" in config:
        network = fit(config, seed, folder, text=read).model
    else:
        torch.manual_seed(seed)
        network = model_of(config, len(read.vocabulary))
    nats = evaluate(network, read.test).nats_per_symbol
    return probed(network, read.vocabulary, config, seed) | {"nats": nats, "parameters": parameters(network)}


def probed(network: LanguageModel, vocabulary: Vocabulary, config: Config, seed: int) -> dict:
    """Return what probes tell of each label by each layer, fitted to one half of the windows and asked in the other."""
    test, size = unseen_stories()[1], config["windows"] * config["length"]
    tagged = tagged_stories(len(test.stories), 1, 1, TEST_SEED).train
    windows = vocabulary.encode(test.text[:size]).view(config["windows"], config["length"])
    states = [layer.flatten(0, 1) for layer in layers(network, windows)]
    place = torch.arange(size)
    first, warm = place < size // 2, place % config["length"] >= config["unasked"]
    result: dict[str, list] = {"right": [], "control": []}
    for each in labelled(test.text, [tag for story in tagged for tag in story.tags]).values():
        label, asked = each.label[:size], each.asked[:size] & warm
        begun, drawn = list(itertools.compress(each.beginnings, asked.tolist())), label.clone()
        drawn[asked] = torch.tensor(probes.control_labels(begun, label[asked].tolist(), seed))
        fit_to, ask = first & asked, ~first & asked
        for name, given in (("right", label), ("control", drawn)):
            pairs = ((h[fit_to], given[fit_to], h[ask], given[ask]) for h in states)
            result[name].append([probes.linear_probe(*pair, penalty=config["penalty"]) for pair in pairs])
    return result


METRICS = {
    "parameters": PARAMETERS,
    "nats": NATS._replace(about="what a character of the test costs"),
    "right": Metric("", "the share of letters of which a probe tells the label", ("label", "layer")),
    "control": Metric("", "the same where each beginning of a word has a label drawn at random", ("label", "layer")),
}
UPDATES, LAYERS = 4000, 2
SHARED = {
    "text": text("stories", round(1.01 * UPDATES * 2048), three_parts=True),
    "model": model("LanguageModel", core="gru", num_layers=LAYERS, hidden_size=96),
    "windows": 600,
    "length": 64,
    "unasked": 16,  # letters of a window, which have too little before them
    "penalty": 0.01,
}
TRAINING = {
    "recipe": recipe(updates=UPDATES, symbols_per_update=2048, seq_len=64, reset=0.05, learning_rate=8e-3),
    "validations": 0,
}

EXPERIMENTS = (
    Experiment(
        "layer-probes",
        "Stories: what linear probes read off each layer of a network, trained and as it was drawn, and of a control",
        METRICS,
        {"trained": SHARED | TRAINING, "untrained": SHARED},
        measure,
        at(label=LABELS, layer=list(range(LAYERS + 1))),
        small={"windows": 20},
    ),
)
