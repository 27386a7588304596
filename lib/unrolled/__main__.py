"""The command line: ``python -m unrolled list | run NAME | show NAME | corpora [NAME ...]``."""

from __future__ import annotations

import argparse
import os
import sys

import numpy as np

from unrolled import corpora, experiments, records, settings


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


def _corpora(arguments: argparse.Namespace) -> None:
    lines = [corpora.describe(name) for name in arguments.names]  # an unknown name is told before anything is fetched
    for name, line in zip(arguments.names, lines, strict=True):
        corpus = corpora.load(name)
        print(f"{line}\n{'':12}{'characters':>12}{'words':>12}")
        for part in ("train", "validation", "test"):
            if text := getattr(corpus, part):
                print(f"  {part:10}{len(text):12,}{len(text.split()):12,}")
        print("  read and verified:")
        for file in corpus.files:
            print(f"  {file.path}: {file.check} {file.digest[:12]}…{file.note and f', {file.note}'}")
    if not arguments.names:
        columns = "{:18}  {:>7}  {:24}  {:26}  {}".format
        print(columns("name", "size", "licence", "training, validation, test", "here"))
        for name, source in corpora.SOURCES.items():
            print(columns(name, f"{source.bytes / 1e6:.1f} MB", source.licence, source.rule, corpora.state(name)))
        print(f"They are read from {corpora.folder()}; `python -m unrolled corpora NAME` fetches and verifies one.")


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    main = argparse.ArgumentParser(
        prog="python -m unrolled", description="The experiments behind the book's records, and the real corpora."
    )
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

    real = commands.add_parser(
        "corpora",
        help="list the real corpora, or fetch some",
        description="List the real corpora: size, licence, split, and whether they are here. With names, fetch those, "
        "verify them and print the sizes of their parts.",
    )
    real.add_argument("names", nargs="*", metavar="NAME", help="as `corpora` alone lists it")
    real.set_defaults(do=_corpora)
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
        print("\nunrolled: stopped; the same command goes on from what is kept", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
