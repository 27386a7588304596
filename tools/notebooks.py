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
    files = [path for path in sorted((ROOT / "lib" / "unrolled").rglob("*.*")) if path.is_file()]
    files = [path for path in files if path.suffix != ".pyc" and "browser" not in path.parts]
    read = [(path.name, path.read_bytes()) for path in (*files, ROOT / "requirements.txt", ROOT / "constraints.txt")]
    return hashlib.sha256(repr(read).encode()).hexdigest()


def figures_of(path: Path) -> Path:
    """Return the folder with a chapter's figures as its code draws them now, or where nbval has drawn them last."""
    figures = kept(path) / "figures"
    return figures if figures.is_dir() else ROOT / "_build" / "drawn" / path.stem


def executed(paths: list[Path], at_once: int = 2) -> dict[Path, nbformat.NotebookNode]:
    """Return each notebook with its present text and the outputs of its present code, having run what has none yet.

    Where some fail, a `ChapterError` names them; all others have run and are kept.
    """
    new = [path for path in paths if not kept(path).is_dir()]
    if new:
        print(f"Notebooks to execute: {len(new)}", flush=True)
        if failures := asyncio.run(_run_all(new, at_once)):
            raise ChapterError("\n\n".join(failures))
    return {path: _with_outputs(path) for path in paths}


async def _run_all(paths: list[Path], at_once: int) -> list[str]:
    """Run notebooks, so many at a time, each in a fresh kernel, and keep the copies; return what failed."""
    turns = asyncio.Semaphore(at_once)

    async def one(path: Path) -> str | None:
        async with turns:
            failure = await _run(path)
            print(f"  {path.parent.name}/{path.stem:<32} {'failed' if failure else 'done'}", flush=True)
            return failure

    return list(filter(None, await asyncio.gather(*map(one, paths))))


async def _run(path: Path) -> str | None:
    """Run one notebook and keep the copy; return what failed, or None."""
    folder, notebook = kept(path), nbformat.read(path, as_version=4)
    place = folder.with_suffix(f".{os.getpid()}")
    (place / "figures").mkdir(parents=True)
    settings = {"PYDEVD_DISABLE_FILE_VALIDATION": "1", "UNROLLED_FIGURES": str(place / "figures")}
    client = NotebookClient(
        notebook, timeout=TIMEOUT, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}},
        record_timing=False, coalesce_streams=True, extra_arguments=["--IPKernelApp.log_level=ERROR"],
    )  # fmt: skip
    try:
        await client.async_execute(env=os.environ | settings)
        nbformat.write(settled(notebook), place / "notebook.ipynb")
        place.rename(folder)
    except (CellControlSignal, DeadKernelError, AssertionError) as error:  # the last where a kernel dies
        cause = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip() or "the kernel died (out of memory?)"
        return f"{path.stem}: {cause}"
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return None


def settled(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Drop from an executed notebook what changes from run to run, and megabytes of widgets' images with it.

    A picture keeps the 256 colours that it needs most: it looks the same, and takes a third of the bytes.
    """
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


def _with_outputs(path: Path) -> nbformat.NotebookNode:
    """Return a notebook as it is now with the outputs of its executed copy, whose code is the same."""
    now, copy = nbformat.read(path, as_version=4), nbformat.read(kept(path) / "notebook.ipynb", as_version=4)
    ran = iter([cell for cell in copy.cells if cell.cell_type == "code"])
    for cell in (cell for cell in now.cells if cell.cell_type == "code"):
        same = next(ran)
        cell.outputs, cell.execution_count = same.outputs, same.execution_count
    now.metadata = copy.metadata
    return now


def store(only: str = "") -> None:
    """Re-run chapters and store their outputs and figures in place; ``make book`` does not run them again."""
    for path in chapters(only):
        shutil.rmtree(kept(path), ignore_errors=True)
    drawn = []
    for path, notebook in executed(chapters(only)).items():
        nbformat.write(notebook, path)
        drawn += [Path(shutil.copy(figure, ROOT / "figures")) for figure in figures_of(path).glob("*.svg")]
    if not only:
        for left_over in set(ROOT.glob("figures/*.svg")) - set(drawn):
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
    commands = {"store": store, "claims": claims, "gpu": gpu}
    parser.add_argument("command", choices=commands, help="; ".join(f"{n}: {c.__doc__}" for n, c in commands.items()))
    parser.add_argument("only", nargs="?", default="", help="how the notebook's name starts, such as 02")
    arguments = parser.parse_args()
    commands[arguments.command](arguments.only)


if __name__ == "__main__":
    main()
