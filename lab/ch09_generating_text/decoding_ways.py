"""How varied, how repetitive and how strange is what a model writes, by the way in which it is decoded (chapter 9)?

One model goes on from the same beginnings in several ways. The contender ``text`` is how they really go on.
"""

from pathlib import Path

import numpy as np
import torch

from lab.ch09_generating_text.judge import Judge, beginnings
from lab.engine.experiment import Config, Experiment, Metric, at, model, recipe, text
from lab.engine.store import shared_folder
from lab.engine.training import NATS, SAMPLE, fit
from unrolled import decoding
from unrolled.measure import evaluate
from unrolled.models import NeuralModel
from unrolled.text import stories

WORDS = (1, 2, 3, 4)  # in a row, of which it is counted how often they come


def write(writer: NeuralModel, prompts: torch.Tensor, config: Config, seed: int) -> torch.Tensor:
    """Return what a model writes after each prompt in the ``way`` of a configuration, (texts, length)."""
    way, length = config["way"], config["length"]
    if "width" in way:
        return torch.stack([best.tokens for best in decoding.beam_search(writer, prompts, length=length, **way)])
    return torch.stack(decoding.generate(writer, prompts, length=length, seed=seed * len(prompts), **way))


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train the ``writer`` of a configuration, or take it from another contender; let it write, and measure what."""
    training = config["writer"]
    writer, text, *_ = fit(training, seed, shared_folder(folder, training, seed), name="lstm")
    vocabulary = text.vocabulary
    judge = Judge(vocabulary.decode(text.training), vocabulary, config["order"])
    prompts, written = beginnings(text, config)
    metrics = {}
    if config["way"] is None:
        metrics["nats"] = evaluate(writer, text.held_out).nats_per_symbol
    else:
        written = write(writer, prompts, config, seed)
    both = torch.cat([prompts, written], dim=1)
    own, _ = writer.costs(both[:, :-1], both[:, 1:])
    words = [stories.words(vocabulary.decode(row)) for row in written]
    return metrics | {
        "own": own[:, config["prompt"] - 1 :].mean().item(),
        "judged": float(judge.nats(prompts, written).mean()),
        "strange": float(np.nanmean(judge.strange(prompts, written))),
        "distinct": [decoding.distinct(words, n) for n in WORDS],
        "repetition": [decoding.repetition(words, n) for n in WORDS],
        "sample": vocabulary.decode(both[0]),
    }


METRICS = {
    "nats": NATS._replace(about="what a character of the whole held-out text costs the model; of the contender text"),
    "own": Metric("nats per character", "what a written character costs the model itself"),
    "judged": Metric("nats per character", "what a written character costs n-grams of the training text"),
    "strange": Metric("", "the share of written words that the training text lacks"),
    "distinct": Metric("", "the share of different ones among all that are so many words in a row", ("words",)),
    "repetition": Metric("", "the share of those that came before in the same text", ("words",)),
    "sample": SAMPLE._replace(about="the first beginning, and how it goes on"),
}


WAYS = {
    "text": None,
    "greedy": {"top_k": 1},
    "cold": {"temperature": 0.5},
    "plain": {},
    "hot": {"temperature": 1.5},
    "top-k": {"top_k": 10},
    "nucleus": {"top_p": 0.9},
    "beam": {"width": 8},
}


READ = {"text": text("tinystories-sample")}
WRITER = READ | {
    "model": model("LanguageModel", core="lstm", hidden_size=256),
    "recipe": recipe(updates=4000, symbols_per_update=2048, seq_len=64, learning_rate=5e-3),
}
SHARED = READ | {"writer": WRITER, "texts": 50, "prompt": 100, "length": 400, "order": 10}

EXPERIMENTS = (
    Experiment(
        "decoding-diversity",
        "TinyStories sample: the same LSTM greedy, cold, hot, top-k, nucleus and by beam; how varied, how repetitive",
        METRICS,
        {label: SHARED | {"way": way} for label, way in WAYS.items()},
        measure,
        at(words=WORDS),
        small={"texts": 4, "prompt": 10, "length": 30, "order": 3},
    ),
)
