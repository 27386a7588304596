"""The look of the book's charts, and how a figure is saved: the same data gives an SVG of the same bytes."""

from __future__ import annotations

import io
import itertools
import os
import re
from collections.abc import Iterable
from pathlib import Path

import matplotlib
import matplotlib.style
from cycler import cycler
from matplotlib.figure import Figure

PALETTE = tuple(matplotlib.style.library["petroff10"]["axes.prop_cycle"].by_key()["color"])
DASHES = ("-", "--", "-.", ":", (0, (6, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 3)), (0, (4, 1, 1, 1)), "-")
MARKERS = tuple("os^DvP<>X*")
GREY = "#555555"
MODELS = ("RNN", "LSTM", "GRU", "transformer")  # each looks the same in every chart of the book

STYLE = {
    "axes.prop_cycle": cycler(color=PALETTE) + cycler(linestyle=DASHES),
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.xmargin": 0.015,
    "axes.labelsize": 12,
    "axes.titlesize": 12,
    "figure.figsize": (7.0, 3.6),
    "figure.dpi": 96,
    "figure.constrained_layout.use": True,
    "font.size": 12,
    "grid.color": "#e2e2e2",
    "legend.fontsize": 11,
    "lines.linewidth": 2.0,
    "savefig.facecolor": "white",
    "svg.hashsalt": "unrolled",
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
}


def style() -> None:
    """Apply the book's figure style; in a notebook, show figures at twice the screen's resolution.

    Example:
        >>> with matplotlib.rc_context():  # so that the style ends with the block
        ...     style()
        ...     matplotlib.rcParams["figure.figsize"]
        [7.0, 3.6]
    """
    matplotlib.rcParams.update(STYLE)
    try:
        from IPython import get_ipython
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:  # plain Python
        return
    if getattr(get_ipython(), "kernel", None) is not None:
        set_matplotlib_formats("retina")


def looks(labels: Iterable[str | None]) -> list[dict]:
    """Return the colour, dashes and marker of each label of a chart: of a model those that it has in every chart.

    Where a model is named, other labels take none that belong to a model; elsewhere they take the first ones.

    Args:
        labels: the labels, in the order in which they are drawn.

    Example:
        >>> rnn, gru, other = looks(["RNN", "GRU", "12-gram"])
        >>> [PALETTE.index(look["color"]) for look in (rnn, gru, other)], gru["marker"]
        ([0, 2, 4], '^')
        >>> looks(["GRU"]) == [gru]
        True
    """
    labels = list(labels)
    left = itertools.count(len(MODELS) if set(labels) & set(MODELS) else 0)
    places = [MODELS.index(label) if label in MODELS else next(left) for label in labels]
    return [
        {"color": PALETTE[place % 10], "linestyle": DASHES[place % 10], "marker": MARKERS[place % 10]}
        for place in places
    ]


def save(fig: Figure, name: str) -> Path | None:
    """Write a figure as ``name.svg`` into the folder that ``UNROLLED_FIGURES`` names, if it names one.

    On one machine the same data gives the same bytes: the identifiers are fixed, and there is no date.

    Args:
        fig: the figure; it stays open, for ``plt.show()``.
        name: lower-case letters and digits, in words joined by single hyphens.

    Returns:
        The file's path, or None if ``UNROLLED_FIGURES`` is unset or empty.

    Raises:
        ValueError: the name is not of that form.
        OSError: the file cannot be written.

    Example:
        >>> import tempfile
        >>> from unittest import mock
        >>> with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, UNROLLED_FIGURES=folder):
        ...     path = save(Figure(figsize=(2, 1)), "empty")
        ...     path.name, path.read_text()[:5]
        ('empty.svg', '<?xml')
    """
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise ValueError(f"{name!r} names no figure: use a-z and 0-9 in words joined by hyphens, as in 'rnn-unrolled'")
    folder = os.environ.get("UNROLLED_FIGURES")
    if not folder:
        return None
    svg = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": STYLE["svg.hashsalt"]}):
        fig.savefig(svg, format="svg", facecolor="white", metadata={"Date": None, "Creator": None})
    path = Path(folder) / f"{name}.svg"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(svg.getvalue())
    except OSError as error:
        raise OSError(
            f"cannot write {path}: {error.strerror}; set UNROLLED_FIGURES to a folder that can be written, or unset it"
        ) from error
    return path
