"""Re-run chapters in place: store their outputs, refresh figures/. The only tool that changes a chapter.

The executed copies stay where `make book` looks for them, which then has nothing left to execute.
"""

import argparse
import shutil
from pathlib import Path

import nbformat

import gallery
import record_page
from execute import ROOT, WIDGET, ChapterError, chapters, figures_of, run


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


def rerun(path: Path, place: str, figures: Path) -> list[str]:
    """Execute one chapter, store it, put its figures into `figures` and return their files' names.

    Raises:
        ChapterError: the chapter failed; no tracked file is changed.
    """
    nbformat.write(settle(nbformat.read(run(path, place), as_version=4)), path)
    drawn = sorted(figures_of(path).glob("*.svg"))
    for figure in drawn:
        shutil.copyfile(figure, figures / figure.name)
    return [figure.name for figure in drawn]


def main() -> None:
    """Re-run the chapters named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="?", default="", help="how the chapter's name starts, such as 02")
    only = parser.parse_args().only
    paths, figures, drawn = chapters(only), ROOT / "figures", []
    figures.mkdir(exist_ok=True)
    for number, path in enumerate(paths, start=1):
        try:
            drawn += rerun(path, f"{number}/{len(paths)}", figures)
        except ChapterError as error:
            raise SystemExit(f"\n{error}") from None
    if not only:
        for left_over in (p for p in figures.glob("*.svg") if p.name not in drawn):
            left_over.unlink()
    gallery.write(ROOT)
    record_page.write(ROOT)


if __name__ == "__main__":
    main()
