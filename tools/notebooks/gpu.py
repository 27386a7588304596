"""The book on a GPU: every solution there, every chapter at full size; what ran is written down in data/gpu.json."""

import json
import os
import tempfile
import time
from pathlib import Path
from unittest import mock

import torch

from lab.engine.provenance import circumstances
from notebooks.dependencies import key
from notebooks.running import ROOT, ChapterError, execute

WRITTEN = ROOT / "data" / "gpu.json"
SWITCHES = {
    "solutions": {"UNROLLED_DEVICE": "cuda"},
    "chapters": {"UNROLLED_PROFILE": "full", "UNROLLED_DEVICE": "cuda"},
}
DAY = 24 * 60 * 60  # seconds that a cell may take: published sizes take hours
NONE = (
    "there is no GPU here that PyTorch can use, so nothing was run. `make gpu` needs an NVIDIA GPU, and in .venv a "
    "PyTorch that is built for CUDA: .venv/bin/python -c 'import torch; print(torch.version.cuda)' says whether it is"
)


def notebooks(root: Path) -> dict[str, Path]:
    """Return the notebooks below a folder that are to run, by their names, as ``"solutions/02-vanilla-rnn"``."""
    paths = [path for folder in SWITCHES for path in sorted(root.glob(f"{folder}/*.ipynb"))]
    return {f"{path.parent.name}/{path.stem}": path for path in paths}


def digest(path: Path) -> str:
    """Return a hash of everything that decides what a notebook does on a GPU."""
    with mock.patch.dict(os.environ, SWITCHES[path.parent.name]):
        return key(path)


def read(file: Path) -> dict[str, dict]:
    """Return what is written down, by the notebooks' names; nothing where nothing has run."""
    return json.loads(file.read_text(encoding="utf8")) if file.exists() else {}


def outcome(path: Path) -> str:
    """Run a notebook, and return "runs", or what failed."""
    with tempfile.TemporaryDirectory() as figures:
        try:
            execute(path, Path(figures), DAY, **SWITCHES[path.parent.name])
        except ChapterError as error:
            return str(error).strip().splitlines()[-1].strip()
    return "runs"


def run_all(root: Path, file: Path, device: torch.device) -> list[str]:
    """Run what has not run as it is now, write each down as soon as it has ended, and return the names that failed."""
    written, there = read(file), notebooks(root)
    for name, path in there.items():
        now = digest(path)
        if (written.get(name, {}).get("digest"), written.get(name, {}).get("outcome")) == (now, "runs"):
            print(f"{name}: has run", flush=True)
            continue
        started = time.monotonic()
        ended = {"outcome": outcome(path), "seconds": round(time.monotonic() - started), "digest": now}
        written[name] = ended | circumstances(device)
        kept = {name: written[name] for name in there if name in written}
        file.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf8")
        print(f"{name}: {ended['outcome']} ({ended['seconds']} s)", flush=True)
    return [name for name in there if written[name]["outcome"] != "runs"]


def run_here() -> bool:
    """Run the notebooks on this machine's GPU, and return whether any failed.

    Raises:
        SystemExit: there is no GPU.
    """
    if not torch.cuda.is_available():
        raise SystemExit(NONE)
    failed = run_all(ROOT, WRITTEN, torch.device("cuda"))
    print("gpu: " + (f"FAILED: {', '.join(failed)}" if failed else "all run"), flush=True)
    return bool(failed)
