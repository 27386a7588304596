"""Which knobs of the recipe matter, and for which cell (chapters 7 and 8)?

An LSTM and a GRU of about 500,000 weights read stories in words. One factor of the recipe at a time differs from the
base; each variant is trained at five learning rates, and at further ones while the best is the first or the last.
"""

import math
from functools import partial
from pathlib import Path

from lab.ch08_fair_comparisons.first_choice import first_choice_by_lag
from lab.ch08_fair_comparisons.memory import EDGES
from lab.engine.experiment import Config, Experiment, Metric, at, model, recipe, text
from lab.engine.search import with_setting
from lab.engine.store import kept
from lab.engine.texts import encoded, unseen_stories
from lab.engine.training import fit
from unrolled.measure import evaluate
from unrolled.training import TrainingDiverged

RATES = [2e-3, 4e-3, 8e-3, 1.6e-2, 3.2e-2]
RATE_FILE = "rate-{:.2g}"  # what the files of a network are called
FURTHER = 2  # rates beyond an end, each twice or half of the last
UNITS = {"lstm": {32: 214, 64: 193, 128: 152}, "gru": {32: 234, 64: 212, 128: 169}}  # by the length of an embedding
BASE = {
    "updates": 2000,
    "batch": 32,
    "seq_len": 64,
    "reset": 0.05,
    "beta2": 0.999,
    "warm_up": 0.1,
    "schedule": "cosine",
    "embedding_size": 64,
    "embedding_scale": 1.0,
}
FACTORS: dict[str, dict] = {
    "base": {},
    "β₂ 0.99": {"beta2": 0.99},
    "β₂ 0.9": {"beta2": 0.9},
    "8 × 256": {"batch": 8, "seq_len": 256},
    "16 × 128": {"batch": 16, "seq_len": 128},
    "64 × 32": {"batch": 64, "seq_len": 32},
    "no resets": {"reset": 0.0},
    "embedding 128": {"embedding_size": 128},
    "embedding 32": {"embedding_size": 32},
    "embedding scaled by 0.3": {"embedding_scale": 0.3},
    "constant rate": {"schedule": "constant"},
    "no warm-up": {"warm_up": 0.0},
    "1,024 symbols": {"batch": 16},
    "4,096 symbols": {"batch": 64},
}


def configuration(core: str, factor: str) -> Config:
    """Return a cell's network with the base recipe, and one factor of it changed."""
    settings = BASE | FACTORS[factor]
    scale, size = settings.pop("embedding_scale"), settings.pop("embedding_size")
    words = settings["updates"] * settings["batch"] * settings["seq_len"]
    options = {"initialisation": "orthogonal"}
    network = {"core": core, "hidden_size": UNITS[core][size], "embedding_size": size, "cell_options": options}
    return {
        "text": text("stories", round(4.5 * words), words=True, three_parts=True),
        "model": model("LanguageModel", **network, **({} if scale == 1 else {"embedding_scale": scale})),
        "recipe": recipe(**settings),
        "learning_rates": RATES,
        "validations": 0,
    }


def at_each_rate(config: Config, seed: int, folder: Path) -> dict:
    """Train a network at each rate of a configuration; score it on the validation text, and ask it for names there."""
    read, (validation, _) = encoded(config), unseen_stories()

    def trained(rate: float) -> dict:
        tried = with_setting(config, {"learning_rate": rate})
        try:
            network = fit(tried, seed, folder, text=read, name=RATE_FILE.format(rate)).model
        except TrainingDiverged:
            return {"nats": math.inf, "name": [0.0] * (len(EDGES) - 1)}
        shares, _ = first_choice_by_lag(network, read.vocabulary, validation, "name", EDGES)
        return {"nats": evaluate(network, read.held_out).nats_per_symbol, "name": shares.tolist()}

    rates, tried = list(config["learning_rates"]), {}

    def try_all() -> int:
        for rate in rates:
            if rate not in tried:
                tried[rate] = kept(folder / f"{RATE_FILE.format(rate)}.json", partial(trained, rate))
        return min(range(len(rates)), key=lambda number: tried[rates[number]]["nats"])

    best = try_all()
    for _ in range(FURTHER):
        if best == 0:
            rates.insert(0, rates[0] / 2)
        elif best == len(rates) - 1:
            rates.append(rates[-1] * 2)
        best = try_all()
    return {
        "learning_rate": rates,
        "nats": [tried[rate]["nats"] for rate in rates],
        "best": best,
        "name": tried[rates[best]]["name"],
    }


METRICS = {
    "learning_rate": Metric("", "the peaks that were tried", ("rate",)),
    "nats": Metric("nats per word", "what a word of the validation text cost with each", ("rate",)),
    "best": Metric("", "the number of the best of them"),
    "name": Metric("", "the share of names that were its first choice of all names where they return", ("lag_bin",)),
}

EXPERIMENTS = (
    Experiment(
        "recipe-factors",
        "Stories, words: what each factor of the recipe is worth to an LSTM and a GRU, each at its own best rate",
        METRICS,
        {f"{core}: {factor}": configuration(core, factor) for core in UNITS for factor in FACTORS},
        at_each_rate,
        at(lag_bin=EDGES[1:]),
        seeds=1,
    ),
)
