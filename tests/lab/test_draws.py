"""Search by draws: the same trials again, wider where the best crowd at an end, and the best over three seeds."""

import json
import math
import random

import pytest

from lab.ch04_vanishing_gradients import success_by_lag
from lab.engine import draws, search
from lab.engine.draws import AGAIN, DRAWS, MORE, WIDENINGS, choice, draw, edges, log, random_search, uniform, widened
from lab.engine.experiment import Experiment

SPACE = {"learning_rate": log(1e-4, 1e-1), "forget_bias": uniform(-3, 3), "initialisation": choice("uniform")}


def searched(tmp_path, cost, space=SPACE, **more):
    """Return a search of a space, with a cost in place of a training, and what was tried: (setting, seed)."""
    tried = []

    def trial(setting, seed, name):
        tried.append((setting, seed))
        return cost(setting, seed)

    return random_search({"space": space, **more}, 0, tmp_path, trial), tried


def test_draws_lie_in_their_ranges_and_fill_them():
    drawn = draw(SPACE, 400, random.Random(0))
    rates = sorted(setting["learning_rate"] for setting in drawn)
    biases = sorted(setting["forget_bias"] for setting in drawn)
    assert 1e-4 <= rates[0] < 2e-4 and 5e-2 < rates[-1] <= 1e-1 and 1e-3 < rates[200] < 1e-2  # log-uniform
    assert -3 <= biases[0] < -2.8 and 2.8 < biases[-1] <= 3 and -0.6 < biases[200] < 0.6
    assert {setting["initialisation"] for setting in drawn} == {"uniform"}
    halves = draw({"start": choice("uniform", "orthogonal")}, 400, random.Random(0))
    assert 160 < sum(setting["start"] == "uniform" for setting in halves) < 240


def test_an_optimum_inside_needs_no_more_trials_than_all_others_have(tmp_path):
    result, tried = searched(tmp_path, lambda setting, seed: abs(math.log(setting["learning_rate"] / 3e-3)))
    assert len(result["trial_cost"]) == DRAWS and len(tried) == DRAWS + 3 * AGAIN and result["edges"] == []
    best = json.loads(result["trial_setting"][result["chosen"]])
    assert (
        best["learning_rate"]
        == min((abs(math.log(s["learning_rate"] / 3e-3)), s) for s, _ in tried)[1]["learning_rate"]
    )


def test_a_range_is_widened_where_the_best_crowd_at_its_end_but_not_for_ever(tmp_path):
    rising, _ = searched(tmp_path / "near", lambda setting, seed: abs(setting["forget_bias"] - 3.2), SPACE)
    assert len(rising["trial_cost"]) == DRAWS + MORE and "forget_bias" not in rising["edges"]
    assert max(json.loads(each)["forget_bias"] for each in rising["trial_setting"]) > 3.5
    endless, _ = searched(tmp_path / "far", lambda setting, seed: -setting["forget_bias"], SPACE)
    assert len(endless["trial_cost"]) == DRAWS + WIDENINGS * MORE and endless["edges"] == ["forget_bias"]


def test_a_range_is_widened_by_half_of_itself_on_its_scale():
    wide, new = widened(SPACE, "learning_rate", -1)
    assert wide["learning_rate"] == {"log": [pytest.approx(1e-4 / 1000**0.5, rel=1e-2), 1e-1]}
    assert new["learning_rate"]["log"][1] == 1e-4 and new["forget_bias"] == SPACE["forget_bias"]
    wide, new = widened(SPACE, "forget_bias", 1)
    assert wide["forget_bias"] == {"uniform": [-3, 6]} and new["forget_bias"] == {"uniform": [3, 6]}


def test_an_edge_is_where_all_three_best_are():
    settings = [{"learning_rate": rate} for rate in (1e-4, 2e-4, 1.5e-4, 1e-2)]
    space = {"learning_rate": log(1e-4, 1e-1)}
    assert edges(space, settings, [1, 2, 3, 4]) == {"learning_rate": -1}
    assert edges(space, settings, [1, 2, 4, 3]) == {}


def test_the_best_over_three_seeds_is_chosen_and_a_trial_that_diverges_is_the_worst(tmp_path):
    lucky = []

    def cost(setting, seed):
        if setting["learning_rate"] > 1e-2:
            return math.nan
        if setting["learning_rate"] < 1e-3 and not lucky:
            lucky.append(setting)
        return 0.0 if setting in lucky and seed == 0 else abs(math.log(setting["learning_rate"] / 2e-3))

    result, _ = searched(tmp_path, cost, {"learning_rate": log(1e-4, 1e-1)})
    assert not any(math.isnan(each) for each in result["trial_cost"]) and math.inf in result["trial_cost"]
    assert min(result["trial_cost"]) == 0 < result["trial_cost"][result["chosen"]]
    with pytest.raises(RuntimeError, match="all 24 trials of .* diverged; give it lower learning rates"):
        searched(tmp_path / "all", lambda setting, seed: math.nan)


def test_a_search_that_was_killed_goes_on_and_finds_the_same(tmp_path):
    def cost(setting, seed):
        return abs(math.log(setting["learning_rate"] / 3e-3))

    def killed(setting, seed):
        if setting["learning_rate"] < 3e-4:
            raise KeyboardInterrupt
        return cost(setting, seed)

    whole, tried = searched(tmp_path / "whole", cost)
    with pytest.raises(KeyboardInterrupt):
        searched(tmp_path / "part", killed)
    again, rest = searched(tmp_path / "part", cost)
    assert again == whole and 0 < len(rest) < len(tried)


def test_what_was_drawn_is_frozen_with_what_it_came_to(add):
    experiment = Experiment("a-search", "", draws.METRICS, {"lstm": {"space": SPACE}}, None)
    trials = {
        "trial_setting": [json.dumps({"learning_rate": rate}) for rate in (1e-3, 1e-2, 1e-4)],
        "trial_cost": [0.5, 0.25, math.inf],
        "chosen": 1,
        "edges": ["learning_rate"],
    }
    search.freeze(experiment, "lstm", trials)
    assert search.chosen("a-search", "lstm") == {"learning_rate": 1e-2}
    assert search.cost_of_chosen("a-search", "lstm") == 0.25 and search.cost_of_chosen("a-search", "gru") == 0
    entry = search.CHOSEN.read_text()
    assert "settled = false" in entry and 'lies = {learning_rate = "3 of 3"}' in entry


def test_a_setting_of_a_task_goes_where_it_belongs():
    config = success_by_lag.with_setting(
        success_by_lag.base("flip-flop", 50, "irnn"), {"learning_rate": 0.01, "radius": 0.9, "input_scale": 0.1}
    )
    assert (config["learning_rate"], config["radius"], config["input_scale"]) == (0.01, 0.9, 0.1)
    biased = success_by_lag.with_setting(
        success_by_lag.base("flip-flop", 50, "lstm"), {"learning_rate": 0.01, "forget_bias": 2.0}
    )
    assert biased["cell"] == {"kind": "lstm", "forget_bias": 2.0}


def test_a_range_that_begins_at_its_natural_end_is_not_widened_there():
    space = {"dropout": uniform(0.0, 0.8), "learning_rate": log(1e-4, 1e-1)}
    settings = [{"dropout": value, "learning_rate": 3e-3} for value in (0.01, 0.05, 0.1, 0.7)]
    assert edges(space, settings, [1, 2, 3, 4]) == {}
    assert edges(
        space, [{"dropout": 0.8 - each["dropout"], "learning_rate": 3e-3} for each in settings], [1, 2, 3, 4]
    ) == {"dropout": 1}
    assert edges(space | {"dropout": uniform(0.1, 0.8)}, settings, [1, 2, 3, 4]) == {"dropout": -1}
