"""The benchmarks run, compare what gives the same answer, and print a ratio for every row.

What the ratios are is for `make bench` to say.
"""

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
import scans
import training
from places import ROOT
from unrolled.training import Recipe

RATIO = re.compile(r"  (\d+\.\d+)   \d+\.\d+ – \d+\.\d+ ")


def rows(*options):
    """Return what the command prints: the lines below each heading that names a peer, by that heading."""
    command = [sys.executable, ROOT / "benchmarks" / "run.py", "--pairs", "3", "--seconds", "0", *options]
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}  # two threads on a busy machine wait for each other for long
    printed = subprocess.run(command, capture_output=True, text=True, check=True, env=alone).stdout
    blocks = [block.splitlines() for block in printed.split("\n\n")]
    return {block[0].split("  ")[0]: block[1:] for block in blocks}, printed


def test_every_row_of_the_cells_has_a_ratio():
    tables, _ = rows("--only", "cells", "--quick")
    for title, count in (("forward and backward", 5), ("without gradients", 13)):
        rows_of_table = tables[f"ours ÷ torch.nn, {title}"]
        assert len(rows_of_table) == count
        assert all(float(RATIO.search(row)[1]) > 0 for row in rows_of_table)
    assert sum("single steps, B=1" in row for row in rows_of_table) == 4
    for kind in ("LSTM", "GRU"):
        *rungs, compiled = tables[f"{kind}, B=64 T=128 d=h=128, ÷ torch.nn"]
        assert len(rungs) == 4 and compiled == "torch.compile is left out: --quick"
        assert all(float(RATIO.search(row)[1]) > 0 for row in rungs)


def test_every_row_of_attention_has_a_ratio():
    tables, _ = rows("--only", "attention", "--quick")
    for title, count in (("ours ÷ PyTorch's attention", 6), ("encoder–decoder, an update, our cells ÷ torch.nn", 4)):
        assert len(tables[title]) == count
        assert all(float(RATIO.search(row)[1]) > 0 for row in tables[title])


def test_every_row_of_the_scans_has_a_ratio():
    tables, _ = rows("--only", "scans", "--quick")
    for title in ("a scan ÷ a loop", "a scan ÷ torch.nn.GRU", "linear attention ÷ softmax attention"):
        assert len(tables[title]) == 3
        assert all(float(RATIO.search(row)[1]) > 0 for row in tables[title])


def test_a_scan_gives_the_gradients_of_the_loop_it_is_timed_against():
    for row in scans.against_loop():
        assert row.ours() == pytest.approx(row.peer(), rel=1e-4) and row.within < 1e-3


def test_an_encoder_decoder_with_our_cells_computes_what_pytorchs_computes():
    for row in attention.writers():
        assert row.ours() == pytest.approx(row.peer(), abs=row.within) and row.ours() > 0


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


def test_every_row_of_training_has_a_ratio():
    tables, printed = rows("--only", "training", "--quick")
    assert "Training, on cpu, with 1 threads; 3 updates a time" in printed
    for title, count in (
        ("ours ÷ PyTorch's example", 4),
        ("random words, 20 tied, ÷ the example", 5),
        ("characters of stories, 20, ÷ the example", 5),
    ):
        assert len(tables[title]) == count
        assert all(float(RATIO.search(row)[1]) > 0 for row in tables[title])


def test_every_row_of_the_playground_has_a_ratio_and_a_step_is_short():
    tables, printed = rows("--only", "browser", "--quick")
    if "Chromium is left out" in printed:
        pytest.skip("no Chromium, or no Playwright, so nothing is timed in it (apt install chromium)")
    timed = tables["in Chromium ÷ PyTorch, a step at a time"]
    assert len(timed) == len(browser.MODELS)
    assert all(float(RATIO.search(row)[1]) > 0 for row in timed)
    milliseconds = [float(row.split()[-1]) / browser.STEPS for row in timed]
    assert max(milliseconds) < 16, "a page that takes longer lags behind the typing; alone it takes a quarter of this"


@pytest.mark.parametrize("peer", [counting.against_dictionaries, counting.against_nltk, counting.against_kenlm])
def test_the_models_compared_give_the_same_nats(peer):
    for row in peer(counting.growing([2_000, 5_000])):
        if isinstance(row, str):
            pytest.skip(row)
        ours = row.ours()
        assert 0 < ours < 3
        assert ours == pytest.approx(row.peer(), abs=1e-4 if peer is counting.against_kenlm else 1e-9)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_every_rung_of_the_ladder_does_what_torch_does(kind):
    torch.manual_seed(0)
    for rung in cells.ladder(kind, compiled=False):
        if not isinstance(rung, str):
            assert rung.ours() == pytest.approx(rung.peer(), rel=1e-4)


def test_cells_score_what_torch_scores_in_whole_sequences_and_step_by_step():
    torch.manual_seed(0)
    pairs_of_twins = [pair for pair in cells.scoring() if cells.RESET_BEFORE not in pair.name]
    assert len(pairs_of_twins) == 11
    for pair in pairs_of_twins:
        assert pair.ours() == pytest.approx(pair.peer(), abs=1e-6)


@pytest.mark.parametrize("core", ["lstm", "torch-lstm"])
@pytest.mark.parametrize("place", [0, 1])
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
