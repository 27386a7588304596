"""The search: as many trials for each, none given up too early, the choice on validation, frozen where it is read."""

import json
import math
from functools import partial

import pytest
import torch

import lab
from lab.engine import search, tasks, training
from lab.engine.experiment import Experiment, NotChosen, model, recipe, text
from lab.engine.run import run
from lab.engine.search import Budgets, chosen, grid, with_setting
from lab.engine.texts import encoded
from unrolled import records
from unrolled.records import Metric
from unrolled.training import TrainingDiverged

RATES = [1e-3, 1e-2, 1e-1]


@pytest.fixture
def config(hold_out):
    """A search of three rates with a little model; after half of the updates two go on."""
    hold_out(3000)
    return {
        "text": text("stories", 20_000, three_parts=True),
        "model": model("LanguageModel", hidden_size=4, embedding_size=4),
        "recipe": recipe(updates=8, batch=4, seq_len=16),
        "grid": grid(RATES, [{}]),
        "keep": [[0.5, 2]],
    }


def test_a_grid_has_every_rate_with_every_variant():
    assert grid([1, 2], [{"reset": "before"}, {"reset": "after"}]) == [
        {"learning_rate": 1, "reset": "before"},
        {"learning_rate": 2, "reset": "before"},
        {"learning_rate": 1, "reset": "after"},
        {"learning_rate": 2, "reset": "after"},
    ]


def test_a_setting_goes_where_its_name_belongs(config):
    made = with_setting(config, {"learning_rate": 0.5, "hidden_size": 3, "initialisation": "orthogonal"})
    assert made["recipe"] == config["recipe"] | {"learning_rate": 0.5}
    assert made["model"]["hidden_size"] == 3 and made["model"]["cell_options"] == {"initialisation": "orthogonal"}
    assert config["model"]["hidden_size"] == 4 and "cell_options" not in config["model"]
    window = with_setting({"model": model("FixedWindowLM"), "recipe": {}}, {"initialisation": "xavier", "window": 3})
    assert window["model"] == model("FixedWindowLM", initialisation="xavier", window=3)
    residual = with_setting({"model": model("ResidualLM"), "recipe": {}}, {"num_layers": 3, "forget_bias": 0.0})
    assert residual["model"] == model("ResidualLM", num_layers=3, cell_options={"forget_bias": 0.0})


def test_the_best_trials_go_on_and_the_best_of_all_is_chosen(config, tmp_path, monkeypatch):
    prices = {(0, 4): 3.0, (1, 4): 2.0, (2, 4): 1.0, (1, 8): 0.5, (2, 8): 0.9}  # by trial and updates
    trained = []

    def fit(config, seed, folder, *, text, until, name):
        trained.append((int(name.removeprefix("trial-")), until, config["recipe"]["learning_rate"]))
        return training.Trained(trained[-1][:2], text, None, None)

    class Score:
        def __init__(self, model, tokens):
            self.nats_per_symbol = prices[model]

    monkeypatch.setattr(search, "fit", fit)
    monkeypatch.setattr(search, "evaluate", Score)
    trials = search.search(config, 0, tmp_path)
    assert trials == {"trial_nats": [3.0, 0.5, 0.9], "trial_updates": [4, 8, 8], "chosen": 1}
    assert trained == [(0, 4, 1e-3), (1, 4, 1e-2), (2, 4, 1e-1), (2, 8, 1e-1), (1, 8, 1e-2)]
    assert search.search(config, 0, tmp_path) == trials and len(trained) == 5  # nothing is trained twice


def test_trials_are_scored_on_the_validation_text_alone(config, tmp_path, monkeypatch):
    scored, evaluate = [], search.evaluate
    monkeypatch.setattr(search, "evaluate", lambda model, tokens: scored.append(tokens) or evaluate(model, tokens))
    search.search(config, 0, tmp_path)
    read = encoded(config)
    assert len(scored) == 5 and all(torch.equal(tokens, read.held_out) for tokens in scored)
    assert not torch.equal(read.held_out, read.test)


def test_a_trial_that_goes_on_ends_where_one_that_was_never_stopped_does(config, tmp_path):
    stopped = search.search(config, 0, tmp_path / "stopped")
    whole = search.search(config | {"keep": []}, 0, tmp_path / "whole")
    ended = [trial for trial, updates in enumerate(stopped["trial_updates"]) if updates == 8]
    assert len(ended) == 2
    assert [stopped["trial_nats"][trial] for trial in ended] == [whole["trial_nats"][trial] for trial in ended]


def test_a_trial_that_diverges_is_not_chosen(config, tmp_path, monkeypatch):
    fit = search.fit

    def diverging(tried, *arguments, **options):
        if tried["recipe"]["learning_rate"] == RATES[0]:
            raise TrainingDiverged("the loss is inf")
        return fit(tried, *arguments, **options)

    monkeypatch.setattr(search, "fit", diverging)
    trials = search.search(config, 0, tmp_path)
    assert trials["trial_nats"][0] == math.inf and trials["chosen"] != 0 and trials["trial_updates"][0] == 4


def test_a_trial_that_costs_nan_is_not_chosen_and_when_all_do_that_is_an_error(config, tmp_path):
    def trial(tried, updates, name):
        return math.nan if tried["recipe"]["learning_rate"] == RATES[0] else tried["recipe"]["learning_rate"]

    trials = search.search(config, 0, tmp_path / "one", trial)
    assert trials["trial_nats"][0] == math.inf and trials["chosen"] == 1
    with pytest.raises(ValueError, match="none of 3 trials ends with a finite cost"):
        search.search(config, 0, tmp_path / "all", lambda *of: math.nan)


@pytest.mark.parametrize("diverging", [1, 2])
def test_of_a_task_no_trial_that_diverged_is_chosen_and_when_all_do_that_is_an_error(tmp_path, monkeypatch, diverging):
    grid = [{"learning_rate": rate} for rate in RATES[:2]]
    ended = {"success": 0, "updates": 2, "loss": 0.5}
    endings = iter([ended | {"diverged": number < diverging} for number in range(2)])
    monkeypatch.setattr(tasks, "train_on", lambda *of: (None, None))
    monkeypatch.setattr(tasks, "ending", lambda outcome, task: next(endings))
    searched = partial(tasks.search_on, lambda config: None, {"grid": grid, "updates": 8}, 0, tmp_path)
    if diverging == 1:
        assert searched()["chosen"] == 1
    else:
        with pytest.raises(ValueError, match="all 2 trials diverged"):
            searched()


def test_no_trial_is_given_up_before_a_quarter(config, tmp_path):
    with pytest.raises(ValueError, match="keep begins at 0.1 of the updates; no trial is given up before a quarter"):
        search.search(config | {"keep": [[0.1, 2]]}, 0, tmp_path)


# What was chosen

TRIALS = {"trial_nats": [3.0, 0.5, 0.9, 0.7], "trial_updates": [4, 8, 8, 4], "chosen": 1}
SETTINGS = grid([0.5, 0.25], [{"t_max": 3, "forget_bias": None}, {"cell": "tanh"}])


def test_a_choice_is_written_for_a_person_and_read_as_it_was(add):
    experiment = add(
        Experiment("rates", "", search.TRIALS, {"a rnn": {"grid": SETTINGS}, "b": {"grid": SETTINGS}}, None)
    )
    search.freeze(experiment, "a rnn", TRIALS)
    search.freeze(experiment, "b", TRIALS | {"chosen": 2})
    assert chosen("rates", "a rnn") == {"learning_rate": 0.25, "t_max": 3, "forget_bias": None}
    assert chosen("rates", "a rnn", "second") == {"learning_rate": 0.5, "cell": "tanh"}
    assert chosen("rates", "b") == {"learning_rate": 0.5, "cell": "tanh"}
    entry = search.CHOSEN.read_text().split("\n\n")[1]
    assert entry.splitlines() == [
        '[rates."a rnn"]',
        'setting = {learning_rate = 0.25, t_max = 3, forget_bias = "none"}',
        "trials = 4",
        'lies = {learning_rate = "1 of 2", t_max = "1 of 1"}',
        'second = {learning_rate = 0.5, cell = "tanh"}',
    ]


def test_what_is_compared_waits_for_its_search_and_takes_what_it_chose(add, config, tmp_path):
    bases = {"rnn": {name: config[name] for name in ("text", "model", "recipe")}}
    rates = add(Experiment("rates", "", search.TRIALS, {"rnn": config}, search.search, seeds=1))
    compared = Experiment(
        "compared",
        "",
        {"rate": Metric("", "")},
        search.decided("rates", bases),
        lambda config, *_: {"rate": config["recipe"]["learning_rate"]},
        seeds=1,
    )
    with pytest.raises(
        NotChosen, match="rates has not chosen .* 'rnn' yet; .*: python -m lab run rates --contender 'rnn'"
    ):
        run(add(compared), folder=tmp_path)
    run(rates, folder=tmp_path, record=True)
    record, _ = run(compared, folder=tmp_path, record=True)
    best = records.load("rates")["rnn"]["chosen"][0]
    assert record["rnn"]["rate"].tolist() == [RATES[best]]


def test_the_longest_budget_tries_two_variants_each_with_the_best_rate_a_half_and_a_quarter(add):
    def base(name, updates):
        return {"model": model("LanguageModel"), "recipe": recipe(updates=updates)}

    relu, tanh, sigmoid = ({"nonlinearity": name} for name in ("relu", "tanh", "sigmoid"))
    budgets = Budgets("rates", {"rnn": [0.1, 0.8]}, {"rnn": [tanh, relu, sigmoid]}, (5, 20), base)
    assert list(budgets.searches) == list(budgets.contenders()) == ["rnn 5", "rnn 20"]
    with pytest.raises(NotChosen, match="settings of 'rnn 5' yet"):
        budgets.searches["rnn 20"]()
    searches = add(Experiment("rates", "", search.TRIALS, budgets.searches, None))
    nats = [3.0, 2.0, 4.0, 1.0, 9.0, 9.0]  # relu with 0.8 before tanh with 0.8
    search.freeze(searches, "rnn 5", {"trial_nats": nats, "trial_updates": [5] * 6, "chosen": 3})
    assert budgets.searches["rnn 20"]()["grid"] == [
        {"learning_rate": rate} | variant for variant in (relu, tanh) for rate in (0.2, 0.4, 0.8)
    ]
    assert budgets.chosen("rnn", 5)["recipe"] == {"updates": 5, "learning_rate": 0.8}


def test_what_the_book_chose_is_what_its_searches_found():
    """Nothing in `chosen.toml` was typed in by hand, and everything that is compared has chosen."""
    for name, experiment in lab.experiments().items():
        if "chosen" not in experiment.metrics or name not in records.names():
            continue
        record = records.load(name, complete="trial_setting" not in experiment.metrics)
        for label, trials in record.items():
            number = int(trials["chosen"][0])
            drawn = "trial_setting" in trials
            setting = json.loads(trials["trial_setting"][0, number]) if drawn else trials.config["grid"][number]
            assert chosen(name, label) == setting, f"{name}: {label}"
