"""Give every figure of the book one style, and keep each as an SVG of the same bytes for the same data.

The functions draw what they are given and compute nothing but the mean and the range over seeds. Colour is never
the only cue: lines differ by dashes and markers too, and are named at their ends where the names fit.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unrolled.figures.labels import FEW, ink, name_at_right, scale

PALETTE = tuple(matplotlib.style.library["petroff10"]["axes.prop_cycle"].by_key()["color"])
DASHES = ("-", "--", "-.", ":", (0, (6, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 3)), (0, (4, 1, 1, 1)), "-")
MARKERS = tuple("os^DvP<>X*")
GREY = "#555555"

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
    """Put the book's figure style in force; in a notebook, show figures at twice the screen's resolution."""
    matplotlib.rcParams.update(STYLE)
    try:
        from IPython import get_ipython
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:  # plain Python
        return
    if getattr(get_ipython(), "kernel", None) is not None:
        set_matplotlib_formats("retina")


def save(fig: Figure, name: str) -> Path | None:
    """Write a figure as ``name.svg`` into the folder that ``UNROLLED_FIGURES`` names, if it names one.

    The same data on the same machine gives the same bytes: fixed identifiers, no date.

    Args:
        fig: the figure; it stays open, for ``plt.show()``.
        name: lower-case letters and digits, words joined by single hyphens.

    Returns:
        The file's path, or None where ``UNROLLED_FIGURES`` is unset or empty.

    Raises:
        ValueError: the name is not of that form.
        OSError: the file cannot be written.
    """
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise ValueError(f"{name!r} names no figure: use a-z and 0-9, words joined by hyphens, as in 'rnn-unrolled'")
    folder = os.environ.get("UNROLLED_FIGURES")
    if not folder:
        return None
    drawn = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": STYLE["svg.hashsalt"]}):
        fig.savefig(drawn, format="svg", facecolor="white", metadata={"Date": None, "Creator": None})
    path = Path(folder) / f"{name}.svg"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(drawn.getvalue())
    except OSError as error:
        raise OSError(
            f"cannot write {path}: {error.strerror}; set UNROLLED_FIGURES to a folder that can be written, or unset it"
        ) from error
    return path


def _lines(ax: Axes, series: Mapping[str, tuple]) -> tuple[list[tuple], list[float]]:
    """Draw a line for each series, the mean of its seeds within their range; return the lines' names and ends.

    Raises:
        ValueError: there is no series, or the shapes of an x and a y do not agree.
    """
    if not series:
        raise ValueError("series is empty: give at least one label with its (x, y)")
    names, ends = [], []
    for number, (label, (x, y)) in enumerate(series.items()):
        x, y = np.asarray(x), np.atleast_2d(np.asarray(y, dtype=float))
        if x.ndim != 1 or y.ndim != 2 or y.shape[1] != len(x) or len(x) == 0:
            raise ValueError(
                f"{label!r} has x of shape {x.shape} and y of shape {np.shape(series[label][1])}; "
                "right are (points,) with (points,) or (seeds, points)"
            )
        mean = y.mean(axis=0)
        marker = MARKERS[number % len(MARKERS)] if len(x) <= FEW else None
        (line,) = ax.plot(x, mean, label=label, marker=marker, markersize=5)
        if len(y) > 1:
            ax.fill_between(x, y.min(axis=0), y.max(axis=0), color=line.get_color(), alpha=0.18, linewidth=0)
        seen = np.flatnonzero(np.isfinite(mean))
        if len(seen):
            names.append((mean[seen[-1]], label, ink(line.get_color())))
            ends.append(x[seen[-1]])
    return names, ends


def curves(
    series: Mapping[str, tuple],
    *,
    xlabel: str,
    ylabel: str,
    floor: tuple[str, float] | None = None,
    baselines: Mapping[str, float] | None = None,
    xlog: bool = False,
    ylog: bool = False,
    ylim: tuple[float, float] | None = None,
) -> Figure:
    """Draw lines, each the mean of its seeds within their range, above a floor and beside baselines.

    Args:
        series: for each label (x, y): x of shape (points,), y of shape (points,) or (seeds, points).
        xlabel: what x is, with its unit.
        ylabel: what y is, with its unit.
        floor: the label and the value of a line that no curve can cross, in the unit of y.
        baselines: labels and values of lines to compare with, in the unit of y.
        xlog: whether x is on a logarithmic axis.
        ylog: whether y is.
        ylim: the ends of the y axis; an explorer's frames need the same ones.

    Raises:
        ValueError: there is no series, or the shapes of an x and a y do not agree.
    """
    fig, ax = plt.subplots()
    names, ends = _lines(ax, series)
    references = [(value, label, GREY) for label, value in (baselines or {}).items()]
    references += [(floor[1], floor[0], "black")] if floor else []
    for value, _, colour in references:
        ax.axhline(value, color=colour, linestyle="--" if colour == GREY else "-", linewidth=1.2, zorder=1.5)
    scale(ax, np.concatenate([x for x, _ in series.values()]), xlog, ylog)
    ax.set(xlabel=xlabel, ylabel=ylabel, ylim=ylim)
    reach = ax.transData.transform([(end, names[0][0]) for end in ends])[:, 0] if names else np.zeros(0)
    size = STYLE["legend.fontsize"]
    together = len(reach) == 0 or np.ptp(reach) < 0.05 * ax.bbox.width
    if not (together and name_at_right(ax, names + references, size)):
        ax.legend()
        name_at_right(ax, references, size)
    return fig


def panels(
    groups: Mapping[str, Mapping[str, tuple]],
    *,
    xlabel: str,
    ylabel: str,
    xlog: bool = False,
    ylog: bool = False,
    ylim: tuple[float, float] | None = None,
) -> Figure:
    """Draw the same kinds of lines under several conditions: a panel for each, side by side, with one y axis for all.

    Args:
        groups: for each panel, by its title, the series as `curves` takes them, with the same labels in each.
        xlabel: what x is, with its unit.
        ylabel: what y is, with its unit.
        xlog: whether x is on a logarithmic axis.
        ylog: whether y is.
        ylim: the ends of the y axis.

    Raises:
        ValueError: there is no panel, the labels differ, or a panel's series are wrong.
    """
    labels = [list(series) for series in groups.values()]
    if not labels or any(other != labels[0] for other in labels):
        raise ValueError(f"the panels have the labels {labels}; give at least one panel, and the same labels in each")
    fig, axes = plt.subplots(1, len(groups), sharey=True, squeeze=False, figsize=(7.0, 3.9))
    for ax, (title, series) in zip(axes[0], groups.items(), strict=True):
        _lines(ax, series)
        scale(ax, np.concatenate([x for x, _ in series.values()]), xlog, ylog)
        ax.set(title=title, xlabel=xlabel, ylim=ylim)
    axes[0, 0].set_ylabel(ylabel)
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return fig


def heatmap(
    matrix: np.ndarray,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    xlabel: str,
    ylabel: str,
    label: str,
) -> Figure:
    """Draw a matrix as colours, white at zero, blue below and red above; no colour where there is no number.

    Args:
        matrix: the values, (rows, columns).
        rows: a name for each row; numbers from 0 unless given.
        columns: a name for each column, such as the characters of a text; numbers from 0 unless given.
        xlabel: what the columns are.
        ylabel: what the rows are.
        label: what the colour is, with its unit.

    Raises:
        ValueError: the matrix is empty or no matrix, or there are not as many names as rows or columns.
    """
    matrix = np.asarray(matrix, dtype=float)
    if matrix.ndim != 2 or matrix.size == 0:
        raise ValueError(f"matrix has shape {matrix.shape}; it must be (rows, columns), neither of them 0")
    for what, given, count in (("rows", rows, matrix.shape[0]), ("columns", columns, matrix.shape[1])):
        if given is not None and len(given) != count:
            raise ValueError(f"{len(given)} names for {what}, but the matrix has {count}")
    height, width = matrix.shape
    # A letter of 11 points is 0.6 · 11 / 72 = 0.092 inches wide.
    size = (max(7.0, 1.7 + 0.115 * width * (columns is not None)), min(6.0, max(2.4, 1.1 + 0.16 * height)))
    fig, ax = plt.subplots(figsize=size)
    limit = np.nanmax(np.abs(matrix)) or 1.0
    least, most = np.nanmin(matrix), np.nanmax(matrix)
    if least < 0 and most <= 0:  # one sign: one half of the colours is enough
        colours = {"cmap": "Blues_r", "vmin": -limit, "vmax": 0.0}
    elif least >= 0 and most > 0:
        colours = {"cmap": "Reds", "vmin": 0.0, "vmax": limit}
    else:
        colours = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}
    image = ax.imshow(matrix, **colours, aspect="auto", interpolation="none")
    fig.colorbar(image, ax=ax, label=label, pad=0.01)
    ax.grid(False)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    if columns is not None:
        shown = [{" ": "␣", "\n": "↵"}.get(name, name) for name in columns]
        ax.set_xticks(range(width), shown, family="DejaVu Sans Mono", fontsize=11.0)
        ax.tick_params(axis="x", length=0)
    if rows is not None:
        ax.set_yticks(range(height), rows)
    return fig


def dots(
    values: Mapping[str, float | np.ndarray | Mapping[str, float | np.ndarray]],
    *,
    xlabel: str,
    floor: tuple[str, float] | None = None,
    baselines: Mapping[str, float] | None = None,
    xlog: bool = False,
) -> Figure:
    """Draw one row a result: a dot at the mean of its seeds, a bar over their range, the mean in figures.

    Dots, unlike bars, need no zero, so a perplexity can be read where it lies. Floor and baselines are rows too.

    Args:
        values: for each row a number or the numbers of all seeds, (seeds,); or, for groups of rows, such a
            mapping for each group, with the same labels in each.
        xlabel: what is measured, with its unit.
        floor: the label and the value below which nothing can lie.
        baselines: labels and values to compare with.
        xlog: whether x is on a logarithmic axis.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("values is empty: give at least one label with its number")
    fixed = [(label, value) for label, value in (baselines or {}).items()] + ([floor] if floor else [])
    grouped = {row: given if isinstance(given, Mapping) else {None: given} for row, given in values.items()}
    kinds = list(dict.fromkeys(kind for group in grouped.values() for kind in group))
    count = len(grouped) + len(fixed)
    fig, ax = plt.subplots(figsize=(7.0, 1.0 + 0.42 * len(fixed) + 0.3 * len(grouped) * max(len(kinds), 1.4)))

    def write(x: float, row: float, value: float, colour) -> None:
        ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        place = {"xytext": (8, 0), "textcoords": "offset points", "va": "center", "bbox": ground}
        ax.annotate(f"{value:.3g}", (x, row), color=colour, fontsize=STYLE["ytick.labelsize"], **place)

    for row, group in enumerate(grouped.values()):
        for kind, seeds in group.items():
            number, seeds = kinds.index(kind), np.atleast_1d(np.asarray(seeds, dtype=float))
            place = row + (0.6 / len(kinds)) * (number - (len(kinds) - 1) / 2)
            style = {"color": PALETTE[number % 10], "marker": MARKERS[number % 10]}
            ax.plot([seeds.min(), seeds.max()], [place, place], color=style["color"], linestyle="-")
            ax.plot(seeds.mean(), place, linestyle="", label=kind if row == 0 else None, **style)
            write(seeds.max(), place, seeds.mean(), ink(style["color"]))
    for row, (_, value) in enumerate(fixed, start=len(grouped)):
        colour, dashes = ("black", "-") if floor and row == count - 1 else (GREY, "--")
        ax.axvline(value, color=colour, linestyle=dashes, linewidth=1)
        ax.plot(value, row, color=colour, marker="|", markersize=12, linestyle="")
        write(value, row, value, colour)
    scale(ax, np.zeros(0), xlog=xlog, ylog=False)
    ax.set_yticks(range(count), [*grouped, *(label for label, _ in fixed)])
    ax.set_ylim(count - 0.4, -0.6)
    ax.margins(x=0.1)
    ax.grid(False, axis="y")
    ax.set_xlabel(xlabel)
    if len(kinds) > 1:
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return fig


def scatter(
    points: Mapping[str, tuple[float, float]], *, named: Sequence[str], xlabel: str, ylabel: str, log: bool = False
) -> Figure:
    """Draw one dot for each thing, and write the names of some beside theirs.

    Args:
        points: for each thing its (x, y).
        named: the things whose names are written.
        xlabel: what x is, with its unit.
        ylabel: what y is, with its unit.
        log: whether both axes are logarithmic.

    Raises:
        ValueError: there are no points, or a name without one.
    """
    missing = [name for name in named if name not in points]
    if not points or missing:
        raise ValueError(f"points has no {missing[0]!r}" if missing else "points is empty: give at least one")
    fig, ax = plt.subplots(figsize=(7.0, 4.2))
    x, y = np.array(list(points.values()), dtype=float).T
    ax.plot(x, y, ".", color=PALETTE[0], alpha=0.35, markersize=6)
    colour, written = ink(PALETTE[1]), []
    for name in named:
        ax.plot(*points[name], MARKERS[1], color=colour, markersize=5)
        place = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        written.append(ax.annotate(name, points[name], color=colour, fontsize=STYLE["legend.fontsize"], **place))
    if log:
        scale(ax, np.zeros(0), xlog=True, ylog=True)
    ax.margins(x=0.08)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    fig.draw_without_rendering()
    for pair in combinations(written, 2):
        lower, upper = sorted(pair, key=lambda one: one.xy[1])
        if lower.get_window_extent().overlaps(upper.get_window_extent()):
            lower.xyann, upper.xyann = (6, -5), (6, 5)
    return fig
