"""How well do encoder–decoders pronounce words, beside a model that counts (chapter 11)?"""

import itertools
from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import torch

from lab.ch11_attention.graphones import JointSequence
from lab.ch11_attention.pronunciations import Pronunciations, load_cmudict
from lab.ch11_attention.transcription import error_rates
from lab.engine.experiment import Config, Experiment, Metric, at, model, recipe, text
from lab.engine.search import TRIALS, Setting, decided, grid, search_answering
from lab.engine.training import Answering, answering_course, course, fit_examples, mean_loss, model_of, recipe_of
from unrolled.decoding import translate
from unrolled.models import EncoderDecoder
from unrolled.text import Examples, Vocabulary, WordVocabulary, pad_pairs

START, STOP = 0, 1
MOST = 40  # symbols of a target, its end symbol included; the longest word of the dictionary has fewer phonemes
SHOWN = 12  # alignments that are kept to be drawn
dictionary = lru_cache(maxsize=1)(load_cmudict)


class Spelt(NamedTuple):
    """The dictionary in numbers: letters, and phonemes after `START` and `STOP`."""

    letters: Vocabulary
    sounds: WordVocabulary
    words: Pronunciations

    def pairs(self, words: dict[str, tuple[tuple[str, ...], ...]]) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Return a pair of letters and phonemes for each pronunciation of each word."""
        end = torch.tensor([STOP])
        return [
            (self.letters.encode(word), torch.cat([self.sounds.encode(each), end]))
            for word, listed in words.items()
            for each in listed
        ]


def spelt() -> Spelt:
    """Return the dictionary in numbers."""
    words = dictionary()
    sounds = WordVocabulary.of(["<start>", "<stop>", *words.phonemes])
    return Spelt(Vocabulary("abcdefghijklmnopqrstuvwxyz"), sounds, words)


def answering(config: Config) -> Answering:
    """Return what an encoder–decoder of a configuration learns from."""
    read = spelt()
    learnt, held_out = read.pairs(read.words.train), read.pairs(read.words.validation)
    padded = partial(pad_pairs, start=START)
    return Answering(
        lambda tried: model_of(tried, len(read.letters), len(read.sounds)),
        lambda tried: Examples(learnt, recipe_of(tried).batch, padded),
        Examples(held_out, 256, padded).once(),
        (read.letters, read.sounds),
    )


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train an encoder–decoder, or count, and transcribe the words of the test."""
    read = spelt()
    test = dict(itertools.islice(read.words.test.items(), config["asked"]))
    if "order" in config:
        some = itertools.islice(read.words.train.items(), None, None, config["text"].get("every"))  # or all of them
        joint = JointSequence(dict(some), config["order"])
        return rates("beam", [joint.transcribe(word) for word in test], test)
    trained = fit_examples(config, seed, folder, answering(config))
    network = trained.model
    result = course(config, trained)
    result["nats"] = mean_loss(network, Examples(read.pairs(test), 256, partial(pad_pairs, start=START)).once())
    for name, width in (("greedy", 1), ("beam", config["width"])):
        result |= rates(name, transcribe(network, read, list(test), width), test)
    return result | (_alignments(network, read, test) if network.score is not None else {})


def transcribe(network: EncoderDecoder, read: Spelt, words: Sequence[str], width: int) -> list[tuple[str, ...]]:
    """Return the phonemes that a network writes for each word, by a beam of a width."""
    written = []
    for start in range(0, len(words), 256):
        pairs = [(read.letters.encode(word), torch.tensor([STOP])) for word in words[start : start + 256]]
        batch = pad_pairs(pairs, start=START)
        options = {"start": START, "stop": STOP, "length": MOST, "width": width}
        for hypothesis in translate(network, batch.sources, batch.lengths, **options):
            sounds = [number for number in hypothesis.tokens.tolist() if number not in (START, STOP)]
            written.append(tuple(read.sounds.decode(sounds)) if sounds else ())
    return written


def rates(name: str, written: Sequence[Sequence[str]], test: dict[str, tuple[tuple[str, ...], ...]]) -> dict:
    """Return phoneme and word error rate, and the latter by the length of the word in `EDGES`, under names."""
    total = error_rates(written, list(test.values()))
    answered, by_length = list(zip(test.items(), written, strict=True)), []
    for low, high in itertools.pairwise(EDGES):
        here = [(sounds, right) for (word, right), sounds in answered if low <= len(word) < high]
        by_length.append(error_rates(*zip(*here, strict=True)).words if here else 0.0)
    return {f"{name}_phonemes": total.phonemes, f"{name}_words": total.words, f"{name}_by_length": by_length}


def _alignments(network: EncoderDecoder, read: Spelt, test: dict[str, tuple[tuple[str, ...], ...]]) -> dict:
    """Return the letters, the phonemes and the weights of some words of the test, of six to ten letters."""
    words = [word for word in test if 6 <= len(word) <= 10][:SHOWN]
    batch = pad_pairs(read.pairs({word: test[word][:1] for word in words}), start=START)
    weights = [" ".join(map(str, row.flatten().mul(1000).round().int().tolist())) for row in network.alignments(batch)]
    return {"aligned": words, "aligned_to": [" ".join(test[word][0]) for word in words], "weights": weights}


EDGES = (1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 40)  # of the bins of the word's length, in letters
BEAM = {
    "beam_phonemes": Metric("", "the phoneme error rate in the test, decoded by a beam"),
    "beam_words": Metric("", "the word error rate"),
    "beam_by_length": Metric("", "the same by the number of letters", ("letters",)),
}
METRICS = answering_course("nats per phoneme") | {
    "nats": Metric("nats per phoneme", "what a phoneme costs in the test"),
    "greedy_phonemes": Metric("", "the phoneme error rate in the test, decoded greedily"),
    "greedy_words": Metric("", "the word error rate"),
    "greedy_by_length": Metric("", "the same by the number of letters", ("letters",)),
    **BEAM,
    "aligned": Metric("", "some words of the test", ("word",)),
    "aligned_to": Metric("", "their phonemes", ("word",)),
    "weights": Metric("", "the attention of each phoneme, and of the end, to each letter, in thousandths", ("word",)),
}


AXES = at(letters=EDGES[:-1])  # the lower edges
KINDS = {
    "plain": {"direction": "forward"},
    "backwards": {"direction": "backward"},
    "both": {"direction": "both"},
    "attention": {"direction": "both", "attention": "additive"},
}
RATES = [2e-3, 4e-3, 8e-3, 1.6e-2]
SETTINGS: list[Setting] = grid(RATES, [{"dropout": rate} for rate in (0.0, 0.2)])
UPDATES = 12_000
ASKED = {"text": text("cmudict", three_parts=True), "asked": 12_000}


def _base(kind: str) -> Config:
    """Return a contender before anything is chosen."""
    return ASKED | {
        "width": 4,
        "model": model("EncoderDecoder", core="torch-lstm", hidden_size=128, **KINDS[kind]),
        "recipe": recipe(updates=UPDATES, batch=64, seq_len=1, carry=False),
    }


def _search(kind: str) -> Config:
    """Return a search, as long as a quarter of the training that it decides."""
    base = _base(kind)
    shorter = {"recipe": base["recipe"] | {"updates": UPDATES // 4}}
    return base | shorter | {"grid": SETTINGS, "keep": [[0.25, 4], [0.5, 2]]}


EXPERIMENTS = (
    Experiment(
        "phonemes-tuning",
        "Letters to phonemes: learning rate and dropout for each encoder-decoder",
        TRIALS,
        {kind: _search(kind) for kind in KINDS},
        partial(search_answering, answering=answering),
        seeds=1,
    ),
    Experiment(
        "phonemes",
        "Letters to phonemes: error rates of encoder-decoders with and without attention",
        METRICS,
        decided("phonemes-tuning", {kind: _base(kind) for kind in KINDS}),
        measure,
        AXES,
        small={"asked": 4, "width": 2},
    ),
    Experiment(
        "phonemes-counted",
        "Letters to phonemes: error rates of n-grams of letters with their phonemes",
        BEAM,
        {f"joint-sequence {order}": ASKED | {"order": order} for order in (3, 6)},
        measure,
        AXES,
        seeds=1,
        small={"asked": 40, "text": text("cmudict", three_parts=True, every=100)},
    ),
)
