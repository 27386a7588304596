"""Records: written by the command, refused when stale."""

import dataclasses
import json
import re
import subprocess
from pathlib import Path

import pytest
import torch

from unrolled import experiments
from unrolled.__main__ import main
from unrolled.experiments import Experiment, base, records

RECORDED = sorted(path.stem for path in records.FOLDER.glob("*.json"))


@pytest.fixture
def coin(monkeypatch, tmp_path):
    """An experiment that takes no time, and a folder of records of its own."""
    measured = []

    def measure(config, seed, folder):
        measured.append(seed)
        return {"heads": config["sides"] * seed + 0.5, "curve": [seed, seed + 1.0], "text": "coin"}

    experiment = Experiment("coin", "Toss a coin", {"quick": {"sides": 2}, "full": {"sides": 6}}, measure)
    monkeypatch.setitem(experiments.EXPERIMENTS, "coin", experiment)
    monkeypatch.setattr(records, "FOLDER", tmp_path / "recorded")
    monkeypatch.setenv("UNROLLED_PROFILE", "quick")
    return measured


def test_the_command_runs_shows_and_keeps(coin, tmp_path, capsys):
    assert main(["run", "coin", "--seeds", "3", "--folder", str(tmp_path / "runs"), "--record"]) == 0
    printed = capsys.readouterr().out
    assert "heads  2.5000 ± 2.0000" in printed and "kept in" in printed
    record = experiments.recorded("coin")
    assert record["heads"].tolist() == [0.5, 2.5, 4.5] and record["curve"].shape == (3, 2)
    assert record.config == {"sides": 2} and record.profile == "quick" and record.data_hash == ""
    assert "coin (quick), 3 seeds" in record.provenance()
    assert all(value in record.provenance() for value in record.circumstances[0].values())
    assert [path.name for path in (tmp_path / "recorded").iterdir()] == ["coin.json"]
    assert main(["show", "coin"]) == 0
    assert capsys.readouterr().out == printed.split("kept in")[0]


def test_without_record_nothing_is_kept(coin, tmp_path):
    assert main(["run", "coin", "--seeds", "1", "--folder", str(tmp_path / "runs")]) == 0
    with pytest.raises(records.RecordError, match="no record of 'coin'; measure it with: python -m unrolled run coin"):
        records.load_record("coin")


def test_a_run_goes_on_after_the_seeds_it_has(coin, tmp_path):
    experiments.run("coin", seeds=2, folder=tmp_path / "runs")
    experiments.run("coin", seeds=4, folder=tmp_path / "runs")
    assert coin == [0, 1, 2, 3]


def test_all_text_that_is_read_is_in_the_hash(coin, monkeypatch, tmp_path):
    def data_hash(**told):
        one = Experiment("coin", "Toss a coin", {"quick": {"sides": 2} | told}, lambda *_: {"heads": 0.5})
        monkeypatch.setitem(experiments.EXPERIMENTS, "coin", one)
        return experiments.run("coin", seeds=1, folder=tmp_path / "runs").data_hash

    alone = data_hash(corpus="stories", characters=20_000)
    assert alone == data_hash(corpora=["stories"], characters=20_000)
    assert (
        len(
            {
                "",
                alone,
                data_hash(corpora=["stories"] * 2, characters=20_000),
                data_hash(corpus="stories", characters=30_000),
            }
        )
        == 4
    )


def test_a_damaged_result_says_so(coin, tmp_path, capsys):
    experiments.run("coin", seeds=1, folder=tmp_path / "runs")
    (result,) = tmp_path.glob("runs/coin-*/seed-0.json")
    for damaged in (b"", result.read_bytes()[:-9], b"\xff"):
        result.write_bytes(damaged)
        assert main(["run", "coin", "--seeds", "1", "--folder", str(tmp_path / "runs")]) == 1
        assert re.search(r"seed-0.json is damaged \(.*\); delete it, and it is measured again", capsys.readouterr().err)


def test_a_result_is_kept_whole_or_not_at_all(tmp_path, monkeypatch):
    def cut_off(file, text):
        file.write_bytes(text.encode()[:4])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", cut_off)
    with pytest.raises(OSError, match="No space left"):
        base.kept(tmp_path / "a.json", lambda: {"heads": 0.5})
    assert not (tmp_path / "a.json").exists()


def test_nobody_knows_how_long_a_seed_took_that_was_stopped(monkeypatch, tmp_path):
    def measure(config, seed, folder):
        if not folder.exists():
            folder.mkdir()
            if seed == 1:
                raise KeyboardInterrupt
        return {"heads": seed}

    monkeypatch.setitem(experiments.EXPERIMENTS, "coin", Experiment("coin", "", {"quick": {}}, measure))
    monkeypatch.setenv("UNROLLED_PROFILE", "quick")
    with pytest.raises(KeyboardInterrupt):
        experiments.run("coin", seeds=2, folder=tmp_path)
    record = experiments.run("coin", seeds=2, folder=tmp_path)
    assert record.seconds[0] >= 0 and record.seconds[1] is None
    assert "2 seeds, several runs on" in record.provenance()
    assert "1 seed, 90 s on" in dataclasses.replace(record, seeds=[0], seconds=[90.0]).provenance()
    assert "2 seeds, 3 min on" in dataclasses.replace(record, seconds=[90.0, 90.0]).provenance()


def test_another_text_is_measured_again(coin, tmp_path, monkeypatch):
    experiments.EXPERIMENTS["coin"].configs["quick"]["corpus"] = "made up"
    for text in ("heads", "tails", "heads"):
        monkeypatch.setattr(experiments, "texts", lambda config, text=text: (text, ""))
        assert experiments.run("coin", seeds=1, folder=tmp_path / "runs").data_hash == records.digest(text)
    assert coin == [0, 0]


def test_each_seed_keeps_its_own_circumstances(coin, tmp_path, monkeypatch):
    experiments.run("coin", seeds=1, folder=tmp_path / "runs")
    monkeypatch.setattr(records, "commit", lambda: "another")
    record = experiments.run("coin", seeds=2, folder=tmp_path / "runs")
    assert record.circumstances[0]["commit"] != "another" == record.circumstances[1]["commit"]
    assert "and another," in record.provenance()


def test_a_record_of_another_configuration_is_refused(coin, tmp_path, capsys):
    main(["run", "coin", "--folder", str(tmp_path / "runs"), "--record"])
    experiments.EXPERIMENTS["coin"].configs["quick"]["sides"] = 3
    with pytest.raises(records.RecordError, match="made with another configuration"):
        experiments.recorded("coin")
    capsys.readouterr()
    assert main(["show", "coin"]) == 1
    assert "measure it again with: python -m unrolled run coin" in capsys.readouterr().err


def test_a_record_of_no_experiment_is_refused(coin, monkeypatch, tmp_path):
    main(["run", "coin", "--folder", str(tmp_path / "runs"), "--record"])
    monkeypatch.delitem(experiments.EXPERIMENTS, "coin")
    with pytest.raises(ValueError, match="there is no experiment 'coin'"):
        experiments.recorded("coin")


def test_a_damaged_record_says_so(coin, tmp_path):
    main(["run", "coin", "--folder", str(tmp_path / "runs"), "--record"])
    path = tmp_path / "recorded" / "coin.json"
    for damage in (path.read_text()[:40], json.dumps({"name": "coin"})):
        path.write_text(damage)
        with pytest.raises(records.RecordError, match="is damaged"):
            records.load_record("coin")


def test_an_unknown_metric_names_the_known(coin, tmp_path):
    record = experiments.run("coin", seeds=1, folder=tmp_path / "runs")
    with pytest.raises(KeyError, match="coin has no 'tails'; it has heads, curve, text"):
        record["tails"]


def test_a_metric_of_several_labels_has_the_names_that_a_figure_gives_them(coin, tmp_path):
    record = experiments.run("coin", seeds=2, folder=tmp_path / "runs")
    record = dataclasses.replace(
        record, metrics=[{"gru-nats": 1.0, "lstm-nats": 2.0}, {"gru-nats": 3.0, "lstm-nats": 4.0}]
    )
    each = record.each({"LSTM": "lstm", "GRU": "gru"}, "nats")
    assert list(each) == ["LSTM", "GRU"] and each["GRU"].tolist() == [1, 3] and each["LSTM"].tolist() == [2, 4]
    with pytest.raises(KeyError, match="coin has no 'rnn-nats'; it has gru-nats, lstm-nats"):
        record.each({"RNN": "rnn"}, "nats")


def test_a_wrong_name_suggests_the_right_one(capsys):
    assert main(["run", "rnn-window"]) == 2
    assert "there is no experiment 'rnn-window'; did you mean 'rnn-windows'?" in capsys.readouterr().err
    assert main(["run", "rnn-windows", "--seeds", "0"]) == 2
    assert "seeds is 0; it must be 1 or more" in capsys.readouterr().err


def test_the_hardware_tells_the_threads(monkeypatch):
    for count, said in ((1, "CPU, 1 thread"), (2, "CPU, 2 threads")):
        monkeypatch.setattr(torch, "get_num_threads", lambda count=count: count)
        assert records.circumstances(torch.device("cpu"))["hardware"].endswith(said)


def test_a_commit_is_named_and_marked_where_the_tree_has_changes(monkeypatch, tmp_path):
    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        told = ["git", "-C", str(tmp_path), *who, *arguments]
        return subprocess.run(told, check=True, capture_output=True, text=True).stdout

    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setattr(records, "__file__", str(tmp_path / "records.py"))
    assert records.commit() == "unknown"
    git("init", "--quiet")
    (tmp_path / "records.py").write_text("once")
    git("add", ".")
    git("commit", "--quiet", "--message", "one")
    assert records.commit() == git("rev-parse", "HEAD")[:12]
    (tmp_path / "records.py").write_text("twice")
    assert records.commit() == git("rev-parse", "HEAD")[:12] + "+"


def test_list_names_every_experiment(capsys):
    assert main(["list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(experiments.EXPERIMENTS)


@pytest.mark.parametrize("name", RECORDED)
def test_the_books_records_are_of_experiments_as_they_are_now(name):
    record = experiments.recorded(name)
    enough = 2 if experiments.find(name).seeded else 1
    assert record.name == name and len(record.seeds) == len(record.metrics) == len(record.seconds) >= enough
    assert record.config_hash == records.digest(record.config)
    if record.config.get("corpus") == "stories":
        assert record.data_hash == records.digest("".join(experiments.texts(record.config)))


def test_there_are_records():
    assert RECORDED


def test_a_short_experiment_gives_its_record_again(tmp_path, monkeypatch):
    """One seed of the shortest experiment, run now: the digits may differ between processors, the result not."""
    monkeypatch.setenv("UNROLLED_PROFILE", "quick")
    record = experiments.recorded("rnn-initial-state")
    again = experiments.run("rnn-initial-state", seeds=1, folder=tmp_path)
    assert again.data_hash == record.data_hash and again.config_hash == record.config_hash
    for metric in record.metrics[0]:
        assert again[metric][0] == pytest.approx(record[metric][0], abs=0.02)


def test_where_nothing_is_random_one_seed_is_enough(monkeypatch, tmp_path):
    counted = experiments.Experiment("count", "counts", {"quick": {}, "full": {}}, lambda *_: {"n": 1}, seeded=False)
    monkeypatch.setitem(experiments.EXPERIMENTS, "count", counted)
    assert experiments.run("count", seeds=3, folder=tmp_path).seeds == [0]
