"""Two short trials of chapters 5 and 6: gates that are stuck, and counting beyond what was trained."""

from __future__ import annotations

import statistics
from pathlib import Path

import torch

from unrolled import cells, settings, tasks
from unrolled.experiments.base import Experiment, kept, trained
from unrolled.experiments.gated import EXPERIMENTS as GATED
from unrolled.experiments.memory import EXPERIMENTS as VANILLA
from unrolled.experiments.memory import stick, train_one
from unrolled.measure import evaluate
from unrolled.models import LanguageModel


def measure_stuck(config: dict, seed: int, folder: Path) -> dict:
    """Train an LSTM with each of its gates stuck open or shut, on the adding problem and on stories.

    Returns:
        For each label what `tasks.train_one` tells, under ``LABEL-success`` and so on; ``LABEL-nats``, nats per
        character on held-out stories, which are read from an empty state; and ``LABEL-training-nats``, those of the
        last 100 updates, whose state was carried on from the first.
    """

    def one(label: str, stuck: dict) -> dict:
        def make(vocab_size: int) -> LanguageModel:
            model = LanguageModel(vocab_size, hidden_size=config["hidden_size"], core="lstm")
            stick(model.core.cell, stuck)
            return model

        adding = config["adding"]
        ended = train_one(adding, config["remedy"] | {"stuck": stuck}, tasks.Adding(*adding["lengths"]), seed)
        model, held_out, history = trained(make, config, seed, folder / f"{label}.pt")
        nats = {
            "nats": evaluate(model, held_out).nats_per_symbol,
            "training-nats": statistics.fmean(history.losses[-100:]),
        }
        return ended | nats

    metrics = {}
    for label, stuck in config["stuck"].items():
        found = kept(folder / f"{label}.json", lambda label=label, stuck=stuck: one(label, stuck))
        metrics |= {f"{label}-{what}": value for what, value in found.items()}
    return metrics


def measure_counting(config: dict, seed: int, folder: Path) -> dict:
    """Train each cell to count; ask it for aⁿbⁿ with n far beyond those it was trained on.

    Returns:
        For each cell ``success``, ``updates`` and ``loss`` as `tasks.train_one` tells them; and ``reach``, the last n
        up to which all answers are right, at most the ``limit``.
    """
    task = tasks.Counting(config["length"])

    def one(kind: str) -> dict:
        torch.manual_seed(seed)
        model = tasks.SequenceModel(cells.CELLS[kind](task.input_size, config["hidden_size"]), task.output_size)
        outcome = tasks.solve(
            model.to(settings.device()),
            task,
            updates=config["updates"],
            batch=config["batch"],
            learning_rate=config["learning_rate"],
            clip=config["clip"],
            seed=seed,
            score_every=config["score_every"],
            sequences=config["sequences"],
        )
        right = tasks.counted(model, config["limit"]).tolist()
        return {
            "success": int(outcome.success),
            "updates": outcome.updates,
            "loss": outcome.scores[-1] / task.trivial,
            "reach": [*right, False].index(False),
        }

    metrics = {}
    for kind in config["cells"]:
        found = kept(folder / f"{kind}.json", lambda kind=kind: one(kind))
        metrics |= {f"{kind}-{what}": value for what, value in found.items()}
    return metrics


OPEN, SHUT = 100.0, -100.0  # the biases of a stuck gate
_TASKS, _STORIES = (next(one for one in GATED if one.name == name) for name in ("gated-memory-tasks", "gated-stories"))
_COUNTING = {
    "length": 40,
    "limit": 400,
    "hidden_size": 10,
    "cells": ["rnn", "gru", "lstm"],
    "updates": 6000,
    "batch": 32,
    "learning_rate": 1e-2,
    "clip": 1.0,
    "score_every": 100,
    "sequences": 200,
}


def _stuck(profile: str) -> dict:
    """Return the configuration of `gates-stuck`: the LSTM of the two experiments before it, each gate stuck in turn."""
    stories = _STORIES.configs[profile]
    kept_back = ("models", "edges", "asked", "sequences", "steps")  # what asks for names and probes gradients
    return {name: value for name, value in stories.items() if name not in kept_back} | {
        "updates": stories["updates"] // 2,
        "hidden_size": stories["models"]["lstm"]["hidden_size"],
        "learning_rate": stories["models"]["lstm"]["learning_rate"],
        "adding": VANILLA[0].configs[profile]["tasks"]["adding"] | {"lengths": [40]},
        "remedy": _TASKS.configs[profile]["remedies"]["lstm"],
        "stuck": {"free": {}}
        | {
            f"{name}-{how}": {gate: bias}
            for name, gate in {"forget": "f", "input": "i", "output": "o"}.items()
            for how, bias in {"open": OPEN, "shut": SHUT}.items()
        },
    }


EXPERIMENTS = (
    Experiment(
        "gates-stuck",
        "LSTM: each gate stuck open or shut, on the adding problem and on stories",
        {profile: _stuck(profile) for profile in settings.PROFILES},
        measure_stuck,
    ),
    Experiment(
        "counting-task",
        "Strings a^n b^n: how far RNN, GRU and LSTM count beyond the n that they were trained on",
        {"quick": _COUNTING, "full": _COUNTING | {"length": 100, "limit": 2000, "updates": 30_000}},
        measure_counting,
    ),
)
