"""Run one notebook: the one way in which every tool of the book does it."""

import base64
import io
import math
import os
import re
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, CellTimeoutError, DeadKernelError
from PIL import Image

from notebooks.side_by_side import cores

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 600  # seconds that a cell may take, on a busy machine, too
WIDGET = "application/vnd.jupyter.widget-view+json"
# A list of fonts of the book's own: the user's may be of another Matplotlib, which then complains in a chapter.
os.environ.setdefault("MPLCONFIGDIR", str(ROOT / "_build" / "matplotlib"))


class ChapterError(RuntimeError):
    """A chapter did not run to its end; the message names the chapter, the cell and the cause."""


def chapters(only: str = "") -> list[Path]:
    """Return the chapters in order, or those whose name starts with `only`.

    Raises:
        SystemExit: no chapter's name starts with it.
    """
    paths = sorted(ROOT.glob(f"chapters/{only}*.ipynb"))
    if only and not paths:
        raise SystemExit(f"no chapter starts with {only!r}; there are: {', '.join(p.stem for p in chapters())}")
    return paths


def execute(
    path: Path, figures: Path | None, timeout: float = TIMEOUT, *, together: bool = False, **switches: str
) -> nbformat.NotebookNode:
    """Run a notebook in a fresh kernel and return it with its outputs and the state of its widgets.

    Args:
        path: the notebook; its folder is the kernel's working directory.
        figures: the folder for the figures that it saves; None as for a reader: none are saved.
        timeout: seconds that a cell may take; where it is for all cells `together`, that the notebook may.
        together: that it is.
        switches: environment variables for the kernel.

    Raises:
        ChapterError: a cell raised or took too long, or the kernel died.
    """
    notebook, at, end = nbformat.read(path, as_version=4), 0, time.monotonic() + timeout

    def before(cell, cell_index):
        nonlocal at
        at = cell_index

    client = NotebookClient(
        notebook,
        timeout=math.ceil(timeout),
        timeout_func=(lambda cell: max(math.ceil(end - time.monotonic()), 1)) if together else None,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        record_timing=False,
        coalesce_streams=True,  # how a text was sent, all at once or in parts, depends on how busy the machine is
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
        on_cell_execute=before,
    )
    settings = {"PYDEVD_DISABLE_FILE_VALIDATION": "1"}  # no debugger here, so no warning about it
    settings["UNROLLED_FIGURES"] = str(figures.resolve()) if figures else ""
    try:
        client.execute(env={**os.environ, **settings, **switches})
    except CellTimeoutError:
        raise ChapterError(_report(path, notebook, at, f"took longer than {timeout:.0f} s; {load()}")) from None
    except DeadKernelError:
        raise ChapterError(_report(path, notebook, at, "the kernel died (out of memory?)")) from None
    except CellControlSignal as error:
        raise ChapterError(_report(path, notebook, at, str(error))) from None
    return lighten(notebook)


def load() -> str:
    """Say how busy the machine is: it explains why a cell took long."""
    return f"the machine's load was {os.getloadavg()[0]:.1f} on {cores()} cores"


def lighten(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Leave each picture the 256 colours that it needs most: it looks the same, and takes a third of the bytes."""
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        if picture := output.get("data", {}).get("image/png"):
            flat = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB").quantize(dither=Image.Dither.NONE)
            flat.save(light := io.BytesIO(), "png", optimize=True)
            output.data["image/png"] = base64.b64encode(light.getvalue()).decode()
    return notebook


def _report(path: Path, notebook, index: int, cause: str) -> str:
    """Name the chapter and the cell, by both its numbers, and quote the end of the cause."""
    code = sum(cell.cell_type == "code" for cell in notebook.cells[: index + 1])
    trace = re.sub(r"\x1b\[[0-9;]*m", "", cause).rpartition("Traceback (most recent call last)\n")[2]
    lines = trace.rstrip().splitlines()[-15:]
    return f"{path.stem}, cell {index + 1} (code cell {code}):\n" + "\n".join(f"    {line}" for line in lines)
