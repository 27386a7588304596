"""Records: written by the command part by part, refused when stale, incomplete, damaged or changed by hand."""

import json
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from unrolled import experiments
from unrolled.__main__ import main
from unrolled.experiments import RecordError, reading, records
from unrolled.text import corpora

RECORDED = sorted(path.stem for path in records.FOLDER.glob("*.json"))


def test_the_command_runs_shows_and_keeps(coin, tmp_path, capsys):
    assert main(["run", "coin", "--seeds", "3", "--folder", str(tmp_path / "runs"), "--record"]) == 0
    printed = capsys.readouterr().out
    assert "heads  2.5000 ± 2.0000" in printed and "curve  1.0000 2.0000\n" in printed
    record = experiments.recorded("coin")
    assert record["fair"]["heads"].tolist() == [0.5, 2.5, 4.5] and record["fair"]["curve"].shape == (3, 2)
    assert record["loaded"]["heads"].tolist() == [0.5, 6.5, 12.5] and record["fair"]["text"].tolist() == ["coin"] * 3
    assert record["fair"].config == {"sides": 2} and record.profile == "quick" and record.seeds("loaded") == [0, 1, 2]
    assert record.provenance().startswith("Record: coin (quick, 3 seeds, ") and "\n" not in record.provenance()
    assert printed.endswith(f"\n{record.details()}\n") and record.details().startswith(record.provenance())
    assert all(value in record.details() for value in record.parts["fair", 0].circumstances.values())
    assert main(["show", "coin"]) == 0
    shown = capsys.readouterr().out
    assert shown.endswith(printed) and "heads  how often it fell, and a half [throws]" in shown
    assert "curve  two numbers, by place\n" in shown


def test_a_record_has_a_line_for_each_part_and_is_no_longer_than_it_must_be(coin, tmp_path):
    experiments.run("coin", folder=tmp_path / "runs", record=True)
    lines = (records.FOLDER / "coin.json").read_text().splitlines()
    assert len(lines) == 1 + (1 + 2) + (1 + 1 + 6) + 1
    assert [line.split(":")[0] for line in lines[6:12]] == [
        f'"{name} {n}"' for name in ("fair", "loaded") for n in range(3)
    ]


def test_coordinates_are_those_of_the_configuration(coin, tmp_path):
    record = experiments.run("coin", folder=tmp_path / "runs")
    assert record.axis("place").tolist() == [10, 20] and record["fair"].axes["sides"] == [0, 1]
    with pytest.raises(KeyError, match=r"coin has 2 axes 'sides'; each contender's are in record\[label\].axes"):
        record.axis("sides")
    with pytest.raises(KeyError, match="coin has 0 axes 'edge'"):
        record.axis("edge")


def test_without_record_nothing_is_kept(coin, tmp_path):
    assert main(["run", "coin", "--folder", str(tmp_path / "runs")]) == 0
    with pytest.raises(RecordError, match="no record of 'coin'; measure it with: python -m unrolled run coin"):
        records.load_record("coin")


def test_parts_come_one_by_one_and_the_record_says_what_is_lacking(coin, tmp_path, capsys):
    run = ["run", "coin", "--folder", str(tmp_path / "runs"), "--record"]
    assert main([*run, "--contender", "loaded", "--seed", "1"]) == 0
    assert main([*run, "--contender", "fair", "--seeds", "2"]) == 0
    assert coin == [("loaded", 1), ("fair", 0), ("fair", 1)]
    record = records.load_record("coin")
    assert list(record.parts) == [("loaded", 1), ("fair", 0), ("fair", 1)] and record["loaded"]["heads"].tolist() == [
        6.5
    ]
    lacking = [part[2:4] for part in experiments.wanting("coin")]
    assert lacking == [("fair", 2), ("loaded", 0), ("loaded", 2)]
    with pytest.raises(
        RecordError, match=r"lacks fair \(seed 2\), loaded \(seed 0\), loaded \(seed 2\); .* make records NAME=coin"
    ):
        experiments.recorded("coin")
    capsys.readouterr()
    assert main(["show", "coin"]) == 1
    printed = capsys.readouterr()
    assert "fair\n" in printed.out and "heads  6.5000\n" in printed.out and "it lacks fair (seed 2)" in printed.err
    assert main(["records", "coin", "--list"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("coin  fair  seed 2  took 0.0 min the last time") and "3 parts are lacking" in out[-1]
    assert main(run) == 0 and coin[3:] == [("loaded", 0), ("fair", 2), ("loaded", 2)]  # no part is measured twice
    assert experiments.wanting("coin") == [] and list(experiments.recorded("coin")) == ["fair", "loaded"]


def test_a_contender_that_changed_is_measured_again_and_the_others_stay(coin, tmp_path, capsys):
    experiments.run("coin", folder=tmp_path / "runs", record=True)
    experiments.EXPERIMENTS["coin"].contenders["quick"]["loaded"]["sides"] = 9
    with pytest.raises(RecordError, match=r"its experiment has changed since; it lacks loaded \(seed 0\), "):
        experiments.recorded("coin")
    assert main(["show", "coin"]) == 1
    printed = capsys.readouterr()
    assert "fair\n" in printed.out and "loaded\n" not in printed.out
    assert "measure it with: make records NAME=coin" in printed.err
    coin.clear()
    experiments.run("coin", seeds=[1], folder=tmp_path / "runs", record=True)
    assert coin == [("loaded", 1)]
    assert [part[2:4] for part in experiments.wanting("coin")] == [("loaded", 0), ("loaded", 2)]
    assert records.load_record("coin").seeds("fair") == [0, 1, 2]  # the parts of another configuration are gone


def test_outside_a_checkout_no_record_is_measured(coin, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(records, "PAGE", tmp_path / "records.md")
    run = ["run", "coin", "--folder", str(tmp_path / "runs")]
    assert main([*run, "--record"]) == 1 and coin == [] and not records.FOLDER.exists()
    said = capsys.readouterr().err
    assert "unrolled is not in a checkout of the book" in said and "leave out --record, or clone" in said
    assert said.count("\n") == 1 and main(run) == 0


def test_a_record_of_another_profile_is_not_replaced(coin, tmp_path, monkeypatch, capsys):
    experiments.run("coin", folder=tmp_path / "runs", record=True)
    before = (records.FOLDER / "coin.json").read_bytes()
    coin.clear()
    run = ["run", "coin", "--profile", "full", "--folder", str(tmp_path / "runs")]
    assert main([*run, "--record"]) == 1 and coin == []  # refused before anything is measured
    said = capsys.readouterr().err
    assert "is of the profile 'quick'" in said and "leave out --record, take --profile quick, or delete" in said
    with pytest.raises(RecordError, match="one record holds one profile"):
        records.add_to_record("coin", "full", "fair", {}, 0, records.Part({}, 1.0, {}))
    assert (records.FOLDER / "coin.json").read_bytes() == before
    assert main(run) == 0


def test_fewer_seeds_replace_none(coin, tmp_path):
    experiments.run("coin", seeds=range(5), folder=tmp_path / "runs", record=True)
    before = records.load_record("coin").parts
    record = experiments.run("coin", seeds=[0, 1], folder=tmp_path / "elsewhere", contenders=["fair"], record=True)
    assert list(record.parts) == [("fair", 0), ("fair", 1)]
    after = records.load_record("coin")
    assert after.seeds("fair") == after.seeds("loaded") == [0, 1, 2, 3, 4]
    assert {place: part.digest for place, part in after.parts.items()} == {
        place: part.digest for place, part in before.items()
    }


@pytest.mark.parametrize(
    "edit",
    [
        lambda content: content["parts"]["fair 1"]["metrics"].update(heads=2.4),
        lambda content: content["parts"]["fair 1"].update(data_hash="0" * 16),
        lambda content: content["parts"]["fair 1"].update(fingerprint={"losses": [4.1]}),
        lambda content: content["configs"]["fair"].update(sides=4),
        lambda content: content["parts"].update({"fair 1": content["parts"]["fair 0"] | {"digest": "0" * 16}}),
    ],
)
def test_what_was_changed_by_hand_is_refused(coin, tmp_path, edit, capsys):
    experiments.run("coin", folder=tmp_path / "runs", record=True)
    path = records.FOLDER / "coin.json"
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))
    with pytest.raises(RecordError, match="the part 'fair' of seed . is not as it was measured: .* --contender fair"):
        experiments.recorded("coin")
    assert main(["records", "coin", "--list"]) == 1
    assert "changed by hand" in capsys.readouterr().err


def test_a_result_that_was_changed_by_hand_is_refused(coin, tmp_path):
    experiments.run("coin", seeds=[0], folder=tmp_path / "runs")
    (result,) = tmp_path.glob("runs/coin-quick/fair/seed-0-*/result.json")
    result.write_text(result.read_text().replace('"heads": 0.5', '"heads": 0.4'))
    with pytest.raises(
        RuntimeError, match="result.json is not as it was measured; delete it, and it is measured again"
    ):
        experiments.run("coin", seeds=[0], folder=tmp_path / "runs")


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff", b"{}", b"[]", b"null", b'{"fair": {}}', b'{"fair": null}'])
def test_a_damaged_result_says_so(coin, tmp_path, capsys, damage):
    experiments.run("coin", seeds=[0], folder=tmp_path / "runs")
    (result,) = tmp_path.glob("runs/coin-quick/fair/seed-0-*/result.json")
    result.write_bytes(damage)
    assert main(["run", "coin", "--seeds", "1", "--folder", str(tmp_path / "runs")]) == 1
    err = capsys.readouterr().err
    assert "result.json is damaged (" in err and err.endswith("; delete it, and it is measured again\n")


@pytest.mark.parametrize("damage", ['{"name": ', '{"name": "coin"}', "{}", "[]", "null", '{"parts": {"fair 0": 1}}'])
def test_a_damaged_record_says_so_and_is_not_written_over(coin, tmp_path, damage):
    experiments.run("coin", seeds=[0], folder=tmp_path / "runs", record=True)
    path = records.FOLDER / "coin.json"
    path.write_text(damage)
    with pytest.raises(RecordError, match="coin.json is damaged .*; restore it, or delete it and measure it with"):
        records.load_record("coin")
    with pytest.raises(RecordError, match="is damaged"):
        experiments.run("coin", seeds=[1], folder=tmp_path / "runs", record=True)
    assert path.read_text() == damage


def test_a_record_of_no_experiment_is_refused(coin, monkeypatch, tmp_path):
    experiments.run("coin", folder=tmp_path / "runs", record=True)
    monkeypatch.delitem(experiments.EXPERIMENTS, "coin")
    with pytest.raises(ValueError, match="there is no experiment 'coin'"):
        experiments.recorded("coin")


def test_unknown_contenders_and_metrics_name_the_known(coin, tmp_path):
    record = experiments.run("coin", seeds=[0], folder=tmp_path / "runs")
    with pytest.raises(KeyError, match="coin has no contender 'bent'; it has fair, loaded"):
        record["bent"]
    with pytest.raises(KeyError, match="fair has no 'tails'; it has heads, curve, text"):
        record["fair"]["tails"]
    with pytest.raises(ValueError, match="coin has no contender 'bent'; it has fair, loaded"):
        experiments.run("coin", folder=tmp_path / "runs", contenders=["bent"])


def test_a_metric_of_several_contenders_has_the_names_that_a_figure_gives_them(coin, tmp_path):
    record = experiments.run("coin", seeds=[0, 1], folder=tmp_path / "runs")
    each = record.each({"Loaded": "loaded", "Fair": "fair"}, "heads")
    assert (
        list(each) == ["Loaded", "Fair"]
        and each["Fair"].tolist() == [0.5, 2.5]
        and each["Loaded"].tolist() == [0.5, 6.5]
    )


def test_several_processes_add_their_parts_to_one_record(coin, tmp_path):
    record = experiments.run("coin", folder=tmp_path / "runs")
    script = (
        "import sys, json; from pathlib import Path; from unrolled.experiments import records\n"
        "records.FOLDER = Path(sys.argv[1])\n"
        "where = dict.fromkeys(['hardware', 'versions', 'commit', 'date'], '')\n"
        "part = records.Part({'heads': 0.5}, 1.0, where)\n"
        "for seed in range(20): records.add_to_record('coin', 'quick', sys.argv[2], {}, seed, part)"
    )
    places = [str(tmp_path / "shared"), str(tmp_path / "shared")]
    workers = [subprocess.Popen([sys.executable, "-c", script, place, str(n)]) for n, place in enumerate(places)]
    assert [worker.wait() for worker in workers] == [0, 0]
    assert len(json.loads((tmp_path / "shared" / "coin.json").read_text())["parts"]) == 40
    assert len(record.parts) == 6


def test_nobody_knows_how_long_a_part_took_that_was_stopped(coin, tmp_path):
    record = experiments.run("coin", seeds=[0, 1], folder=tmp_path / "runs", contenders=["fair"])
    part = record.parts["fair", 0]

    def said(*seconds):
        return replace(
            record, parts={("fair", seed): replace(part, seconds=taken) for seed, taken in enumerate(seconds)}
        ).provenance()

    assert "2 seeds, several runs on" in said(10.0, None)
    assert "1 seed, 90 s on" in said(90.0) and "2 seeds, 3 min on" in said(90.0, 90.0)


# The book's own


def test_every_record_is_of_an_experiment():
    """An experiment may wait to be measured; a chapter that reads it then fails, and is told the command."""
    assert set(RECORDED) <= set(experiments.EXPERIMENTS) and len(RECORDED) > 40


@pytest.mark.parametrize("name", RECORDED)
def test_a_record_is_as_it_was_measured_and_what_it_has_is_declared(name):
    """A record that lacks parts is lawful; a chapter that reads it is not."""
    experiment = experiments.find(name)
    record = records.load_record(name, experiment.axes)
    assert record.name == name and record.parts
    for contender in record.values():
        experiment.check(contender)


def test_what_was_read_is_what_is_read_now():
    """The digest of each text, read once: of stories always, of a real corpus where a mirror or a cache has it."""
    read = defaultdict(list)  # the parts of all records, by what they read
    for name in RECORDED:
        record = records.load_record(name)
        for (label, _), part in record.parts.items():
            config = record.configs[label]
            text = config.get("text", {"corpus": None, "characters": None})
            read[text["corpus"], text["characters"], text.get("three_parts")].append((name, label, config, part))
    for (corpus, *_), parts in read.items():
        if corpus in (None, "stories") or corpora.state(corpus) in ("mirrored", "cached"):
            expected = reading.data_hash(parts[0][2])
            others = [f"{name}: {label}" for name, label, _, part in parts if part.data_hash != expected]
            assert not others, f"measured on another text than {corpus} is now: {', '.join(others)}"


def test_a_short_experiment_gives_its_record_again(tmp_path, monkeypatch):
    """One seed of the shortest experiment, run now: the digits may differ between processors, the result not."""
    monkeypatch.setenv("UNROLLED_PROFILE", "quick")
    record = experiments.recorded("rnn-initial-state")
    again = experiments.run("rnn-initial-state", seeds=[0], folder=tmp_path)
    assert list(again) == list(record)
    for label, contender in again.items():
        assert again.parts[label, 0].data_hash == record.parts[label, 0].data_hash
        for metric, values in contender.items():
            assert values[0] == pytest.approx(record[label][metric][0], abs=0.02)


def test_the_values_are_arrays_with_the_seeds_first():
    record = experiments.recorded("input-gradient")
    assert record["gru"]["nats"].shape == (3,) and record["lstm"]["lag"].shape == (3, 3, 128)
    assert isinstance(record["gru"]["noise"], np.ndarray)


@pytest.mark.parametrize(
    "change",
    [{"metrics": wrong} for wrong in ({}, [], None)]
    + [{"circumstances": wrong} for wrong in ({}, [], None, {"date": "", "hardware": "", "commit": None})]
    + [{"seconds": wrong} for wrong in ({}, "")],
)
def test_a_part_that_says_nothing_is_refused_in_records_and_results(coin, tmp_path, change):
    experiments.run("coin", seeds=[0], folder=tmp_path / "runs", record=True)
    (result,) = tmp_path.glob("runs/coin-quick/fair/seed-0-*/result.json")
    config = records.load_record("coin").configs["fair"]
    for path, key, error in ((records.FOLDER / "coin.json", "fair 0", RecordError), (result, "fair", RuntimeError)):
        content = json.loads(path.read_text())
        parts = content.get("parts", content)
        parts[key] |= change
        parts[key]["digest"] = records.Part(**parts[key]).seal(config)
        path.write_text(json.dumps(content))
        with pytest.raises(error, match=f"{path.name} is damaged .*(delete it|restore it)"):
            records.load_record("coin") if error is RecordError else experiments.run("coin", [0], tmp_path / "runs")


def test_a_record_of_another_name_or_profile_is_damaged(coin, tmp_path):
    experiments.run("coin", seeds=[0], folder=tmp_path / "runs", record=True)
    path = records.FOLDER / "coin.json"
    content = json.loads(path.read_text())
    for change in ({"name": "dice"}, {"profile": "quack"}, {"profile": None}):
        path.write_text(json.dumps(content | change))
        with pytest.raises(RecordError, match="coin.json is damaged .it is that of .*restore it"):
            records.load_record("coin")
