"""Choose a contender's settings by the validation text before it is compared: as many trials for each contender.

A *setting* names keywords of the recipe, of the model or of its cell, with the values to try. All settings of a search
are trained from the same seed. Where there are many, some are given up on the way, though none before a quarter of the
updates: what learns fastest at first is not what ends lowest.

What a search chose is frozen in `chosen.toml`, in words that a person can read, and the experiments that compare take
it from there.
"""

import copy
import inspect
import itertools
import json
import math
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from filelock import FileLock

from lab.engine.experiment import Config, Experiment, NotChosen
from lab.engine.store import kept
from lab.engine.texts import encoded
from lab.engine.training import Answering, fit, fit_examples, mean_loss, recipe_of
from unrolled.measure import evaluate
from unrolled.models import KINDS
from unrolled.records import Metric
from unrolled.training import Recipe, TrainingDiverged
from unrolled.whole_files import replace_file

CHOSEN = Path(__file__).parent.parent / "chosen.toml"
HEAD = """\
# What each search chose, written by `python -m lab run NAME --record`: the setting, the number of trials that it was
# chosen from, where its numbers lie among those tried, and the best setting that differs in more than its rate.
"""
Setting = dict[str, Any]

TRIALS = {
    "trial_nats": Metric(
        "nats per symbol", "what a symbol of the validation text cost when the trial ended", ("trial",)
    ),
    "trial_updates": Metric("updates", "after which it ended", ("trial",)),
    "chosen": Metric("", "the number of the trial that cost least"),
}


# What to try


def grid(learning_rates: Sequence[float], variants: Sequence[Setting]) -> list[Setting]:
    """Return every learning rate with every variant: the settings of a search."""
    return [{"learning_rate": rate} | variant for variant, rate in itertools.product(variants, learning_rates)]


def with_setting(config: Config, setting: Setting) -> Config:
    """Return a configuration with other values in its recipe, its model or its model's cell, whichever has the name."""
    config = copy.deepcopy(config)
    model = config["model"]
    kind = KINDS[model["kind"]]
    of_model = {name for base in kind.__mro__ for name in inspect.signature(base.__init__).parameters}
    for name, value in setting.items():
        if name in {field.name for field in fields(Recipe)}:
            config["recipe"][name] = value
        elif name in of_model:
            model[name] = value
        else:
            model["cell_options"] = model.get("cell_options", {}) | {name: value}
    return config


# To try it

Trial = Callable[[Config, int, str], float]
"""Maps a configuration, the update to stop after and the name of the trial to what a symbol costs then, nats."""


def search(config: Config, seed: int, folder: Path, trial: Trial | None = None) -> dict:
    """Train the model of a configuration with each setting of its ``grid`` and return `TRIALS`.

    Args:
        config: with ``grid``, and with ``keep``: pairs (share of the updates, how many trials go on from there).
        seed: of the first weights.
        folder: where to keep the trials.
        trial: trains one of them and scores it; a language model on the configuration's text where None.

    Raises:
        ValueError: trials are given up too early, or every trial diverged or cost no finite number.
    """
    settings, updates = config["grid"], config["recipe"]["updates"]
    stages = [*config["keep"], [1.0, 1]]
    if stages[0][0] < 0.25:
        raise ValueError(f"keep begins at {stages[0][0]} of the updates; no trial is given up before a quarter of them")
    trial = trial or _language_model(config, seed, folder)

    def nats_after(number: int, updates: int) -> float:
        tried = with_setting(config, settings[number])
        if not recipe_of(tried).patience:
            tried["validations"] = 0
        try:
            return trial(tried, updates, f"trial-{number}")
        except TrainingDiverged:
            return math.inf

    nats, done, running = [math.inf] * len(settings), [0] * len(settings), list(range(len(settings)))
    for share, going_on in stages:
        for number in running:
            done[number] = round(share * updates)
            file = folder / f"trial-{number}-after-{done[number]}.json"
            cost = kept(file, partial(nats_after, number, done[number]))
            nats[number] = cost if math.isfinite(cost) else math.inf  # what has no cost ranks last
        running = sorted(running, key=nats.__getitem__)[:going_on]
    if math.isinf(nats[running[0]]):
        raise ValueError(f"none of {len(settings)} trials ends with a finite cost: {nats}; try lower learning rates")
    return {"trial_nats": nats, "trial_updates": done, "chosen": running[0]}


def _language_model(config: Config, seed: int, folder: Path) -> Trial:
    """Return what trains a language model on the text of a configuration, in a folder."""
    text = encoded(config)

    def trial(tried: Config, updates: int, name: str) -> float:
        model = fit(tried, seed, folder, text=text, until=updates, name=name).model
        return evaluate(model, text.held_out).nats_per_symbol

    return trial


def search_answering(config: Config, seed: int, folder: Path, answering: Callable[[Config], Answering]) -> dict:
    """Search the settings of a model with answers, as `search` does.

    Args:
        config: with ``grid`` and ``keep``.
        seed: of the first weights.
        folder: where to keep the trials.
        answering: maps a configuration to what it learns from.
    """
    given = answering(config)

    def trial(tried: Config, updates: int, name: str) -> float:
        return mean_loss(fit_examples(tried, seed, folder, given, until=updates, name=name).model, given.held_out)

    return search(config, seed, folder, trial)


# What it chose


def chosen(name: str, label: str, what: str = "setting") -> Setting:
    """Return the setting that a search chose for a contender.

    Args:
        name: the experiment that searched.
        label: the contender's.
        what: ``"setting"``; or ``"second"``, the best setting that differs from it in more than the learning rate.

    Raises:
        NotChosen: that search has not been recorded.
    """
    entry = _frozen(CHOSEN.read_text(encoding="utf8")).get(name, {}).get(label)
    if entry is None:
        command = f"python -m lab run {name} --contender {label!r} --record"
        raise NotChosen(f"{name} has not chosen the settings of {label!r} yet; choose them with: {command}")
    return {knob: None if value == "none" else value for knob, value in entry[what].items()}


def cost_of_chosen(name: str, label: str) -> float:
    """Return what the setting came to that a search by draws chose for a contender; 0 before it has been recorded."""
    return _frozen(CHOSEN.read_text(encoding="utf8")).get(name, {}).get(label, {}).get("cost", 0.0)


@lru_cache(maxsize=1)  # the contenders of one experiment ask for it hundreds of times
def _frozen(content: str) -> Mapping[str, Any]:
    return tomllib.loads(content)


def freeze(experiment: Experiment, label: str, trials: Mapping[str, Any]) -> None:
    """Write what a search chose for a contender into `chosen.toml`.

    Args:
        experiment: the search.
        label: the contender's.
        trials: what was measured: `TRIALS`; those of another search that ranks trials by ``trial_updates`` and
            ``trial_loss``; or `draws.METRICS`.
    """
    drawn = "trial_setting" in trials
    settings = [json.loads(each) for each in trials["trial_setting"]] if drawn else experiment.config(label)["grid"]
    costs = next(trials[name] for name in ("trial_nats", "trial_loss", "trial_cost") if name in trials)
    ended = trials.get("trial_updates", [0] * len(settings))
    ranking = sorted(range(len(settings)), key=lambda number: (-ended[number], costs[number]))
    best = settings[trials["chosen"]]
    finite = [number for number in ranking if math.isfinite(costs[number])]
    others = (settings[number] for number in finite if _variant(settings[number]) != _variant(best))
    entry = {"setting": best, "trials": len(settings), "lies": _places(best, settings)}
    if (second := next(others, None)) is not None:
        entry["second"] = second
    if drawn:
        entry |= {"settled": not trials["edges"], "cost": costs[trials["chosen"]]}
    with FileLock(CHOSEN.with_name(f".{CHOSEN.name}.lock")):
        content = tomllib.loads(CHOSEN.read_text(encoding="utf8")) if CHOSEN.exists() else {}
        content.setdefault(experiment.name, {})[label] = entry
        with replace_file(CHOSEN) as file:
            entries = (_toml(name, label, content[name][label]) for name in sorted(content) for label in content[name])
            file.write((HEAD + "".join(entries)).encode())


def _variant(setting: Setting) -> Setting:
    return {name: value for name, value in setting.items() if name != "learning_rate"}


def _places(best: Setting, settings: Sequence[Setting]) -> dict[str, str]:
    """Return for each number of a setting where it lies among those that were tried: ``"2 of 5"``, the least first."""
    places = {}
    for knob, value in best.items():
        tried = {setting.get(knob) for setting in settings}
        numbers = sorted(each for each in tried if isinstance(each, int | float) and not isinstance(each, bool))
        if value in numbers:
            places[knob] = f"{numbers.index(value) + 1} of {len(numbers)}"
    return places


def _toml(name: str, label: str, entry: Mapping[str, Any]) -> str:
    """Return an entry of `chosen.toml`; None, which TOML lacks, is written as the word "none"."""

    def text(value: Any) -> str:
        if isinstance(value, dict):
            return "{" + ", ".join(f"{knob} = {text(each)}" for knob, each in value.items()) + "}"
        return '"none"' if value is None else str(value).lower() if isinstance(value, bool) else _literal(value)

    return f'\n[{name}."{label}"]\n' + "".join(f"{key} = {text(value)}\n" for key, value in entry.items())


def _literal(value: str | int | float) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


# After several numbers of updates


@dataclass(frozen=True)
class Budgets:
    """Contenders that are compared after several numbers of updates, with settings chosen for each of them apart.

    At the largest number, whose trials are long, only the best setting before and the best with another variant are
    tried, each with the best learning rate, a half of it and a quarter: a longer training asks for a lower rate. Where
    ``whole`` is set, all are tried there, too.

    Attributes:
        search: the name of the experiment that chooses the settings.
        learning_rates: those to try, in order, for each contender.
        variants: the other settings to try for each, an equal number for all.
        updates: the numbers of updates, the smallest first.
        base: maps a contender and a number of updates to the configuration before anything is chosen.
        keep: pairs (share of the updates, how many trials go on from there).
        keep_longest: the same at the largest number of updates.
        not_longest: the contenders that are not trained for the largest number of updates.
        whole: whether the largest number of updates has the same search as the others.
    """

    search: str
    learning_rates: Mapping[str, Sequence[float]]
    variants: Mapping[str, Sequence[Setting]]
    updates: Sequence[int]
    base: Callable[[str, int], Config]
    keep: Sequence[Sequence[float]] = ((0.25, 8), (0.5, 4))
    keep_longest: Sequence[Sequence[float]] = ((0.5, 2),)
    not_longest: Collection[str] = ()
    whole: bool = False

    def of(self, name: str) -> Sequence[int]:
        """Return the numbers of updates that a contender is trained for."""
        return self.updates[:-1] if name in self.not_longest else self.updates

    @property
    def searches(self) -> dict[str, Callable[[], Config]]:
        """A search for each contender and number of updates, under the label of both, such as ``"gru 500"``."""
        return {
            f"{name} {updates}": partial(self._search, name, updates)
            for name in self.learning_rates
            for updates in self.of(name)
        }

    def _search(self, name: str, updates: int) -> Config:
        settings = grid(self.learning_rates[name], self.variants[name])
        if longest := updates == self.updates[-1] and not self.whole:
            before = f"{name} {self.updates[-2]}"
            best, second = (chosen(self.search, before, what) for what in ("setting", "second"))
            rate = best["learning_rate"]
            settings = grid([rate / 4, rate / 2, rate], [_variant(best), _variant(second)])
        keep = [list(pair) for pair in (self.keep_longest if longest else self.keep)]
        return self.base(name, updates) | {"grid": settings, "keep": keep}

    def contenders(self, more: Callable[[Config], Config] = lambda config: {}) -> dict[str, Callable[[], Config]]:
        """Return the contenders under the labels of their searches, with the settings that these chose.

        Args:
            more: maps the configuration of each to what it has besides.
        """

        def contender(name: str, updates: int) -> Config:
            config = self.chosen(name, updates)
            return config | more(config)

        return {
            f"{name} {updates}": partial(contender, name, updates)
            for name in self.learning_rates
            for updates in self.of(name)
        }

    def chosen(self, name: str, updates: int) -> Config:
        """Return the configuration of a contender, with the setting that its search chose."""
        return with_setting(self.base(name, updates), chosen(self.search, f"{name} {updates}"))


def decided(
    search: str,
    bases: Mapping[str, Config],
    put: Callable[[Config, Setting], Config] = with_setting,
) -> dict[str, Callable[[], Config]]:
    """Return each contender with the setting that its search chose, as soon as it is recorded.

    Args:
        search: the name of the experiment that chooses the settings.
        bases: the contenders before anything is chosen, by label.
        put: maps a contender and a setting to the contender with it.
    """
    return {label: lambda label=label, base=base: put(base, chosen(search, label)) for label, base in bases.items()}
