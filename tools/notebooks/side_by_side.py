"""Run commands about notebooks side by side: two at a time where there are two cores."""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple


class Ended(NamedTuple):
    """A command that has ended.

    Attributes:
        path: the notebook that it is about.
        status: its exit status; negative where a signal ended it.
        output: what it wrote, to both streams.
        seconds: how long it took.
    """

    path: Path
    status: int
    output: str
    seconds: float


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def side_by_side(commands: Mapping[Path, list]) -> Iterator[Ended]:
    """Run commands, at most two at a time, begun in their order, and yield each when it has ended.

    Ctrl-C reaches those that run, because a terminal sends it to all; none is begun after it.

    Args:
        commands: the notebook that each is about, and its words.

    Raises:
        SystemExit: Ctrl-C; all that ran has ended.
    """

    def run(path: Path) -> Ended:
        started = time.monotonic()
        done = subprocess.run(
            [str(word) for word in commands[path]],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
        return Ended(path, done.returncode, done.stdout.strip(), time.monotonic() - started)

    pool = ThreadPoolExecutor(min(2, cores()))
    try:
        for done in as_completed([pool.submit(run, path) for path in commands]):
            yield done.result()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    finally:
        pool.shutdown(cancel_futures=True)
