"""Try every chapter's claims under fresh seeds, and under one and two threads: an assert with a margin holds."""

import argparse
import tempfile
import time
from itertools import product
from pathlib import Path

from execute import ChapterError, chapters, execute

SEEDS, THREADS = (1, 2, 3, 4, 5), (1, 2)


def verdict(path: Path, seed: int, threads: int) -> str:
    """Run a chapter once and return "holds", or what failed."""
    switches = {"UNROLLED_SEED": str(seed), "UNROLLED_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    with tempfile.TemporaryDirectory() as figures:
        try:
            execute(path, Path(figures), **switches)
        except ChapterError as error:
            return str(error)
    return "holds"


def main() -> int:
    """Print a line a run, and return 1 if any claim failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="?", default="", help="how the chapter's name starts, such as 02")
    only = parser.parse_args().only
    failures = []
    print(f"{'chapter':<28} {'seed':>5} {'threads':>8}  verdict")
    for path, seed, threads in product(chapters(only), SEEDS, THREADS):
        started = time.monotonic()
        outcome = verdict(path, seed, threads)
        failures += [] if outcome == "holds" else [f"seed {seed}, {threads} threads: {outcome}"]
        last = outcome.splitlines()[-1].strip()
        print(f"{path.stem:<28} {seed:>5} {threads:>8}  {last} ({time.monotonic() - started:.0f} s)", flush=True)
    for failure in failures:
        print(f"\n{failure}")
    return bool(failures)


if __name__ == "__main__":
    raise SystemExit(main())
