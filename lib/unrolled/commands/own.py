"""Train on a text of one's own: count it first, train a network for so many minutes, and say which of them is better.

A folder keeps it all: ``run.json`` the plan and, at the end, the table; ``text.txt`` the text; ``model.pt`` the
checkpoint; ``model.model`` the network.
"""

import argparse
import json
import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import torch
from filelock import FileLock, Timeout

from unrolled import decoding, settings
from unrolled.commands.parts import BATCH, CHOOSING, SEQ_LEN, SIZES, WORDS, Parts, read
from unrolled.measure import Score, mixed, token_nats
from unrolled.models import NeuralModel, load_model, save_model
from unrolled.ngram import Counts, ModifiedKneserNey, NGram
from unrolled.records import digest
from unrolled.text import tokenise
from unrolled.training import distributed, train
from unrolled.training.progress import training_seconds
from unrolled.whole_files import replace_file, writing

LONGEST = 16  # symbols of an n-gram
SHARES = np.linspace(0, 1, 21).round(2).tolist()  # of the n-gram in the mixture
SCORES = 10  # on the way
PATIENCE = 3  # scores in a row that are no better
TIMED = 6  # updates of the warm-up

_ROW = "  {:>12}{:>7}{:>9}{:>9}\n".format
_SIZES = _ROW("symbols", "units", "dropout", "passes") + "".join(
    _ROW(f"< {below:,}" if below < math.inf else "more", *size) for below, *size in SIZES
)
HELP = f"""\
The first 80 % of the text are to train on, the next 10 % to choose by, and the last 10 % are read once, at the end. (So
shuffle the lines of a sorted list before.) The second part, or its first {CHOOSING:,} symbols, chooses the n-gram's
order, the moment at which the network stops, and how much of each the mixture takes. The network is a GRU that learns
from {BATCH} streams of {SEQ_LEN} symbols at a time. Its sizes follow from the number of symbols to train on:

{_SIZES}
With --words, one matrix is its input and its output, and words that the first part has once, or that are not among its
{WORDS:,} most frequent, are all <unk>.

The minutes hold everything. A few updates are timed, and the learning rate falls over as many as fit, or as make up the
passes. That plan is kept: a run that was stopped or killed goes on with it when the same command is given again. Other
minutes would be another plan, and are refused: give another folder.

examples:
  python -m unrolled train my.txt
  python -m unrolled train one.txt two.txt --words --minutes 30
  cat my.txt | python -m unrolled train - --folder runs/mine
  torchrun --nproc-per-node 2 -m unrolled train my.txt        two processes share each update
  UNROLLED_DEVICE=cuda python -m unrolled train my.txt        on a GPU
  python -m unrolled sample runs/my --prompt "The " --temperature 0.8
  python -m unrolled score runs/my --test another.txt"""


def train_own(arguments: argparse.Namespace) -> None:
    """Do what ``train`` asks."""
    begun = time.perf_counter()
    if not 0 < arguments.minutes < math.inf:
        raise ValueError(f"minutes is {arguments.minutes}; it must be above 0, such as 10")
    with distributed.together(settings.device()):
        text = distributed.first(partial(read, arguments.files))
        own = Parts(text, arguments.words)
        asked = {"text": digest(text), "words": arguments.words, "minutes": arguments.minutes}
        name = "stdin" if arguments.files[0] == "-" else Path(arguments.files[0]).stem
        folder = Path(arguments.folder or f"runs/{name}{'-words' * arguments.words}")
        lock = FileLock(folder / ".lock", timeout=0)
        try:
            run = distributed.first(partial(_entered, folder, lock, asked))
            if "updates" not in run:
                run |= _planned(own, run["minutes"], begun)
                distributed.first(lambda: _write(folder / "run.json", json.dumps(run)))
            distributed.first(lambda: (folder / "text.txt").exists() or _write(folder / "text.txt", text))
            if "table" not in run:
                run = _trained(own, run, folder)
        finally:
            lock.release()
        if distributed.rank() == 0:
            _print_table(run["table"], own.unit)
            print(f"\n{run['sample']}\n\nkept in {folder}")


def _entered(folder: Path, lock: FileLock, asked: dict) -> dict:
    """Lock a folder; return the run that it keeps, or the one that is asked for where it keeps none."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        lock.acquire()
    except Timeout as error:
        raise ValueError(f"another process trains in {folder}; wait for its end, or give another --folder") from error
    file = folder / "run.json"
    if not file.exists():
        if strange := sorted({path.name for path in folder.iterdir()} - {".lock"}):
            raise ValueError(f"{folder} holds something else, such as {strange[0]}; give another --folder")
        return asked
    run = json.loads(file.read_text(encoding="utf8"))
    if unlike := [f"{key} is {run[key]} there and {value} here" for key, value in asked.items() if run[key] != value]:
        raise ValueError(
            f"{folder} keeps another run ({', '.join(unlike)}); give its command again, or another --folder"
        )
    return run


def _write(path: Path, content: str) -> None:
    with replace_file(path) as file:
        file.write(content.encode())


def _ngrams(own: Parts, order: int) -> Callable[[int], ModifiedKneserNey]:
    """Return a function that maps an order, this one or a lower one, to the n-gram of the first part."""
    return partial(ModifiedKneserNey, Counts(own.training, len(own.vocabulary), order))


def _nats(model: NeuralModel | NGram, tokens: torch.Tensor, before: torch.Tensor) -> np.ndarray:
    """Return what each symbol costs after those before, in streams of 1,000 symbols or more."""
    start = int(before[-1]) if len(before) else None
    return token_nats(model, tokens, start=start, streams=max(1, min(256, len(tokens) // 1000)))


def _planned(own: Parts, minutes: float, begun: float) -> dict:
    """Return the n-gram's order and price, and how many updates of the network fit into the minutes since `begun`."""

    def count() -> dict:
        started, best, most = time.perf_counter(), 4, 4
        while best == most < LONGEST:  # until the best order lies inside
            most *= 2
            ngram = _ngrams(own, most)
            nats = {
                order: float(_nats(ngram(order), own.choosing, own.training).mean()) for order in range(2, most + 1)
            }
            best = min(nats, key=nats.get)
        return {"order": best, "to_beat": nats[best], "counting": time.perf_counter() - started}

    counted, network, ends = distributed.first(count), own.network(), []
    train(network, own.training, own.recipe(TIMED), watch=lambda _: ends.append(time.perf_counter()), progress=False)
    started = time.perf_counter()
    _nats(network, own.choosing, own.training)
    now = time.perf_counter()
    readings = SCORES + 1 + len(own.test) / len(own.choosing)
    left = 60 * minutes - (now - begun) - readings * (now - started)
    updates = distributed.first(lambda: max(TIMED, int(left / median(np.diff(ends[1:])))))
    return counted | {"updates": own.recipe(updates).updates}


def _trained(own: Parts, run: dict, folder: Path) -> dict:
    """Train the network by a plan, from its checkpoint where there is one; read the test, and return the whole run."""
    network, recipe, checkpoint = own.network(), own.recipe(run["updates"], PATIENCE), folder / "model.pt"
    if distributed.rank() == 0:
        passes = recipe.updates * BATCH * SEQ_LEN / len(own.training)
        parts = f"{len(own.training):,} to train on, {len(own.choosing):,} to choose by, {len(own.test):,} to test"
        print(f"{own.unit}s: {parts}; {len(own.vocabulary):,} different ones")
        print(f"{run['order']}-gram: {run['to_beat']:.4f} nats per {own.unit} where one chooses, to be beaten")
        print(f"network: {own.size.units} units, {recipe.updates:,} updates, {passes:.2g} passes", flush=True)
    how = {"validation": own.choosing, "validate_every": max(1, recipe.updates // SCORES), "checkpoint": checkpoint}
    save = partial(save_model, folder / "model.model", network, own.vocabulary)
    try:
        train(network, own.training, recipe, label=f"to beat: {run['to_beat']:.3f}", **how)
    except (KeyboardInterrupt, SystemExit):
        distributed.first(save)
        raise

    def finish() -> dict:
        save()
        table = _compared(own, run["order"], network, own.test, own.before)
        seconds = [run["counting"], training_seconds(checkpoint, recipe)]
        for row, spent in zip(table, [*seconds, sum(seconds)], strict=True):
            row["seconds"] = spent
        whole = run | {"table": table, "sample": _sample(network, own)}
        _write(folder / "run.json", json.dumps(whole))
        return whole

    return distributed.first(finish)


def _sample(network: NeuralModel, own: Parts) -> str:
    words, start = own.unit == "word", "\n" if "\n" in own.vocabulary else own.vocabulary.symbols[-1]
    prompt, length = ([start], 80) if words else (start, 400)
    written = decoding.sample(network, own.vocabulary, prompt=prompt, length=length, temperature=0.8)
    return (" ".join(written) if words else written).strip("\n")


def _compared(own: Parts, order: int, network: NeuralModel, tokens: torch.Tensor, before: torch.Tensor) -> list[dict]:
    """Return what a text costs n-gram, network and mixture; what it takes of each is chosen by the second part."""
    ngram = _ngrams(own, order)(order)
    counted, alone = (_nats(model, own.choosing, own.training) for model in (ngram, network))
    share = min(SHARES, key=lambda share: mixed(alone, counted, share).mean())
    counted, alone = (_nats(model, tokens, before) for model in (ngram, network))
    sizes = [sum(map(len, ngram.keys)), sum(weight.numel() for weight in network.parameters() if weight.requires_grad)]
    rows = [
        (f"{order}-gram", counted, sizes[0]),
        ("network", alone, sizes[1]),
        (f"{1 - share:.0%} network, {share:.0%} {order}-gram", mixed(alone, counted, share), sum(sizes)),
    ]
    return [
        {"name": name, "nats": float(nats.sum()), "symbols": len(nats), "weights": size} for name, nats, size in rows
    ]


def _print_table(table: list[dict], unit: str) -> None:
    """Print what a symbol costs each model, and whether the network beats the n-gram."""
    line = "{:26}{:>8}{:>8}{:>12}{:>14}{:>9}".format
    print(f"\nover {table[0]['symbols']:,} {unit}s, for each:")
    print(line("", "nats", "bits", "perplexity", "weights", "seconds"))
    scores = [Score(row["nats"], row["symbols"]) for row in table]
    for row, score in zip(table, scores, strict=True):
        paid = f"{score.nats_per_symbol:.4f}", f"{score.bits_per_symbol:.4f}", f"{score.perplexity:,.3f}"
        print(line(row["name"], *paid, f"{row['weights']:,}", f"{row['seconds']:,.0f}" if "seconds" in row else ""))
    ahead = scores[0].nats_per_symbol - scores[1].nats_per_symbol
    verdict, less = ("beats", "less") if ahead > 0 else ("does not beat", "more")
    print(f"The network {verdict} the {table[0]['name']}: it pays {abs(ahead):.4f} nats {less} per {unit}.")


def score_own(folder: Path, test: str | None) -> None:
    """Print what the models in a folder of ``train`` pay for another text, or what they paid for their own test."""
    try:
        run = json.loads((folder / "run.json").read_text(encoding="utf8"))
    except OSError as error:
        raise ValueError(
            f"{folder} keeps nothing that `train` left ({error.strerror}); give a folder of its"
        ) from error
    own = Parts((folder / "text.txt").read_text(encoding="utf8"), run["words"])
    if test is None and "table" in run:
        return _print_table(run["table"], own.unit)
    network, vocabulary = load_model(folder / "model.model")
    if test is not None:
        tokens, before = vocabulary.encode(tokenise(read([test])) if run["words"] else read([test])), own.test[:0]
    else:
        print("It is not trained to the end, so its test is not read; what follows is the part that chooses.")
        tokens, before = own.choosing, own.training
    _print_table(_compared(own, run["order"], network, tokens, before), own.unit)


def add(commands: argparse._SubParsersAction) -> None:
    """Add ``train`` to the commands of a parser."""
    own = commands.add_parser(
        "train",
        help="train a model on a text of your own",
        description="Count a text of your own, train a network on it, print what both of them and their mixture pay\n"
        "for the last tenth, and let the network write.",
        epilog=HELP,
    )
    own.add_argument(
        "files", nargs="+", metavar="FILE", help="a text in UTF-8; several are joined; - is standard input"
    )
    own.add_argument("--words", action="store_true", help="its symbols are words and marks, not characters")
    own.add_argument("--minutes", type=float, default=10.0, help="how long all of it may take (default: 10)")
    own.add_argument("--folder", help="where it is kept (default: the first file's name, in runs/)")
    own.set_defaults(do=train_own, resumable="give a shorter text")
