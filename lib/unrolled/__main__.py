"""The command line: ``python -m unrolled list | run NAME | show NAME``."""

from __future__ import annotations

import argparse
import os
import sys

import numpy as np

from unrolled import experiments, records, settings


def _list(_: argparse.Namespace) -> None:
    width = max(map(len, experiments.EXPERIMENTS))
    for name, experiment in experiments.EXPERIMENTS.items():
        print(f"{name:{width}}  {experiment.title}")


def _run(arguments: argparse.Namespace) -> None:
    os.environ["UNROLLED_PROFILE"] = arguments.profile
    record = experiments.run(arguments.name, arguments.seeds, arguments.folder)
    show(record)
    if arguments.record:
        print(f"kept in {records.save(record)}")


def _show(arguments: argparse.Namespace) -> None:
    show(experiments.recorded(experiments.find(arguments.name).name))


def show(record: records.Record) -> None:
    """Print a record: each number's mean and spread over the seeds, then where it came from."""
    for metric, value in record.metrics[0].items():
        if isinstance(value, (int, float)):
            values = record[metric]
            spread = f" ± {np.std(values, ddof=1):.4f}" if len(values) > 1 else ""
            print(f"{metric:>24}  {np.mean(values):.4f}{spread}")
    print(record.provenance())


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    main = argparse.ArgumentParser(prog="python -m unrolled", description="The experiments behind the book's records.")
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list", help="name the experiments").set_defaults(do=_list)

    run = commands.add_parser(
        "run",
        help="run one and print what it measured",
        description="Run an experiment. A run that was killed goes on where it stopped when started again.",
    )
    run.add_argument("name", help="as `list` prints it")
    run.add_argument("--profile", choices=settings.PROFILES, default=settings.profile(), help="default: %(default)s")
    run.add_argument("--seeds", type=int, default=3, help="how many seeds (default: %(default)s)")
    run.add_argument("--folder", default="runs", help="where to keep checkpoints (default: %(default)s)")
    run.add_argument("--record", action="store_true", help="keep the result as the book's record of this experiment")
    run.set_defaults(do=_run)

    show = commands.add_parser("show", help="print the book's record of one")
    show.add_argument("name", help="as `list` prints it")
    show.set_defaults(do=_show)
    return main


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks; return 0, or 1 after one line that says what went wrong, or 130 if stopped."""
    try:
        told = parser().parse_args(arguments)
        told.do(told)
    except (ValueError, OSError, RuntimeError) as error:
        print(f"unrolled: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nunrolled: stopped; the same command goes on from the last checkpoint", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
