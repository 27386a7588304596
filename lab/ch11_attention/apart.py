"""Is it attention that reverses long sources, or reading from both sides (chapter 11)?

Encoder–decoders reverse letters, with and without attention, and with encoders that read from the left or from both
sides: one thing at a time. Each has 24 random draws of its rate and start, and the best three again.
"""

from functools import partial
from pathlib import Path

from lab.ch11_attention import bottleneck
from lab.engine import draws, search
from lab.engine.draws import choice, log, random_search
from lab.engine.experiment import Config, Experiment, at, model
from lab.engine.search import Setting, with_setting
from lab.engine.training import fit_examples, mean_loss
from unrolled.training import TrainingDiverged

SEARCHED = "attention-apart-tuning"
SPACE: draws.Space = {"learning_rate": log(1e-3, 1e-1), "initialisation": choice("uniform", "orthogonal")}
UNITS = 64
CONTENDERS = {
    f"{direction}{', attention' if attention else ''}": {"direction": direction, "attention": attention}
    for direction in ("forward", "both")
    for attention in (None, "additive")
}


def base(name: str) -> Config:
    """Return an encoder–decoder before anything is chosen."""
    like = bottleneck.contenders()[f"reversal/plain {UNITS}"]
    return like | {"model": model("EncoderDecoder", core="lstm", hidden_size=UNITS, **CONTENDERS[name])}


def draw(config: Config, seed: int, folder: Path) -> dict:
    """Search the settings of an encoder–decoder by what a symbol of the held-out targets costs it."""

    def trial(setting: Setting, seed: int, name: str) -> float:
        given = bottleneck.answering(config, seed)
        try:
            trained = fit_examples(with_setting(config, setting) | {"validations": 0}, seed, folder, given, name=name)
        except TrainingDiverged:
            return float("inf")
        return mean_loss(trained.model, given.held_out)

    return random_search(config, seed, folder, trial)


def _chosen(name: str) -> Config:
    return with_setting(base(name), search.chosen(SEARCHED, name))


EXPERIMENTS = (
    Experiment(
        SEARCHED,
        "Reversal: rate and start of encoder–decoders that read from one side or both, with attention or without",
        draws.METRICS,
        {name: lambda name=name: base(name) | {"space": SPACE, "draws": draws.DRAWS} for name in CONTENDERS},
        draw,
        seeds=1,
        small={"draws": 3},
    ),
    Experiment(
        "attention-apart",
        "Reversal: exact targets against length, attention and the encoder's direction one at a time",
        bottleneck.METRICS,
        {name: partial(_chosen, name) for name in CONTENDERS},
        bottleneck.measure,
        at(length="lengths"),
        small={"asked": 4, "lengths": [1, 2]},
    ),
)
