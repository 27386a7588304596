"""The laboratory's command line: ``python -m lab list | show | run | records``."""

# ruff: noqa: E402 (Ctrl-C has to be provided for before PyTorch is imported, which takes seconds)

import os
import signal

BY_DEFAULT = signal.getsignal(signal.SIGINT)
if __name__ == "__main__" and BY_DEFAULT is signal.default_int_handler:  # else Ctrl-C is ignored, and stays so
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # nothing has begun that would have to be ended in order

import argparse
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import lab
from lab.engine import store
from lab.engine.experiment import Experiment, NotChosen
from lab.engine.run import models, run
from unrolled import records, settings
from unrolled.commands.line import Parser, execute
from unrolled.records import Record
from unrolled.training import distributed

_MAIN = """\
examples:
  python -m lab list                             which experiments there are
  python -m lab show rnn-windows                 what the book's record of one says
  python -m lab run rnn-windows                  measure it again, on this machine
  python -m lab records                          measure what the book's records lack

COMMAND --help tells more of each. The exit code is 0 when all went well, 1 when something failed, 2 when the command
asks for what cannot be, 130 after Ctrl-C and 143 after SIGTERM."""

_RUN = """\
examples:
  python -m lab run rnn-windows --seeds 1
  python -m lab run gates-over-budget --contender "open 500" --contender "shut 500" --record
  python -m lab run rnn-windows --device cuda
  torchrun --nproc-per-node 2 -m lab run rnn-windows      two processes, or GPUs, share each batch

Everything is kept in the folder on the way. After Ctrl-C, SIGTERM or a power cut the same command goes on where it was,
and the result is the same to the last bit. --resume refuses to do anything else than that; --fresh begins again."""

_RECORDS = """\
Parts that were measured with another configuration count as lacking. What is measured on a GPU is left to `make gpu`,
unless it is named. Timings are taken one at a time, all else two at
a time, with one thread each, and each is kept as soon as it is there. After Ctrl-C the same command goes on."""

LESS = "lower batch, seq_len or hidden_size in the configuration"
LONGEST = 12  # numbers in a row that is printed


def _list(_: argparse.Namespace) -> None:
    experiments = lab.experiments()
    width = max(map(len, experiments))
    for name, experiment in experiments.items():
        print(f"{name:{width}}  {experiment.title}")


def _show(arguments: argparse.Namespace) -> None:
    experiment = lab.find(arguments.name)
    print(f"{experiment.title}\n")
    width = max(map(len, experiment.metrics))
    for name, metric in experiment.metrics.items():
        unit = f" [{metric.unit}]" if metric.unit else ""
        axes = f", by {' and '.join(metric.axes)}" if metric.axes else ""
        print(f"{name:{width}}  {metric.about}{axes}{unit}")
    print()
    print_record(records.load(experiment.name, complete=False))
    if lacking := store.missing(experiment):
        parts = ", ".join(f"{label} (seed {seed})" for label, seed in lacking)
        raise RuntimeError(f"the record lacks {parts}; measure them with: make records NAME={experiment.name}")


def print_record(record: Record) -> None:
    """Print a record: each contender's numbers and short rows of them, averaged over the seeds.

    A single number comes with its standard deviation over the seeds. The last lines say where all of them came from.
    """
    for label, contender in record.items():
        print(label)
        for number, setting in enumerate(contender.config.get("grid", [])):  # the trials of a search
            trial = [f"{values[0, number]:>8.4g}" for values in contender.values() if values.ndim == 2]
            print(f"{number:>24} ", *trial, "", ", ".join(f"{name} {value}" for name, value in setting.items()))
        for metric, values in contender.items():
            if not np.issubdtype(values.dtype, np.number) or values[0].size > LONGEST:
                continue
            spread = f" ± {np.std(values, ddof=1):.4f}" if values.shape[0] == values.size > 1 else ""
            print(f"{metric:>24} ", *(f"{mean:.4f}" for mean in values.mean(axis=0).flat), end=f"{spread}\n")
    print(record.provenance(), record.circumstances("versions"), f"commit {record.circumstances('commit')}", sep="\n")


def _run(arguments: argparse.Namespace) -> None:
    if arguments.device:
        os.environ["UNROLLED_DEVICE"] = arguments.device
    if arguments.seeds is not None and arguments.seeds < 1:
        raise ValueError(f"seeds is {arguments.seeds}; it must be 1 or more")
    with distributed.together(settings.device()):
        record, folders = run(
            lab.find(arguments.name),
            arguments.seed if arguments.seeds is None else range(arguments.seeds),
            arguments.folder,
            contenders=arguments.contender,
            resume=arguments.resume,
            fresh=arguments.fresh,
            record=arguments.record,
        )
        if distributed.rank() == 0:
            print_record(record)
            for folder in models(folders):
                print(f"trained: {folder}")


def _records(arguments: argparse.Namespace) -> None:
    experiments = [lab.find(name) for name in arguments.names or lab.experiments()]
    experiments = [each for each in experiments if arguments.names or not each.on_gpu]  # `make gpu` measures those
    lacking = {each.name: store.missing(each) for each in experiments}
    for name, parts in lacking.items():
        for label, seed in parts:
            print(f"{name}  {label}  seed {seed}")
    print(f"{sum(map(len, lacking.values()))} parts are lacking", flush=True)
    if arguments.list:
        return
    failed = set()
    for together in (True, False):
        pool = [each for each in experiments if each.together == together]
        while pieces := [piece for each in pool for piece in _pieces(each) if piece not in failed]:
            with ThreadPoolExecutor(1 if together else 2) as workers:
                statuses = workers.map(lambda piece: _measure(piece, arguments.folder), pieces)
                for piece, status in zip(pieces, statuses, strict=True):
                    print(*piece, "FAILED" if status else "measured", flush=True)
                    failed |= {piece} if status else set()
    waiting = [f"{each.name} {label}" for each in experiments for label, _ in store.missing(each)]
    if waiting:
        raise RuntimeError(f"{len(waiting)} parts are still lacking: {', '.join(waiting)}; `run NAME` says why")


def _pieces(experiment: Experiment) -> list[tuple[str, ...]]:
    """Return what is to be measured of an experiment, each in one go: the words that follow ``python -m lab run``.

    What waits for a search is left out, until that search is recorded.
    """
    pieces = {}
    for label, seed in store.missing(experiment):
        try:
            experiment.config(label)
        except NotChosen:
            continue
        contender = () if experiment.together else ("--contender", label)
        pieces[experiment.name, "--seed", str(seed), *contender] = None
    return list(pieces)


def _measure(piece: tuple[str, ...], folder: str) -> int:
    """Measure one piece with one thread, and return the exit status."""
    command = [sys.executable, "-m", "lab", "run", *piece, "--folder", folder, "--record"]
    return subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL).returncode


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    main = Parser(prog="python -m lab", description="The experiments behind the book's records.", epilog=_MAIN)
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list", help="name the experiments").set_defaults(do=_list)

    show = commands.add_parser("show", help="print the book's record of one")
    show.add_argument("name", metavar="NAME", help="as `list` prints it")
    show.set_defaults(do=_show)

    one = commands.add_parser(
        "run",
        help="run one and print what it measured",
        description="Run an experiment and print what it measured: the mean over the seeds, ± the spread; and the\n"
        "folders of the models that it trained, for `python -m unrolled sample` and `answer`.",
        epilog=_RUN,
    )
    one.add_argument("name", metavar="NAME", help="as `list` prints it")
    one.add_argument("--folder", default="runs", help="where runs are kept (default: %(default)s)")
    one.add_argument("--contender", action="append", metavar="LABEL", help="measure this one only; may be repeated")
    seeds = one.add_mutually_exclusive_group()
    seeds.add_argument("--seeds", type=int, metavar="N", help="measure the seeds 0 to N - 1 (default: a record's)")
    seeds.add_argument("--seed", type=int, action="append", metavar="S", help="measure this one; may be repeated")
    one.add_argument("--device", choices=settings.devices(), help="default: cpu")
    start = one.add_mutually_exclusive_group()
    start.add_argument("--resume", action="store_true", help="go on where it stopped, or fail: never begin")
    start.add_argument("--fresh", action="store_true", help="begin again; what is there moves to FOLDER/aside")
    one.add_argument("--record", action="store_true", help="put each part into the book's record")
    one.set_defaults(do=_run, resumable=LESS)

    lacking = commands.add_parser(
        "records",
        help="measure what the book's records lack",
        description="Say what the book's records lack, then measure it.",
        epilog=_RECORDS,
    )
    lacking.add_argument("names", nargs="*", metavar="NAME", help="as `list` prints it (default: all)")
    lacking.add_argument("--list", action="store_true", help="only say what is lacking")
    lacking.add_argument("--folder", default="runs", help="where runs are kept (default: %(default)s)")
    lacking.set_defaults(do=_records, resumable=LESS)
    return main


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks, and return the exit code; what went wrong is said in a line."""
    return execute(parser(), arguments)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, BY_DEFAULT)
    sys.exit(main())
