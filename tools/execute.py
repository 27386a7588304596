"""Execute notebooks: the one way in which every tool of the book runs a chapter."""

import base64
import hashlib
import io
import os
import re
import shutil
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, CellTimeoutError, DeadKernelError
from PIL import Image

from side_by_side import cores, side_by_side

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT = 600  # seconds that a cell may take, on a busy machine, too
WIDGET = "application/vnd.jupyter.widget-view+json"
# A list of fonts of the book's own: the user's may be of another Matplotlib, which then complains in a chapter.
os.environ.setdefault("MPLCONFIGDIR", str(ROOT / "_build" / "matplotlib"))
SWITCHES = ("UNROLLED_PROFILE", "UNROLLED_DEVICE", "UNROLLED_SEED", "UNROLLED_THREADS")


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


def key(notebook: Path) -> str:
    """Return a hash of everything that decides a chapter's outputs: its code, the library, the pins, the switches."""
    digest = hashlib.sha256()
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type == "code":
            digest.update(cell.source.encode() + b"\0")
    library = (p for p in sorted(ROOT.glob("lib/unrolled/**/*")) if p.is_file() and p.suffix != ".pyc")
    for path in (*library, ROOT / "requirements.txt", ROOT / "constraints.txt"):
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    digest.update(repr([os.environ.get(name) for name in SWITCHES]).encode())
    return digest.hexdigest()


def execute(path: Path, figures: Path | None, timeout: int = TIMEOUT, **switches: str) -> nbformat.NotebookNode:
    """Run a notebook in a fresh kernel and return it with its outputs and the state of its widgets.

    Args:
        path: the notebook; its folder is the kernel's working directory.
        figures: the folder for the figures that it saves; None as for a reader: none are saved.
        timeout: seconds that a cell may take.
        switches: environment variables for the kernel.

    Raises:
        ChapterError: a cell raised or took too long, or the kernel died.
    """
    notebook, at = nbformat.read(path, as_version=4), 0

    def before(cell, cell_index):
        nonlocal at
        at = cell_index

    client = NotebookClient(
        notebook,
        timeout=timeout,
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
        raise ChapterError(_report(path, notebook, at, f"took longer than {timeout} s; {load()}")) from None
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


def figures_of(path: Path) -> Path:
    """Return the folder that holds the figures of a chapter's executed copy."""
    return ROOT / "_build" / "figures" / path.stem


def copy_of(path: Path) -> Path:
    """Return where the executed copy of a chapter is kept; beside it stands its key."""
    return ROOT / "_build" / "executed" / path.name


def is_fresh(path: Path) -> bool:
    """Return whether the executed copy of a chapter is of its present code, library, pins and switches."""
    stamp = copy_of(path).with_suffix(".key")
    return stamp.is_file() and stamp.read_text() == key(path)


def keep(path: Path) -> None:
    """Execute a chapter and keep the copy with its key and its figures.

    Raises:
        ChapterError: the chapter failed; nothing is kept.
    """
    copy, figures, current = copy_of(path), figures_of(path), key(path)
    stamp = copy.with_suffix(".key")
    stamp.unlink(missing_ok=True)
    shutil.rmtree(figures, ignore_errors=True)
    figures.mkdir(parents=True)
    copy.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(execute(path, figures), copy)
    stamp.write_text(current)


def run(paths: list[Path]) -> None:
    """Execute chapters, two at a time, and keep their copies; print a line for each as it ends.

    Raises:
        ChapterError: chapters failed; the message has a paragraph for each.
    """
    failures = {}
    if paths:
        print(f"Chapters to execute: {len(paths)}", flush=True)
    commands = {path: [sys.executable, ROOT / "tools" / "execute.py", path] for path in paths}
    for number, chapter in enumerate(side_by_side(commands), start=1):
        outcome = "failed" if chapter.status else f"{chapter.seconds:.0f} s"
        print(f"[{number}/{len(paths)}] {chapter.path.stem:<32} {outcome}", flush=True)
        if chapter.status:
            failures[chapter.path] = chapter.said or f"{chapter.path.stem}: exit status {chapter.status}"
    if failures:
        raise ChapterError("\n\n".join(failures[path] for path in sorted(failures)))


def executed(paths: list[Path]) -> dict[Path, Path]:
    """Return the executed copy of each chapter, made now unless one with the same key is there.

    Raises:
        ChapterError: chapters failed, see `run`.
    """
    cached = [path for path in paths if is_fresh(path)]
    for path in cached:
        print(f"{path.stem:<38} cached", flush=True)
        _take_current_text(path)
    run([path for path in paths if path not in cached])
    return {path: copy_of(path) for path in paths}


def _take_current_text(path: Path) -> None:
    """Give the executed copy of a chapter its present prose and cell metadata; its code is the same."""
    before, now = nbformat.read(copy_of(path), as_version=4), nbformat.read(path, as_version=4)
    ran = iter([cell for cell in before.cells if cell.cell_type == "code"])
    for cell in now.cells:
        if cell.cell_type == "code":
            same = next(ran)
            cell.outputs, cell.execution_count = same.outputs, same.execution_count
    now.metadata = before.metadata
    nbformat.write(now, copy_of(path))


def main() -> None:
    """Execute one notebook in the environment of the Python that runs this: a chapter is kept, a copy is only tried."""
    path = Path(sys.argv[1]).resolve()
    try:
        if path in chapters():
            keep(path)
        else:
            execute(path, None)
    except ChapterError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
