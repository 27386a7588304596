"""The commands of the experiments: list, run, show, records."""

from __future__ import annotations

import argparse
import os

import numpy as np

from unrolled import experiments, settings
from unrolled.commands.parsing import add_place, set_profile
from unrolled.training import distributed

_RUN = """\
examples:
  python -m unrolled run rnn-windows --seeds 1
  python -m unrolled run gates-over-budget --contender "open 500" --contender "shut 500" --record
  python -m unrolled run rnn-windows --profile full --device cuda
  torchrun --nproc-per-node 2 -m unrolled run rnn-windows      two processes, or GPUs, share each batch

Everything is kept in the folder on the way. After Ctrl-C, SIGTERM or a power cut the same command goes on where it was,
and the result is the same to the last bit. --resume refuses to do anything else than that; --fresh begins again."""

_RECORDS = """\
examples:
  python -m unrolled records                  all records
  python -m unrolled records rnn-windows      this one

Parts that were measured with another configuration count as lacking. Two parts are measured at a time, with one thread
each, and each is kept as soon as it is there. After Ctrl-C the same command goes on where it was."""

LONGEST = 12  # numbers in a row that is printed


def _list(_: argparse.Namespace) -> None:
    width = max(map(len, experiments.EXPERIMENTS))
    for name, experiment in experiments.EXPERIMENTS.items():
        print(f"{name:{width}}  {experiment.title}")


def _run(arguments: argparse.Namespace) -> None:
    set_profile(arguments)
    if arguments.device:
        os.environ["UNROLLED_DEVICE"] = arguments.device
    if arguments.seeds is not None and arguments.seeds < 1:
        raise ValueError(f"seeds is {arguments.seeds}; it must be 1 or more")
    seeds = arguments.seed if arguments.seeds is None else range(arguments.seeds)
    with distributed.together(settings.device()):
        record = experiments.run(
            arguments.name,
            seeds,
            arguments.folder,
            contenders=arguments.contender,
            resume=arguments.resume,
            fresh=arguments.fresh,
            record=arguments.record,
        )
        if distributed.rank() == 0:
            print_record(record)


def _show(arguments: argparse.Namespace) -> None:
    experiment = experiments.find(arguments.name)
    print(f"{experiment.title}\n")
    width = max(map(len, experiment.metrics))
    for name, metric in experiment.metrics.items():
        unit = f" [{metric.unit}]" if metric.unit else ""
        axes = f", by {' and '.join(metric.axes)}" if metric.axes else ""
        print(f"{name:{width}}  {metric.about}{axes}{unit}")
    print()
    if there := experiments.measured(experiment.name):
        print_record(there)
    experiments.recorded(experiment.name)  # says what is lacking


def print_record(record: experiments.Record) -> None:
    """Print a record: each contender's numbers and short rows of them, averaged over the seeds.

    A single number comes with its standard deviation over the seeds. The last lines say where all of them came from.
    """
    for label, contender in record.items():
        print(label)
        for number, setting in enumerate(contender.config.get("settings", [])):  # the trials of a search
            found = [f"{values[0, number]:>8.4g}" for values in contender.values() if values.ndim == 2]
            print(f"{number:>24} ", *found, "", ", ".join(f"{name} {value}" for name, value in setting.items()))
        for metric, values in contender.items():
            if not np.issubdtype(values.dtype, np.number) or values[0].size > LONGEST:
                continue
            spread = f" ± {np.std(values, ddof=1):.4f}" if values.shape[0] == values.size > 1 else ""
            print(f"{metric:>24} ", *(f"{mean:.4f}" for mean in values.mean(axis=0).flat), end=f"{spread}\n")
    print(record.details())


def _records(arguments: argparse.Namespace) -> None:
    names = arguments.names or list(experiments.EXPERIMENTS)
    lacking = [part for name in names for part in experiments.wanting(name)]
    for part in lacking:
        last = "never timed" if part.seconds is None else f"took {part.seconds / 60:.1f} min the last time"
        print(f"{part.name}  {part.label}  seed {part.seed}  {last}")
    minutes = sum(part.seconds or 0 for part in lacking) / 60
    print(f"{len(lacking)} parts are lacking; those that were timed took {minutes:.0f} min in all", flush=True)
    if arguments.list:
        return
    failed = 0
    for parts, measured in experiments.complete(lacking, arguments.folder):
        labels = ", ".join(part.label for part in parts)
        print(f"{parts[0].name}  {labels}  seed {parts[0].seed}  {'measured' if measured else 'FAILED'}", flush=True)
        failed += not measured
    if failed:
        raise RuntimeError(f"{failed} could not be measured; the lines above say which, and run NAME says why")


def add(commands: argparse._SubParsersAction) -> None:
    """Add these commands to those of a parser."""
    commands.add_parser("list", help="name the experiments").set_defaults(do=_list)

    run = commands.add_parser(
        "run",
        help="run one and print what it measured",
        description="Run an experiment and print what it measured: the mean over the seeds, ± the spread.",
        epilog=_RUN,
    )
    run.add_argument("name", metavar="NAME", help="as `list` prints it")
    add_place(run)
    run.add_argument("--contender", action="append", metavar="LABEL", help="measure this one only; may be repeated")
    seeds = run.add_mutually_exclusive_group()
    seeds.add_argument("--seeds", type=int, metavar="N", help="measure the seeds 0 to N - 1 (default: a record's)")
    seeds.add_argument("--seed", type=int, action="append", metavar="S", help="measure this one; may be repeated")
    run.add_argument(
        "--device", choices=settings.devices(), help="default: cpu if quick, the fastest of this machine if full"
    )
    start = run.add_mutually_exclusive_group()
    start.add_argument("--resume", action="store_true", help="go on where it stopped, or fail: never begin")
    start.add_argument("--fresh", action="store_true", help="begin again; what is there moves to FOLDER/aside")
    run.add_argument("--record", action="store_true", help="put each part into the book's record")
    run.set_defaults(do=_run)

    show = commands.add_parser("show", help="print the book's record of one")
    show.add_argument("name", metavar="NAME", help="as `list` prints it")
    show.set_defaults(do=_show)

    lacking = commands.add_parser(
        "records",
        help="measure what the book's records lack",
        description="Say what the book's records lack and what it took the last time, then measure it.",
        epilog=_RECORDS,
    )
    lacking.add_argument("names", nargs="*", metavar="NAME", help="as `list` prints it (default: all)")
    lacking.add_argument("--list", action="store_true", help="only say what is lacking")
    lacking.add_argument("--folder", default="runs", help="where runs are kept (default: %(default)s)")
    lacking.set_defaults(do=_records)
