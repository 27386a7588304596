"""Records: written part by part; refused when incomplete, damaged or changed by hand; and the book's own."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

import lab
from lab.__main__ import main
from lab.engine import store, texts
from lab.engine.run import run
from places import ROOT
from unrolled import records
from unrolled.records import RecordError
from unrolled.text import corpora

NAMES = records.names()


def test_the_command_runs_shows_and_keeps(coin, tmp_path, capsys):
    assert main(["run", "coin", "--seeds", "3", "--folder", str(tmp_path / "runs"), "--record"]) == 0
    printed = capsys.readouterr().out
    assert "heads  2.5000 ± 2.0000" in printed and "curve  1.0000 2.0000\n" in printed
    record = records.load("coin")
    assert record["fair"]["heads"].tolist() == [0.5, 2.5, 4.5] and record["fair"]["curve"].shape == (3, 2)
    assert record["fair"]["text"].tolist() == ["coin"] * 3 and record["fair"].config == {"sides": 2}
    assert record.metrics == coin.metrics and record.title == "Toss a coin" and record.seeds == 3
    assert record.provenance().startswith("Record: coin (3 seeds, ")
    assert str(record.provenance()) in printed and f"commit {record.circumstances('commit')}" in printed
    assert main(["show", "coin"]) == 0
    shown = capsys.readouterr().out
    assert shown.endswith(printed) and "heads  how often it fell, and a half [throws]" in shown
    assert "curve  two numbers, by place\n" in shown


def test_a_record_has_a_line_for_each_part(coin, tmp_path):
    run(coin, folder=tmp_path / "runs", record=True)
    lines = (records.FOLDER / "coin.json").read_text().splitlines()
    assert sum(line.startswith(('"0": {"metrics"', '"1": {"metrics"', '"2": {"metrics"')) for line in lines) == 6


def test_without_record_nothing_is_kept(coin, tmp_path):
    run(coin, folder=tmp_path / "runs")
    with pytest.raises(RecordError, match="no record of 'coin'; measure it, .*: python -m lab run coin --record"):
        records.load("coin")


def test_parts_come_one_by_one_and_what_is_missing_is_named(coin, tmp_path, capsys):
    command = ["run", "coin", "--folder", str(tmp_path / "runs"), "--record"]
    assert main([*command, "--contender", "loaded", "--seed", "1"]) == 0
    assert main([*command, "--contender", "fair", "--seeds", "2"]) == 0
    assert store.missing(coin) == [("fair", 2), ("loaded", 0), ("loaded", 2)]
    lacking = r"lacks fair \(seed 2\), loaded \(seed 0\), loaded \(seed 2\)"
    with pytest.raises(RecordError, match=f"the record of 'coin' {lacking}; measure it"):
        records.load("coin")
    assert records.load("coin", complete=False)["loaded"]["heads"].tolist() == [6.5]
    capsys.readouterr()
    assert main(["show", "coin"]) == 1
    out, err = capsys.readouterr()
    assert "heads  6.5000\n" in out and "the record lacks fair (seed 2)" in err and "make records NAME=coin" in err
    assert main(["records", "coin", "--list"]) == 0
    assert "3 parts are lacking" in capsys.readouterr().out
    assert main(command) == 0 and store.missing(coin) == []
    assert coin.measure.calls == [("loaded", 1), ("fair", 0), ("fair", 1), ("loaded", 0), ("fair", 2), ("loaded", 2)]


def test_a_contender_that_changed_is_measured_again_and_the_others_stay(coin, add, tmp_path):
    run(coin, folder=tmp_path / "runs", record=True)
    changed = add(replace(coin, contenders=coin.contenders | {"loaded": {"sides": 9}}))
    assert [label for label, _ in store.missing(changed)] == ["loaded"] * 3
    run(changed, seeds=[1], folder=tmp_path / "runs", record=True)
    assert coin.measure.calls[6:] == [("loaded", 1)]  # what is fair was measured before
    assert store.missing(changed) == [("loaded", 0), ("loaded", 2)]
    assert list(records.load("coin", complete=False).contenders["fair"].parts) == [0, 1, 2]


def test_fewer_seeds_replace_none(coin, tmp_path):
    run(coin, seeds=range(5), folder=tmp_path / "runs", record=True)
    before = records.load("coin")
    run(coin, seeds=[0], folder=tmp_path / "elsewhere", contenders=["fair"], record=True)
    assert list(records.load("coin")["fair"].parts) == [0, 1, 2, 3, 4]
    assert records.load("coin")["fair"]["heads"].tolist() == before["fair"]["heads"].tolist()


@pytest.mark.parametrize(
    "edit",
    [
        lambda content: content["contenders"]["fair"]["parts"]["1"]["metrics"].update(heads=2.4),
        lambda content: content["contenders"]["fair"]["parts"]["1"].update(data="0" * 16),
        lambda content: content["contenders"]["fair"]["config"].update(sides=4),
        lambda content: content["contenders"]["fair"]["axes"].update(place=[10, 30]),
        lambda content: content["metrics"].update(heads=["seconds", "", []]),
        lambda content: content.update(name="dice"),
    ],
)
def test_what_was_changed_by_hand_is_refused(coin, tmp_path, edit):
    run(coin, folder=tmp_path / "runs", record=True)
    path = records.FOLDER / "coin.json"
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))
    for read in (records.load, lambda name: run(coin, folder=tmp_path / "runs", record=True)):
        with pytest.raises(
            RecordError, match="coin.json is not as it was measured: .* changed by hand; take the change"
        ):
            read("coin")


@pytest.mark.parametrize("damage", ['{"name": ', '{"name": "coin"}', "{}", "[]", "null", '{"digest": 1}'])
def test_a_damaged_record_says_so_and_is_not_written_over(coin, tmp_path, damage):
    run(coin, seeds=[0], folder=tmp_path / "runs", record=True)
    path = records.FOLDER / "coin.json"
    path.write_text(damage)
    with pytest.raises(RecordError, match="coin.json is damaged .*; restore it, or delete it and measure it"):
        records.load("coin")
    with pytest.raises(RecordError, match="is damaged"):
        run(coin, seeds=[1], folder=tmp_path / "runs", record=True)
    assert path.read_text() == damage


def test_several_processes_add_their_parts_to_one_record(coin, tmp_path):
    """Each with a contender of its own, at the same time."""
    script = (
        "import sys; from pathlib import Path\n"
        "from lab.engine import store; from lab.engine.experiment import Experiment\n"
        "from unrolled import records; from unrolled.records import Metric\n"
        "records.FOLDER = Path(sys.argv[1])\n"
        "contenders = {'0': {}, '1': {}}\n"
        "coin = Experiment('coin', '', {'heads': Metric('', '')}, contenders, None, seeds=20)\n"
        "where = dict.fromkeys(['hardware', 'versions', 'commit', 'date'], '')\n"
        "part = {'metrics': {'heads': 0.5}, 'seconds': 1.0, 'circumstances': where, 'data': ''}\n"
        "for seed in range(20): store.add(coin, sys.argv[2], seed, part)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "records")]
    workers = [subprocess.Popen([*command, str(number)], cwd=ROOT) for number in range(2)]
    assert [worker.wait() for worker in workers] == [0, 0]
    assert records.load("coin").missing == []


def test_nobody_knows_how_long_a_part_took_that_was_stopped(coin, tmp_path):
    record, _ = run(coin, seeds=[0, 1], folder=tmp_path / "runs", contenders=["fair"])

    def provenance(*seconds):
        parts = {seed: record["fair"].parts[seed] | {"seconds": taken} for seed, taken in enumerate(seconds)}
        return replace(record, contenders={"fair": replace(record["fair"], parts=parts)}).provenance()

    assert "2 seeds, several runs on" in provenance(10.0, None)
    assert "1 seed, 90 s on" in provenance(90.0) and "2 seeds, 3 min on" in provenance(90.0, 90.0)


# The book's own


@pytest.mark.parametrize("name", NAMES)
def test_a_record_is_of_an_experiment_as_it_is_now(name):
    experiment = lab.find(name)
    record = records.load(name, complete=False)
    again = f"measure them again with: make records NAME={name}"
    gone = sorted(set(record.contenders) - set(experiment.contenders))
    assert not gone, f"{name} has no contender {', '.join(gone)} any more; {again}"
    stale = [label for label, seed in store.missing(experiment) if seed in record.contenders[label].parts]
    assert not stale, f"{', '.join(dict.fromkeys(stale))} of {name} is written otherwise now; {again}"
    assert (record.title, record.metrics, record.seeds) == (experiment.title, experiment.metrics, experiment.seeds), (
        again
    )
    for label, contender in record.items():
        for part in contender.parts.values():
            experiment.check(label, part["metrics"])


def test_what_was_read_is_what_is_read_now():
    """The digest of each text, read once: of stories always, of a real corpus where a mirror or a cache has it."""
    read = {}
    for name in NAMES:
        for label, contender in records.load(name, complete=False).items():
            text = contender.config.get("text")
            if text and (text["corpus"] == "stories" or corpora.is_here(text["corpus"])):
                place = text["corpus"], text.get("characters"), text.get("three_parts")
                read.setdefault(place, []).extend((name, label, contender.config, p) for p in contender.parts.values())
    for (corpus, *_), parts in read.items():
        expected = texts.data_digest(parts[0][2])
        others = [f"{name}: {label}" for name, label, _, part in parts if part["data"] != expected]
        assert not others, f"measured on another text than {corpus} is now: {', '.join(others)}"


def test_a_short_experiment_gives_its_record_again(tmp_path):
    """One seed of the shortest experiment, run now: the digits may differ between processors, the result not."""
    record = records.load("rnn-initial-state")
    again, _ = run(lab.find("rnn-initial-state"), seeds=[0], folder=tmp_path)
    assert list(again) == list(record)
    for label, contender in again.items():
        for metric, values in contender.items():
            assert values[0] == pytest.approx(record[label][metric][0], abs=0.02)
