"""The bootstrap cell, the first code of every notebook: ``python tools/bootstrap_cell.py`` copies that of chapter 1.

On Colab it installs the library of the book's release and replaces no package; elsewhere it does nothing. ``OWNER`` is
the account in the address that the book has before ``make address`` gives it its own: nothing is fetched from there.
"""

import nbformat

from notebooks import ROOT, chapters


def text() -> str:
    """Return the cell's text."""
    cells = nbformat.read(chapters()[0], as_version=4).cells
    return next(cell.source for cell in cells if cell.cell_type == "code")


def main() -> None:
    """Put the text into every notebook; exercises are made from solutions."""
    for path in sorted(path for folder in ("chapters", "solutions") for path in ROOT.glob(f"{folder}/*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        next(cell for cell in notebook.cells if cell.cell_type == "code").source = text()
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
