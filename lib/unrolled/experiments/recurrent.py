"""The experiments of chapters 2 and 3 that train vanilla recurrent networks."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import torch
from torch.nn.functional import linear

from unrolled import cells, decoding, settings
from unrolled.experiments.base import Experiment, texts, trained
from unrolled.measure import evaluate, recall
from unrolled.models import LanguageModel
from unrolled.text import Vocabulary, stories


def _trained(config: dict, seed: int, checkpoint: Path, **changes):
    """Train one RNN as the configuration says, with changes; return model, held-out numbers and history."""
    told = config | changes

    def make(vocab_size: int) -> LanguageModel:
        return LanguageModel(
            vocab_size,
            hidden_size=told["hidden_size"],
            learn_initial_state=told.get("learn_initial_state", False),
        )

    return trained(make, told, seed, checkpoint)


def measure_windows(config: dict, seed: int, folder: Path) -> dict:
    """Train with each window length, state reset at every window and carried; score each model in both ways."""
    metrics = {}
    for carry in (False, True):
        for seq_len in config["seq_lens"]:
            name = f"{'carried' if carry else 'reset'}-{seq_len}"
            model, held_out, history = _trained(config, seed, folder / f"{name}.pt", seq_len=seq_len, carry=carry)
            metrics[f"{name}-scored-carried"] = evaluate(model, held_out).nats_per_symbol
            metrics[f"{name}-scored-reset"] = evaluate(model, held_out, window=seq_len).nats_per_symbol
            metrics[f"{name}-curve"] = history.validation
    metrics["updates"] = history.validated
    return metrics


def recall_by_lag(model: LanguageModel, config: dict) -> dict:
    """Ask a model of stories for names and pronouns at every lag, in stories that it has not seen.

    Returns:
        ``name`` and ``pronoun``, the share of right answers in each bin of lag, and ``name-asked`` and
        ``pronoun-asked``, the number of questions.
    """
    metrics = {}
    vocabulary, unseen = Vocabulary("".join(texts(config))), stories.corpus(config["asked"], seed=1)
    for kind in ("name", "pronoun"):
        shares, counts = recall.recall_by_lag(model, vocabulary, unseen, kind, config["edges"])
        metrics[kind], metrics[f"{kind}-asked"] = shares.tolist(), counts.tolist()
    return metrics


def measure_recall(config: dict, seed: int, folder: Path) -> dict:
    """Train one model on stories, and ask for names and pronouns at every lag in stories that it has not seen."""
    model, held_out, _ = _trained(config, seed, folder / "model.pt")
    scored = {"nats": evaluate(model, held_out).nats_per_symbol, "edges": config["edges"]}
    return scored | recall_by_lag(model, config)


def measure_text(config: dict, seed: int, folder: Path) -> dict:
    """Train one model on a text: its score, its curve and a sample of its writing."""
    model, held_out, history = _trained(config, seed, folder / "model.pt")
    return {
        "nats": evaluate(model, held_out).nats_per_symbol,
        "updates": history.validated,
        "curve": history.validation,
        "parameters": sum(weight.numel() for weight in model.parameters() if weight.requires_grad),
        "sample": decoding.sample(
            model, Vocabulary("".join(texts(config))), prompt="\n", length=400, temperature=0.8, seed=seed
        ),
    }


def measure_initial_state(config: dict, seed: int, folder: Path) -> dict:
    """Train with h_0 at zero and with h_0 learned, state reset at every window and carried: nats per character."""
    metrics = {}
    for carry in (False, True):
        for learned in (False, True):
            name = f"{'carried' if carry else 'reset'}-{'learned' if learned else 'zero'}"
            model, held_out, _ = _trained(config, seed, folder / f"{name}.pt", carry=carry, learn_initial_state=learned)
            window = None if carry else config["seq_len"]
            metrics[name] = evaluate(model, held_out, window=window).nats_per_symbol
    return metrics


def measure_loop_time(config: dict, seed: int, folder: Path) -> dict:
    """Time the recurrence, and the same arithmetic without its loop, at several lengths: microseconds a symbol."""
    torch.manual_seed(seed)
    device, size = settings.device(), config["hidden_size"]
    cell = cells.RNNCell(size, size).to(device)

    @torch.no_grad()
    def loop(inputs: torch.Tensor) -> torch.Tensor:
        return cells.unroll(cell, inputs)[1]

    @torch.no_grad()
    def no_loop(inputs: torch.Tensor) -> torch.Tensor:  # every step reads the input again in place of the last state
        return torch.tanh(cell.project(inputs) + linear(inputs, cell.W_hh))

    def seconds(run, inputs: torch.Tensor) -> float:
        started = time.perf_counter()
        run(inputs)
        if device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - started

    metrics = {"lengths": config["lengths"], "loop": [], "no-loop": []}
    for length in config["lengths"]:
        inputs = torch.randn(config["batch"], length, size, device=device)
        pairs = [(seconds(loop, inputs), seconds(no_loop, inputs)) for _ in range(config["repeats"])][3:]
        for name, taken in zip(("loop", "no-loop"), zip(*pairs, strict=True), strict=True):
            metrics[name].append(1e6 * statistics.median(taken) / length)
    return metrics


_WINDOWS = {
    "corpus": "stories",
    "characters": 2_000_000,
    "seq_lens": [16, 32, 64],
    "symbols_per_update": 2048,
    "updates": 4000,
    "hidden_size": 128,
    "learning_rate": 1e-2,
}
_TRUNCATION = _WINDOWS | {"seq_lens": [1, 2, 4, 8, 16, 32, 64], "updates": 2000}
_RECALL = _WINDOWS | {
    "characters": 20_000_000,
    "seq_len": 64,
    "carry": True,
    "updates": 8000,
    "hidden_size": 256,
    "learning_rate": 3e-3,
    "edges": [1, 10, 20, 40, 80, 160, 320, 640],
    "asked": 1_000_000,
}
_SHAKESPEARE = {
    "corpus": "tiny-shakespeare",
    "seq_len": 64,
    "symbols_per_update": 4096,
    "carry": True,
    "updates": 4000,
    "hidden_size": 256,
    "learning_rate": 2e-3,
}
_INITIAL = _WINDOWS | {"characters": 500_000, "seq_len": 16, "updates": 250, "hidden_size": 64}
_LOOP = {"lengths": [2**k for k in range(4, 12)], "batch": 1, "hidden_size": 128, "repeats": 43}

EXPERIMENTS = (
    Experiment(
        "rnn-windows",
        "Stories: a vanilla RNN with windows of 16, 32 and 64, state forgotten and carried",
        {"quick": _WINDOWS, "full": _WINDOWS | {"characters": 20_000_000, "updates": 40_000, "hidden_size": 256}},
        measure_windows,
    ),
    Experiment(
        "rnn-windows-tinystories",
        "TinyStories sample: the same, on the kind of text that the comparison is known from",
        {
            "quick": _WINDOWS | {"corpus": "tinystories-sample"},
            "full": _WINDOWS | {"corpus": "tinystories-sample", "updates": 8000, "hidden_size": 512},
        },
        measure_windows,
    ),
    Experiment(
        "rnn-truncation",
        "Stories: a vanilla RNN trained through 1 to 64 steps, state forgotten and carried",
        {"quick": _TRUNCATION, "full": _TRUNCATION | {"updates": 20_000, "hidden_size": 512}},
        measure_windows,
    ),
    Experiment(
        "rnn-recall",
        "Stories: how far back a vanilla RNN remembers a name, and whether it was she or he",
        {"quick": _RECALL, "full": _RECALL | {"updates": 40_000, "hidden_size": 512}},
        measure_recall,
    ),
    Experiment(
        "rnn-tiny-shakespeare",
        "Tiny Shakespeare: a vanilla RNN, state carried",
        {"quick": _SHAKESPEARE, "full": _SHAKESPEARE | {"updates": 8000, "hidden_size": 1024}},
        measure_text,
    ),
    Experiment(
        "rnn-initial-state",
        "Stories: the state before the first symbol, zero or learned",
        {"quick": _INITIAL, "full": _INITIAL | {"characters": 2_000_000, "updates": 4000, "hidden_size": 128}},
        measure_initial_state,
    ),
    Experiment(
        "rnn-loop-time",
        "Time for a symbol against the length of the sequence: the loop, and the same arithmetic without it",
        {"quick": _LOOP, "full": _LOOP | {"hidden_size": 1024}},
        measure_loop_time,
    ),
)
