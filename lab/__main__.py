"""The laboratory's command line: ``python -m lab list``, ``show``, ``run`` and ``records``."""

import argparse
import os
import sys
from pathlib import Path

import numpy as np

import lab
from lab.experiment import missing, run
from unrolled import records, settings
from unrolled.records import Record, RecordError


def described(record: Record) -> str:
    """Return what a record holds: the mean over the seeds, ± their spread, of each metric that is a number."""
    lines = [record.title]
    for label, result in record.items():
        facts = []
        for name in result:
            values = result[name]
            if values.ndim == 1 and np.issubdtype(values.dtype, np.number):
                spread = f" ± {values.std(ddof=1):.2g}" if len(values) > 1 else ""
                facts.append(f"{name} {values.mean():.4g}{spread}")
        lines.append(f"  {label}: {', '.join(facts)}")
    return "\n".join([*lines, str(record.provenance())])


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    main = argparse.ArgumentParser(prog="python -m lab", description="The experiments behind the book's records.")
    commands = main.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="name the experiments, and how many runs the record of each lacks")
    show = commands.add_parser("show", help="print the book's record of one")
    show.add_argument("name")
    one = commands.add_parser("run", help="run one; a run that was killed goes on where it was")
    one.add_argument("name", help="as `list` prints it")
    one.add_argument("--label", action="append", help="run this one only; may be repeated")
    one.add_argument("--seed", action="append", type=int, help="from this seed only; may be repeated")
    lacking = commands.add_parser("records", help="run what the book's records lack")
    lacking.add_argument("names", nargs="*", metavar="NAME", help="of these experiments (default: all)")
    for command in (one, lacking):
        command.add_argument("--folder", type=Path, default=Path("runs"), help="where to work (default: runs)")
        command.add_argument("--device", choices=["cpu", "cuda", "mps"], help="default: what UNROLLED_DEVICE says")
    one.add_argument("--record", action="store_true", help="write into the book's record, not into one in the folder")
    return main


def main(words: list[str] | None = None) -> int:
    """Do what the command line asks, and return the exit status; what went wrong is said in a line."""
    arguments = parser().parse_args(words)
    if getattr(arguments, "device", None):
        os.environ["UNROLLED_DEVICE"] = arguments.device
    try:
        if arguments.command == "list":
            for name, experiment in lab.experiments().items():
                lacks = len(list(missing(experiment, records.FOLDER)))
                print(f"{name:24} {experiment.title}{f' (lacks {lacks} runs)' if lacks else ''}")
        elif arguments.command == "show":
            print(described(records.load(arguments.name)))
        elif arguments.command == "run":
            into = records.FOLDER if arguments.record else arguments.folder
            experiment = lab.find(arguments.name)
            print(described(run(experiment, into, arguments.folder, arguments.label, arguments.seed, print)))
        else:
            wanted = [lab.find(name) for name in arguments.names] or list(lab.experiments().values())
            on_gpu = settings.device().type == "cuda"
            for experiment in wanted:
                if arguments.names or experiment.on_gpu == on_gpu:
                    run(experiment, records.FOLDER, arguments.folder, tell=print)
    except (ValueError, RuntimeError, RecordError, OSError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
