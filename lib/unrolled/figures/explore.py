"""Let a reader move a slider over frames that were drawn beforehand.

Where a kernel lives, ipywidgets moves it. While the book is being made, the frames are also saved, and its pages show
them with a range input of their own (`tools/pictures.py`).
"""

import base64
import html
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

import ipywidgets as widgets
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from unrolled.figures.charts import svg

FOLDER = "explorers"  # in the folder that UNROLLED_FIGURES names
LISTED = "explorer.json"  # in the folder of an explorer, beside its frames 0.svg, 1.svg, ...


def folder(label: str) -> str:
    """Return the name of the folder of an explorer, from the slider's label."""
    return re.sub("[^a-z0-9]+", "-", label.lower()).strip("-")


def slider(frames: Mapping[object, Figure], label: str, start: object = None) -> widgets.VBox:
    """Show a slider over frames; make this the last expression of its cell.

    The axes have one place in all frames; give them the same limits, too. The figures are closed, so that
    ``plt.show()`` does not show them again.

    Args:
        frames: a figure for each value of the slider, in the slider's order; all of one size, with as many axes.
        label: what the slider changes. The explorers of a notebook have different labels.
        start: the value at which the slider stands in the beginning; None for the first.

    Returns:
        The slider above its picture. Where ``UNROLLED_FIGURES`` names a folder, the frames are in it, in
        ``explorers/``, as SVG, with the label, the values and the number of the first one shown in ``explorer.json``.

    Example:
        >>> choice, shown = slider({width: plt.figure(linewidth=width) for width in (1, 2)}, label="width").children
        >>> choice.index = 1  # as the reader does
        >>> "width: 2" in shown.value
        True
    """
    if len(frames) < 2 or start not in (None, *frames):
        raise ValueError(f"the slider has the values {list(frames)} and starts at {start!r}: give two, and one of them")
    values, begin = [str(value) for value in frames], 0 if start is None else list(frames).index(start)
    _align(list(frames.values()))
    drawn = [svg(figure) for figure in frames.values()]
    for figure in frames.values():
        plt.close(figure)
    if figures := os.environ.get("UNROLLED_FIGURES"):
        place = Path(figures) / FOLDER / folder(label)
        place.mkdir(parents=True, exist_ok=True)
        for number, frame in enumerate(drawn):
            (place / f"{number}.svg").write_bytes(frame)
        listed = {"label": label, "values": values, "start": begin}
        (place / LISTED).write_text(json.dumps(listed, ensure_ascii=False), "utf8")
    pictures = [
        f'<img alt="{html.escape(f"{label}: {value}")}" style="width: 672px; max-width: 100%" '
        f'src="data:image/svg+xml;base64,{base64.b64encode(frame).decode()}">'
        for value, frame in zip(values, drawn, strict=True)
    ]
    choice = widgets.SelectionSlider(
        options=[(value, number) for number, value in enumerate(values)],
        value=begin,
        description=label,
        style={"description_width": "initial"},
        layout={"width": "100%", "max_width": "672px"},
    )
    shown = widgets.HTML(pictures[begin])
    choice.observe(lambda change: setattr(shown, "value", pictures[change["new"]]), "index")
    return widgets.VBox([choice, shown])


def _align(figures: list[Figure]) -> None:
    """Give the axes of all frames one place."""
    for figure in figures:
        figure.draw_without_rendering()  # from here on the places are known
    alike = list(zip(*(figure.axes for figure in figures), strict=True))
    places = [[ax.get_position().extents for ax in axes] for axes in alike]  # (x0, y0, x1, y1), shares of the figure
    if all(abs(place - boxes[0]).max() < 1e-6 for boxes in places for place in boxes):
        return
    for axes, boxes in zip(alike, places, strict=True):
        x0, y0, x1, y1 = zip(*boxes, strict=True)
        for ax in axes:
            ax.figure.set_layout_engine("none")
            ax.set_position((max(x0), max(y0), min(x1) - max(x0), min(y1) - max(y0)))
