"""Execute notebooks: the one way in which every tool of the book runs a chapter."""

import base64
import hashlib
import io
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, CellTimeoutError, DeadKernelError
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
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


def execute(path: Path, figures: Path, timeout: int = 300, tell=None, **switches: str) -> nbformat.NotebookNode:
    """Run a notebook in a fresh kernel and return it with its outputs and the state of its widgets.

    Args:
        path: the notebook; its folder is the kernel's working directory.
        figures: the folder for the figures that it saves.
        timeout: seconds that the whole notebook may take.
        tell: called before each cell with its number and the number of cells.
        switches: environment variables for the kernel.

    Raises:
        ChapterError: a cell raised, the kernel died, or the time ran out.
    """
    notebook = nbformat.read(path, as_version=4)
    started, at = time.monotonic(), 0

    def before(cell, cell_index):
        nonlocal at
        at = cell_index
        client.timeout = max(1, int(timeout - (time.monotonic() - started)))
        if tell:
            tell(cell_index + 1, len(notebook.cells))

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
    try:
        quiet = {"PYDEVD_DISABLE_FILE_VALIDATION": "1"}  # no debugger here, so no warning about it
        client.execute(env={**os.environ, **quiet, "UNROLLED_FIGURES": str(figures.resolve()), **switches})
    except CellTimeoutError:
        raise ChapterError(_report(path, notebook, at, f"took longer than {timeout} s in all")) from None
    except DeadKernelError:
        raise ChapterError(_report(path, notebook, at, "the kernel died (out of memory?)")) from None
    except CellControlSignal as error:
        raise ChapterError(_report(path, notebook, at, str(error))) from None
    return lighten(notebook)


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


def shown(path: Path, place: str, figures: Path) -> nbformat.NotebookNode:
    """Execute a notebook as `execute` does, with a line that says which it is, how far it is, and how long it took."""
    head, moving = f"[{place}] {path.stem:<24}", sys.stdout.isatty()

    def tell(cell: int, cells: int) -> None:
        if moving:
            print(f"\r{head} executing cell {cell} of {cells} ...", end="", flush=True)

    print(f"{head} executing ...", end="", flush=True)
    started = time.monotonic()
    try:
        notebook = execute(path, figures, tell=tell)
    except ChapterError:
        print(" failed", flush=True)
        raise
    print(f" {time.monotonic() - started:.0f} s", flush=True)
    return notebook


def figures_of(path: Path) -> Path:
    """Return the folder that holds the figures of a chapter's executed copy."""
    return ROOT / "_build" / "figures" / path.stem


def _copy_of(path: Path) -> Path:
    """Return where the executed copy of a chapter is kept; beside it stands its key."""
    return ROOT / "_build" / "executed" / path.name


def run(path: Path, place: str) -> Path:
    """Execute a chapter, keep the copy with its key and its figures, and return the copy.

    Raises:
        ChapterError: the chapter failed; nothing is kept.
    """
    copy, figures, current = _copy_of(path), figures_of(path), key(path)
    stamp = copy.with_suffix(".key")
    stamp.unlink(missing_ok=True)
    shutil.rmtree(figures, ignore_errors=True)
    figures.mkdir(parents=True)
    copy.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(shown(path, place, figures), copy)
    stamp.write_text(current)
    return copy


def executed(path: Path, place: str) -> Path:
    """Return the executed copy of a chapter, made now unless one with the same key is there.

    Raises:
        ChapterError: the chapter failed.
    """
    copy = _copy_of(path)
    stamp = copy.with_suffix(".key")
    if not stamp.is_file() or stamp.read_text() != key(path):
        return run(path, place)
    print(f"[{place}] {path.stem:<24} cached", flush=True)
    return _with_current_text(copy, path)


def _with_current_text(copy: Path, path: Path) -> Path:
    """Give the executed copy the chapter's present prose and cell metadata; its code is the same."""
    before, now = nbformat.read(copy, as_version=4), nbformat.read(path, as_version=4)
    ran = iter([cell for cell in before.cells if cell.cell_type == "code"])
    for cell in now.cells:
        if cell.cell_type == "code":
            same = next(ran)
            cell.outputs, cell.execution_count = same.outputs, same.execution_count
    now.metadata = before.metadata
    nbformat.write(now, copy)
    return copy


if __name__ == "__main__":  # one notebook, in the environment of the Python that runs this
    with tempfile.TemporaryDirectory() as folder:
        try:
            shown(Path(sys.argv[1]).resolve(), "1/1", Path(folder))
        except ChapterError as error:
            raise SystemExit(f"\n{error}") from None
