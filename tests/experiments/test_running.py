"""Running experiments: part by part, each once, whole or not at all; and completing what records lack."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from unrolled import experiments
from unrolled.__main__ import main
from unrolled.experiments import Experiment, Metric, base, completing, provenance, reading, records, running
from unrolled.experiments.fingerprint import fingerprint
from unrolled.models import LanguageModel

HEADS = {"heads": Metric("throws", "how often it fell")}


def add(monkeypatch, measure, config=None, **options):
    """Add an experiment ``one`` with the contenders a and b, and return its runs' folder and profile set."""
    contenders = {"quick": {"a": config or {"sides": 2}, "b": {"sides": 3}}}
    experiment = Experiment("one", "One", HEADS, contenders, measure, **options)
    monkeypatch.setitem(experiments.EXPERIMENTS, "one", experiment)
    monkeypatch.setenv("UNROLLED_PROFILE", "quick")
    return experiment


def test_a_run_goes_on_after_the_parts_it_has(coin, tmp_path):
    experiments.run("coin", seeds=[0, 1], folder=tmp_path / "runs")
    record = experiments.run("coin", seeds=[1, 3], folder=tmp_path / "runs")
    assert coin == [("fair", 0), ("loaded", 0), ("fair", 1), ("loaded", 1), ("fair", 3), ("loaded", 3)]
    assert record.seeds("fair") == [1, 3]


def test_a_complete_record_has_the_experiments_seeds(coin, tmp_path):
    assert experiments.run("coin", folder=tmp_path / "runs").seeds("fair") == [0, 1, 2]
    for seeds in ([], [-1]):
        with pytest.raises(ValueError, match="at least one is needed, from 0 to"):
            experiments.run("coin", seeds=seeds, folder=tmp_path / "runs")


def test_another_configuration_or_text_is_measured_in_another_place(coin, monkeypatch, tmp_path):
    def parts():
        experiments.run("coin", seeds=[0], folder=tmp_path, contenders=["fair"])
        return len(list(tmp_path.glob("coin-quick/fair/seed-0-*")))

    config = experiments.EXPERIMENTS["coin"].contenders["quick"]["fair"]
    assert parts() == parts() == 1
    config["text"] = reading.text("stories", 20_000)
    assert parts() == 2
    for text in ("heads", "tails", "heads"):
        monkeypatch.setattr(reading, "texts", lambda config, text=text: (text, ""))
        record = experiments.run("coin", seeds=[0], folder=tmp_path, contenders=["fair"])
        assert record.parts["fair", 0].data_hash == records.digest(text)
    assert parts() == 4


def test_a_result_is_kept_whole_or_not_at_all(coin, tmp_path, monkeypatch):
    def cut_off(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", cut_off)
    with pytest.raises(OSError, match="No space left"):
        experiments.run("coin", seeds=[0], folder=tmp_path)
    assert not list(tmp_path.glob("**/result.json"))


def test_a_part_that_was_stopped_has_no_time(monkeypatch, tmp_path):
    def measure(config, seed, folder):
        if not (folder / "begun").exists():
            (folder / "begun").touch()
            if config["sides"] == 3:
                raise KeyboardInterrupt
        return {"heads": seed}

    add(monkeypatch, measure)
    with pytest.raises(KeyboardInterrupt):
        experiments.run("one", seeds=[0], folder=tmp_path)
    parts = experiments.run("one", seeds=[0], folder=tmp_path).parts
    assert parts["a", 0].seconds >= 0 and parts["b", 0].seconds is None


def test_each_part_keeps_its_own_circumstances(coin, tmp_path, monkeypatch):
    experiments.run("coin", seeds=[0], folder=tmp_path / "runs")
    monkeypatch.setattr(provenance, "commit", lambda: "another")
    record = experiments.run("coin", seeds=[0, 1], folder=tmp_path / "runs")
    commits = {place: part.circumstances["commit"] for place, part in record.parts.items()}
    assert commits["fair", 0] != "another" == commits["fair", 1] and " and another," in record.details()


@pytest.mark.parametrize(
    "metrics, said",
    [
        ({"tails": 1}, "one measures no 'tails'; it declares heads"),
        ({"heads": [1, 2]}, r"heads has shape \(1, 2\): axis 1 \(throw\) is 2 and should be 3"),
        ({"heads": 1}, r"heads has shape \(1,\); 2 axes are declared: seed, throw"),
    ],
)
def test_what_was_measured_is_what_is_declared(monkeypatch, tmp_path, metrics, said):
    monkeypatch.setitem(HEADS, "heads", Metric("throws", "how often it fell", ("throw",)))
    add(monkeypatch, lambda *_: metrics, axes=lambda config: {"throw": [1, 2, 3]})
    with pytest.raises(ValueError, match=said):
        experiments.run("one", seeds=[0], folder=tmp_path)


def test_timings_are_measured_in_one_go(monkeypatch, tmp_path):
    calls = []

    def measure(configs, seed, folder):
        calls.append(list(configs))
        return {label: {"heads": config["sides"]} for label, config in configs.items()}

    add(monkeypatch, measure, together=True, seeds=1)
    record = experiments.run("one", folder=tmp_path, contenders=["b"])
    assert calls == [["a", "b"]] and record["a"]["heads"].tolist() == [2] and record["b"]["heads"].tolist() == [3]
    assert len(list(tmp_path.glob("**/result.json"))) == 1


CONFIG = {
    "text": reading.text("stories", 20_000),
    "model": base.model("LanguageModel", hidden_size=8),
    "recipe": base.recipe(updates=20, symbols_per_update=64, seq_len=16, learning_rate=1e-2),
}


def test_contenders_share_a_training(monkeypatch, tmp_path):
    trained, train = [], base.train

    def measure(config, seed, folder):
        network, *_ = base.fit(CONFIG, seed, base.shared_folder(folder, CONFIG, seed), name="rnn")
        return {"heads": network.hidden_size}

    monkeypatch.setattr(base, "train", lambda *given, **options: trained.append(1) or train(*given, **options))
    add(monkeypatch, measure)
    experiments.run("one", seeds=[0], folder=tmp_path)
    logs = list(tmp_path.glob("one-quick/shared-0-*/rnn.pt.jsonl"))
    assert (
        len(trained) == 2 and len(logs) == 1 and len(logs[0].read_text().splitlines()) == 10
    )  # the second found it done
    assert list(experiments.models("one", tmp_path)) == ["rnn"]


LSTM = {"forget_bias": 1.0, "input_bias": None, "initialisation": "uniform", "t_max": None}
GRU = {"reset": "before", "update_bias": None, "initialisation": "uniform", "t_max": None}


def test_a_configuration_has_all_arguments(monkeypatch):
    network = base.model("LanguageModel", core="lstm", hidden_size=8)
    assert network["options"]["cell_options"] == LSTM and network["options"]["tied"] is False
    assert base.recipe(updates=4, seq_len=8, symbols_per_update=32, clip=None)["clip"] is None
    assert base.recipe_of(CONFIG).batch == 4 and base.recipe_of(CONFIG).clip == 1.0
    with pytest.raises(ValueError, match="LanguageModel has no argument 'hidden'; it has vocab_size, embedding_size"):
        base.model("LanguageModel", hidden=8)
    assert base.cell("gru") == {"kind": "gru", "options": GRU}
    assert isinstance(base.model_of(CONFIG, 5), LanguageModel)
    json.dumps(CONFIG)


def test_what_is_lacking_is_measured_and_timings_first(coin, monkeypatch, tmp_path, capsys):
    add(monkeypatch, lambda configs, *_: {label: {"heads": 1} for label in configs}, together=True, seeds=1)
    monkeypatch.setattr(provenance, "commit", lambda: "this")
    commands = []

    def run(command, **options):
        commands.append(command[3:])
        return SimpleNamespace(returncode=main(command[3:]), threads=options["env"]["OMP_NUM_THREADS"] == "1")

    monkeypatch.setattr(completing.subprocess, "run", run)
    assert main(["records", "coin", "one", "--folder", str(tmp_path / "runs")]) == 0
    assert "8 parts are lacking" in capsys.readouterr().out
    assert commands[0][:2] == ["run", "one"] and len(commands) == 1 + 6
    assert commands[0][commands[0].index("--contender") :][:4] == ["--contender", "a", "--contender", "b"]
    assert experiments.wanting("coin") == experiments.wanting("one") == []
    assert main(["records", "coin", "--folder", str(tmp_path / "runs")]) == 0
    assert "0 parts are lacking" in capsys.readouterr().out and len(commands) == 7


def test_a_part_that_cannot_be_measured_fails_the_command_and_stops_no_other(coin, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(completing.subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=1))
    assert main(["records", "coin", "--folder", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert out.count("FAILED") == 6 and "6 could not be measured" in err


def test_results_are_where_the_documentation_says(coin, tmp_path):
    experiments.run("coin", seeds=[0], folder=tmp_path)
    folders = [path.parent.relative_to(tmp_path).parts for path in sorted(tmp_path.glob("**/result.json"))]
    assert [parts[:2] for parts in folders] == [("coin-quick", "fair"), ("coin-quick", "loaded")]
    assert running.TOGETHER == "all"


TWO = """
import json
import sys
from pathlib import Path
import torch
from unrolled import experiments
from unrolled.experiments import base, reading
from unrolled.training import distributed

def measure(config, seed, folder):
    trained = base.fit(config, seed, base.shared_folder(folder, config, seed))
    return {"nats": trained.history.losses[-1]}

folder, config = Path(sys.argv[1]), json.loads(sys.argv[2])
one = experiments.Experiment("one", "One", {"nats": base.NATS}, {"quick": {"a": config}}, measure)
experiments.EXPERIMENTS["one"] = one
with distributed.together(torch.device("cpu")):
    part = experiments.run("one", [0], folder).parts["a", 0]
    found = [distributed.count(), part.metrics, part.fingerprint, part.digest]
    (folder / f"found-{distributed.rank()}.json").write_text(json.dumps(found))
"""


def test_two_processes_measure_a_part_together(tmp_path):
    """They agree on what was measured; the fingerprint is that which one process takes."""
    (tmp_path / "two.py").write_text(TWO)
    options = CONFIG["model"]["options"] | {"dropout": 0.1}
    config = CONFIG | {"model": CONFIG["model"] | {"options": options}}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += [str(tmp_path / "two.py"), str(tmp_path), json.dumps(config)]
    environment = {**os.environ, "UNROLLED_PROFILE": "quick", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    first, second = (json.loads((tmp_path / f"found-{rank}.json").read_text()) for rank in range(2))
    assert first == second and first[0] == 2 and first[2] == fingerprint(config)
    assert len(list(tmp_path.glob("one-quick/*/seed-0-*/result.json"))) == 1
