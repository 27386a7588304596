"""The bootstrap cell: the same text at the top of every notebook. ``python tools/bootstrap_cell.py`` renews it.

On Colab it installs the library of the book's release and replaces no package; elsewhere it does nothing. ``OWNER`` is
the account in the address that the book has before ``make address`` gives it its own: nothing is fetched from there.
"""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARK = "# Install the book's library"
TEXT = """\
# Install the book's library where it is missing, as on Colab; replace no package.
import importlib.util
import os
import subprocess
import sys

# What is only a folder of that name has no origin.
if not getattr(importlib.util.find_spec("unrolled"), "origin", None):
    release = "git+{repository}@v{version}"
    address = os.environ.get("UNROLLED_ADDRESS", release)
    if "/OWNER/" in address:
        raise RuntimeError(
            "the book has no address yet: set UNROLLED_ADDRESS, or run make address"
        )
    pip = [sys.executable, "-m", "pip"]
    with open("installed.txt", "w") as keep:
        subprocess.run([*pip, "list", "--format=freeze"], stdout=keep, check=True)
    install = [*pip, "install", "--quiet", "--constraint", "installed.txt", address]
    assert subprocess.run(install).returncode == 0, f"pip could not install {address}"
    importlib.invalidate_caches()
"""


def text() -> str:
    """Return the cell's text for the address and the version that pyproject.toml holds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
    filled = TEXT.replace("{repository}", project["urls"]["Repository"]).replace("{version}", project["version"])
    return filled.rstrip()


def main() -> None:
    """Put the cell's present text into every notebook that has one."""
    import nbformat

    for path in sorted(p for folder in ("chapters", "solutions") for p in ROOT.glob(f"{folder}/*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "code" and cell.source.startswith(MARK):
                cell.source = text()
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
