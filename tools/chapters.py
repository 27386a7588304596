"""Re-run chapters in place: store their outputs, refresh figures/. The only tool that changes a chapter.

The executed copies stay where `make book` looks for them, which then has nothing left to execute.
"""

import argparse
import shutil
from pathlib import Path

import nbformat

from execute import ROOT, WIDGET, ChapterError, chapters, copy_of, figures_of, run


def settle(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Drop what changes from run to run or from machine to machine, and megabytes of widget images with it."""
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            if WIDGET in output.get("data", {}):
                output.data[WIDGET]["model_id"] = ""  # "no view here", until the cell is run again
    return notebook


def store(path: Path, figures: Path) -> list[str]:
    """Store one chapter as it was executed, put its figures into `figures` and return their files' names."""
    nbformat.write(settle(nbformat.read(copy_of(path), as_version=4)), path)
    drawn = sorted(figures_of(path).glob("*.svg"))
    for figure in drawn:
        shutil.copyfile(figure, figures / figure.name)
    return [figure.name for figure in drawn]


def main() -> None:
    """Re-run the chapters named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="?", default="", help="how the chapter's name starts, such as 02")
    only = parser.parse_args().only
    paths, figures = chapters(only), ROOT / "figures"
    try:
        run(paths)
    except ChapterError as error:
        raise SystemExit(f"\n{error}") from None
    figures.mkdir(exist_ok=True)
    drawn = [name for path in paths for name in store(path, figures)]
    if not only:
        for left_over in (p for p in figures.glob("*.svg") if p.name not in drawn):
            left_over.unlink()


if __name__ == "__main__":
    main()
