"""The search: as many trials for each, none given up too early, the choice on validation, and who waits for it."""

import json
import math

import pytest
import torch

from small_experiments import small, watch
from unrolled import experiments
from unrolled.__main__ import main
from unrolled.experiments import Experiment, base, cells_over_budget, find, memory, reading, records, tuning
from unrolled.training import TrainingDiverged

RATES = [1e-3, 1e-2, 1e-1]


@pytest.fixture
def config(hold_out):
    """A search of three rates with a little model; after half of the updates two go on."""
    hold_out(3000)
    made = small(find("rnn-windows").contenders["quick"]["carried 16"])
    made["text"] = reading.text("stories", 20_000, three_parts=True)
    made["recipe"] = made["recipe"] | {"updates": 8}
    return made | {"settings": tuning.grid(RATES, [{}]), "keep": [[0.5, 2]]}


def test_a_grid_has_every_rate_with_every_variant():
    assert tuning.grid([1, 2], [{"reset": "before"}, {"reset": "after"}]) == [
        {"learning_rate": 1, "reset": "before"},
        {"learning_rate": 2, "reset": "before"},
        {"learning_rate": 1, "reset": "after"},
        {"learning_rate": 2, "reset": "after"},
    ]


def test_finalists_are_two_variants_each_with_the_best_rate_a_half_and_a_quarter():
    relu, tanh, last = ({"nonlinearity": name} for name in ("relu", "tanh", "sigmoid"))
    ranking = [{"learning_rate": 0.8} | relu, {"learning_rate": 0.1} | relu, {"learning_rate": 0.1} | tanh]
    ranking.append({"learning_rate": 0.8} | last)
    assert tuning.finalists(ranking) == [
        {"learning_rate": rate} | variant for variant in (relu, tanh) for rate in (0.2, 0.4, 0.8)
    ]


def test_a_setting_goes_where_the_configuration_has_its_name(config):
    made = tuning.with_setting(config, {"learning_rate": 0.5, "hidden_size": 3, "initialisation": "orthogonal"})
    options = made["model"]["options"]
    assert made["recipe"] == config["recipe"] | {"learning_rate": 0.5}
    assert options["hidden_size"] == 3 and options["cell_options"]["initialisation"] == "orthogonal"
    assert config["model"]["options"]["hidden_size"] == 4  # the given one is as it was
    with pytest.raises(ValueError, match="momentum is 0.9, but 0 parts of the configuration have a momentum"):
        tuning.with_setting(config, {"momentum": 0.9})


def test_the_best_trials_go_on_and_the_best_of_all_is_chosen(config, tmp_path, monkeypatch):
    prices = {(0, 4): 3.0, (1, 4): 2.0, (2, 4): 1.0, (1, 8): 0.5, (2, 8): 0.9}  # by trial and updates
    trained = []

    def fit(config, seed, folder, *, text, until, name):
        trained.append((int(name.removeprefix("trial-")), until, config["recipe"]["learning_rate"]))
        return base.Trained(trained[-1][:2], text, None, None)

    class Score:
        def __init__(self, model, tokens):
            self.nats_per_symbol = prices[model]

    monkeypatch.setattr(tuning, "fit", fit)
    monkeypatch.setattr(tuning, "evaluate", Score)
    found = tuning.search(config, 0, tmp_path)
    assert found == {"trial_nats": [3.0, 0.5, 0.9], "trial_updates": [4, 8, 8], "chosen": 1}
    assert trained == [(0, 4, 1e-3), (1, 4, 1e-2), (2, 4, 1e-1), (2, 8, 1e-1), (1, 8, 1e-2)]
    assert tuning.search(config, 0, tmp_path) == found and len(trained) == 5  # nothing is trained twice


def test_trials_are_scored_on_the_validation_text_alone(config, tmp_path, monkeypatch):
    scored = []
    evaluate = tuning.evaluate
    monkeypatch.setattr(tuning, "evaluate", lambda model, tokens: scored.append(tokens) or evaluate(model, tokens))
    watched = watch(monkeypatch)
    tuning.search(config, 0, tmp_path)
    read = reading.encoded(config)
    assert len(scored) == 5 and all(torch.equal(tokens, read.held_out) for tokens in scored)
    assert watched.keywords["validate_every"] == 0 and not torch.equal(read.held_out, read.test)


def test_a_trial_that_goes_on_ends_where_one_that_was_never_stopped_does(config, tmp_path):
    stopped = tuning.search(config, 0, tmp_path / "stopped")
    whole = tuning.search(config | {"keep": []}, 0, tmp_path / "whole")
    ended = [trial for trial, updates in enumerate(stopped["trial_updates"]) if updates == 8]
    assert len(ended) == 2
    assert [stopped["trial_nats"][trial] for trial in ended] == [whole["trial_nats"][trial] for trial in ended]


def test_a_trial_that_diverges_is_not_chosen(config, tmp_path, monkeypatch):
    fit = tuning.fit

    def diverging(tried, *arguments, **options):
        if tried["recipe"]["learning_rate"] == RATES[0]:
            raise TrainingDiverged("the loss is inf")
        return fit(tried, *arguments, **options)

    monkeypatch.setattr(tuning, "fit", diverging)
    found = tuning.search(config, 0, tmp_path)
    assert found["trial_nats"][0] == math.inf and found["chosen"] != 0 and found["trial_updates"][0] == 4


def test_no_trial_is_given_up_before_a_quarter(config, tmp_path):
    with pytest.raises(ValueError, match="keep begins at 0.1 of the updates; no trial is given up before a quarter"):
        tuning.search(config | {"keep": [[0.1, 2]]}, 0, tmp_path)


@pytest.fixture
def comparison(config, tmp_path, monkeypatch):
    """A search and a comparison that waits for it, with a folder of records of their own."""
    monkeypatch.setattr(records, "FOLDER", tmp_path / "measured")
    monkeypatch.setenv("UNROLLED_PROFILE", "quick")
    config = json.loads(json.dumps(config))

    def contenders(profile):
        chosen = tuning.choice("rates", "rnn", config)
        return {"rnn": tuning.with_setting(config, chosen) if chosen else tuning.waiting("rates", "rnn")}

    def measure(config, seed, folder):
        tuning.check_chosen(config)
        return {"rate": config["recipe"]["learning_rate"]}

    search = Experiment("rates", "", tuning.SEARCH, {"quick": {"rnn": config}}, tuning.search, seeds=1)
    compared = Experiment("compared", "", {"rate": base.Metric("", "")}, tuning.Tuned(contenders), measure, seeds=1)
    for each in (search, compared):
        monkeypatch.setitem(experiments.EXPERIMENTS, each.name, each)
    return config


def test_a_comparison_waits_for_its_search_and_takes_what_it_chose(comparison, tmp_path):
    with pytest.raises(ValueError, match="its settings wait for 'rnn' of the search rates; make records NAME=rates"):
        experiments.run("compared", folder=tmp_path / "runs")
    assert [part[2:4] for part in experiments.wanting("compared")] == [("rnn", 0)]
    found = experiments.run("rates", folder=tmp_path / "runs", record=True)["rnn"]
    best = int(found["trial_nats"][0].argmin())
    assert found["chosen"].tolist() == [best]
    assert experiments.run("compared", folder=tmp_path / "runs", record=True)["rnn"]["rate"] == [RATES[best]]
    assert experiments.wanting("compared") == []


def test_a_search_is_shown_trial_by_trial(comparison, tmp_path, capsys):
    found = experiments.run("rates", folder=tmp_path / "runs", record=True)["rnn"]
    capsys.readouterr()
    main(["show", "rates"])
    lines = capsys.readouterr().out.splitlines()
    for number, rate in enumerate(RATES):
        (line,) = [line for line in lines if line.endswith(f" learning_rate {rate}")]
        nats, updates = found["trial_nats"][0, number], found["trial_updates"][0, number]
        assert line.split()[:3] == [str(number), f"{nats:.4g}", str(updates)]


def test_what_was_compared_is_stale_where_the_search_changes(comparison, tmp_path):
    experiments.run("rates", folder=tmp_path / "runs", record=True)
    experiments.run("compared", folder=tmp_path / "runs", record=True)
    comparison["keep"] = []  # another search: nothing of it is recorded yet
    assert [part[2:4] for part in experiments.wanting("compared")] == [("rnn", 0)]


def test_searches_are_measured_before_what_waits_for_them(comparison, monkeypatch):
    from unrolled.experiments import completing

    waiting = True
    measured = []

    class Done:
        returncode = 0

    def run(command, **options):
        nonlocal waiting
        measured.append(command[command.index("run") + 1])
        waiting = waiting and measured[-1] != "rates"
        return Done

    monkeypatch.setattr(completing, "_waits", lambda parts: waiting and parts[0].name == "compared")
    monkeypatch.setattr(completing.subprocess, "run", run)
    lacking = [*experiments.wanting("compared"), *experiments.wanting("rates")]
    assert [done for _, done in completing.complete(lacking)] == [True, True] and measured == ["rates", "compared"]


BOOK = [memory.COMPARISON, cells_over_budget.COMPARISON]


@pytest.mark.parametrize("comparison", BOOK, ids=lambda comparison: comparison.search)
def test_no_choice_of_the_book_lies_on_the_edge_of_what_was_tried(comparison):
    """Where the best of all learning rates is the first or the last, a better one may lie beyond: try more."""
    *_, longest = comparison.budgets["quick"]
    for label, config in comparison.searches("quick").items():
        if chosen := tuning.choice(comparison.search, label, config):
            rates = sorted({setting["learning_rate"] for setting in config["settings"]})
            highest = math.inf if label.endswith(f" {longest}") else rates[-1]  # the search before tried higher ones
            assert rates[0] < chosen["learning_rate"] < highest, label
            assert chosen == tuning.ranking(comparison.search, label, config)[0]


@pytest.mark.parametrize("comparison", BOOK, ids=lambda comparison: comparison.search)
def test_no_longer_training_of_the_book_asks_for_a_higher_rate(comparison):
    for name in comparison.learning_rates:
        chosen = [comparison.chosen(name, updates, "quick") for updates in comparison.budgets_of(name, "quick")]
        rates = [setting["learning_rate"] for setting in chosen if setting]
        assert rates == sorted(rates, reverse=True), name


def test_what_waits_for_nothing_that_comes_has_failed(comparison, monkeypatch):
    from unrolled.experiments import completing

    assert completing._waits(experiments.wanting("compared"))
    ((parts, done),) = completing.complete(experiments.wanting("compared"))
    assert parts[0].name == "compared" and not done
