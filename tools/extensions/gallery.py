"""Cards: one for every figure that a chapter's cell saves, ``{gallery}``, and one for every chapter, ``{questions}``."""

import re
from pathlib import Path
from typing import NamedTuple

from extensions import cells

GRID = """\
## [{title}](../chapters/{file})

::::{{grid}} 1 1 2 2
:gutter: 2
{cards}
::::
"""
# A picture and not a figure, so that the chapter's figure is the only one that carries a number.
CARD = """
:::{{grid-item-card}}
:class-card: gallery-card
:img-top: ../figures/{name}.svg
:img-alt: {alt}
:link: {label}
:link-type: ref
{message}
:::"""

QUESTION = """
:::{{grid-item-card}} {number}. {title}
:link: chapters/{file}
:link-type: doc
{question}
:::"""


class Figure(NamedTuple):
    """A saved figure: its file's name, what it shows, the line below it, and the label that refers to it."""

    name: str
    alt: str
    caption: str
    label: str

    @property
    def message(self) -> str:
        """The first sentence of the caption, with which it says what is to be seen."""
        return re.split(r"(?<=[.?!])\s", self.caption, maxsplit=1)[0]


def figure(cell: dict) -> Figure | None:
    """Return the figure that a cell saves, which its metadata names and describe; None if it saves none."""
    about = cell["metadata"].get("mystnb", {}).get("figure")
    if not about or "charts.save(" not in "".join(cell["source"]):
        return None
    texts = (cell["metadata"]["mystnb"]["image"]["alt"], about["caption"], about["name"])
    return Figure(about["name"].removeprefix("fig-"), *(" ".join(text.split()) for text in texts))


def figures(notebook: Path) -> list[Figure]:
    """Return the figures that a chapter saves, in its order."""
    return list(filter(None, map(figure, cells(notebook))))


def title(notebook: Path) -> str:
    """Return a chapter's title, its first heading."""
    text = "\n".join(cell["source"] for cell in cells(notebook) if cell["cell_type"] == "markdown")
    return re.search(r"^# (.+)", text, re.MULTILINE)[1].strip()


def cards(root: Path) -> str:
    """Return the cards of all figures of the chapters below `root`, a grid for each chapter."""
    grids = []
    for notebook in sorted(root.glob("chapters/*.ipynb")):
        made = "\n".join(CARD.format(**figure._asdict(), message=figure.message) for figure in figures(notebook))
        grids.append(GRID.format(title=title(notebook), file=notebook.name, cards=made))
    return "\n".join(grids)


def questions(root: Path) -> str:
    """Return a card for each chapter below `root`: its number, its title, and the question below it."""
    made = []
    for path in sorted(root.glob("chapters/[0-9]*.ipynb")):
        question = " ".join(cells(path)[0]["source"].split("\n\n")[1].replace("*", "").split())
        about = {"number": int(path.stem[:2]), "title": title(path), "file": path.stem}
        made.append(QUESTION.format(question=question, **about))
    return "::::{grid} 1 2 2 3\n:gutter: 2\n:class-container: questions\n" + "\n".join(made) + "\n::::\n"
