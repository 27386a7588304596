"""Who of those that need no loop can replace what is kept, over how many steps (chapter 13)?

*Write, ignore, read*, as in the spine of chapters 4 to 6, by networks whose step is linear in the state, with as many
weights. Each has its settings from a search at lag 50; longer lags take them over. They have half of the updates of the
spine.
"""

from functools import partial

from lab.ch04_vanishing_gradients import success_by_lag as spine
from lab.engine import draws
from lab.engine.experiment import Config, Experiment, cell
from lab.engine.search import chosen

SEARCHED = "overwriting-tuning"
LAGS = (50, 100, 200)
NETWORKS: dict[str, tuple[int, Config, draws.Space]] = {  # units, cell, and what is searched of it
    "delta": (240, cell("delta", num_heads=8), spine.RATE | spine.START),
    "mingru": (328, cell("mingru"), spine.RATE | spine.START | {"update_bias": spine.SHUTS}),
}


def base(name: str, lag: int) -> Config:
    """Return a network on the task before anything is chosen."""
    units, kind, _ = NETWORKS[name]
    return {"task": "flip-flop", "lag": lag, "cell": kind, "hidden_size": units} | spine.BUDGET | {"updates": 1500}


def contender(name: str, lag: int) -> Config:
    """Return a network with the setting that its search chose."""
    return spine.with_setting(base(name, lag), chosen(SEARCHED, name))


EXPERIMENTS = (
    Experiment(
        SEARCHED,
        "Write, ignore, read without a loop: rate, start and bias of each network over 50 steps",
        draws.METRICS,
        {name: base(name, 50) | {"space": space} for name, (_, _, space) in NETWORKS.items()},
        spine.search,
        seeds=1,
        small=spine.SMALL | {"hidden_size": 8, "draws": 3},
    ),
    Experiment(
        "overwriting",
        "Write, ignore, read without a loop: how many seeds of each network solve it, and how soon, by lag",
        spine.METRICS,
        {f"{name}: {lag}": partial(contender, name, lag) for name in NETWORKS for lag in LAGS},
        spine.measure,
        seeds=5,
        small=spine.SMALL | {"hidden_size": 8},
    ),
)
