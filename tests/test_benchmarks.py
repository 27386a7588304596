"""The benchmarks run, compare what gives the same answer, and print a ratio for every row.

What the ratios are is for `make bench` to say.
"""

import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

import attention
import browser
import cells
import counting
import pairs
import run as benchmark
import scans
import softmax
import training
from lab.engine import provenance
from places import ROOT
from unrolled.training import Recipe

RATIO = re.compile(r"  (\d+\.\d+)   \d+\.\d+ – \d+\.\d+ ")
SIZES = {  # small ones, at which a benchmark takes a moment
    cells: {"TRAINED": [(kind, 2, 20, 8) for kind, *_ in cells.TRAINED], "BATCH": 4, "TIME_STEPS": 20, "SIZE": 8}
    | {"SCORED": [(kind, 2, 20, 8) for kind, *_ in cells.SCORED]},
    attention: {"PRODUCTS": [(4, 9, 8)] * 2, "HEADS": [(2, 9, 8, 4)] * 2, "BATCH": 4, "SIZE": 8},
    scans: {"LENGTHS": [(2, 40, 8)] * 3, "ATTENDED": [(2, 9, 8)] * 3},
    softmax: {"VOCABULARIES": [200, 300]},
}
TABLES = {  # of each benchmark, its headings and how many rows are below them
    "cells": {
        "ours ÷ torch.nn, forward and backward": 5,
        "ours ÷ torch.nn, without gradients": 13,
        "LSTM, B=4 T=20 d=h=8, ÷ torch.nn": 4,
        "GRU, B=4 T=20 d=h=8, ÷ torch.nn": 4,
    },
    "attention": {"ours ÷ PyTorch's attention": 6, "encoder–decoder, an update, our cells ÷ torch.nn": 4},
    "scans": dict.fromkeys(["a scan ÷ a loop", "a scan ÷ torch.nn.GRU", "linear attention ÷ softmax attention"], 3),
    "training": {
        "ours ÷ PyTorch's example": 4,
        "random words, 20 tied, ÷ the example": 5,
        "characters of stories, 20, ÷ the example": 5,
    },
    "softmax": {"an adaptive softmax ÷ a softmax over all words": 3},
}


def blocks(printed: str) -> dict[str, list[str]]:
    """Return the lines below each heading that names a peer, by that heading."""
    parts = [part.splitlines() for part in printed.split("\n\n")]
    return {part[0].split("  ")[0]: part[1:] for part in parts}


def rows(*options):
    """Return what the command prints, in blocks and whole."""
    command = [sys.executable, ROOT / "benchmarks" / "run.py", "--pairs", "2", "--seconds", "0", *options]
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}  # two threads on a busy machine wait for each other for long
    printed = subprocess.run(command, capture_output=True, text=True, check=True, env=alone).stdout
    return blocks(printed), printed


@pytest.fixture
def one_thread():
    """Have one thread compute, as in `rows`."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("name", TABLES)
def test_every_row_has_a_ratio(name, one_thread, monkeypatch, capsys):
    for module, sizes in SIZES.items():
        for size, value in sizes.items():
            monkeypatch.setattr(module, size, value)
    returned = benchmark.SUBJECTS[name](pairs=2, seconds=0.0, quick=True)
    printed = capsys.readouterr().out
    tables = blocks(printed)
    for title, count in TABLES[name].items():
        timed = [row for row in tables[title] if row != "torch.compile is left out: --quick"]
        assert len(timed) == count and all(float(RATIO.search(row)[1]) > 0 for row in timed), title
        assert {row.split("  ")[0] for row in timed} == set(returned[title])  # at these sizes some rows have one name
    assert set(returned) == set(TABLES[name])
    assert printed.count("torch.compile is left out: --quick") == (2 if name == "cells" else 0)


def test_every_row_of_the_ngrams_has_a_ratio_and_its_memory():
    pytest.importorskip("nltk")
    tables, printed = rows("--only", "ngrams", "--quick")
    assert "Tiny Shakespeare is left out: --quick" in printed
    timed = [row for title, block in tables.items() if title.startswith("ours ÷") for row in block]
    timed = [row for row in timed if not row.startswith("KenLM is left out")]
    assert len(timed) >= 3
    assert all(float(RATIO.search(row)[1]) > 0 for row in timed)
    assert len(tables["memory in MB"]) == 2
    for row in tables["memory in MB"]:
        ours, theirs, model, other = map(float, row.split("characters")[1].split())
        assert 0 < model < ours and 0 < other < theirs


def test_every_row_of_the_playground_has_a_ratio_and_a_step_is_short():
    tables, printed = rows("--only", "browser", "--quick")
    if "Chromium is left out" in printed:
        pytest.skip("no Chromium, or no Playwright, so nothing is timed in it (apt install chromium)")
    timed = tables["in Chromium ÷ PyTorch, a step at a time"]
    assert len(timed) == len(browser.MODELS)
    assert all(float(RATIO.search(row)[1]) > 0 for row in timed)
    milliseconds = [float(row.split()[-1]) / browser.STEPS for row in timed]
    assert max(milliseconds) < 16, "a page that takes longer lags behind the typing; alone it takes a quarter of this"


@pytest.mark.parametrize("place, core", [(0, "lstm"), (1, "torch-lstm")])
@pytest.mark.parametrize("wrong", [{"carry": False}, {"clip": 0.26}, {"learning_rate": 20.1}, {"optimizer": "adam"}])
def test_what_is_trained_in_another_way_is_not_timed(wrong, place, core, monkeypatch):
    task = training.tasks(quick=True)[place]
    training.race("the same", task, core, training.by_library)
    monkeypatch.setattr(training, "Recipe", lambda **told: Recipe(**(told | wrong)))
    with pytest.raises(ValueError, match="another: ours says .*, the peer .*; they must agree within 0.0001"):
        training.race("another", task, core, training.by_library)


def test_what_is_timed_is_trained_with_dropout_and_always_from_the_same_weights():
    words, _ = training.tasks(quick=True)
    assert words.dropout > 0
    pair = training.race("twice", words, "torch-lstm", training.by_library)
    for side in (pair.ours, pair.peer):
        torch.manual_seed(1)
        first, second = side(), side()
        torch.manual_seed(1)
        assert side() == first != second  # other numbers were dropped, and nothing else was different


def test_without_wikitext_the_words_are_random_numbers(tmp_path, monkeypatch):
    monkeypatch.delenv("UNROLLED_MIRROR", raising=False)
    monkeypatch.setenv("UNROLLED_CACHE", str(tmp_path))
    monkeypatch.setattr(training, "wikitext", training.wikitext.__wrapped__)
    task = training.words(200, 0.2, 20, 35, 3)
    assert task.name == "random words, 200 tied" and not list(tmp_path.iterdir())
    assert 33_000 < task.tokens.max() < training.WORDS == task.sizes["vocab_size"]


def test_a_compiler_that_fails_is_left_out_in_words(monkeypatch):
    def no_compiler(*_):
        raise RuntimeError("no C++ compiler\nand much more")

    monkeypatch.setattr(torch, "compile", no_compiler)
    *_, last = cells.ladder("gru", compiled=True)
    assert last == "torch.compile is left out: it does not work here: no C++ compiler"


def test_different_answers_are_not_timed():
    with pytest.raises(ValueError, match="add: ours says 2.0, the peer 2.5; they must agree within 0.1"):
        pairs.measure(pairs.Pair("add", lambda: 2.0, lambda: 2.5, within=0.1), 3, 1.0)
    with pytest.raises(ValueError, match="ours says nan"):
        pairs.measure(pairs.Pair("add", lambda: float("nan"), lambda: 2.5, within=0.1), 3, 1.0)


def test_a_ratio_is_ours_by_the_peers(monkeypatch):
    clock = SimpleNamespace(now=0.0)

    def taking(seconds):
        def run():
            clock.now += seconds

        return run

    monkeypatch.setattr(pairs, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    measured = pairs.measure(pairs.Pair("twice as fast", taking(2.0), taking(4.0)), 5, 1e9)
    assert measured.ratios == [0.5] * 5 and measured.ours == [2.0] * 5
    assert str(measured).split() == ["0.50", "0.50", "–", "0.50", "5", "2000.00"]  # of 2000 ms


def test_what_is_measured_of_a_subject_takes_the_place_of_what_was(tmp_path, capsys):
    file, row = tmp_path / "speed.json", pairs.Pair("nothing", lambda: None, lambda: None)
    for subject in ("scans", "cells", "scans"):
        tables = benchmark.table("ours ÷ theirs", [row, "a peer is left out"], 4, 1.0)
        benchmark.write(file, subject, tables)
    written = json.loads(file.read_text(encoding="utf8"))
    assert list(written) == ["cells", "scans"] and written["scans"]["tables"] == tables
    low, median, high = tables["ours ÷ theirs"]["nothing"]
    assert low <= median <= high and set(written["cells"]) == {*provenance.FIELDS, "tables"}
    assert benchmark.table("ours ÷ theirs", ["a peer is left out"], 4, 1.0) == {}


def test_a_row_stops_after_its_pairs_or_its_seconds():
    quick = pairs.Pair("nothing", lambda: None, lambda: None)
    assert len(pairs.measure(quick, 10, 60.0).ratios) == 10
    assert len(pairs.measure(quick, 10, 0.0).ratios) == pairs.FEWEST


def test_what_is_not_there_is_left_out_in_words(tmp_path, monkeypatch):
    monkeypatch.delenv("UNROLLED_MIRROR", raising=False)
    monkeypatch.setenv("UNROLLED_CACHE", str(tmp_path))
    assert counting.shakespeare().startswith("Tiny Shakespeare is left out: not here in ")
    assert not list(tmp_path.iterdir())
    monkeypatch.setitem(sys.modules, "kenlm", None)
    monkeypatch.setitem(sys.modules, "nltk.lm", None)
    assert list(counting.against_kenlm([])) == [
        "KenLM is left out: it is not installed; pip install kenlm, which needs a C++ compiler"
    ]
    assert list(counting.against_nltk([])) == ["NLTK is left out: it is not installed; pip install nltk"]
