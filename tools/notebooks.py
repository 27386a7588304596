"""Run the book's notebooks with nbclient, two at a time, and keep what came of them under ``_build/executed``.

A copy is kept in a folder of its own for each hash of all that decides a notebook's outputs: its code, the library with
its records, the pins and the switches. So nothing runs twice, and nothing old is taken for new.
"""

import argparse
import asyncio
import base64
import hashlib
import io
import os
import re
import shutil
import time
from functools import cache
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, DeadKernelError
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT = 600  # seconds that a cell may take, on a busy machine, too
SEEDS = (1, 2, 3, 4, 5)
SWITCHES = ("UNROLLED_PROFILE", "UNROLLED_DEVICE", "UNROLLED_SEED")
WIDGET = "application/vnd.jupyter.widget-view+json"
# A list of fonts of the book's own: the user's may be of another Matplotlib, which then complains in a chapter.
os.environ.setdefault("MPLCONFIGDIR", str(ROOT / "_build" / "matplotlib"))


class ChapterError(SystemExit):
    """Notebooks did not run to their ends; the message names each, with the cell and the cause."""


def chapters(only: str = "") -> list[Path]:
    """Return the chapters in order, or those whose name starts with `only`."""
    paths = sorted(ROOT.glob(f"chapters/{only}*.ipynb"))
    if only and not paths:
        raise SystemExit(f"no chapter starts with {only!r}; there are: {', '.join(p.stem for p in chapters())}")
    return paths


def kept(path: Path) -> Path:
    """Return the folder for the executed copy of a notebook and its figures, which is there once it has run."""
    cells = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    switches = [os.environ.get(name) for name in SWITCHES]
    digest = hashlib.sha256(repr([cells, switches, library()]).encode()).hexdigest()
    return ROOT / "_build" / "executed" / f"{path.parent.name}-{path.stem}-{digest[:16]}"


@cache
def library() -> str:
    """Return a hash of the library, of what it reads, and of the pins; the playground's scripts load by themselves."""
    files = [*sorted((ROOT / "lib" / "unrolled").rglob("*.*")), ROOT / "requirements.txt", ROOT / "constraints.txt"]
    files = [path for path in files if path.suffix != ".pyc" and "browser" not in path.parts]
    read = [(str(path.relative_to(ROOT)), path.read_bytes()) for path in files]
    return hashlib.sha256(repr(read).encode()).hexdigest()


def figures_of(path: Path) -> Path:
    """Return the folder with a chapter's figures as its code draws them now, or where nbval has drawn them last."""
    figures = kept(path) / "figures"
    return figures if figures.is_dir() else ROOT / "_build" / "drawn" / path.stem


def executed(paths: list[Path], at_once: int = 2) -> dict[Path, nbformat.NotebookNode]:
    """Return each notebook with its present text and the outputs of its present code, having run what has none yet."""
    if new := [path for path in paths if not kept(path).is_dir()]:
        print(f"Notebooks to execute: {len(new)}", flush=True)
        if failures := asyncio.run(_run_all(new, at_once)):
            raise ChapterError("\n\n".join(failures))
    made = {}
    for path in paths:
        now, copy = (nbformat.read(each, as_version=4) for each in (path, kept(path) / "notebook.ipynb"))
        code = ([cell for cell in notebook.cells if cell.cell_type == "code"] for notebook in (now, copy))
        for cell, same in zip(*code, strict=True):
            cell.outputs, cell.execution_count = same.outputs, same.execution_count
        now.metadata, made[path] = copy.metadata, now
    return made


async def _run_all(paths: list[Path], at_once: int) -> list[str]:
    """Run notebooks, so many at a time, and keep the copies; return what failed."""
    turns = asyncio.Semaphore(at_once)
    return list(filter(None, await asyncio.gather(*(_run(path, turns) for path in paths))))


async def _run(path: Path, turns: asyncio.Semaphore) -> str | None:
    """Run one notebook in a fresh kernel when its turn comes, and keep the copy; return what failed, or None."""
    folder, notebook = kept(path), nbformat.read(path, as_version=4)
    place = folder.with_suffix(f".{os.getpid()}")
    settings = {"PYDEVD_DISABLE_FILE_VALIDATION": "1", "UNROLLED_FIGURES": str(place / "figures")}
    client = NotebookClient(
        notebook, timeout=TIMEOUT, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}},
        record_timing=False, coalesce_streams=True, extra_arguments=["--IPKernelApp.log_level=ERROR"],
    )  # fmt: skip
    async with turns:
        started = time.monotonic()
        try:
            (place / "figures").mkdir(parents=True)
            await client.async_execute(env=os.environ | settings)
            nbformat.write(settled(notebook), place / "notebook.ipynb")
            place.rename(folder)
        except (CellControlSignal, DeadKernelError, AssertionError) as error:  # the last where a kernel dies
            cause = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip() or "the kernel died (out of memory?)"
            return f"{path.stem}: {cause}"
        finally:
            shutil.rmtree(place, ignore_errors=True)
            verdict = f"{time.monotonic() - started:.0f} s" if folder.is_dir() else "failed"
            print(f"  {path.parent.name}/{path.stem:<32} {verdict}", flush=True)


def settled(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Drop from an executed notebook what changes from run to run, and of its pictures all but 256 colours."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = nbformat.from_dict({"kernelspec": kernel, "language_info": {"name": "python"}})
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for data in (output.get("data", {}) for output in cell.get("outputs", [])):
            if WIDGET in data:
                data[WIDGET]["model_id"] = ""  # "no view here", until the cell is run again
            if picture := data.get("image/png"):
                flat = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
                flat.quantize(dither=Image.Dither.NONE).save(light := io.BytesIO(), "png", optimize=True)
                data["image/png"] = base64.b64encode(light.getvalue()).decode()
    return notebook


def store(only: str = "") -> None:
    """Re-run chapters and store their outputs and figures in place; ``make book`` does not run them again."""
    for path in chapters(only):
        shutil.rmtree(kept(path), ignore_errors=True)
    drawn = []
    for path, notebook in executed(chapters(only)).items():
        nbformat.write(notebook, path)
        drawn += [Path(shutil.copy(figure, ROOT / "figures")) for figure in figures_of(path).glob("*.svg")]
    for left_over in set() if only else set(ROOT.glob("figures/*.svg")) - set(drawn):
        left_over.unlink()


def claims(only: str = "") -> None:
    """Try the chapters' asserts under five fresh seeds: a claim has a margin, and holds for any."""
    failures = []
    for seed in SEEDS:
        os.environ["UNROLLED_SEED"] = str(seed)
        try:
            executed(chapters(only))
        except ChapterError as error:
            failures.append(f"Seed {seed}:\n{error}")
    if failures:
        raise ChapterError("\n\n".join(failures))


def gpu(only: str = "") -> None:
    """Run chapters at full size and all solutions on a GPU; what has run is kept, so the same command goes on."""
    os.environ |= {"UNROLLED_DEVICE": "cuda", "UNROLLED_PROFILE": "full"}
    executed(chapters(only), at_once=1)
    del os.environ["UNROLLED_PROFILE"]
    executed(sorted(ROOT.glob(f"solutions/{only}*.ipynb")), at_once=1)


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("store", "claims", "gpu"))
    parser.add_argument("only", nargs="?", default="", help="how the notebook's name starts, such as 02")
    arguments = parser.parse_args()
    {"store": store, "claims": claims, "gpu": gpu}[arguments.command](arguments.only)


if __name__ == "__main__":
    main()
