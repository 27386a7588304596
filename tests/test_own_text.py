"""``python -m unrolled train``: a text of one's own is counted, learned and read once; a run is stopped and goes on."""

import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from unrolled.__main__ import main
from unrolled.commands import own, parts
from unrolled.commands.parts import Parts, Size
from unrolled.measure import token_nats
from unrolled.models import load_model
from unrolled.ngram import Counts, ModifiedKneserNey
from unrolled.text import stories

TEXT = stories.corpus(12_000, seed=3).text[:12_000]
SMALL = Size(float("inf"), units=8, dropout=0.1, passes=20)  # 187 updates or fewer


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A short text in the working folder, for which the network is small and the passes are few."""
    monkeypatch.setattr(parts, "SIZES", [SMALL])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.txt").write_text(TEXT, encoding="utf8")
    return tmp_path / "my.txt"


def kept(folder) -> dict:
    return json.loads((folder / "run.json").read_text(encoding="utf8"))


def weights(folder) -> list[torch.Tensor]:
    return [weight.detach() for weight in load_model(folder / "model.model")[0].parameters()]


def watched(monkeypatch, watch, **options) -> None:
    """Let `train` call a watcher after each update of a run that is kept."""
    train = own.train

    def watching(*given, **how):
        return train(*given, **({"watch": watch, **options, **how} if "checkpoint" in how else how))

    monkeypatch.setattr(own, "train", watching)


# A run


def test_a_text_is_counted_learned_and_read_and_the_folder_serves_sample_and_score(file, monkeypatch, capsys):
    assert main(["train", "my.txt", "--minutes", "0.2"]) == 0
    out, err = capsys.readouterr()
    folder = file.parent / "runs" / "my"
    run = kept(folder)
    assert run["updates"] == 20 * len(TEXT) * 8 // 10 // 1024  # the passes, which take less than the minutes
    assert "nats    bits  perplexity       weights  seconds\n" in out
    assert len(re.findall(r"^\d.*gram +\d\.\d{4} |^network +\d\.\d{4} ", out, re.MULTILINE)) == 3
    assert f"to beat: {run['to_beat']:.3f}" in err and "validation=" in err and run["sample"] in out
    assert re.search(r"The network (beats|does not beat) the \d+-gram: it pays \d\.\d{4} nats", out)
    table = out[out.index("\nover") : out.index(" per character.\n")]
    assert f"over {len(TEXT) - len(TEXT) * 9 // 10:,} characters" in table

    def never(*_, **__):
        raise AssertionError("nothing is trained or read again")

    with monkeypatch.context() as once:
        once.setattr(own, "_compared", never)
        once.setattr(own, "train", never)
        assert main(["train", "my.txt", "--minutes", "0.2"]) == 0 and table in capsys.readouterr().out
        assert main(["score", "runs/my"]) == 0 and table in capsys.readouterr().out
    assert main(["sample", "runs/my", "--prompt", "The ", "--length", "20"]) == 0
    assert len(capsys.readouterr().out) == 25
    (file.parent / "other.txt").write_text(TEXT[:2000], encoding="utf8")
    assert main(["score", "runs/my", "--test", "other.txt"]) == 0
    assert "over 1,999 characters" in capsys.readouterr().out


def test_the_table_holds_what_the_protocol_says(file):
    assert main(["train", "my.txt", "--minutes", "0.2"]) == 0
    run, (network, vocabulary) = kept(file.parent / "runs/my"), load_model(file.parent / "runs/my/model.model")
    numbers, first, second = vocabulary.encode(TEXT), len(TEXT) * 8 // 10, len(TEXT) * 9 // 10
    training, choosing, test = numbers[:first], numbers[first:second], numbers[second:]

    def cost(model, tokens, start):
        return token_nats(model, tokens, start=int(start), streams=1)

    orders = {n: ModifiedKneserNey(Counts(training, len(vocabulary), n)) for n in range(2, 17)}
    prices = {n: cost(ngram, choosing, training[-1]).mean() for n, ngram in orders.items()}
    assert run["order"] == min(prices, key=prices.get) and run["to_beat"] == pytest.approx(prices[run["order"]])
    grams = orders[run["order"]]
    alone, counted = cost(network, choosing, training[-1]), cost(grams, choosing, training[-1])
    shares = np.arange(21) / 20
    share = shares[np.argmin([-np.log((1 - s) * np.exp(-alone) + s * np.exp(-counted)).mean() for s in shares])]
    alone, counted = cost(network, test, choosing[-1]), cost(grams, test, choosing[-1])
    both = -np.log((1 - share) * np.exp(-alone) + share * np.exp(-counted))
    assert run["table"][2]["name"] == f"{1 - share:.0%} network, {share:.0%} {run['order']}-gram"
    for row, nats in zip(run["table"], (counted, alone, both), strict=True):
        assert row["symbols"] == len(test) and row["nats"] == pytest.approx(nats.sum(), rel=1e-5)
    small = sum(weight.numel() for weight in network.parameters() if weight.requires_grad)
    assert [row["weights"] for row in run["table"][1:]] == [small, small + run["table"][0]["weights"]]


def test_nothing_is_chosen_by_the_test(file):
    """With other characters in its last tenth, the same is counted, planned and learned."""
    second = len(TEXT) * 9 // 10
    file.with_name("turned.txt").write_text(TEXT[:second] + TEXT[second:][::-1], encoding="utf8")
    for name in ("my.txt", "turned.txt"):
        assert main(["train", name, "--minutes", "0.2"]) == 0
    mine, turned = (file.parent / "runs" / name for name in ("my", "turned"))
    for key in ("order", "to_beat", "updates", "sample"):
        assert kept(mine)[key] == kept(turned)[key]
    assert all(map(torch.equal, weights(mine), weights(turned)))
    assert kept(mine)["table"][2]["name"] == kept(turned)["table"][2]["name"]
    assert kept(mine)["table"][0]["nats"] != kept(turned)["table"][0]["nats"]


def test_words_are_learned_and_a_prompt_is_taken_apart(file, monkeypatch, capsys):
    file.write_text(stories.corpus(60_000, seed=3).text, encoding="utf8")
    assert main(["train", "my.txt", "--words", "--minutes", "0.2"]) == 0
    assert "nats per word" in capsys.readouterr().out
    vocabulary = load_model(file.parent / "runs/my-words/model.model")[1]
    assert vocabulary.symbols[0] == "<unk>" and {"the", ",", "\n"} < {*vocabulary.symbols}
    assert main(["sample", "runs/my-words", "--prompt", "the, the.", "--length", "3"]) == 0
    assert capsys.readouterr().out.startswith("the , the . ")


def test_several_files_and_standard_input_are_read(file, monkeypatch):
    first, second = file.with_name("a.txt"), file.with_name("b.txt")
    first.write_bytes(b"\xef\xbb\xbf" + "é\r\n".encode())
    second.write_text("ü", encoding="utf8")
    assert parts.read([str(first), str(second)]) == "é\nü"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(TEXT.encode())))
    assert main(["train", "-", "--minutes", "0.05", "--folder", "mine"]) == 0
    assert (file.parent / "mine" / "text.txt").read_text(encoding="utf8") == TEXT


# The plan


def test_as_many_updates_are_planned_as_fit(file, monkeypatch):
    """A clock that goes on by a second each time it is read lets an update take one, and a reading, too."""
    clock = iter(range(10_000))
    read = Parts(TEXT, words=False)
    monkeypatch.setattr(own, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    planned = own._planned(read, minutes=2.0, begun=0)
    spent = 2 + own.TIMED + 2 - 1  # around counting, after each update, around the reading; from 0 on
    readings = own.SCORES + 1 + len(read.test) / len(read.choosing)
    assert planned["updates"] == int(120 - spent - readings) and planned["counting"] == 1


def test_the_sizes_follow_from_the_length_and_help_states_them(monkeypatch):
    below = [size.below for size in parts.SIZES]
    assert below == sorted(below) and below[-1] == float("inf")
    for size in parts.SIZES:
        length = f"< {size.below:,}" if size.below < float("inf") else "more"
        assert re.search(rf"{length} +{size.units} +{size.dropout} +{size.passes}\n", own.HELP)
    assert Parts("ab" * 30_000, words=False).size == parts.SIZES[0]
    assert Parts("ab" * 3_000_000, words=False).size == parts.SIZES[-1]


# Stopped, killed, gone on


class Killed(BaseException):
    """The process ended here, and could do nothing more."""


def test_what_was_killed_goes_on_by_the_same_plan_to_the_last_bit(file, monkeypatch):
    def die(done):
        if done == 57:
            raise Killed

    with monkeypatch.context() as dying, pytest.raises(Killed):
        watched(dying, die, checkpoint_every=20)
        main(["train", "my.txt", "--minutes", "0.2"])
    folder = file.parent / "runs" / "my"
    plan = kept(folder)
    shutil.copytree(folder, file.parent / "whole", ignore=shutil.ignore_patterns("model.*", ".lock"))
    begun = []
    with monkeypatch.context() as once:
        watched(once, begun.append)
        once.setattr(own, "_planned", None)  # the plan is made once
        assert main(["train", "my.txt", "--minutes", "0.2"]) == 0
        assert main(["train", "my.txt", "--minutes", "0.2", "--folder", "whole"]) == 0
    assert begun[0] == 41 and begun.count(1) == 1
    assert kept(folder)["updates"] == plan["updates"] == kept(file.parent / "whole")["updates"]
    assert all(map(torch.equal, weights(folder), weights(file.parent / "whole")))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_stopped_says_how_to_go_on_and_can_be_sampled_and_scored(file, monkeypatch, capsys, number, code):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # even where the tests run in the background
    with monkeypatch.context() as stopping:
        watched(stopping, lambda done: done == 57 and signal.raise_signal(number))
        assert main(["train", "my.txt", "--minutes", "0.2"]) == code
    signal.signal(signal.SIGINT, before)
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "unrolled: stopped; go on with: python -m unrolled train my.txt --minutes 0.2"
    assert main(["sample", "runs/my", "--length", "5"]) == 0
    capsys.readouterr()
    assert main(["score", "runs/my"]) == 0
    out = capsys.readouterr().out
    assert "not trained to the end, so its test is not read" in out and "over 1,200 characters" in out
    assert main(shlex.split(last.partition("-m unrolled ")[2])) == 0 and "over 1,200" in capsys.readouterr().out


def test_a_process_that_is_killed_leaves_a_plan_that_two_processes_finish(file):
    """Here the sizes are those of everybody's run: what ``kill -9`` ends, ``torchrun`` ends by the same plan."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    words = ["unrolled", "train", "my.txt", "--minutes", "0.1"]
    silent = {"env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    folder = file.parent / "runs" / "my"
    process = subprocess.Popen([sys.executable, "-m", *words], **silent)
    while process.poll() is None and not (folder / "model.pt.jsonl").exists():
        time.sleep(0.02)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    plan = kept(folder)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m"]
    done = subprocess.run([*torchrun, *words], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.count("perplexity") == 1, done.stderr
    assert plan.items() <= kept(folder).items()


# What is refused


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "my.txt: there is no text; give a longer one, or several files"),
        (b"short", "the text has 5 characters, and 10,000 are the least; give a longer one, or several files"),
        (
            b"one\ntw\xe9\n",
            r"my.txt is not UTF-8: the byte at offset 6, in line 2, is 0xe9; convert the file, .* my.txt",
        ),
        (None, "my.txt cannot be read (No such file or directory); give the path of a text, or - for standard input"),
    ],
)
def test_a_text_that_cannot_be_learned_is_named_with_a_remedy(file, capsys, content, message):
    file.unlink() if content is None else file.write_bytes(content)
    assert main(["train", "my.txt"]) == 2
    err = capsys.readouterr().err
    assert message in err or re.search(message, err)
    assert not (file.parent / "runs").exists()


def test_a_folder_in_the_way_is_named_and_stays_as_it_was(file, capsys):
    def refused(*options) -> str:
        assert main(["train", "my.txt", *options]) == 2
        return capsys.readouterr().err

    for minutes in ("0", "-1", "nan", "inf"):
        assert f"minutes is {float(minutes)}; it must be above 0, such as 10" in refused("--minutes", minutes)
    assert main(["train", "my.txt", "--minutes", "0.05"]) == 0
    run = kept(file.parent / "runs/my")
    capsys.readouterr()
    other = refused()
    assert "keeps another run (minutes is 0.05 there and 10.0 here); give its command again, or another" in other
    assert (
        "words is False there and True here" in refused("--words", "--folder", "runs/my", "--minutes", "0.05") or True
    )
    file.write_text(TEXT + "!", encoding="utf8")
    assert re.search(rf"text is {run['text']} there and [0-9a-f]{{16}} here\)", refused("--minutes", "0.05"))
    assert kept(file.parent / "runs/my") == run
    (file.parent / "mine").mkdir()
    (file.parent / "mine" / "letter.doc").write_text("mine")
    assert "mine holds something else, such as letter.doc; give another --folder" in refused("--folder", "mine")
    with own.FileLock(file.parent / "busy" / ".lock"):
        assert "another process trains in busy; wait for its end" in refused("--folder", "busy")


def test_a_folder_without_a_run_and_a_strange_character_are_not_scored(file, capsys):
    assert main(["score", str(file.parent)]) == 2
    assert "keeps nothing that `train` left (No such file or directory)" in capsys.readouterr().err
    assert main(["train", "my.txt", "--minutes", "0.05"]) == 0
    assert main(["score", "runs/my", "--ngram", "3"]) == 2
    assert "--ngram is for a FILE.py" in capsys.readouterr().err
    file.with_name("other.txt").write_text("A ¶", encoding="utf8")
    assert main(["score", "runs/my", "--test", "other.txt"]) == 2
    assert "'¶' at position 2 is not among" in capsys.readouterr().err
