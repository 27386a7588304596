"""Sphinx extensions: what the pages hold beyond what is written in them. `_config.yml` lists them."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

from sphinx.application import Sphinx

SAFE = {"parallel_read_safe": True, "parallel_write_safe": True}


def fill(app: Sphinx, name: str, markdown: Callable[[Path], str]) -> dict[str, bool]:
    """Let an empty directive stand for text that is made, before its page is read, from the folder of all sources."""
    directive = f"```{{{name}}}\n```\n"

    def replace(app: Sphinx, page: str, source: list[str]) -> None:
        if directive in source[0]:
            source[0] = source[0].replace(directive, markdown(Path(app.srcdir)))

    app.connect("source-read", replace)
    return SAFE


@cache
def cells(notebook: Path) -> list[dict]:
    """Return a notebook's cells, the source of each as one text."""
    read = json.loads(notebook.read_text(encoding="utf8"))["cells"]
    return [cell | {"source": "".join(cell["source"])} for cell in read]
