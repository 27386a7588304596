"""Re-run chapters in place: store their outputs, refresh figures/. The only tool that changes a chapter."""

import argparse
import shutil
import tempfile
from pathlib import Path

import nbformat

import gallery
import record_page
from execute import ROOT, WIDGET, ChapterError, chapters, shown


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
        ChapterError: the chapter failed; nothing is changed.
    """
    with tempfile.TemporaryDirectory() as folder:
        notebook = settle(shown(path, place, Path(folder)))
        nbformat.write(notebook, path)
        drawn = [figure.name for figure in sorted(Path(folder).glob("*.svg"))]
        for name in drawn:
            shutil.copyfile(Path(folder) / name, figures / name)
    return drawn


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
