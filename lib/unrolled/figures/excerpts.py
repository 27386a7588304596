"""Draw a unit's state over the characters that are read."""

import textwrap
from collections.abc import Mapping

import numpy as np
from matplotlib import colormaps
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.layout_engine import PlaceHolderLayoutEngine

from unrolled.figures.palette import GREY

AS_PLACED = PlaceHolderLayoutEngine(False, False)  # layout="none" would be lost when the figure is drawn a second time
COLUMNS = 30  # characters in a line, at the most
LETTERS = {"fontsize": 17, "parse_math": False}  # 8 points if a figure of 7 inches is shrunk to a phone's width
MONO = {"family": "DejaVu Sans Mono"}
SCALE, HEADING, BOXES = 0.5, 0.42, 0.36  # heights in inches: the scale of the colours, a unit's name, a line
STATES = LinearSegmentedColormap.from_list("states", colormaps["RdBu_r"](np.linspace(0.15, 0.85, 100)))  # legible upon


def states(text: str, values: Mapping[str, np.ndarray]) -> Figure:
    """Draw a text once for each unit, every character on the unit's state there: red above zero, blue below.

    Args:
        text: the text that is read; its lines of 30 characters are broken between words.
        values: for each unit, by what is written above its text, its state at each character, (characters,).
    """
    lines, rows = _lines(text, values)
    limit = max(np.abs(row).max() for row in rows.values())
    block = HEADING + BOXES * len(lines)
    height = block * len(rows) + SCALE
    fig = plt.figure(figsize=(7.0, height), layout=AS_PLACED)
    ax = fig.add_axes((0.01, 0, 0.98, 1))  # across in characters, downwards in inches
    for place, (name, row) in enumerate(rows.items()):
        top, start = place * block + HEADING, 0
        ax.text(0, top - 0.13, name, va="baseline", **LETTERS)
        for line in lines:
            extent = (0, len(line), top + 0.94 * BOXES, top)
            part = row[None, start : start + len(line)]
            image = ax.imshow(part, cmap=STATES, vmin=-limit, vmax=limit, extent=extent, interpolation="none")
            _write(ax, line, top + 0.47 * BOXES)
            top, start = top + BOXES, start + len(line)
    ax.set(xlim=(0, COLUMNS), ylim=(height, 0), aspect="auto")
    ax.axis("off")
    _scale(fig, (0.42, 0.14 / height), image, "low", "high")
    return fig


def _lines(text: str, values: Mapping) -> tuple[list[str], dict[str, np.ndarray]]:
    """Return a text in lines, broken between words, with nothing left out; and the values, one for each character."""
    rows = {name: np.asarray(row, dtype=float) for name, row in values.items()}
    for name, row in rows.items():
        if row.shape != (len(text),):
            raise ValueError(f"{name!r} has shape {row.shape}: give one value for each of {len(text)} characters")
    whole = {"expand_tabs": False, "replace_whitespace": False, "drop_whitespace": False, "break_on_hyphens": False}
    return textwrap.wrap(text, COLUMNS, **whole), rows


def _write(ax: Axes, line: str, y: float) -> None:
    """Write a line's characters side by side, each in the middle of its column; signs for spaces are grey."""
    for column, letter in enumerate(line):
        sign = {" ": "␣", "\n": "↵"}.get(letter, letter)
        colour = "black" if sign == letter else GREY
        ax.text(column + 0.5, y, sign, color=colour, ha="center", va="center", **MONO, **LETTERS)


def _scale(fig: Figure, corner: tuple[float, float], colours: ScalarMappable, low: str, high: str) -> None:
    """Draw the scale of the colours between the names of its ends."""
    ax = fig.add_axes((*corner, 0.25, 0.18 / fig.get_figheight()))
    fig.colorbar(colours, cax=ax, orientation="horizontal", ticks=[])
    for x, align, end in ((-0.05, "right", low), (1.05, "left", high)):
        ax.text(x, 0.5, end, transform=ax.transAxes, ha=align, va="center_baseline", fontsize=LETTERS["fontsize"])
