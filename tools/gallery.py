"""Write the gallery page, `figures/index.md`, from the chapters: one entry for every figure that a cell saves.

``make chapters`` calls `write` after it has run the chapters; nothing else changes the page.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HEAD = """\
<!-- Written by `make chapters` from the chapters' cells; edits made here are lost. -->

# Gallery

Every named figure of the book, chapter by chapter, with what it shows. A card leads to the place where the figure is
drawn, together with the code that draws it.
"""
GRID = """
## [{title}](../chapters/{file})

::::{{grid}} 1 2 3 3
:gutter: 2
{cards}
::::
"""
CARD = """
:::{{grid-item-card}}
:class-card: gallery-card
:img-top: {name}.svg
:img-alt: {alt}
:link: {label}
:link-type: ref
{message}
:::"""
EMPTY = "\nNo chapter has a figure yet.\n"


@dataclass(frozen=True)
class Figure:
    """One saved figure.

    Attributes:
        name: the file's name without its ending.
        alt: what it shows, for those who do not see it.
        caption: the line below it, in Markdown.
        label: the name by which the book refers to the figure in its chapter.
    """

    name: str
    alt: str
    caption: str
    label: str


def saved_names(source: str) -> list[str]:
    """Return the names that a cell's code passes to ``plots.save``, in order."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "plots.save":
            arguments = dict(zip(("figure", "name"), node.args, strict=False))
            arguments |= {keyword.arg: keyword.value for keyword in node.keywords}
            names.append(ast.literal_eval(arguments["name"]))
    return names


def figures(notebook: Path) -> Iterator[Figure]:
    """Yield the figures that a chapter saves, in its order.

    Raises:
        ValueError: a cell saves several figures, or its metadata lacks the alt text, the caption or the name.
    """
    for number, cell in enumerate(_cells(notebook), start=1):
        if cell["cell_type"] != "code":
            continue
        names = saved_names(_source(cell))
        if not names:
            continue
        where = f"{notebook.name}, cell {number}"
        if len(names) > 1:
            raise ValueError(f"{where} saves {len(names)} figures, {', '.join(names)}; a cell saves one")
        metadata = cell["metadata"].get("mystnb", {})
        image, figure = metadata.get("image", {}), metadata.get("figure", {})
        texts = {
            "image.alt": image.get("alt"),
            "figure.caption": figure.get("caption"),
            "figure.name": figure.get("name"),
        }
        missing = [f"mystnb.{key}" for key, value in texts.items() if not value]
        if missing:
            raise ValueError(f"{where} saves {names[0]!r} but its metadata lacks {', '.join(missing)}")
        alt, caption, label = (" ".join(value.split()) for value in texts.values())
        yield Figure(names[0], alt, caption, label)


def title(notebook: Path) -> str:
    """Return a chapter's title, its first heading.

    Raises:
        ValueError: it has none.
    """
    for cell in _cells(notebook):
        if cell["cell_type"] == "markdown":
            for line in _source(cell).splitlines():
                if line.startswith("# "):
                    return line[2:].strip()
    raise ValueError(f"{notebook.name} has no title; begin its first cell with '# '")


def page(root: Path) -> str:
    """Return the gallery page for the chapters below `root`."""
    parts = [HEAD]
    for notebook in sorted((root / "chapters").glob("*.ipynb")):
        cards = "\n".join(_card(figure) for figure in figures(notebook))
        if cards:
            parts.append(GRID.format(title=title(notebook), file=notebook.name, cards=cards))
    return "".join(parts if len(parts) > 1 else [HEAD, EMPTY])


def write(root: Path) -> Path:
    """Write the gallery page for the chapters below `root`, and return its path."""
    path = root / "figures" / "index.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(page(root), encoding="utf8")
    return path


def message(caption: str) -> str:
    """Return the first sentence of a caption, with which it says what is to be seen."""
    return re.split(r"(?<=[.?!])\s", caption, maxsplit=1)[0]


def _card(figure: Figure) -> str:
    # A picture and not a figure, so that the chapter's figure is the only one that carries a number.
    return CARD.format(name=figure.name, alt=figure.alt, label=figure.label, message=message(figure.caption))


def _cells(notebook: Path) -> list[dict]:
    return json.loads(notebook.read_text(encoding="utf8"))["cells"]


def _source(cell: dict) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)
