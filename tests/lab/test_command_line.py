"""The laboratory's command line: what is run, resumed and begun again; what is suggested; and the exit codes."""

import errno
import itertools
import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

import lab
import lab.__main__
from lab.__main__ import main, parser
from lab.engine import training
from lab.engine.experiment import Experiment, model, recipe, text
from places import ROOT
from unrolled import settings
from unrolled.measure import evaluate
from unrolled.training import distributed

SHARED = {
    "text": text("stories", 20_000),
    "recipe": recipe(updates=20, symbols_per_update=64, seq_len=16, learning_rate=1e-2),
}
CONTENDERS = {
    "gru": SHARED | {"model": model("LanguageModel", hidden_size=8, core="gru")},
    "window": SHARED | {"model": model("FixedWindowLM", window=3, hidden_size=8)},
}
EXPERIMENTS = list(lab.experiments())


def measure(config: dict, seed: int, folder: Path) -> dict:
    network, read, *_ = training.fit(config, seed, folder)
    return {"nats": evaluate(network, read.held_out).nats_per_symbol}


@pytest.fixture
def tiny(add, monkeypatch, tmp_path):
    """An experiment that trains two small models, and the arguments that name it, its folder and one seed."""
    add(Experiment("tiny", "Train a little", {"nats": training.NATS}, CONTENDERS, measure))
    monkeypatch.delenv("UNROLLED_DEVICE", raising=False)
    return ["run", "tiny", "--folder", str(tmp_path / "runs"), "--seeds", "1"]


def results(printed: str) -> list[str]:
    """Return the lines that tell what was measured, and not when."""
    return [line for line in printed.splitlines() if line.startswith(" ")]


def breaking(error: BaseException, at: int):
    """Return `training.train` with a watcher that raises an error after an update of the second model."""
    train, trainings = training.train, itertools.count(1)

    def broken(model, *given, **options):
        second = next(trainings) == 2

        def watch(done):
            if second and done == at:
                raise error

        return train(model, *given, watch=watch, checkpoint_every=10, **options)

    return broken


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
        MemoryError(),
    ],
)
def test_out_of_memory_says_what_to_lower_and_leaves_the_checkpoint(tiny, monkeypatch, capsys, error):
    assert main([*tiny, "--folder", f"{tiny[3]}-whole"]) == 0
    whole = results(capsys.readouterr().out)
    with monkeypatch.context() as broken:
        broken.setattr(training, "train", breaking(error, at=15))
        assert main(tiny) == 1
    err = capsys.readouterr().err
    assert "lab: out of memory; " in err and err.endswith("; the last checkpoint stays as it was\n")
    assert "lower batch, seq_len or hidden_size in the configuration" in err
    (checkpoint,) = Path(tiny[3]).glob("tiny/window/seed-0-*/model.pt")
    assert torch.load(checkpoint, weights_only=True)["done"] == 10
    assert main(tiny) == 0 and results(capsys.readouterr().out) == whole


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_run_says_how_to_go_on_and_does(tiny, monkeypatch, capsys, number, code):
    assert main(tiny) == 0
    whole, train = results(capsys.readouterr().out), training.train

    def stopped(model, *given, **options):
        return train(model, *given, watch=lambda done: done == 15 and signal.raise_signal(number), **options)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # even where the tests run in the background
    with monkeypatch.context() as broken:
        broken.setattr(training, "train", stopped)
        assert main([*tiny, "--fresh"]) == code
    signal.signal(signal.SIGINT, before)
    again = [*tiny, "--resume"]
    expected = f"lab: stopped; go on with: python -m lab {shlex.join(again)}"
    assert capsys.readouterr().err.splitlines()[-1] == expected
    (checkpoint,) = Path(tiny[3]).glob("tiny/gru/seed-0-*/*.pt")
    assert torch.load(checkpoint, weights_only=True)["done"] == 15
    assert main(again) == 0 and results(capsys.readouterr().out) == whole


def test_several_processes_are_told_to_go_on_together_and_records_without_resume(tiny, monkeypatch, capsys):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(distributed, "launched", lambda: True)
    monkeypatch.setattr(distributed, "together", lambda device: nullcontext())
    monkeypatch.setattr(lab.__main__, "run", stopped)
    assert main([*tiny, "--fresh"]) == 130
    again = f"go on with: torchrun … -m lab {shlex.join(tiny)} --resume"
    assert capsys.readouterr().err == f"\nlab: stopped; {again}\n"
    monkeypatch.setattr(distributed, "launched", lambda: False)
    monkeypatch.setattr(lab.__main__, "ThreadPoolExecutor", stopped)
    assert main(["records", "tiny"]) == 130
    assert capsys.readouterr().err == "\nlab: stopped; go on with: python -m lab records tiny\n"


def test_fresh_begins_again_and_resume_never_begins(tiny, capsys):
    assert main([*tiny, "--resume"]) == 2
    assert "there is nothing to resume: " in capsys.readouterr().err
    runs = Path(tiny[3])
    assert not runs.exists()
    for count, again in enumerate(("--fresh", "--fresh", "--fresh", "--resume")):
        assert main([*tiny, again]) == 0
        (place,) = runs.glob("tiny/gru/seed-0-*")
        assert (place / "count").exists() == (again == "--resume")
        (place / "count").write_text(str(count))
    aside = {path.parent.name[len(place.name) :]: path.read_text() for path in runs.glob("aside/tiny/gru/*/count")}
    assert aside == {"-1": "0", "-2": "1"} and len(list(runs.glob("aside/**/*.model"))) == 4


def test_two_runs_never_share_a_place(tiny, monkeypatch, capsys):
    codes, train = [], training.train

    def meanwhile(*given, **options):
        with monkeypatch.context() as usual:
            usual.setattr(training, "train", train)
            for way in ([], ["--fresh"], ["--resume"], ["--folder", f"{tiny[3]}-other"]):
                codes.append(main([*tiny, *way]))
        monkeypatch.setattr(training, "train", train)
        return train(*given, **options)

    monkeypatch.setattr(training, "train", meanwhile)
    assert main(tiny) == 0
    assert codes == [1, 1, 1, 0]
    assert capsys.readouterr().err.count("another run is at work in") == 3
    assert not Path(tiny[3], "aside").exists()
    assert main([*tiny, "--fresh"]) == 0  # it is over


@pytest.mark.parametrize("code, advice", [(errno.EROFS, "make .* writable"), (errno.ENOSPC, "make room there")])
def test_a_run_that_cannot_be_kept_names_the_place(tiny, monkeypatch, capsys, code, advice):
    def refused(self, *_, **__):
        raise OSError(code, os.strerror(code), str(self))

    with monkeypatch.context() as broken:
        broken.setattr(Path, "mkdir", refused)
        assert main(tiny) == 1
    expected = rf"lab: .*tiny/gru/seed-0-\w+ cannot be written \(.*\); {advice}, or choose another folder\n"
    assert re.fullmatch(expected, capsys.readouterr().err)


@pytest.mark.parametrize(
    "wrong, message",
    [
        (["rnu", "tiny"], "invalid choice: 'rnu' .*; did you mean 'run'?"),
        (["xyz"], r"invalid choice: 'xyz' \(choose from [^;]*\)\n"),
        (["run", "tiny", "--device", "tpu"], "argument --device: invalid choice: 'tpu'"),
        (["run", "tiny", "--resume", "--fresh"], "not allowed with"),
        (["run", "tiny", "--seed", "3", "--seeds", "2"], "not allowed with"),
        (["run", "tiny", "--recor"], "unrecognized arguments: --recor"),  # not taken for --record
        ([], "required: COMMAND"),
    ],
)
def test_wrong_use_is_named_with_what_was_meant(capsys, wrong, message):
    with pytest.raises(SystemExit) as stop:
        main(wrong)
    assert stop.value.code == 2 and re.search(message.replace("?", r"\?"), capsys.readouterr().err)


@pytest.mark.parametrize(
    "wrong, message",
    [
        (["run", "tin"], "there is no experiment 'tin'; did you mean 'tiny'?"),
        (["show", "tin"], "there is no experiment 'tin'; did you mean 'tiny'?"),
        (["records", "tin"], "there is no experiment 'tin'; did you mean 'tiny'?"),
        (["run", "tiny", "--seeds", "0"], "seeds is 0; it must be 1 or more"),
        (["run", "tiny", "--contender", "grue"], "tiny has no contender 'grue'; it has gru, window"),
        (["run", "tiny", "--seed", str(2**64)], f"seeds are [{2**64}]; at least one is needed, from 0 to {2**32 - 1}"),
    ],
)
def test_what_cannot_be_is_named_in_a_line(tiny, capsys, wrong, message):
    assert main(wrong) == 2
    assert capsys.readouterr().err == f"lab: {message}\n"


def test_a_device_is_taken_where_it_is_asked_for_and_a_wrong_one_named(tiny, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    asked = []

    def run(*_, **__):
        asked.append(settings.device())
        raise KeyboardInterrupt

    monkeypatch.setattr(lab.__main__, "run", run)
    for name in ("cuda", "cpu"):
        monkeypatch.setenv("UNROLLED_DEVICE", "cuda")
        assert main([*tiny, "--device", name]) == 130 and asked.pop() == torch.device(name)
    monkeypatch.delenv("UNROLLED_DEVICE")
    monkeypatch.delenv("UNROLLED_PROFILE", raising=False)
    assert main(tiny) == 130 and asked == [torch.device("cpu")]
    monkeypatch.setenv("UNROLLED_DEVICE", "fast")
    capsys.readouterr()
    assert main(tiny) == 2
    assert capsys.readouterr().err.startswith("lab: UNROLLED_DEVICE is 'fast'; ")


def test_list_names_every_experiment(capsys):
    assert main(["list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == EXPERIMENTS


@pytest.mark.parametrize("command", [[], ["run"]])
def test_help_has_examples_that_parse(capsys, command):
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    _, taught = capsys.readouterr().out.split("examples:")
    examples = re.findall(r"-m lab (.*?)(?:  |\n|$)", taught)
    assert len(examples) >= 2
    for example in examples:
        words = shlex.split(example)
        if "cuda" in words:  # where there is one
            words[words.index("cuda")] = "cpu"
        parsed = parser().parse_args(words)
        if parsed.command in ("run", "show"):
            experiment = lab.find(parsed.name)
            assert {*(getattr(parsed, "contender", None) or ())} <= {*experiment.contenders}


def test_a_reader_who_has_read_enough_is_told_nothing():
    command = [sys.executable, "-m", "lab", "list"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("program", ["lab", "unrolled"])
def test_ctrl_c_while_importing_ends_quietly(tmp_path, program):
    """PyTorch takes seconds to import; a module in its place takes longer, and says when it begins."""
    (tmp_path / "torch.py").write_text("import time; print('importing', flush=True); time.sleep(60)")
    places = os.pathsep.join([str(tmp_path), str(ROOT / "lib"), str(ROOT)])
    command = [sys.executable, "-c", "import signal, runpy; signal.signal(2, signal.default_int_handler);"]
    command[-1] += f"runpy.run_module('{program}', run_name='__main__')"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": places}, **pipes) as process:
        assert process.stdout.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        assert (process.wait(30), process.stderr.read()) == (130, "")
