"""Place the words of a chart: names beside lines, ticks at round values, and colours that are legible on white."""

import matplotlib
import numpy as np
from matplotlib import colors, ticker
from matplotlib.axes import Axes
from matplotlib.legend import Legend

from unrolled.figures.numerals import ticks

LEADING = 1.25  # the distance between two lines of text, in font sizes
FEW = 12  # up to this many points are marked one by one


def ink(colour: str) -> tuple[float, float, float]:
    """Return a colour, (red, green, blue) from 0 to 1, darkened until text in it is legible on white.

    Legible means a contrast of at least 4.5 to 1 (WCAG 2).

    Example:
        >>> [round(float(part), 2) for part in ink("yellow")]
        [0.46, 0.46, 0.0]
    """
    rgb = np.array(colors.to_rgb(colour))
    while True:
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        if 1.05 / (linear @ (0.2126, 0.7152, 0.0722) + 0.05) >= 4.5:
            return tuple(rgb)
        rgb = rgb * 0.95


def scale(ax: Axes, x: np.ndarray, xlog: bool, ylog: bool) -> None:
    """Set the scales of the axes, with numbers at round values, or at the values of x if these are few.

    Whole numbers have no ticks between them, and of the values of x those are left out that would run into others.

    Args:
        ax: the axes.
        x: the values of x, (points,).
        xlog: whether the x axis is logarithmic.
        ylog: whether the y axis is logarithmic.
    """
    ax.set(xscale="log" if xlog else "linear", yscale="log" if ylog else "linear")
    for axis, log in ((ax.xaxis, xlog), (ax.yaxis, ylog)):
        if log:
            low, high = axis.get_view_interval()
            axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,)))
            axis.set_minor_locator(ticker.NullLocator())
        axis.set_major_formatter(_Ticks())
    if xlog and 0 < len(np.unique(x)) <= FEW:
        ax.xaxis.set_major_locator(ticker.FixedLocator(_legible(ax, np.unique(x[x > 0]))))
    elif not xlog and len(x) and np.array_equal(x, np.round(x)):
        ax.xaxis.set_major_locator(ticker.MaxNLocator(nbins="auto", steps=(1, 2, 5, 10), integer=True))


class _Ticks(ticker.Formatter):
    """Write the numbers of an axis as `ticks` does: all of one kind."""

    def __call__(self, value: float, place: int | None = None) -> str:
        """Return the label of one value, as it would stand among the ticks."""
        seen = self.format_ticks([*self.axis.get_majorticklocs(), value])
        return seen[-1]

    def format_ticks(self, values: list[float]) -> list[str]:
        """Return the labels of all ticks."""
        return ticks(values, even=self.axis.get_scale() == "linear")


def _legible(ax: Axes, x: np.ndarray) -> np.ndarray:
    """Return those of some values of x whose numbers, written below a logarithmic axis, do not run into each other.

    Args:
        ax: the axes.
        x: the values, positive and in ascending order, (points,).
    """
    size = matplotlib.rcParams["xtick.labelsize"]
    share = size * ax.figure.dpi / 72 / (ax.bbox.width * 0.85)  # of an em, in widths of the axes
    low, high = np.log(x[0]), np.log(x[-1])
    kept, end = [], -np.inf
    for value, text in zip(x[::-1], ticks(x)[::-1], strict=True):  # the last one counts most
        place = (high - np.log(value)) / ((high - low) or 1.0)
        half = 0.31 * len(text) * share
        if place - half > end:
            kept.append(value)
            end = place + half + 0.5 * share
    return np.array(kept[::-1])


def name_legend(legend: Legend) -> None:
    """Give the samples in a legend the identifiers of what they stand for."""
    axes = [legend.axes] if legend.axes else legend.figure.axes
    of = {part.get_label(): part.get_gid() for ax in axes for part in ax.lines}
    for sample, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
        sample.set_gid(of.get(text.get_text()))


def apart(wanted: np.ndarray, gap: float) -> np.ndarray:
    """Return the places nearest to those wanted that are at least a gap apart and between 0 and 1.

    Labels that collide are pooled and centred on the mean of the places that they wanted (isotonic regression).

    Args:
        wanted: places in ascending order, (labels,).
        gap: the smallest distance between two of them; all labels must fit.

    Example:
        >>> apart(np.array([0.2, 0.5, 0.5]), gap=0.1).round(2).tolist()
        [0.2, 0.45, 0.55]
    """
    pools: list[list[float]] = []
    for value in wanted - gap * np.arange(len(wanted)):
        pools.append([value])
        while len(pools) > 1 and np.mean(pools[-2]) > np.mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    level = np.concatenate([np.full(len(pool), np.mean(pool)) for pool in pools])
    return np.clip(level, 0.0, 1.0 - gap * (len(wanted) - 1)) + gap * np.arange(len(wanted))


def name_at_right(ax: Axes, names: list[tuple], size: float) -> bool:
    """Write labels beside the right end of the axes, none over another; return False, writing none, if they do not fit.

    Args:
        ax: the axes.
        names: for each label (value on the y axis, label, colour, identifier).
        size: the size of the letters, in points.
    """
    if not names:
        return True
    ax.figure.draw_without_rendering()  # from here on the limits and the layout are known
    gap = LEADING * size * ax.figure.dpi / 72 / ax.bbox.height
    if len(names) * gap > 1.0 + gap:
        return False
    names = sorted(names, key=lambda name: name[0])
    pixels = ax.transData.transform([(1.0, value) for value, *_ in names])
    wanted = ax.transAxes.inverted().transform(pixels)[:, 1].clip(0, 1)  # a value out of view is named at the edge
    for (_, label, colour, gid), place, meant in zip(names, apart(wanted, gap), wanted, strict=True):
        leader = {"arrowstyle": "-", "color": colour, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0, "relpos": (0, 0.5)}
        nudged = abs(place - meant) > gap / 4
        where = {"xy": (1.0, meant), "xytext": (1.03, place), "xycoords": "axes fraction", "annotation_clip": False}
        arrow = leader if nudged else None
        name = ax.annotate(label, **where, color=colour, fontsize=size, va="center", gid=gid, arrowprops=arrow)
        if nudged:
            name.arrow_patch.set_gid(gid)
    return True
