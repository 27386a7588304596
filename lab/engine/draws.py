"""Search by random draws: each contender has as many trials, in ranges of its own (Bergstra & Bengio 2012).

All knobs are drawn together, so that a start is tried with many rates and biases, not with one. The three best are
tried again from two further seeds, and the best on average is chosen. Where they crowd at an end of a range, it is
widened there, at most twice; a search that still ends at an edge is *not settled*.
"""

import json
import math
import random
import statistics
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from lab.engine.experiment import Config, Metric
from lab.engine.search import Setting
from lab.engine.store import kept
from unrolled.records import digest

DRAWS, MORE = 24, 8  # trials of a search, and those that each widening adds
NATURAL = {"dropout": 0.0}  # the least that there is: a range that begins there is not widened
BEST, AGAIN = 3, 2  # so many of them are tried again, from so many further seeds
WIDENINGS = 2

Space = dict[str, dict[str, list]]
"""By knob ``{"log": [low, high]}``, ``{"uniform": [low, high]}`` or ``{"choice": [value, …]}``."""

Trial = Callable[[Setting, int, str], float]
"""Maps a setting, the seed and the name of the trial to its cost: the lower the better, infinite where it diverged."""

METRICS = {
    "trial_setting": Metric("", "what each trial tried, as JSON", ("trial",)),
    "trial_cost": Metric("", "what each came to, the lower the better; infinite where it diverged", ("trial",)),
    "again": Metric("", "the same of the three best, from two further seeds", ("best", "seed")),
    "chosen": Metric("", "the number of the trial that is best on average over its seeds"),
    "edges": Metric("", "the knobs whose three best values still crowd at an end of their range", ("edge",)),
}


def log(low: float, high: float) -> dict[str, list]:
    """Return the range of a knob that is drawn log-uniformly."""
    return {"log": [low, high]}


def uniform(low: float, high: float) -> dict[str, list]:
    """Return the range of a knob that is drawn uniformly."""
    return {"uniform": [low, high]}


def choice(*values: object) -> dict[str, list]:
    """Return the values of a knob of which each is as likely."""
    return {"choice": list(values)}


def draw(space: Space, count: int, source: random.Random) -> list[Setting]:
    """Return settings drawn from a space, numbers with three digits.

    Example:
        >>> draw({"learning_rate": log(1e-4, 1e-1), "start": choice("uniform")}, 2, random.Random(0))
        [{'learning_rate': 0.0341, 'start': 'uniform'}, {'learning_rate': 0.000132, 'start': 'uniform'}]
    """

    def value(kind: str, values: list) -> object:
        if kind == "choice":
            return source.choice(values)
        number = source.uniform(*map(math.log, values)) if kind == "log" else source.uniform(*values)
        return float(f"{math.exp(number) if kind == 'log' else number:.3g}")

    return [{knob: value(*next(iter(how.items()))) for knob, how in space.items()} for _ in range(count)]


def random_search(config: Config, seed: int, folder: Path, trial: Trial) -> dict:
    """Draw settings from the ``space`` of a configuration, try each, and return `METRICS`.

    Args:
        config: with ``space``; and with ``draws`` where it is not `DRAWS`.
        seed: of all first trials.
        folder: where to keep them.
        trial: trains a contender with a setting and says what it came to.

    Raises:
        RuntimeError: every trial diverged.
    """
    space, source = config["space"], random.Random(digest([config["space"], seed]))
    settings: list[Setting] = []
    costs: list[float] = []

    def cost(setting: Setting, seed: int, name: str) -> float:
        value = kept(folder / f"{name}.json", partial(trial, setting, seed, name))
        return value if math.isfinite(value) else math.inf

    def attempt(drawn: Sequence[Setting]) -> None:
        for setting in drawn:
            costs.append(cost(setting, seed, f"trial-{len(settings)}"))
            settings.append(setting)

    attempt(draw(space, config.get("draws", DRAWS), source))
    for _ in range(WIDENINGS):
        for knob, side in edges(space, settings, costs).items():
            space, added = widened(space, knob, side)
            attempt(draw(added, MORE, source))
    best = sorted(range(len(costs)), key=costs.__getitem__)[:BEST]
    if math.isinf(costs[best[0]]):
        raise RuntimeError(f"all {len(costs)} trials of {config['space']} diverged; give it lower learning rates")
    further = range(seed + 1, seed + 1 + AGAIN)
    again = [[cost(settings[number], other, f"trial-{number}-seed-{other}") for other in further] for number in best]
    means = [statistics.fmean([costs[number], *row]) for number, row in zip(best, again, strict=True)]
    return {
        "trial_setting": [json.dumps(setting) for setting in settings],
        "trial_cost": costs,
        "again": again,
        "chosen": best[means.index(min(means))],
        "edges": list(edges(space, settings, costs)),
    }


def edges(space: Space, settings: Sequence[Setting], costs: Sequence[float]) -> dict[str, int]:
    """Return the knobs whose three best values all lie in one outer quarter of their range: −1 the lower, 1 the upper.

    Of three trials that a knob does not matter to, this is so once in thirty-two knobs. A natural end is no edge.
    """
    best = [settings[number] for number in sorted(range(len(costs)), key=costs.__getitem__)[:BEST]]
    found = {}
    for knob, how in space.items():
        (kind, values), *_ = how.items()
        if kind == "choice":
            continue
        scale = math.log if kind == "log" else float
        low, high = map(scale, values)
        places = [(scale(setting[knob]) - low) / (high - low) for setting in best]
        natural = values[0] == NATURAL.get(knob)
        if (max(places) < 0.25 and not natural) or min(places) > 0.75:
            found[knob] = -1 if max(places) < 0.25 else 1
    return found


def widened(space: Space, knob: str, side: int) -> tuple[Space, Space]:
    """Return a space with half as much again of a knob's range at one end of it, and the space of what is added.

    Args:
        space: as before.
        knob: which one.
        side: −1 at the lower end, 1 at the upper.
    """
    (kind, (low, high)), *_ = space[knob].items()
    if kind == "log":
        factor = (high / low) ** 0.5
        beyond = low / factor if side < 0 else high * factor
    else:
        beyond = low - (high - low) / 2 if side < 0 else high + (high - low) / 2
    beyond = float(f"{beyond:.3g}")
    wide, new = ([beyond, high], [beyond, low]) if side < 0 else ([low, beyond], [high, beyond])
    return space | {knob: {kind: wide}}, space | {knob: {kind: new}}
