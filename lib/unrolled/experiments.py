"""The named experiments: what only hours or a GPU can measure, so that a page can show it from a record.

``python -m unrolled run NAME --record`` runs one and keeps its record; `recorded` is how a chapter asks for it.
"""

from __future__ import annotations

import difflib
import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.nn.functional import linear

from unrolled import cells, corpora, decoding, records, settings, stories, tasks
from unrolled.evaluation import evaluate
from unrolled.models import LanguageModel
from unrolled.training import Recipe, train
from unrolled.vocabulary import Vocabulary


@dataclass(frozen=True)
class Experiment:
    """One experiment: what it is told in each profile, and the function that measures one seed.

    Attributes:
        name: what ``python -m unrolled run`` calls it.
        title: what it measures, in a line.
        configs: the configuration for each profile.
        measure: maps (config, seed, folder for checkpoints) to metrics by name: numbers, lists or texts.
    """

    name: str
    title: str
    configs: dict[str, dict]
    measure: Callable[[dict, int, Path], dict]


def texts(config: dict) -> tuple[str, str]:
    """Return the training and the validation text that a configuration names."""
    if config["corpus"] == "stories":
        parts = stories.corpus(config["characters"], seed=0).split(0.9)
        return parts[0].text, parts[1].text
    corpus = corpora.load(config["corpus"])
    return corpus.train, corpus.validation


def _trained(config: dict, seed: int, checkpoint: Path, **changes):
    """Train one RNN as the configuration says, with changes; return model, held-out numbers and history."""
    told = config | changes
    training, validation = texts(config)
    vocabulary = Vocabulary(training + validation)
    torch.manual_seed(seed)
    model = LanguageModel(
        len(vocabulary), hidden_size=told["hidden_size"], learn_initial_state=told.get("learn_initial_state", False)
    ).to(settings.device())
    recipe = Recipe(
        updates=told["updates"],
        batch=told["symbols_per_update"] // told["seq_len"],
        seq_len=told["seq_len"],
        learning_rate=told["learning_rate"],
        carry=told["carry"],
    )
    held_out = vocabulary.encode(validation)
    history = train(
        model,
        vocabulary.encode(training),
        recipe,
        validation=held_out,
        validate_every=max(1, told["updates"] // 10),
        checkpoint=checkpoint,
        label=checkpoint.stem,
    )
    return model, held_out, history


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


def measure_recall(config: dict, seed: int, folder: Path) -> dict:
    """Train one model on stories, and ask for names and pronouns at every lag in stories that it has not seen."""
    model, held_out, history = _trained(config, seed, folder / "model.pt")
    metrics = {"nats": evaluate(model, held_out).nats_per_symbol, "edges": config["edges"]}
    vocabulary, unseen = Vocabulary("".join(texts(config))), stories.corpus(config["asked"], seed=1)
    for kind in ("name", "pronoun"):
        shares, counts = tasks.recall(model, vocabulary, unseen, kind, config["edges"])
        metrics[kind], metrics[f"{kind}-asked"] = shares.tolist(), counts.tolist()
    return metrics


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

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
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
}


def find(name: str) -> Experiment:
    """Return the experiment of that name.

    Raises:
        ValueError: there is none; the message suggests the nearest.
    """
    if name not in EXPERIMENTS:
        near = difflib.get_close_matches(name, EXPERIMENTS, n=1, cutoff=0.3)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(EXPERIMENTS)}"
        raise ValueError(f"there is no experiment {name!r}; {hint}")
    return EXPERIMENTS[name]


def run(name: str, seeds: int = 3, folder: Path | str = "runs") -> records.Record:
    """Run an experiment in the profile in force and return its record.

    Each seed's metrics and the checkpoints of its trainings are kept under `folder`; a run that was killed goes on
    from there when the same call is made again.

    Args:
        name: the experiment's name.
        seeds: how many seeds, 0 … seeds − 1.
        folder: where to work.

    Raises:
        ValueError: no such experiment, or fewer than one seed.
    """
    experiment, profile = find(name), settings.profile()
    if seeds < 1:
        raise ValueError(f"seeds is {seeds}; it must be 1 or more")
    config = experiment.configs[profile]
    config_hash = records.digest(config)
    data_hash = records.digest("".join(texts(config))) if "corpus" in config else ""
    folder = Path(folder) / f"{name}-{profile}-{config_hash}{data_hash}"
    measured = []
    for seed in range(seeds):
        done = folder / f"seed-{seed}.json"
        if not done.exists():
            circumstances = records.circumstances(settings.device())
            started = time.perf_counter()
            metrics = experiment.measure(config, seed, folder / f"seed-{seed}")
            seconds = round(time.perf_counter() - started, 1)
            done.parent.mkdir(parents=True, exist_ok=True)
            part = done.with_suffix(".part")
            part.write_text(json.dumps({"metrics": metrics, "seconds": seconds, "circumstances": circumstances}))
            os.replace(part, done)
        measured.append(json.loads(done.read_text()))
    return records.Record(
        name=name,
        profile=profile,
        config=config,
        config_hash=config_hash,
        data_hash=data_hash,
        seeds=list(range(seeds)),
        metrics=[one["metrics"] for one in measured],
        seconds=[one["seconds"] for one in measured],
        circumstances=[one["circumstances"] for one in measured],
    )


def recorded(name: str) -> records.Record:
    """Return the record of an experiment, having checked that the experiment is still the one that was run.

    Raises:
        ValueError: there is no experiment of that name any more.
        records.RecordError: there is no record, or it was made with another configuration.
    """
    experiment, record = find(name), records.load(name)
    if record.config_hash != records.digest(experiment.configs.get(record.profile)):
        raise records.RecordError(
            f"the record of {name!r} was made with another configuration than the one it has now; "
            f"measure it again with: python -m unrolled run {name} --profile {record.profile} --record"
        )
    return record
