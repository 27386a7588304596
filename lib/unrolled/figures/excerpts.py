"""Draw texts: samples under their headings, and what a network does over the characters or words that it reads."""

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.layout_engine import PlaceHolderLayoutEngine

from unrolled.figures.labels import name_legend
from unrolled.figures.roles import GATE_COLOURS, GREY, INK, looks
from unrolled.figures.style import STYLE

AS_PLACED = PlaceHolderLayoutEngine(False, False)  # layout="none" would be lost when the figure is drawn a second time
COLUMNS = 30  # characters in a line of `gates`, at the most
LETTERS = 17  # size of its letters, in points: 8 if a figure of 7 inches is shrunk to a phone's width
STRIP, LINE, SCALE = 0.25, 0.44, 0.5  # heights in inches: a gate's strip, a line of characters, the scale
HEADING, BOXES = 0.42, 0.36  # heights in inches, where characters stand on colours: a unit's name, a line
STATES = LinearSegmentedColormap.from_list("states", colormaps["RdBu_r"](np.linspace(0.15, 0.85, 100)))  # legible upon
GATES = {"f": "forget", "i": "input", "o": "output", "z": "update", "r": "reset"}
LINES = 3  # of each text on a `page`, of 80 characters each


def gates(text: str, values: Mapping[str, np.ndarray]) -> Figure:
    """Draw a text in lines of 30 characters, with a strip for every gate above each: white is shut, dark is open.

    A strip has the colour that its gate has in the drawings of the cells. Figures of the same text and the same number
    of gates have one size and one scale, so they can be the frames of an explorer.

    Args:
        text: the text that is read; its lines are broken between words.
        values: for each gate, by its letter ("f", "i", "o", "z" or "r"), its value at each character, (characters,),
            from 0 to 1.

    Raises:
        ValueError: there is no text or no gate, a letter stands for none, the number of a gate's values is not that of
            the characters, or a value is not between 0 and 1.

    Example:
        >>> fig = gates("the fox", {"f": [0.9, 0.9, 0.8, 0.1, 0.7, 0.8, 0.9]})
        >>> strip = fig.axes[0].images[0]
        >>> strip.get_array().shape, strip.get_clim()
        ((1, 7), (0.0, 1.0))
        >>> plt.close(fig)
    """
    if not text or not values:
        raise ValueError("values is empty: give at least one gate" if text else "text is empty: give what is read")
    rows = {name: np.asarray(row, dtype=float) for name, row in values.items()}
    for name, row in rows.items():
        if name not in GATES:
            raise ValueError(f"{name!r} stands for no gate; the letters are {', '.join(GATES)}")
        if row.shape != (len(text),):
            raise ValueError(
                f"{name!r} has shape {row.shape}; ({len(text)},) is expected, one value for each character"
            )
        wrong = row[~((row >= 0) & (row <= 1))]
        if len(wrong):
            raise ValueError(f"{name!r} has the value {wrong[0]:g}; a gate lies between 0 and 1")
    lines = _lines(text)
    block = STRIP * len(rows) + LINE
    height = SCALE + block * len(lines)
    fig = plt.figure(figsize=(7.0, height), layout=AS_PLACED)
    ax = fig.add_axes((0.06, 0, 0.93, 1))  # across in characters, downwards in inches
    ticks, start = {}, 0
    for top, line in zip(SCALE + block * np.arange(len(lines)), lines, strict=True):
        end = start + len(line)
        for place, (name, row) in enumerate(rows.items()):
            middle, half = top + STRIP * (place + 0.5), 0.42 * STRIP
            extent = (0, len(line), middle + half, middle - half)
            shades = {"cmap": _shades(GATE_COLOURS[GATES[name]]), "vmin": 0, "vmax": 1}
            ax.imshow(row[None, start:end], **shades, extent=extent, interpolation="none")
            frame = {"fill": False, "edgecolor": GREY, "linewidth": 0.5, "clip_on": False}
            ax.add_patch(plt.Rectangle((0, middle - half), len(line), 2 * half, **frame))
            ticks[middle] = name
        _write(ax, line, top + block - 0.6 * LINE)
        start = end
    ax.set(xlim=(0, COLUMNS), ylim=(height, 0), aspect="auto", xticks=[])
    ax.set_yticks(list(ticks), list(ticks.values()), fontsize=LETTERS)
    ax.tick_params(length=0)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    scale = fig.add_axes((0.56, 1 - 0.3 / height, 0.25, 0.18 / height))
    fig.colorbar(ScalarMappable(cmap=_shades(INK)), cax=scale, orientation="horizontal", ticks=[])
    for x, align, end in ((-0.05, "right", "shut, 0"), (1.05, "left", "1, open")):
        scale.text(x, 0.5, end, transform=scale.transAxes, ha=align, va="center_baseline", fontsize=LETTERS)
    return fig


def states(text: str, values: Mapping[str, np.ndarray]) -> Figure:
    """Draw a text once for each unit, every character on the unit's state there: red above zero, blue below.

    Args:
        text: the text that is read; its lines of 30 characters are broken between words.
        values: for each unit, by what is written above its text, its state at each character, (characters,).

    Raises:
        ValueError: there is no text or no unit, the number of a unit's values is not that of the characters, or all
            states are zero.

    Example:
        >>> fig = states("the fox", {"place in the word": [-1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 2.0]})
        >>> fig.axes[0].images[0].get_array().shape, fig.axes[0].images[0].get_clim()
        ((1, 7), (-2.0, 2.0))
        >>> plt.close(fig)
    """
    if not text or not values:
        raise ValueError("values is empty: give at least one unit" if text else "text is empty: give what is read")
    rows = {name: np.asarray(row, dtype=float) for name, row in values.items()}
    for name, row in rows.items():
        if row.shape != (len(text),):
            raise ValueError(
                f"{name!r} has shape {row.shape}; ({len(text)},) is expected, one value for each character"
            )
    limit = max(np.abs(row).max() for row in rows.values())
    if not limit > 0:
        raise ValueError(f"the largest state is {limit:g}; one that is not zero is expected")
    lines = _lines(text)
    block = HEADING + BOXES * len(lines)
    height = block * len(rows) + SCALE
    fig = plt.figure(figsize=(7.0, height), layout=AS_PLACED)
    ax = fig.add_axes((0.01, 0, 0.98, 1))  # across in characters, downwards in inches
    for number, (name, row) in enumerate(rows.items()):
        top, start = number * block + HEADING, 0
        ax.text(0, top - 0.13, name, fontsize=LETTERS, va="baseline", parse_math=False)
        for line in lines:
            extent = (0, len(line), top + 0.94 * BOXES, top)
            part = row[None, start : start + len(line)]
            image = ax.imshow(part, cmap=STATES, vmin=-limit, vmax=limit, extent=extent, interpolation="none")
            _write(ax, line, top + 0.47 * BOXES)
            top, start = top + BOXES, start + len(line)
    ax.set(xlim=(0, COLUMNS), ylim=(height, 0), aspect="auto")
    ax.axis("off")
    scale = fig.add_axes((0.42, 0.14 / height, 0.25, 0.18 / height))
    fig.colorbar(image, cax=scale, orientation="horizontal", ticks=[])
    for x, align, end in ((-0.05, "right", "low"), (1.05, "left", "high")):
        scale.text(x, 0.5, end, transform=scale.transAxes, ha=align, va="center_baseline", fontsize=LETTERS)
    return fig


def _lines(text: str) -> list[str]:
    """Return a text in lines of 30 characters at the most, broken between words, with nothing left out."""
    whole = {"expand_tabs": False, "replace_whitespace": False, "drop_whitespace": False, "break_on_hyphens": False}
    return textwrap.wrap(text, COLUMNS, **whole)


def _write(ax: Axes, line: str, y: float) -> None:
    """Write a line's characters side by side, each in the middle of its column; signs for spaces are grey."""
    letters = {"family": "DejaVu Sans Mono", "fontsize": LETTERS, "ha": "center", "va": "center", "parse_math": False}
    for column, letter in enumerate(line):
        sign = {" ": "␣", "\n": "↵"}.get(letter, letter)
        ax.text(column + 0.5, y, sign, color="black" if sign == letter else GREY, **letters)


def _shades(colour: str) -> LinearSegmentedColormap:
    """Return the colours from white to one."""
    return LinearSegmentedColormap.from_list(colour, ["white", colour])


def tracks(words: Sequence[str], values: Mapping[str, Mapping[str, np.ndarray]], *, marked: str) -> Figure:
    """Draw quantities over the words of a text, one chart below another, with every place of one word marked.

    Args:
        words: the text.
        values: for each chart, by the label of its y axis, the lines by name, each of shape (words,).
        marked: the word whose places are marked.

    Raises:
        ValueError: there is nothing to draw, the number of a line's values is not that of the words, or the text lacks
            the marked word.

    Example:
        >>> words = ["Ada", "slept", ".", "Ada", "woke"]
        >>> fig = tracks(words, {"probability": {"GRU": [0, 0.1, 0.2, 0.9, 0]}}, marked="Ada")
        >>> [line.get_xdata()[0] for line in fig.axes[0].lines[1:]], fig.axes[0].get_ylabel()
        ([1, 4], 'probability')
        >>> plt.close(fig)
    """
    if not values or not all(values.values()):
        raise ValueError("values has a chart without lines: give at least one line for each")
    places = [number for number, word in enumerate(words, 1) if word == marked]
    if not places:
        raise ValueError(f"marked is {marked!r}, a word that the text does not have")
    fig, axes = plt.subplots(len(values), 1, sharex=True, squeeze=False, figsize=(7.0, 0.7 + 1.5 * len(values)))
    for ax, (ylabel, lines) in zip(axes[:, 0], values.items(), strict=True):
        for (name, line), look in zip(lines.items(), looks(lines), strict=True):
            if np.shape(line) != (len(words),):
                raise ValueError(f"{name!r} has shape {np.shape(line)}; ({len(words)},) is expected, one for each word")
            ax.plot(range(1, len(words) + 1), line, label=name, linewidth=1.4, **look | {"marker": None})
        for place in places:
            ax.axvline(place, color=GREY, linestyle=":", linewidth=1.0, zorder=1)
        ax.set_ylabel(ylabel)
        name_legend(ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False))
    axes[-1, 0].set_xlabel(f"word of the story (dotted: {marked})")
    return fig


def page(blocks: Mapping[str, str]) -> Figure:
    """Set short texts under their headings, three lines each and the rest cut off, for the frames of an explorer.

    Args:
        blocks: headings and texts.

    Raises:
        ValueError: there are no blocks.

    Example:
        >>> fig = page({"cold": "the the the", "hot": "xq, zumble!"})
        >>> [text.get_text() for text in fig.texts]
        ['cold', 'the the the', 'hot', 'xq, zumble!']
        >>> plt.close(fig)
    """
    if not blocks:
        raise ValueError("blocks is empty: give at least one heading with its text")
    fig = plt.figure(figsize=(7.0, 0.28 * len(blocks) * (LINES + 2)), layout=AS_PLACED)
    step, place = 1 / (len(blocks) * (LINES + 2)), 1.0
    for heading, text in blocks.items():
        fig.text(0.01, place - step, heading, weight="bold", va="center", fontsize=STYLE["axes.labelsize"])
        rows = textwrap.wrap(text.replace("\n", " ↵ "), 80)[:LINES]
        for number, row in enumerate(rows, start=2):
            mono = {"family": "DejaVu Sans Mono", "fontsize": 10}
            fig.text(0.01, place - number * step, row, va="center", parse_math=False, **mono)
        place -= (LINES + 2) * step
    return fig
