"""Choose a contender's settings by the validation text before it is compared: as many trials for each contender.

A *setting* names keywords of the recipe, of the model or of its cell, with the values to try. All settings of a search
are trained from the same seed. Where there are many, some are given up on the way, though none before a quarter of the
updates: what learns fastest at first is not what ends lowest.

A comparison whose settings are chosen has no configurations of its own before the search is recorded. `Tuned` holds
them, and reads the choice from the record: where it changes, what was measured with another counts as stale.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from unrolled.experiments import records
from unrolled.experiments.base import Configuration, Metric, fit, kept, recipe_of
from unrolled.experiments.reading import encoded
from unrolled.measure import evaluate
from unrolled.training import TrainingDiverged

Setting = dict[str, Any]

SEARCH = {
    "trial_nats": Metric(
        "nats per symbol", "what a symbol of the validation text cost when the trial ended", ("trial",)
    ),
    "trial_updates": Metric("updates", "after which it ended", ("trial",)),
    "chosen": Metric("", "the number of the trial that cost least"),
}


def grid(learning_rates: Sequence[float], variants: Sequence[Setting]) -> list[Setting]:
    """Return every learning rate with every variant: the settings of a search."""
    return [{"learning_rate": rate} | variant for variant, rate in itertools.product(variants, learning_rates)]


def finalists(ranking: Sequence[Setting]) -> list[Setting]:
    """Return what to try when training goes on for much longer, from the settings of a shorter search, the best first.

    These are the best setting and the best of those that differ from it in more than the learning rate, each with the
    best learning rate, a half of it and a quarter: a longer training asks for a lower rate.
    """
    variants: list[Setting] = []
    for setting in ranking:
        variant = {name: value for name, value in setting.items() if name != "learning_rate"}
        if variant not in variants:
            variants.append(variant)
    best = ranking[0]["learning_rate"]
    return grid([best / 4, best / 2, best], variants[:2])


def with_setting(config: Configuration, setting: Setting) -> Configuration:
    """Return a configuration with other values in its recipe, its model or its model's cell.

    Raises:
        ValueError: the configuration has no such keyword.
    """
    config = copy.deepcopy(config)
    options = config["model"]["options"]
    for name, value in setting.items():
        parts = [part for part in (config["recipe"], options, options.get("cell_options") or {}) if name in part]
        if len(parts) != 1:
            raise ValueError(f"{name} is {value}, but {len(parts)} parts of the configuration have a {name}; give one")
        parts[0][name] = value
    return config


def search(config: Configuration, seed: int, folder: Path) -> dict:
    """Train the model of a configuration with each of its settings and return `SEARCH`.

    Args:
        config: with ``settings``, and with ``keep``: pairs (share of the updates, how many trials go on from there).
        seed: of the first weights.
        folder: where to keep the trials.
    """
    settings, updates = config["settings"], config["recipe"]["updates"]
    stages = [*config["keep"], [1.0, 1]]
    if stages[0][0] < 0.25:
        raise ValueError(f"keep begins at {stages[0][0]} of the updates; no trial is given up before a quarter of them")
    text = encoded(config)

    def nats_after(trial: int, updates: int) -> float:
        tried = with_setting(config, settings[trial])
        if not recipe_of(tried).needs_validation:
            tried["validations"] = 0
        try:
            model = fit(tried, seed, folder, text=text, until=updates, name=f"trial-{trial}").model
        except TrainingDiverged:
            return math.inf
        return evaluate(model, text.held_out).nats_per_symbol

    nats, done, running = [math.inf] * len(settings), [0] * len(settings), list(range(len(settings)))
    for share, going_on in stages:
        for trial in running:
            done[trial] = round(share * updates)
            file = folder / f"trial-{trial}-after-{done[trial]}.json"
            nats[trial] = kept(file, partial(nats_after, trial, done[trial]))
        running = sorted(running, key=nats.__getitem__)[:going_on]
    return {"trial_nats": nats, "trial_updates": done, "chosen": running[0]}


def found(name: str, label: str, config: Configuration) -> dict | None:
    """Return what a search found, or None where the record has none of this configuration.

    Args:
        name: the experiment that searched.
        label: the contender's.
        config: the search as it is now.

    Raises:
        RecordError: the record was changed by hand.
    """
    if not (records.FOLDER / f"{name}.json").exists():
        return None
    record = records.load_record(name)
    if record.configs.get(label) != config or (label, 0) not in record.parts:
        return None
    return record.parts[label, 0].metrics


def choice(name: str, label: str, config: Configuration) -> Setting | None:
    """Return the setting that a search chose, or None where the record has none; the arguments are those of `found`."""
    metrics = found(name, label, config)
    return metrics and config["settings"][metrics["chosen"]]


def ranking(name: str, label: str, config: Configuration) -> list[Setting] | None:
    """Return the settings of a search, those first that were trained longest and then those that cost least.

    None where the record has none; the arguments are those of `found`.
    """
    metrics = found(name, label, config)
    if metrics is None:
        return None
    trials = zip(metrics["trial_updates"], metrics["trial_nats"], config["settings"], strict=True)
    return [setting for _, _, setting in sorted(trials, key=lambda trial: (-trial[0], trial[1]))]


def decided(
    name: str,
    searches: Mapping[str, Configuration],
    bases: Mapping[str, Configuration],
    put: Callable[[Configuration, Setting], Configuration] = with_setting,
) -> dict[str, Configuration]:
    """Return each contender with the setting that its search chose, or what waits for it.

    Args:
        name: the experiment that searched.
        searches: its configurations, by label.
        bases: the contenders before anything is chosen, by the same labels.
        put: maps a contender and a setting to the contender with it.
    """
    chosen = {label: choice(name, label, search) for label, search in searches.items()}
    return {
        label: waiting(name, label) if setting is None else put(bases[label], setting)
        for label, setting in chosen.items()
    }


@dataclass(frozen=True)
class Comparison:
    """Contenders that are compared after several numbers of updates, with settings chosen for each of them apart.

    At the largest number of updates only the `finalists` of the search before are tried; below it, all settings.

    Attributes:
        search: the name of the experiment that chooses the settings.
        learning_rates: those to try, in order, for each contender.
        variants: maps a contender and a profile to the other settings to try, an equal number for all contenders.
        budgets: the numbers of updates of each profile, the smallest first.
        base: maps a contender, a number of updates and a profile to the configuration before anything is chosen.
        keep: pairs (share of the updates, how many trials go on from there).
        keep_longest: the same at the largest number of updates.
        not_longest: the contenders that are not trained for the largest number of updates.
    """

    search: str
    learning_rates: Mapping[str, Sequence[float]]
    variants: Callable[[str, str], Sequence[Setting]]
    budgets: Mapping[str, Sequence[int]]
    base: Callable[[str, int, str], Configuration]
    keep: Sequence[Sequence[float]] = ((0.25, 8), (0.5, 4))
    keep_longest: Sequence[Sequence[float]] = ((0.5, 2),)
    not_longest: Collection[str] = ()

    def searches(self, profile: str) -> dict[str, Configuration]:
        """Return a search for each contender and number of updates, under the label of both, such as ``"gru 500"``."""
        *shorter, longest = self.budgets[profile]
        keep, keep_longest = ([list(pair) for pair in pairs] for pairs in (self.keep, self.keep_longest))
        searches = {}
        for name, rates in self.learning_rates.items():
            settings = grid(rates, self.variants(name, profile))
            for updates in shorter:
                searches[f"{name} {updates}"] = self.base(name, updates, profile) | {"settings": settings, "keep": keep}
            if name in self.not_longest:
                continue
            before = f"{name} {shorter[-1]}"
            if best := ranking(self.search, before, searches[before]):
                search = {"settings": finalists(best), "keep": keep_longest}
                searches[f"{name} {longest}"] = self.base(name, longest, profile) | search
            else:
                searches[f"{name} {longest}"] = waiting(self.search, before)
        return searches

    def chosen(self, name: str, updates: int, profile: str) -> Setting | None:
        """Return the setting that was chosen for a contender and a number of updates, None while it is not recorded."""
        label = f"{name} {updates}"
        return choice(self.search, label, self.searches(profile)[label])

    def contenders(self, profile: str) -> dict[str, Configuration]:
        """Return the contenders under the labels of their searches, with the settings that these chose."""
        return {
            f"{name} {updates}": self.contender(name, updates, profile)
            for name in self.learning_rates
            for updates in self.budgets_of(name, profile)
        }

    def budgets_of(self, name: str, profile: str) -> Sequence[int]:
        """Return the numbers of updates that a contender is trained for."""
        return self.budgets[profile][:-1] if name in self.not_longest else self.budgets[profile]

    def contender(self, name: str, updates: int, profile: str, **instead: Any) -> Configuration:
        """Return one contender, with the setting that was chosen for it, or some of its values instead."""
        chosen = self.chosen(name, updates, profile)
        if chosen is None:
            return waiting(self.search, f"{name} {updates}")
        return with_setting(self.base(name, updates, profile), chosen | instead)


def tune(config: Configuration, seed: int, folder: Path) -> dict:
    """Search the settings of one contender of a `Comparison`, as `search` does."""
    check_chosen(config)
    return search(config, seed, folder)


class Tuned(Mapping[str, dict[str, Configuration]]):
    """The contenders of each profile, made anew whenever they are asked for, since they depend on a record.

    Args:
        contenders: maps a profile to the contenders.

    Example:
        >>> Tuned(lambda profile: {"gru": {"profile": profile}})["quick"]
        {'gru': {'profile': 'quick'}}
    """

    def __init__(self, contenders: Callable[[str], dict[str, Configuration]]):
        self._contenders = contenders

    def __getitem__(self, profile: str) -> dict[str, Configuration]:
        return self._contenders(profile)

    def __iter__(self) -> Iterator[str]:
        return iter(("quick", "full"))

    def __len__(self) -> int:
        return 2


def waiting(name: str, label: str) -> Configuration:
    """Return what stands for a configuration while the search that decides it is not in the record."""
    return {"waits_for": f"{label} of {name}"}


def check_chosen(config: Configuration) -> None:
    """Raise ValueError, with the remedy, where a configuration waits for a search."""
    if "waits_for" in config:
        label, _, name = config["waits_for"].partition(" of ")
        raise ValueError(f"its settings wait for {label!r} of the search {name}; make records NAME={name}")
