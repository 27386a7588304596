"""Does a language model drift when it reads its own writing, and do two remedies help (chapter 9)?

Models go on from real beginnings, and a judge who has read other stories says how what they write changes with the
distance from there. The contenders are a GRU trained as ever, ``teacher``; the same trained with scheduled sampling,
``scheduled`` and more ``sparing``; the teacher trained further on text that it wrote itself, ``own``, and for
comparison on the real text, ``real``; and ``text``, how the beginnings really go on.
"""

from pathlib import Path

import numpy as np
import torch

from lab.ch09_generating_text.judge import Judge, beginnings
from lab.ch09_generating_text.scheduled_sampling import ScheduledSampling
from lab.engine.experiment import Config, Experiment, Metric, model, recipe, text
from lab.engine.store import shared_folder
from lab.engine.texts import Encoded, encoded
from lab.engine.training import NATS, fit
from unrolled import decoding
from unrolled.measure import evaluate
from unrolled.models import NeuralModel, load_model
from unrolled.text import stories


def by_distance(values: np.ndarray, edges: list[int]) -> list[float]:
    """Return the mean of values (texts, length) between each two edges of the places, without the NaN."""
    return [float(np.nanmean(values[:, low:high])) for low, high in zip(edges[:-1], edges[1:], strict=True)]


def own_text(teacher: NeuralModel, text: Encoded, config: Config, seed: int) -> torch.Tensor:
    """Return what the teacher writes after line breaks: ``rows`` texts, ``own`` symbols together, one after another."""
    rows = config["rows"]
    starts = torch.full((rows, 1), text.vocabulary["\n"])
    return torch.cat(decoding.generate(teacher, starts, length=config["own"] // rows, seed=seed * rows))


def trained(config: Config, text: Encoded, seed: int, folder: Path) -> NeuralModel:
    """Train the model of a configuration, or its ``teacher``, or the teacher further where there is a ``recipe``."""
    if "teacher" not in config:
        return fit(config, seed, folder, text=text).model
    home = shared_folder(folder, config["teacher"], seed)
    teacher = fit(config["teacher"], seed, home, text=text, name="teacher").model
    if "recipe" not in config:
        return teacher
    if "own" in config:
        text = text._replace(training=own_text(teacher, text, config, seed))
    return fit(config, seed, folder, text=text, untrained=lambda _: load_model(home / "teacher.model")[0]).model


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a contender, let it go on from the beginnings, and judge; without a model, judge how they really go on."""
    text, metrics = encoded(config), {}
    judge = Judge(stories.corpus(config["judge"], seed=1).text, text.vocabulary, config["order"])
    prompts, written = beginnings(text, config)
    if "model" in config or "teacher" in config:
        writer = trained(config, text, seed, folder)
        rows = decoding.generate(writer, prompts, length=config["length"], seed=seed * config["texts"])
        metrics["nats"], written = evaluate(writer, text.held_out).nats_per_symbol, torch.stack(rows)
    return metrics | {
        "judged": by_distance(judge.nats(prompts, written), config["edges"]),
        "strange": by_distance(judge.strange(prompts, written), config["edges"]),
    }


METRICS = {
    "nats": NATS,
    "judged": Metric("nats per character", "what a written character costs the judge", ("distance",)),
    "strange": Metric("", "the share of written words that the judge has never read", ("distance",)),
}


DISTANCES = [0, 25, 50, 100, 200, 300, 400, 500, 600]  # edges of the bins of distance from the beginning
READ = {"text": text("stories", 2_000_000)}
JUDGED = READ | {"judge": 5_000_000, "order": 12, "texts": 200, "prompt": 100, "length": 600, "edges": DISTANCES}
SIZE, UPDATES = {"core": "gru", "hidden_size": 128}, 4000
TRAINING = {"recipe": recipe(symbols_per_update=2048, seq_len=64, updates=UPDATES, learning_rate=5e-3)}
TEACHER = {"teacher": READ | TRAINING | {"model": model("LanguageModel", **SIZE)}}
FURTHER = {"recipe": recipe(symbols_per_update=2048, seq_len=64, updates=UPDATES // 8, learning_rate=5e-4)}


def _sampling(least: float) -> Config:
    """Return what trusts the text less and less: in the end half of the time, or 95 times in a hundred."""
    return TRAINING | {"model": model(ScheduledSampling.__name__, least=least, ramp=UPDATES, **SIZE)}


EXPERIMENTS = (
    Experiment(
        "exposure-bias",
        "Stories: how a GRU drifts on what it wrote itself; scheduled sampling, and training on text of its own",
        METRICS,
        {
            "text": JUDGED,
            "teacher": JUDGED | TEACHER,
            "scheduled": JUDGED | _sampling(0.5),
            "sparing": JUDGED | _sampling(0.95),
            "real": JUDGED | TEACHER | FURTHER,
            "own": JUDGED | TEACHER | FURTHER | {"own": 500_000, "rows": 250},
        },
        measure,
        lambda config: {"distance": config["edges"][1:]},  # the upper edges
        seeds=2,
        small={"judge": 20_000, "order": 4, "texts": 4, "prompt": 10, "length": 40, "edges": [0, 20, 40]}
        | {"own": 2000, "rows": 10},
    ),
)
