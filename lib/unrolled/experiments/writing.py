"""The experiments of chapter 7 on what a model writes: the drift of its own prefixes, and the ways to decode it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from unrolled import decoding
from unrolled.decoding import beam_search, diversity
from unrolled.experiments.base import Encoded, Experiment, encoded, fit, kept
from unrolled.experiments.gradients import windows_of
from unrolled.experiments.language import model_of, recurrent
from unrolled.measure import evaluate
from unrolled.models import NeuralModel, load_model
from unrolled.ngram import Counts, ModifiedKneserNey
from unrolled.text import Vocabulary, stories


class Judge:
    """Say how good a written text is, by what another text is like: n-grams price it, and a lexicon knows its words.

    Args:
        text: what the judge has read.
        vocabulary: its symbols.
        order: of the n-grams.
    """

    def __init__(self, text: str, vocabulary: Vocabulary, order: int):
        self.vocabulary, self.lexicon = vocabulary, set(stories.words(text))
        self.model = ModifiedKneserNey(Counts(vocabulary.encode(text), len(vocabulary), order))

    def nats(self, prompts: torch.Tensor, written: torch.Tensor) -> np.ndarray:
        """Return what each character of the written texts costs after its prompt, (texts, length); both are numbers."""
        both = torch.cat([prompts, written], dim=1)
        nats, _ = self.model.costs(both[:, :-1], both[:, 1:])
        return nats[:, prompts.shape[1] - 1 :].numpy()

    def strange(self, prompts: torch.Tensor, written: torch.Tensor) -> np.ndarray:
        """Return for each character where a word begins 1 if the lexicon lacks it, else 0; elsewhere NaN.

        The last word may be cut off, and does not count. Takes and returns the shapes that `nats` does.
        """
        marks = np.full(written.shape, np.nan)
        for row, (before, after) in enumerate(zip(prompts, written, strict=True)):
            text, at = self.vocabulary.decode(torch.cat([before, after])), 0
            for word in stories.words(text)[:-1]:
                at = text.index(word, at)
                if at >= len(before):
                    marks[row, at - len(before)] = word not in self.lexicon
                at += len(word)
        return marks


def growth(values: np.ndarray, edges: list[int]) -> list[float]:
    """Return the mean of values (texts, length) between each two edges of the places, without the NaN."""
    return [float(np.nanmean(values[:, low:high])) for low, high in zip(edges[:-1], edges[1:], strict=True)]


def measure_exposure(config: dict, seed: int, folder: Path) -> dict:
    """Let models go on from real beginnings, and see how what they write changes with the distance from there.

    The judge has read other stories. The models are a GRU as ever, ``teacher``; the same trained with scheduled
    sampling, ``scheduled`` and more ``sparing``; and ``teacher`` trained on for some updates, on text that it wrote
    itself, ``own``, and for comparison on the real text, ``real``.

    Returns:
        ``edges``, the distances; for each label ``LABEL-nats`` on the held-out text; ``LABEL-judged``, what a character
        that it wrote costs the judge, and ``LABEL-strange``, the share of words that there are not, between each two
        edges. ``text-judged`` and ``text-strange`` are the same of the real continuation.
    """
    text = encoded(config)
    judge = Judge(stories.corpus(config["judge"], seed=1).text, text.vocabulary, config["order"])
    length, edges = config["edges"][-1], config["edges"]
    windows = windows_of(text.held_out, config["texts"], config["prompt"] + length - 1)
    prompts, real = windows.split([config["prompt"], length], dim=1)

    def judged(written: torch.Tensor) -> dict:
        return {
            "judged": growth(judge.nats(prompts, written), edges),
            "strange": growth(judge.strange(prompts, written), edges),
        }

    def one(label: str, told: dict, text: Encoded, first: Path | None = None) -> dict:
        def make(vocab_size: int) -> NeuralModel:
            return model_of(vocab_size, told) if first is None else load_model(first)[0]

        model, _ = fit(make, text, config | told["recipe"], seed, folder / f"{label}.pt")
        written = decoding.generate(model, prompts, length=length, seed=seed * config["texts"])
        return {"nats": evaluate(model, text.held_out).nats_per_symbol} | judged(torch.stack(written))

    def own() -> dict:
        """Let the teacher write stories side by side, which then follow each other as one text."""
        starts = torch.full((config["rows"], 1), text.vocabulary["\n"])
        model, _ = load_model(teacher)
        written = decoding.generate(model, starts, length=config["own"] // config["rows"], seed=seed * config["rows"])
        return {"numbers": torch.cat(written).tolist()}

    teacher, models = folder / "teacher.model", config["models"]
    found = {"text": judged(real)}
    for label, told in models.items():
        found[label] = kept(folder / f"{label}.json", lambda label=label, told=told: one(label, told, text))
    tuned = {"real": text, "own": text._replace(training=torch.tensor(kept(folder / "text.json", own)["numbers"]))}
    for label, read in tuned.items():
        told = {"recipe": config["tuning"]}
        found[label] = kept(
            folder / f"{label}.json", lambda label=label, told=told, read=read: one(label, told, read, teacher)
        )
    return {"edges": edges} | {
        f"{label}-{what}": value for label, metrics in found.items() for what, value in metrics.items()
    }


def measure_decoding(config: dict, seed: int, folder: Path) -> dict:
    """Let one model go on from the same beginnings in several ways, and measure how varied what it writes is.

    Returns:
        ``nats`` of the model on the held-out text; for each way of decoding, and for ``text``, the real continuation,
        ``LABEL-own``, what a character of it costs the model itself; ``LABEL-judged``, what it costs n-grams of the
        training text; ``LABEL-strange``, the share of words that the training text lacks; ``LABEL-distinct`` and
        ``LABEL-repetition`` for 1, 2, 3 and 4 words, by `diversity`; and ``LABEL-sample``, the first continuation.
    """
    text = encoded(config)
    told = config["model"]
    here, checkpoint = config | told["recipe"], folder / "lstm.pt"
    model, _ = fit(lambda vocab_size: model_of(vocab_size, told), text, here, seed, checkpoint)
    vocabulary, length = text.vocabulary, config["length"]
    judge = Judge(vocabulary.decode(text.training), vocabulary, config["order"])
    windows = windows_of(text.held_out, config["texts"], config["prompt"] + length - 1)
    prompts, real = windows.split([config["prompt"], length], dim=1)

    def one(how: dict | None) -> dict:
        if how is None:
            written = real
        elif "width" in how:
            written = torch.stack([best.tokens for best in beam_search(model, prompts, length=length, **how)])
        else:
            written = torch.stack(decoding.generate(model, prompts, length=length, seed=seed * len(prompts), **how))
        both = torch.cat([prompts, written], dim=1)
        own, _ = model.costs(both[:, :-1], both[:, 1:])
        words = [stories.words(vocabulary.decode(row)) for row in written]
        return {
            "own": own[:, config["prompt"] - 1 :].mean().item(),
            "judged": float(judge.nats(prompts, written).mean()),
            "strange": float(np.nanmean(judge.strange(prompts, written))),
            "distinct": [diversity.distinct(words, n) for n in range(1, 5)],
            "repetition": [diversity.repetition(words, n) for n in range(1, 5)],
            "sample": vocabulary.decode(both[0]),
        }

    metrics = {"nats": evaluate(model, text.held_out).nats_per_symbol}
    for label, how in ({"text": None} | config["ways"]).items():
        found = kept(folder / f"{label}.json", lambda how=how: one(how))
        metrics |= {f"{label}-{what}": value for what, value in found.items()}
    return metrics


def _exposure(hidden_size: int, updates: int, rate: float) -> dict:
    """Return the configuration of `exposure-bias`.

    Scheduled sampling trusts the text less and less: in the end half of the time, or 95 times in a hundred.
    """
    teacher = recurrent("gru", hidden_size, rate)

    def sampling(least: float) -> dict:
        options = teacher["options"] | {"least": least, "ramp": updates}
        return teacher | {"kind": "ScheduledSampling", "options": options}

    return {
        "corpus": "stories",
        "characters": 2_000_000,
        "symbols_per_update": 2048,
        "updates": updates,
        "seq_len": 64,
        "carry": True,
        "models": {"teacher": teacher, "scheduled": sampling(0.5), "sparing": sampling(0.95)},
        "tuning": {"updates": updates // 8, "learning_rate": rate / 10},
        "own": 500_000,
        "rows": 250,
        "texts": 200,
        "prompt": 100,
        "edges": [0, 25, 50, 100, 200, 300, 400, 500, 600],
        "judge": 5_000_000,
        "order": 12,
    }


_WAYS = {
    "greedy": {"top_k": 1},
    "cold": {"temperature": 0.5},
    "plain": {},
    "hot": {"temperature": 1.5},
    "top-k": {"top_k": 10},
    "nucleus": {"top_p": 0.9},
    "beam": {"width": 8},
}
_DECODING = {
    "corpus": "tinystories-sample",
    "symbols_per_update": 2048,
    "updates": 4000,
    "seq_len": 64,
    "carry": True,
    "model": recurrent("lstm", 256, 5e-3),
    "ways": _WAYS,
    "texts": 50,
    "prompt": 100,
    "length": 400,
    "order": 10,
}

EXPERIMENTS = (
    Experiment(
        "exposure-bias",
        "Stories: how a GRU drifts on what it wrote itself; scheduled sampling, and training on text of its own",
        {"quick": _exposure(128, 4000, 5e-3), "full": _exposure(512, 20_000, 3e-3)},
        measure_exposure,
    ),
    Experiment(
        "decoding-diversity",
        "TinyStories sample: the same LSTM greedy, cold, hot, top-k, nucleus and by beam; how varied, how repetitive",
        {
            "quick": _DECODING,
            "full": _DECODING
            | {"updates": 20_000, "model": recurrent("torch-lstm", 1024, 2e-3, dropout=0.5), "length": 1000},
        },
        measure_decoding,
    ),
)
