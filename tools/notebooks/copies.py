"""The executed copies of chapters, in ``_build/executed``: a chapter runs again when what it depends on has changed."""

import shutil
import sys
from pathlib import Path

import nbformat

from notebooks.dependencies import key
from notebooks.running import ROOT, ChapterError, execute
from notebooks.side_by_side import side_by_side


def figures_of(path: Path) -> Path:
    """Return the folder that holds the figures of a chapter's executed copy."""
    return ROOT / "_build" / "figures" / path.stem


def copy_of(path: Path) -> Path:
    """Return where the executed copy of a chapter is kept; beside it stands its key."""
    return ROOT / "_build" / "executed" / path.name


def is_fresh(path: Path) -> bool:
    """Return whether the executed copy of a chapter has the chapter's present key."""
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
    commands = {path: [sys.executable, ROOT / "tools" / "notebooks", "execute", path] for path in paths}
    for number, chapter in enumerate(side_by_side(commands), start=1):
        outcome = "failed" if chapter.status else f"{chapter.seconds:.0f} s"
        print(f"[{number}/{len(paths)}] {chapter.path.stem:<32} {outcome}", flush=True)
        if chapter.status:
            failures[chapter.path] = chapter.output or f"{chapter.path.stem}: exit status {chapter.status}"
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
