"""Cards: one for every figure that a chapter's cell saves, ``{gallery}``, one for every chapter, ``{questions}``."""

import re
from pathlib import Path
from typing import NamedTuple

from extensions import cells

GRID = "## [{title}](../chapters/{file})\n\n::::{{grid}} 1 1 2 2\n:gutter: 2\n\n{cards}\n::::\n"


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


def card(head: str, text: str, **options: str) -> str:
    """Return a card of a grid."""
    lines = [f":{name}: {value}" for name, value in options.items()]
    return "\n".join([f":::{{grid-item-card}} {head}".rstrip(), *lines, text, ":::"])


def cards(root: Path) -> str:
    """Return the cards of all figures of the chapters below `root`, a grid for each chapter.

    Each has a picture and not a figure, so that the chapter's figure is the only one that carries a number.
    """
    grids = []
    for notebook in sorted(root.glob("chapters/*.ipynb")):
        made = [
            card("", shown.message, **{
                "class-card": "gallery-card", "img-top": f"../figures/{shown.name}.svg", "img-alt": shown.alt,
                "link": shown.label, "link-type": "ref",
            })
            for shown in figures(notebook)
        ]  # fmt: skip
        if made:  # an appendix may have none
            grids.append(GRID.format(title=title(notebook), file=notebook.name, cards="\n".join(made)))
    return "\n".join(grids)


def questions(root: Path) -> str:
    """Return a card for each chapter below `root`: its number, its title, and the question below it."""
    made = []
    for path in sorted(root.glob("chapters/[0-9]*.ipynb")):
        question = " ".join(cells(path)[0]["source"].split("\n\n")[1].replace("*", "").split())
        options = {"link": f"chapters/{path.stem}", "link-type": "doc"}
        made.append(card(f"{int(path.stem[:2])}. {title(path)}", question, **options))
    return "\n".join(["::::{grid} 1 2 2 3", ":gutter: 2", ":class-container: questions", "", *made, "::::", ""])
