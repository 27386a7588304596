"""Measure the library against its peers, as ratios: ``make bench``.

Absolute times say more about the machine than about the code. Here each pair is timed in alternation in the same
run, and the median of the ratios is printed with its quartiles: 1.0 is as fast as the peer, below 1.0 is faster.
With ``--record`` the ratios are also written down for the page *How fast is it?*, a subject as soon as it has ended.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path

import torch

import attention
import browser
import cells
import counting
import scans
import training
import weights
from pairs import WIDTH, Pair, heading, measure
from unrolled import settings

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))  # where the laboratory is

import softmax  # noqa: E402
from lab.engine.provenance import circumstances  # noqa: E402

WRITTEN = ROOT / "data" / "speed.json"
Tables = dict[str, dict[str, list[float]]]
"""By the title of a table and the name of a row, the quartiles of its ratios."""


def table(title: str, rows: Iterable[Pair | str], pairs: int, seconds: float) -> Tables:
    """Print the ratios of some comparisons, and return them; a line in the place of one is printed as it is."""
    print(f"\n{heading(title)}")
    quartiles = {}
    for row in rows:
        if isinstance(row, str):
            print(row, flush=True)
            continue
        measured = measure(row, pairs, seconds)
        quartiles[row.name] = [round(ratio, 4) for ratio in measured.quartiles]
        print(f"{row.name:{WIDTH}}  {measured}", flush=True)
    return {title: quartiles} if quartiles else {}


def write(file: Path, subject: str, tables: Tables) -> None:
    """Write what was measured of a subject into a file, in the place of what it had of it."""
    written = json.loads(file.read_text(encoding="utf8")) if file.exists() else {}
    written[subject] = circumstances(torch.device("cpu")) | {"tables": tables}
    in_order = {name: written[name] for name in SUBJECTS if name in written}
    file.write_text(json.dumps(in_order, ensure_ascii=False, indent=1) + "\n", encoding="utf8")


def time_cells(pairs: int, seconds: float, quick: bool) -> Tables:
    """Print and return the tables of the recurrent cells: as the library runs them, then rung by rung."""
    torch.manual_seed(0)
    print(f"\nCells, with {torch.get_num_threads()} threads")
    tables = table("ours ÷ torch.nn, forward and backward", cells.training(), pairs, seconds)
    tables |= table("ours ÷ torch.nn, without gradients", cells.scoring(), pairs, seconds)
    for kind in ("lstm", "gru"):
        title = f"{kind.upper()}, B={cells.BATCH} T={cells.TIME_STEPS} d=h={cells.SIZE}, ÷ torch.nn"
        tables |= table(title, cells.ladder(kind, compiled=not quick), pairs, seconds)
    return tables


def time_ngrams(pairs: int, seconds: float, quick: bool) -> Tables:
    """Print the tables of the n-grams, time against three peers, then memory, and return the former.

    One thread, as many as the peers use.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    print(f"\nInterpolated Kneser–Ney of order {counting.ORDER}, with 1 thread; scored: a tenth of what is counted")
    texts = counting.growing((2_000, 4_000) if quick else counting.SIZES)
    small = counting.growing(counting.NLTK_SIZES[:1] if quick else counting.NLTK_SIZES)
    play = "Tiny Shakespeare is left out: --quick" if quick else counting.shakespeare()
    if isinstance(play, str):
        print(play)
    else:
        texts.append(play)
    whole = "count, estimate, score"
    tables = table(f"ours ÷ dictionaries: {whole}", counting.against_dictionaries(texts), pairs, seconds)
    tables |= table(f"ours ÷ NLTK: {whole}", counting.against_nltk(small), pairs, seconds)
    tables |= table("ours ÷ KenLM: score", counting.against_kenlm(texts), pairs, seconds)
    print()
    for line in counting.memory_table(texts):
        print(line, flush=True)
    torch.set_num_threads(threads)
    return tables


def time_training(pairs: int, seconds: float, quick: bool) -> Tables:
    """Print and return the tables of training: as the library does it, then rung by rung."""
    torch.backends.cudnn.allow_tf32 = False  # on a GPU PyTorch's LSTM alone would round to 10 bits
    tasks, threads = training.tasks(quick), torch.get_num_threads()
    print(f"\nTraining, on {settings.device()}, with {threads} threads; {tasks[0].updates} updates a time")
    tables = table("ours ÷ PyTorch's example", training.rows(tasks), pairs, seconds)
    for task in (tasks[0], tasks[-1]):
        tables |= table(f"{task.name}, ÷ the example", training.ladder(task), pairs, seconds)
    return tables


def time_attention(pairs: int, seconds: float, quick: bool) -> Tables:
    """Print and return the tables of attention and of encoder–decoders."""
    torch.manual_seed(0)
    print(f"\nAttention, with {torch.get_num_threads()} threads")
    tables = table("ours ÷ PyTorch's attention", attention.attention(), pairs, seconds)
    return tables | table("encoder–decoder, an update, our cells ÷ torch.nn", attention.writers(), pairs, seconds)


def time_scans(pairs: int, seconds: float, quick: bool) -> Tables:
    """Print and return the tables of recurrences that are computed without a loop over time."""
    torch.manual_seed(0)
    print(f"\nScans, with {torch.get_num_threads()} threads, forward and backward")
    tables = table("a scan ÷ a loop", scans.against_loop(), pairs, seconds)
    tables |= table("a scan ÷ torch.nn.GRU", scans.against_gru(), pairs, seconds)
    return tables | table("linear attention ÷ softmax attention", scans.against_softmax(), pairs, seconds)


def time_softmax(pairs: int, seconds: float, quick: bool) -> Tables:
    """Print and return the table of the output layer of a model of words."""
    torch.manual_seed(0)
    print(f"\nA large vocabulary, with {torch.get_num_threads()} threads, forward and backward")
    return table("an adaptive softmax ÷ a softmax over all words", softmax.adaptive(), pairs, seconds)


def time_browser(pairs: int, seconds: float, quick: bool) -> Tables:
    """Print and return the table of the networks of the page *Playground*. One thread: a page has no more."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with browser.rows() as rows:
        tables = table("in Chromium ÷ PyTorch, a step at a time", rows, pairs, seconds)
    torch.set_num_threads(threads)
    return tables


def weigh_pages(pairs: int, seconds: float, quick: bool) -> Tables:
    """Print what a first visit to the built pages loads; no table, since nothing is divided by a peer's."""
    print("\nFirst visits, kilobytes, gzipped")
    if (weights.SITE / "index.html").is_file():
        print(*weights.table(weights.visits(weights.SITE, quick)), sep="\n", flush=True)
    else:
        print("the pages are left out: they are not built; make book")
    return {}


SUBJECTS = {
    "cells": time_cells,
    "attention": time_attention,
    "scans": time_scans,
    "ngrams": time_ngrams,
    "training": time_training,
    "softmax": time_softmax,
    "browser": time_browser,
    "pages": weigh_pages,
}


def main() -> None:
    """Run the benchmarks and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=SUBJECTS, help="one subject (default: all)")
    parser.add_argument("--pairs", type=int, default=60, help="alternating pairs a row, at most (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=5, help="until a row stops early (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="tiny corpora, nothing compiled: does everything run?")
    parser.add_argument("--record", action="store_true", help=f"write the ratios down in data/{WRITTEN.name}")
    chosen = parser.parse_args()
    if chosen.pairs < 2:
        parser.error("--pairs must be 2 or more: quartiles are printed")
    if chosen.record and chosen.quick:
        parser.error("--record and --quick exclude each other: what is tiny says nothing about the library")
    print(f"torch {torch.__version__}, at most {chosen.pairs} alternating pairs; below 1 is faster than the peer")
    for subject in [chosen.only] if chosen.only else SUBJECTS:
        tables = SUBJECTS[subject](chosen.pairs, chosen.seconds, chosen.quick)
        if chosen.record and tables:
            write(WRITTEN, subject, tables)


if __name__ == "__main__":
    main()
