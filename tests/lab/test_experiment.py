"""The engine: what is run, in which order, and what becomes of it when it is killed, damaged or changed."""

from dataclasses import replace

import pytest
import torch

from lab import experiment as engine
from lab.__main__ import main
from lab.experiment import Experiment, missing, run, with_setting
from unrolled import records
from unrolled.records import Metric, RecordError
from unrolled.training import TrainingDiverged

METRICS = {
    "validation": Metric("", "what a throw is chosen by"),
    "heads": Metric("throws", "how often it fell"),
    "curve": Metric("", "two numbers", ("place",)),
}


@pytest.fixture
def coin():
    """An experiment of two coins, of which one is bent in the best of three ways; ``coin.measure.calls`` lists runs."""
    calls = []

    def measure(config, seed, folder):
        calls.append((config["sides"], config.get("bend"), seed))
        heads = config["sides"] * seed + 0.5
        return {"validation": abs(config.get("bend", 0) - 2), "heads": heads, "curve": [seed, seed + 1.0]}

    measure.calls = calls
    coins = {"fair": {"sides": 2}, "bent": {"sides": 6}}
    trials = {"bent": [{"bend": bend} for bend in (1, 2, 3)]}
    axes = engine.at(place=[10, 20])
    return Experiment("coin", "Toss", METRICS, coins, measure, axes, trials=trials, put=lambda c, s: c | s)


def test_trials_are_run_once_and_the_best_setting_from_every_seed(coin, tmp_path):
    record = run(coin, tmp_path, tmp_path / "work")
    assert coin.measure.calls == [
        *[(2, None, seed) for seed in range(3)],
        *[(6, bend, 0) for bend in (1, 2, 3)],
        *[(6, 2, seed) for seed in (1, 2)],
    ]
    assert record["bent"]["heads"].tolist() == [0.5, 6.5, 12.5] and record["bent"].config == {"sides": 6, "bend": 2}
    assert [(each["trial"]["bend"], each["metrics"]["validation"]) for each in record["bent"].trials] == [
        (1, 1), (2, 0), (3, 1)
    ]  # fmt: skip
    assert record["fair"]["curve"].tolist() == [[0, 1], [1, 2], [2, 3]] and record.axis("place").tolist() == [10, 20]
    assert not list(missing(coin, tmp_path))
    run(coin, tmp_path, tmp_path / "work")
    assert len(coin.measure.calls) == 8, "what is there is not run again"


def test_a_kill_loses_one_run_and_the_next_call_goes_on(coin, tmp_path):
    def dies(config, seed, folder):
        if len(coin.measure.calls) == 4:
            raise KeyboardInterrupt
        return coin.measure(config, seed, folder)

    with pytest.raises(KeyboardInterrupt):
        run(replace(coin, measure=dies), tmp_path, tmp_path / "work")
    assert len((tmp_path / "coin.jsonl").read_text().splitlines()) == 1 + 4
    record = run(coin, tmp_path, tmp_path / "work")
    assert len(coin.measure.calls) == 8 and record["bent"]["heads"].tolist() == [0.5, 6.5, 12.5]
    stopped = record["bent"].trials[1]
    assert stopped["seconds"] is None, "nobody timed its beginning"


def test_what_was_measured_of_another_configuration_is_measured_again(coin, tmp_path):
    run(coin, tmp_path, tmp_path / "work")
    changed = replace(coin, runs=coin.runs | {"fair": {"sides": 3}})
    assert [(work.label, work.seed) for work in missing(changed, tmp_path)] == [("fair", seed) for seed in range(3)]
    record = run(changed, tmp_path, tmp_path / "work", labels=["fair"], seeds=[1])
    assert record["fair"]["heads"].tolist() == [3.5], "a result is of one configuration"
    without = run(replace(coin, runs={"fair": {"sides": 3}}), tmp_path, tmp_path / "work", seeds=[2])
    assert list(without) == ["fair"], "what is run no more goes when the record is written"


def test_a_setting_that_diverges_is_not_chosen_and_if_all_do_that_is_said(coin, tmp_path):
    def diverges(config, seed, folder):
        if config.get("bend") in bends:
            raise TrainingDiverged("the loss is nan")
        return coin.measure(config, seed, folder)

    bends, bent = [2], replace(coin, measure=diverges, runs={"bent": {"sides": 6}})
    assert run(bent, tmp_path / "one", tmp_path / "work")["bent"].config["bend"] == 1
    bends, hopeless = [1, 2, 3], replace(bent, trials={"bent": [{"bend": bend} for bend in (1, 2, 3)]})
    with pytest.raises(RuntimeError, match="coin: every trial of 'bent' diverged; try lower rates"):
        run(hopeless, tmp_path, tmp_path / "work")


@pytest.mark.parametrize(
    "damage, says",
    [
        (
            lambda line: line.replace("6.5", "6.6"),
            "line 8 of the record .*coin.jsonl is damaged or was changed by hand",
        ),
        (lambda line: line[:40], "line 8 of the record .*coin.jsonl is damaged"),
    ],
)
def test_a_record_that_was_changed_by_hand_is_refused_by_its_line(coin, tmp_path, damage, says):
    run(coin, tmp_path, tmp_path / "work")
    path = tmp_path / "coin.jsonl"
    lines = path.read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if "6.5" in line and "trial" not in line)
    assert at + 1 == 9
    lines[at - 1], lines[at] = damage(lines[at]), lines[at - 1]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(RecordError, match=says):
        records.load("coin", folder=tmp_path)


@pytest.mark.parametrize(
    "metrics, says",
    [
        ({"tails": 1}, "coin measures no 'tails'; it declares validation, heads, curve"),
        ({"curve": [1, 2, 3]}, r"curve has shape \(3,\); place \[2\] is declared"),
        ({"curve": 1}, r"curve has shape \(\); place \[2\] is declared"),
    ],
)
def test_what_is_not_declared_is_refused(coin, tmp_path, metrics, says):
    with pytest.raises(ValueError, match=says):
        run(replace(coin, measure=lambda *_: metrics), tmp_path, tmp_path / "work")


def test_what_is_compared_by_the_clock_is_measured_together(tmp_path):
    calls = []

    def measure(configs, seed, folder):
        calls.append([*configs])
        return {label: {"heads": seed} for label in configs}

    together = Experiment("coin", "Toss", METRICS, {"a": {}, "b": {"x": 1}}, measure, seeds=2, together=True)
    record = run(together, tmp_path, tmp_path / "work")
    assert calls == [["a", "b"]] * 2 and record["b"]["heads"].tolist() == [0, 1]


def test_what_measures_nothing_of_a_label_is_not_run_for_ever(tmp_path):
    forgets = Experiment("coin", "Toss", METRICS, {"a": {}, "b": {}}, lambda *_: {"a": {"heads": 1}}, together=True)
    with pytest.raises(RuntimeError, match="coin has run 'b', seed 0, and measured nothing of it"):
        run(forgets, tmp_path, tmp_path / "work")


def test_a_setting_goes_where_its_name_is_known():
    config = {"model": engine.model("LanguageModel", core="gru"), "recipe": {"updates": 1}}
    found = with_setting(config, {"learning_rate": 0.1, "dropout": 0.2, "update_bias": -1.0})
    assert found["recipe"] == {"updates": 1, "learning_rate": 0.1} and found["model"]["dropout"] == 0.2
    assert found["model"]["cell_options"] == {"update_bias": -1.0} and "dropout" not in config["model"]


@pytest.mark.parametrize(
    "words, says",
    [
        (
            ["run", "ladder-shakespear"],
            "there is no experiment 'ladder-shakespear'; did you mean 'ladder-shakespeare'?",
        ),
        (["run", "spelling", "--label", "gru"], "spelling has no 'gru'; it has rnn 239, 500, "),
        (["show", "nothing"], "there is no record "),
    ],
)
def test_the_command_line_says_what_is_wrong_in_a_line(words, says, capsys):
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"lab: {says}") and said.count("\n") == 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="here is a GPU")
def test_what_is_recorded_on_a_gpu_is_not_recorded_elsewhere(capsys):
    assert main(["run", "gpu-writing", "--record"]) == 2
    assert "gpu-writing is recorded on a GPU, and the device is cpu: --device cuda" in capsys.readouterr().err


def test_a_record_is_shown(capsys):
    assert main(["show", "counting-task"]) == 0
    shown = capsys.readouterr().out
    assert "lstm 0.01: success" in shown and "Record: counting-task (5 seeds" in shown
