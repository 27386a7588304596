"""Where a number came from: the hardware, the versions, the commit and the day of every start of its measurement."""

from __future__ import annotations

import datetime
import html
import json
import platform
import subprocess
from pathlib import Path

import numpy as np
import torch

from unrolled import settings
from unrolled.whole_files import replace_file

HOME = "lib/unrolled/experiments/"  # where this file is in the project's own repository
STARTS = "starts.json"
FIELDS = ("hardware", "versions", "commit", "date")


class Provenance(str):
    """Where a record came from, in one line: plain where it is printed, small and with a link where it is displayed.

    The link leads from a chapter to the record's place on the book's page of all records.

    Args:
        name: the record's name.
        text: profile, seeds, time, hardware and days.

    Example:
        >>> print(Provenance("coin", "quick, 3 seeds, 1 s"))
        Record: coin (quick, 3 seeds, 1 s)
    """

    name: str
    text: str

    def __new__(cls, name: str, text: str):
        line = super().__new__(cls, f"Record: {name} ({text})")
        line.name, line.text = name, text
        return line

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        link = f'<a href="../pages/records.html#record-{self.name}">{self.name}</a>'
        return f'<p class="provenance">Record: {link} ({html.escape(self.text)})</p>'


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
    """Return the commit that this library was checked out from, with a ``+`` where its code has changed since.

    Returns:
        ``"unknown"`` outside the project's own checkout: in a package that was installed, also inside a repository of
        somebody else's.
    """
    here = Path(__file__)

    def git(*arguments: str) -> str:
        command = ["git", "-C", here.parent, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", here.name)
        if git("rev-parse", "--show-prefix") != HOME:
            return "unknown"
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "..", ":(exclude)measured")
        return git("rev-parse", "--short=12", "HEAD") + "+" * bool(changed)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def begin(folder: Path) -> None:
    """Add the circumstances in which a measurement begins, or goes on, to the list of its starts in its folder.

    Raises:
        RuntimeError: the list is damaged.
    """
    starts, now = _starts(folder), circumstances(settings.device())
    if now not in starts[-1:]:
        with replace_file(folder / STARTS) as file:
            file.write(json.dumps([*starts, now]).encode())


def history(folder: Path) -> dict[str, str]:
    """Return the circumstances of all starts of a measurement, "one then another" where they differ.

    Those of the trainings that it shares with others come first.

    Args:
        folder: that of the measurement, where `begin` was called.

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
