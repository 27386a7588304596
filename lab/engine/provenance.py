"""Where a number came from: the hardware, the versions, the commit and the day of every start of its measurement."""

import datetime
import json
import platform
import subprocess
from pathlib import Path

import numpy as np
import torch

from unrolled import settings
from unrolled.whole_files import replace_file

ROOT = Path(__file__).resolve().parent.parent.parent
STARTS = "starts.json"
FIELDS = ("hardware", "versions", "commit", "date")


def circumstances(device: torch.device) -> dict[str, str]:
    """Return what a result may depend on besides its configuration: hardware, versions, commit, and the date."""
    if device.type == "cuda":
        hardware = torch.cuda.get_device_name(device)
    else:
        hardware = f"{platform.machine()} CPU, {torch.get_num_threads()} thread{'s' * (torch.get_num_threads() > 1)}"
    return {
        "hardware": hardware,
        "versions": f"Python {platform.python_version()}, torch {torch.__version__}, numpy {np.__version__}",
        "commit": commit(),
        "date": datetime.date.today().isoformat(),
    }


def commit() -> str:
    """Return the commit of this checkout, with a ``+`` where library or laboratory have changed since.

    Returns:
        ``"unknown"`` where this is no checkout of the book, as in an archive inside a repository of somebody else's.
    """

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", str(Path(__file__)))
        if git("rev-parse", "--show-prefix"):
            return "unknown"
        written = (":(exclude)lib/unrolled/records/*.json", ":(exclude)lab/chosen.toml")
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "lib", "lab", *written)
        return git("rev-parse", "--short=12", "HEAD") + "+" * bool(changed)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def note_start(folder: Path) -> None:
    """Add the circumstances in which a measurement begins, or goes on, to the list of its starts in its folder.

    The folder is made where there is none.

    Raises:
        RuntimeError: the list is damaged.
    """
    folder.mkdir(parents=True, exist_ok=True)
    starts, now = _starts(folder), circumstances(settings.device())
    if now not in starts[-1:]:
        with replace_file(folder / STARTS) as file:
            file.write(json.dumps([*starts, now]).encode())


def history(folder: Path) -> dict[str, str]:
    """Return the circumstances of all starts of a measurement, "this then that" where they differ.

    Those of the trainings that it shares with others come first.

    Args:
        folder: that of the measurement, where `note_start` was called.

    Raises:
        RuntimeError: a list of starts is damaged.
    """
    shared = [folder.parent.parent / marker.name for marker in sorted(folder.glob("shared-*"))]
    starts = [start for place in (*shared, folder) for start in _starts(place)]
    return {what: " then ".join(dict.fromkeys(start[what] for start in starts)) for what in FIELDS}


def _starts(folder: Path) -> list[dict[str, str]]:
    """Return the circumstances of each start in a folder, in order."""
    file = folder / STARTS
    try:
        starts = json.loads(file.read_text())[:]  # a list, and nothing else that can be gone through
        return [{what: str(start[what]) for what in FIELDS} for start in starts]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError, LookupError) as error:
        raise RuntimeError(f"{file} is damaged ({error}); begin again with --fresh") from error
