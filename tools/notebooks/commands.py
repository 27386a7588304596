"""The commands for the book's notebooks.

What only one of them needs is imported where it is used: `execute` runs among Colab's packages, too.
"""

import argparse
import shutil
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import nbformat

from notebooks.copies import copy_of, figures_of, keep, run
from notebooks.running import ROOT, TIMEOUT, WIDGET, ChapterError, chapters, execute
from notebooks.side_by_side import side_by_side

SEEDS, THREADS = (1, 2, 3, 4, 5), (1, 2)
# -rN: each failure once, also where CI is set and pytest would repeat the whole message in its summary
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--color=no", "-rN"]
NBVAL = ["--nbval", "--nbval-current-env", f"--nbval-cell-timeout={TIMEOUT}"]


def execute_one(notebook: str) -> None:
    """Execute a notebook in the environment of this Python: a chapter is kept, another is only tried.

    Raises:
        ChapterError: it failed.
    """
    path = Path(notebook).resolve()
    if path in chapters():
        keep(path)
    else:
        execute(path, None)


def store(only: str) -> None:
    """Re-run chapters in place: store their outputs, refresh figures/. Nothing else changes a chapter.

    The executed copies stay where `make book` looks for them, which then has nothing left to execute.

    Raises:
        ChapterError: chapters failed; nothing is stored.
    """
    paths, figures = chapters(only), ROOT / "figures"
    run(paths)
    figures.mkdir(exist_ok=True)
    drawn = [name for path in paths for name in store_one(path, figures)]
    if not only:
        for left_over in (path for path in figures.glob("*.svg") if path.name not in drawn):
            left_over.unlink()


def store_one(path: Path, figures: Path) -> list[str]:
    """Store one chapter as it was executed, put its figures into `figures` and return their files' names."""
    nbformat.write(settle(nbformat.read(copy_of(path), as_version=4)), path)
    drawn = sorted(figures_of(path).glob("*.svg"))
    for figure in drawn:
        shutil.copyfile(figure, figures / figure.name)
    return [figure.name for figure in drawn]


def settle(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Drop what changes from run to run or from machine to machine, and megabytes of widget images with it."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = nbformat.from_dict({"kernelspec": kernel, "language_info": {"name": "python"}})
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            if WIDGET in output.get("data", {}):
                output.data[WIDGET]["model_id"] = ""  # "no view here", until the cell is run again
    return notebook


def validate() -> bool:
    """Compare what the chapters print with what is stored: a pytest with nbval for each, two at a time.

    Print a line a chapter as it ends, then the whole report of each that failed; return whether any did.
    """
    commands = {path: [*PYTEST, *NBVAL, path] for path in chapters()}
    reports = []
    for number, chapter in enumerate(side_by_side(commands), start=1):
        summary = chapter.output.rpartition("\n")[2].strip("= ")
        outcome = summary if chapter.status in (0, 1) else f"exit status {chapter.status}"
        print(f"[{number}/{len(commands)}] {chapter.path.stem:<32} {outcome}", flush=True)
        if chapter.status:
            reports.append(f"{chapter.path.stem}, exit status {chapter.status}:\n{chapter.output}")
    print(*reports, sep="\n\n", end="\n" if reports else "")
    return bool(reports)


def claims(only: str) -> bool:
    """Try every chapter's claims under fresh seeds, and under one and two threads: an assert with a margin holds.

    Print a line a run, then what failed; return whether anything did.
    """
    failures = []
    print(f"{'chapter':<28} {'seed':>5} {'threads':>8}  verdict")
    for path, seed, threads in product(chapters(only), SEEDS, THREADS):
        started, verdict = time.monotonic(), "holds"
        switches = {"UNROLLED_SEED": str(seed), "UNROLLED_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        with tempfile.TemporaryDirectory() as figures:
            try:
                execute(path, Path(figures), **switches)
            except ChapterError as error:
                verdict = str(error).splitlines()[-1].strip()
                failures.append(f"seed {seed}, {threads} threads: {error}")
        print(f"{path.stem:<28} {seed:>5} {threads:>8}  {verdict} ({time.monotonic() - started:.0f} s)", flush=True)
    for failure in failures:
        print(f"\n{failure}")
    return bool(failures)


def gpu(minutes: float | None, archive: Path | None) -> bool:
    """Run the book on a GPU: its experiments, chapters at full size, solutions; all written down in data/gpu.json.

    What has run is not run again until something that it depends on changes, so a run that was stopped goes on where it
    was. The page of records shows what is written down.
    """
    from notebooks import gpu

    return gpu.run_here(minutes, archive)


COMMANDS = {"execute": execute_one, "store": store, "validate": validate, "claims": claims, "gpu": gpu}


def main() -> int:
    """Do what the command line asks for, and return 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="notebooks", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    parsers = {name: commands.add_parser(name, help=of.__doc__.splitlines()[0]) for name, of in COMMANDS.items()}
    parsers["execute"].add_argument("notebook", help="its path")
    for name in ("store", "claims"):
        parsers[name].add_argument("only", nargs="?", default="", help="how the chapter's name starts, such as 02")
    parsers["gpu"].add_argument("--minutes", type=float, help="stop in time (default: no limit)")
    parsers["gpu"].add_argument("--archive", type=Path, help="a file, .tar.gz, for a copy of all that was written")
    arguments = vars(parser.parse_args())
    try:
        return int(COMMANDS[arguments.pop("command")](**arguments) or 0)
    except ChapterError as error:
        raise SystemExit(str(error)) from None
