"""How well do taggers tag questions about flights, each stopped where the validation costs it least (chapter 10)?

The networks of `tagging`, with about as many weights. Each has 24 random draws of its rate, start and dropout, and the
best three again; each training ends when the validation has not fallen for a while, and keeps its best weights.
"""

from functools import partial
from pathlib import Path

from lab.ch10_depth_and_direction import tagging
from lab.engine import draws, search
from lab.engine.draws import choice, log, random_search, uniform
from lab.engine.experiment import Config, Experiment, recipe
from lab.engine.search import Setting, with_setting
from lab.engine.training import fit_examples
from unrolled.training import TrainingDiverged

SEARCHED = "tagging-stopped-tuning"
UPDATES, VALIDATIONS, PATIENCE = 2400, 60, 10
REACH = {2: 290, 4: 166}  # words on each side of a window, and the units that make up as many weights

SPACE: draws.Space = {
    "learning_rate": log(5e-4, 5e-2),
    "initialisation": choice("uniform", "orthogonal"),
    "dropout": uniform(0.0, 0.8),
}


def base(name: str) -> Config:
    """Return a network before anything is chosen."""
    return {
        "text": tagging.TEXT,
        "model": tagging.NETWORKS[name],
        "recipe": recipe(
            updates=UPDATES, batch=32, seq_len=1, carry=False, patience=PATIENCE, schedule="constant", warm_up=0.0
        ),
        "validations": VALIDATIONS,
    }


def searched(name: str) -> Config:
    """Return it with what is searched: of a window how far it reaches, in place of its start."""
    own = {"reach": choice(*REACH)} if name == "window" else {"initialisation": SPACE["initialisation"]}
    space = {knob: how for knob, how in SPACE.items() if knob != "initialisation"} | own
    return base(name) | {"space": space, "draws": draws.DRAWS}


def with_drawn(config: Config, setting: Setting) -> Config:
    """Return a network with a setting: what reaches farther has fewer units, for as many weights."""
    size = {"hidden_size": REACH[setting["reach"]]} if "reach" in setting else {}
    return with_setting(config, setting | size)


def draw(config: Config, seed: int, folder: Path) -> dict:
    """Search the settings of a network by what a tag of the validation costs it where it stops."""
    given = tagging.answering(config)

    def trial(setting: Setting, seed: int, name: str) -> float:
        try:
            trained = fit_examples(with_drawn(config, setting), seed, folder, given, name=name)
        except TrainingDiverged:
            return float("inf")
        return min(trained.history.validation)

    return random_search(config, seed, folder, trial)


def _chosen(name: str) -> Config:
    return with_drawn(base(name), search.chosen(SEARCHED, name)) | {"by_sentence": True}


EXPERIMENTS = (
    Experiment(
        SEARCHED,
        "ATIS: rate, start and dropout for each tagger, stopped by validation",
        draws.METRICS,
        {name: partial(searched, name) for name in tagging.NETWORKS},
        draw,
        seeds=1,
        small={"draws": 3},
    ),
    Experiment(
        "tagging-stopped",
        "ATIS: a window, and networks that read from one side or from both, stopped by validation",
        tagging.METRICS,
        {name: partial(_chosen, name) for name in tagging.NETWORKS},
        tagging.measure,
        seeds=5,
    ),
)
