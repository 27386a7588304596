"""Draw results on two scales: a strip for all of them, and below it the part where the best compete."""

from collections.abc import Mapping

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch

from unrolled.figures.labels import ink, scale
from unrolled.figures.numerals import number
from unrolled.figures.roles import GREY, looks
from unrolled.figures.style import STYLE

SMALL = STYLE["ytick.labelsize"]
QUIET = {"color": GREY, "gid": "role-other"}
GROUND = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}  # behind a number


def zoom(
    strip: Mapping[str, float],
    rows: Mapping[str, float | np.ndarray],
    *,
    inside: str,
    strip_label: str,
    xlabel: str,
    gone: tuple[str, str, str],
) -> Figure:
    """Draw a strip from bad to good, and enlarge its good end: a dot for each result, and how far the best has come.

    The strip is logarithmic, with the best at the left, as in the rows. In the rows 0 is the floor. A bracket spans the
    way from one row's value to the floor; the part of it that another row has gone is thick, in that row's colour.

    Args:
        strip: labels and values that are marked on the strip; the last two are the ends of what is enlarged, the larger
            one first, and are named in the rows only.
        rows: for each row a number, or the numbers of all seeds, (seeds,), above the floor.
        inside: what is written beside the enlarged part of the strip.
        strip_label: what the strip shows, with its unit.
        xlabel: what the rows show, with its unit.
        gone: the row where the bracket begins, the row that has gone a part of the way, and what is written there.

    Raises:
        ValueError: the strip has fewer than two values, or `gone` names a row that is not there.

    Example:
        >>> strip, rows = {"uniform": 59, "4-gram": 2, "floor": 1.1}, {"4-gram": 0.6, "GRU": [0.2, 0.3]}
        >>> gone = "4-gram", "GRU", "half of the way"
        >>> fig = zoom(strip, rows, inside="all others", strip_label="perplexity", xlabel="nats above", gone=gone)
        >>> [text.get_text() for text in fig.axes[1].texts]
        ['0.6', '0.25', 'half of the way', 'floor']
        >>> plt.close(fig)
    """
    start, runner, words = gone
    if len(strip) < 2:
        raise ValueError(f"strip has {len(strip)} values; it needs at least the two ends of what is enlarged")
    if start not in rows or runner not in rows:
        raise ValueError(f"gone names {start!r} and {runner!r}; the rows are {list(rows)}")
    means = {name: float(np.mean(values)) for name, values in rows.items()}
    heights = {"height_ratios": (1, 0.6 + 0.6 * len(rows)), "hspace": 0.14}
    fig, (top, ax) = plt.subplots(2, 1, figsize=(7.0, 2.2 + 0.33 * len(rows)), gridspec_kw=heights)
    near, far = list(strip.values())[:-3:-1]
    _strip(top, strip, (near, far), inside)
    top.set_title(strip_label, fontsize=STYLE["axes.labelsize"], loc="left")

    for row, (name, look) in enumerate(zip(rows, looks(rows), strict=True)):
        seeds, colour, gid = np.atleast_1d(np.asarray(rows[name], dtype=float)), look["color"], look["gid"]
        ax.plot([seeds.min(), seeds.max()], [row, row], color=colour, linestyle="-", gid=gid)
        ax.plot(seeds.mean(), row, **look | {"linestyle": ""})
        text = {"xytext": (9, 0), "textcoords": "offset points", "va": "center", "fontsize": SMALL, "bbox": GROUND}
        ax.annotate(number(seeds.mean()), (seeds.max(), row), color=ink(colour), gid=gid, **text)
        if name in (start, runner):
            ax.plot([seeds.mean()] * 2, [row, len(rows)], color=colour, linestyle=":", linewidth=1.2, gid=gid)
        if name == runner:
            thick = {"color": colour, "gid": gid, "linewidth": 6, "solid_capstyle": "butt", "linestyle": "-"}
            ax.plot([means[start], means[runner]], [len(rows)] * 2, **thick)
            place = {"xytext": (0, -9), "textcoords": "offset points", "ha": "center", "va": "top", "fontsize": SMALL}
            ax.annotate(words, (np.mean([means[start], means[runner]]), len(rows)), color=ink(colour), gid=gid, **place)
    ax.plot([0, means[start]], [len(rows)] * 2, linewidth=1.2, marker="|", markersize=12, zorder=1, **QUIET)
    floor = {"color": GREY, "gid": "role-floor"}
    ax.axvline(0, linewidth=1.5, **floor)
    ax.annotate("floor", (0, 0), xytext=(6, 0), textcoords="offset points", va="center", fontsize=SMALL, **floor)
    scale(ax, np.zeros(0), xlog=False, ylog=False)
    ax.set_yticks(range(len(rows) + 1), [*rows, "the way to the floor"])
    ax.set(xlim=(0, 1.12 * max(np.max(values) for values in rows.values())), ylim=(len(rows) + 0.9, -0.6))
    ax.set_xlabel(xlabel)
    ax.grid(False, axis="y")
    for value, corner in ((near, 0.0), (far, 1.0)):
        ends = {"xyA": (value, -0.5), "coordsA": top.transData, "xyB": (corner, 1.0), "coordsB": ax.transAxes}
        fig.add_artist(ConnectionPatch(**ends, linewidth=0.8, **QUIET))
    return fig


def _strip(ax: Axes, values: Mapping[str, float], lens: tuple[float, float], words: str) -> None:
    """Draw marks on a logarithmic line with their names above, and a box around the part that is enlarged."""
    line = {"linewidth": 1.2, "zorder": 1, **QUIET}
    ax.plot([min(values.values()), max(values.values())], [0, 0], **line)
    ax.fill_between(lens, -0.5, 0.5, facecolor="#e2e2e2", edgecolor=GREY, linewidth=0.8, zorder=1, gid="role-other")
    for (name, value), look in zip(values.items(), looks(values), strict=True):
        ax.plot(value, 0, marker="|", markersize=11, linestyle="", color=look["color"], gid=look["gid"])
        if value not in lens:
            text = {"xytext": (0, 7), "textcoords": "offset points", "ha": "center", "fontsize": SMALL}
            label = f"{name}\n{number(value, '.2g')}"
            ax.annotate(label, (value, 0), color=ink(look["color"]), gid=look["gid"], **text)
    place = {"xytext": (8, 7), "textcoords": "offset points", "fontsize": SMALL}
    ax.annotate(words, (max(lens), 0), color=GREY, gid="role-other", **place)
    ax.set(xscale="log", ylim=(-0.5, 1.5))
    ax.set_axis_off()
