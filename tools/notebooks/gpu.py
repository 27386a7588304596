"""The book on a GPU, as a queue: experiments that need one, every chapter at full size, every solution.

The most valuable part comes first. What came of a part is written down in data/gpu.json as soon as it has ended. With
so many minutes, a part begins only if it should end in time; what was measured until then is kept, and goes on next
time.
"""

import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from unittest import mock

import torch

from lab import find
from lab.engine import store
from lab.engine.provenance import circumstances
from notebooks.dependencies import key
from notebooks.running import ROOT, ChapterError, execute
from unrolled import records

WRITTEN = ROOT / "data" / "gpu.json"
RUNS = ROOT / "runs"  # where experiments keep what they have so far
SWITCHES = {
    "chapters": {"UNROLLED_PROFILE": "full", "UNROLLED_DEVICE": "cuda"},
    "solutions": {"UNROLLED_DEVICE": "cuda"},
}
EXPERIMENTS = {  # seconds, a few times as long as an H200 took, or should take
    "gpu-writing": 60,
    "gpu-layers": 200,
    "wikitext-2-ladder": 1200,
    "ladder-further-tuning": 600,
    "ladder-further": 6000,
}
FIRST = (  # how the names of parts begin, in the order of their turns; the solutions come last
    "lab/gpu-",
    "chapters/12",
    "chapters/13",
    "lab/",
    *(f"chapters/{number}" for number in ("01", "02", "03", "07", "09")),  # those that lack a full run
    "chapters/",
    "solutions/",
)
NOTEBOOK = 150  # seconds that a notebook is expected to take where it has not run yet
DAY = 24 * 60 * 60  # seconds, where nobody limits them
GRACE = 30  # seconds that an experiment has to put away what it has
STOPPED = "stopped"
COMPLETE = "[]"  # the digest of an experiment whose record lacks nothing
NONE = (
    "there is no GPU here that PyTorch can use, so nothing was run. `make gpu` needs an NVIDIA GPU, and in .venv a "
    "PyTorch that is built for CUDA: .venv/bin/python -c 'import torch; print(torch.version.cuda)' says whether it is"
)


def queue(root: Path) -> list[str]:
    """Return the names of all parts, as ``"lab/gpu-layers"`` or ``"chapters/12-cost"``, in the order of their turns."""

    def turn(name: str) -> int:
        return next(place for place, beginning in enumerate(FIRST) if name.startswith(beginning))

    notebooks = sorted([*root.glob("chapters/*.ipynb"), *root.glob("solutions/*.ipynb")])
    names = [f"lab/{name}" for name in EXPERIMENTS] + [f"{path.parent.name}/{path.stem}" for path in notebooks]
    return sorted(names, key=turn)


def digest(name: str, root: Path = ROOT) -> str:
    """Return a hash of everything that decides what a part does on a GPU; of an experiment, what its record lacks."""
    kind, short = name.split("/")
    if kind == "lab":
        return json.dumps(store.missing(find(short)))
    with mock.patch.dict(os.environ, SWITCHES[kind]):
        return key(root / f"{name}.ipynb")


def read(file: Path) -> dict[str, dict]:
    """Return what is written down, by the parts' names; nothing where nothing has run."""
    return json.loads(file.read_text(encoding="utf8")) if file.exists() else {}


def outcome(name: str, seconds: float, root: Path = ROOT) -> str:
    """Run a part for so long at most, and return "runs", "stopped", or what failed."""
    kind, short = name.split("/")
    return _measured(short, seconds) if kind == "lab" else _executed(root / f"{name}.ipynb", seconds)


def _measured(name: str, seconds: float) -> str:
    """Measure what the record of an experiment lacks, and end it in order where the time is over."""
    command = [sys.executable, "-m", "lab", "run", name, "--device", "cuda", "--record", "--folder", str(RUNS)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    try:
        _, errors = process.communicate(timeout=max(seconds - GRACE, 1))
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)
        process.communicate()
        return STOPPED
    return "runs" if not process.returncode else errors.strip().splitlines()[-1]


def _executed(path: Path, seconds: float) -> str:
    """Execute a notebook, of which nothing is kept where it does not end in time."""
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as figures:
        try:
            execute(path, Path(figures), seconds, together=True, **SWITCHES[path.parent.name])
        except ChapterError as error:
            return STOPPED if time.monotonic() >= end else str(error).strip().splitlines()[-1].strip()
    return "runs"


def run_all(root: Path, file: Path, device: torch.device, seconds: float = DAY) -> list[str]:
    """Run what has not run as it is now, each written down as soon as it has ended.

    Args:
        root: the project's folder.
        file: where it is written down.
        device: whose name is written down.
        seconds: how long it may take; what should not end in time waits.

    Returns:
        The names that have not run as they are now: those that failed, and those that wait.
    """
    written, names, end = read(file), queue(root), time.monotonic() + seconds
    left_over = []
    for name in names:
        before, now = written.get(name, {}), digest(name, root)
        if (before.get("digest"), before.get("outcome")) == (now, "runs") or now == COMPLETE:
            print(f"{name}: has run", flush=True)
            continue
        started = time.monotonic()
        expected = before.get("seconds") or EXPERIMENTS.get(name.removeprefix("lab/"), NOTEBOOK)
        if expected > end - started and not name.startswith("lab/"):
            print(f"{name}: waits ({expected} s, {end - started:.0f} s are left)", flush=True)
            left_over.append(name)
            continue
        came = outcome(name, end - started, root)
        took = round(time.monotonic() - started)
        print(f"{name}: {came} ({took} s)", flush=True)
        left_over += [name] if came != "runs" else []
        if came != STOPPED:
            written[name] = {"outcome": came, "seconds": took, "digest": digest(name, root)} | circumstances(device)
            kept = {name: written[name] for name in names if name in written}
            file.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf8")
    return left_over


def pack(archive: Path) -> None:
    """Write into an archive what the queue has written, to be unpacked over another clone: it goes on from there."""
    measured = [records.FOLDER / f"{name}.json" for name in EXPERIMENTS]
    with tarfile.open(archive, "w:gz") as out:
        for path in (WRITTEN, *measured, *(RUNS / name for name in EXPERIMENTS)):
            if path.exists():
                out.add(path, path.relative_to(ROOT))


def run_here(minutes: float | None = None, archive: Path | None = None) -> bool:
    """Run the queue on this machine's GPU, and return whether anything is left over.

    Raises:
        SystemExit: there is no GPU.
    """
    if not torch.cuda.is_available():
        raise SystemExit(NONE)
    try:
        left_over = run_all(ROOT, WRITTEN, torch.device("cuda"), DAY if minutes is None else 60 * minutes)
    finally:
        if archive:
            pack(archive)
    print("gpu: " + (f"left over: {', '.join(left_over)}" if left_over else "all run"), flush=True)
    return bool(left_over)
