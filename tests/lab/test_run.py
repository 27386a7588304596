"""Running experiments: part by part, each once, whole or not at all, alone or in several processes."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

import lab.__main__
from lab.__main__ import main
from lab.engine import provenance, texts, training
from lab.engine.experiment import Experiment, model, recipe, text
from lab.engine.run import models, run
from lab.engine.store import kept, shared_folder
from places import ROOT
from unrolled.records import Metric, digest

HEADS = {"heads": Metric("throws", "how often it fell")}
CONFIG = {
    "text": text("stories", 20_000),
    "model": model("LanguageModel", hidden_size=8),
    "recipe": recipe(updates=20, symbols_per_update=64, seq_len=16, learning_rate=1e-2),
}


def two(add, measure, **options) -> Experiment:
    """Add an experiment with the contenders a and b."""
    return add(Experiment("two", "Two", HEADS, {"a": {"sides": 2}, "b": {"sides": 3}}, measure, **options))


def test_a_run_goes_on_after_the_parts_it_has(coin, tmp_path):
    run(coin, seeds=[0, 1], folder=tmp_path / "runs")
    record, _ = run(coin, seeds=[1, 3], folder=tmp_path / "runs")
    calls = [("fair", 0), ("loaded", 0), ("fair", 1), ("loaded", 1), ("fair", 3), ("loaded", 3)]
    assert coin.measure.calls == calls and list(record["fair"].parts) == [1, 3]


def test_a_complete_record_has_the_experiments_seeds(coin, tmp_path):
    assert list(run(coin, folder=tmp_path / "runs")[0]["fair"].parts) == [0, 1, 2]
    for seeds in ([], [-1], [2**64]):
        with pytest.raises(ValueError, match="at least one is needed, from 0 to"):
            run(coin, seeds=seeds, folder=tmp_path / "runs")
    with pytest.raises(ValueError, match="coin has no contender 'bent'; it has fair, loaded"):
        run(coin, folder=tmp_path, contenders=["bent"])


def test_another_configuration_or_text_is_measured_in_another_place(coin, monkeypatch, tmp_path):
    def places():
        run(coin, seeds=[0], folder=tmp_path, contenders=["fair"])
        return len(list(tmp_path.glob("coin/fair/seed-0-*")))

    assert places() == places() == 1
    coin.contenders["fair"]["text"] = text("stories", 20_000)
    assert places() == 2
    for read in ("heads", "tails", "heads"):
        monkeypatch.setattr(texts, "texts", lambda config, read=read: (read, ""))
        record, _ = run(coin, seeds=[0], folder=tmp_path, contenders=["fair"])
        assert record["fair"].parts[0]["data"] == digest(read)
    assert places() == 4


def test_a_result_is_kept_whole_or_not_at_all(coin, tmp_path, monkeypatch):
    def cut_off(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", cut_off)
    with pytest.raises(OSError, match="No space left"):
        run(coin, seeds=[0], folder=tmp_path)
    assert not list(tmp_path.glob("**/result.json"))


def test_a_part_that_was_stopped_has_no_time(add, tmp_path):
    def measure(config, seed, folder):
        if not (folder / "begun").exists():
            (folder / "begun").touch()
            if config["sides"] == 3:
                raise KeyboardInterrupt
        return {"heads": seed}

    experiment = two(add, measure)
    with pytest.raises(KeyboardInterrupt):
        run(experiment, seeds=[0], folder=tmp_path)
    record, _ = run(experiment, seeds=[0], folder=tmp_path)
    assert record["a"].parts[0]["seconds"] >= 0 and record["b"].parts[0]["seconds"] is None


@pytest.mark.parametrize(
    "metrics, message",
    [
        ({"tails": 1}, "two measures no 'tails'; it declares heads"),
        ({"heads": [1, 2]}, r"heads has shape \(2,\): axis 0 \(throw\) is 2 and should be 3"),
        ({"heads": 1}, r"heads has shape \(\); 1 axes are declared: throw"),
    ],
)
def test_what_was_measured_is_what_is_declared(add, monkeypatch, tmp_path, metrics, message):
    monkeypatch.setitem(HEADS, "heads", Metric("throws", "how often it fell", ("throw",)))
    experiment = two(add, lambda *_: metrics, axes=lambda config: {"throw": [1, 2, 3]})
    with pytest.raises(ValueError, match=message):
        run(experiment, seeds=[0], folder=tmp_path)


def test_timings_are_measured_in_one_go(add, tmp_path):
    calls = []

    def measure(configs, seed, folder):
        calls.append(list(configs))
        return {label: {"heads": config["sides"]} for label, config in configs.items()}

    record, _ = run(two(add, measure, together=True, seeds=1), folder=tmp_path, contenders=["b"])
    assert calls == [["a", "b"]] and record["a"]["heads"].tolist() == [2] and record["b"]["heads"].tolist() == [3]
    assert len(list(tmp_path.glob("two/all/*/result.json"))) == 1


def test_contenders_share_a_training_and_the_command_names_its_folder(add, monkeypatch, tmp_path, capsys):
    trained, train = [], training.train

    def measure(config, seed, folder):
        network, *_ = training.fit(CONFIG, seed, shared_folder(folder, CONFIG, seed), name="rnn")
        return {"heads": network.hidden_size}

    monkeypatch.setattr(training, "train", lambda *given, **options: trained.append(1) or train(*given, **options))
    experiment = two(add, measure)
    assert main(["run", "two", "--seeds", "1", "--folder", str(tmp_path)]) == 0
    (log,) = tmp_path.glob("two/shared-0-*/rnn.pt.jsonl")
    assert len(trained) == 2 and len(log.read_text().splitlines()) == 10  # the second was done already
    assert capsys.readouterr().out.endswith(f"trained: {log.parent}\n")
    assert models(run(experiment, [0], tmp_path)[1]) == [log.parent]


def test_what_is_kept_is_computed_once(tmp_path):
    computed = []
    for _ in range(2):
        assert kept(tmp_path / "a" / "kept.json", lambda: computed.append(1) or {"nats": [1.5]}) == {"nats": [1.5]}
    assert computed == [1]


def test_a_result_that_was_changed_or_damaged_is_refused(coin, tmp_path):
    run(coin, seeds=[0], folder=tmp_path)
    (result,) = tmp_path.glob("coin/fair/seed-0-*/result.json")
    whole = result.read_text()
    damages = ['"heads": 0.4', "", "{", "[]", "null", '{"parts": {"fair": null}}']
    for damage in damages:
        result.write_text(whole.replace('"heads": 0.5', damage) if "0.4" in damage else damage)
        with pytest.raises(
            RuntimeError, match="result.json is (not as|damaged).*; delete it, and it is measured again"
        ):
            run(coin, seeds=[0], folder=tmp_path)


def test_what_is_lacking_is_measured_and_timings_first(coin, add, monkeypatch, tmp_path, capsys):
    two(add, lambda configs, *_: {label: {"heads": 1} for label in configs}, together=True, seeds=1)
    monkeypatch.setattr(provenance, "commit", lambda: "this")
    commands = []

    def measured(command, **options):
        commands.append(command[3:])
        assert options["env"]["OMP_NUM_THREADS"] == "1"
        return SimpleNamespace(returncode=main(command[3:]))

    monkeypatch.setattr(lab.__main__.subprocess, "run", measured)
    assert main(["records", "--folder", str(tmp_path / "runs")]) == 0
    assert "8 parts are lacking" in capsys.readouterr().out
    assert commands[0][:4] == ["run", "two", "--seed", "0"] and len(commands) == 1 + 6
    assert main(["records", "coin", "--folder", str(tmp_path / "runs")]) == 0
    assert "0 parts are lacking" in capsys.readouterr().out and len(commands) == 7


def test_a_part_that_cannot_be_measured_fails_the_command_and_stops_no_other(coin, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(lab.__main__.subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=1))
    assert main(["records", "coin", "--folder", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert out.count("FAILED") == 6 and "6 parts are still lacking: coin fair, " in err


TWO = """
import json, sys
from pathlib import Path
import torch
from lab.engine.experiment import Experiment
from lab.engine.run import run
from lab.engine.store import shared_folder
from lab.engine.training import NATS, fit
from unrolled.training import distributed

def measure(config, seed, folder):
    return {"nats": fit(config, seed, shared_folder(folder, config, seed)).history.losses[-1]}

folder, config = Path(sys.argv[1]), json.loads(sys.argv[2])
with distributed.together(torch.device("cpu")):
    record, _ = run(Experiment("one", "One", {"nats": NATS}, {"a": config}, measure), [0], folder)
    part = record["a"].parts[0]
    (folder / f"seen-{distributed.rank()}.json").write_text(json.dumps([distributed.count(), part]))
"""


def test_two_processes_measure_a_part_together(tmp_path):
    (tmp_path / "two.py").write_text(TWO)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    config = CONFIG | {"model": CONFIG["model"] | {"dropout": 0.1}}
    command += [str(tmp_path / "two.py"), str(tmp_path), json.dumps(config)]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    first, second = (json.loads((tmp_path / f"seen-{rank}.json").read_text()) for rank in range(2))
    assert first == second and first[0] == 2
    assert len(list(tmp_path.glob("one/*/seed-0-*/result.json"))) == 1
