"""Draw texts: samples under their headings, and what a network does over the characters or words that it reads."""

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.layout_engine import PlaceHolderLayoutEngine

from unrolled.figures.labels import name_legend
from unrolled.figures.roles import GREY, looks
from unrolled.figures.style import STYLE

AS_PLACED = PlaceHolderLayoutEngine(False, False)  # layout="none" would be lost when the figure is drawn a second time
COLUMNS = 30  # characters in a line of `gates`, at the most
LETTERS = 17  # size of its letters, in points: 8 if a figure of 7 inches is shrunk to a phone's width
STRIP, LINE, SCALE = 0.25, 0.44, 0.5  # heights in inches: a gate's strip, a line of characters, the scale
LINES = 3  # of each text on a `page`, of 80 characters each


def gates(text: str, values: Mapping[str, np.ndarray]) -> Figure:
    """Draw a text in lines of 30 characters, with a strip for every gate above each: white is shut, dark is open.

    Figures of the same text and the same number of gates have one size and one scale, so they can be the frames of an
    explorer.

    Args:
        text: the text that is read; its lines are broken between words.
        values: for each gate, named by a letter or two, its value at each character, (characters,), from 0 to 1.

    Raises:
        ValueError: there is no text or no gate, the number of a gate's values is not that of the characters, or a
            value is not between 0 and 1.

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
        if row.shape != (len(text),):
            raise ValueError(
                f"{name!r} has shape {row.shape}; ({len(text)},) is expected, one value for each character"
            )
        wrong = row[~((row >= 0) & (row <= 1))]
        if len(wrong):
            raise ValueError(f"{name!r} has the value {wrong[0]:g}; a gate lies between 0 and 1")
    whole = {"expand_tabs": False, "replace_whitespace": False, "drop_whitespace": False, "break_on_hyphens": False}
    lines = textwrap.wrap(text, COLUMNS, **whole)
    block = STRIP * len(rows) + LINE
    height = SCALE + block * len(lines)
    fig = plt.figure(figsize=(7.0, height), layout=AS_PLACED)
    ax = fig.add_axes((0.06, 0, 0.93, 1))  # across in characters, downwards in inches
    letters = {"family": "DejaVu Sans Mono", "fontsize": LETTERS, "ha": "center", "va": "center", "parse_math": False}
    ticks, start = {}, 0
    for top, line in zip(SCALE + block * np.arange(len(lines)), lines, strict=True):
        end = start + len(line)
        for place, (name, row) in enumerate(rows.items()):
            middle, half = top + STRIP * (place + 0.5), 0.42 * STRIP
            extent = (0, len(line), middle + half, middle - half)
            image = ax.imshow(row[None, start:end], cmap="Blues", vmin=0, vmax=1, extent=extent, interpolation="none")
            frame = {"fill": False, "edgecolor": GREY, "linewidth": 0.5, "clip_on": False}
            ax.add_patch(plt.Rectangle((0, middle - half), len(line), 2 * half, **frame))
            ticks[middle] = name
        for column, letter in enumerate(line):
            sign = {" ": "␣", "\n": "↵"}.get(letter, letter)
            colour = "black" if sign == letter else GREY
            ax.text(column + 0.5, top + block - 0.6 * LINE, sign, color=colour, **letters)
        start = end
    ax.set(xlim=(0, COLUMNS), ylim=(height, 0), aspect="auto", xticks=[])
    ax.set_yticks(list(ticks), list(ticks.values()), fontsize=LETTERS)
    ax.tick_params(length=0)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    scale = fig.add_axes((0.56, 1 - 0.3 / height, 0.25, 0.18 / height))
    fig.colorbar(image, cax=scale, orientation="horizontal", ticks=[])
    for x, align, end in ((-0.05, "right", "shut, 0"), (1.05, "left", "1, open")):
        scale.text(x, 0.5, end, transform=scale.transAxes, ha=align, va="center_baseline", fontsize=LETTERS)
    return fig


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
