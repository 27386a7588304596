"""Draw shares that fall with a length: each line is named where it falls through one half."""

from collections.abc import Collection, Mapping

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from unrolled.figures.labels import apart, ink, scale
from unrolled.figures.roles import GREY, INK, looks
from unrolled.figures.style import STYLE

CLOSE = 0.16  # of the width: names that are nearer to each other need different heights
STEP = 0.12  # between two such heights


def falls(
    series: Mapping[str, tuple],
    *,
    xlabel: str,
    ylabel: str,
    trained: float,
    roles: Mapping[str, str] | None = None,
    ordered: bool | Collection[str] = False,
) -> Figure:
    """Draw lines from 1 to 0, each the mean of its seeds within their range, named beside the place of a half.

    The lengths of the training have a pale ground. Names whose lines cross a half close to each other stand at
    different heights, each beside its line; a line that does not fall so far is named below its end.

    Args:
        series: for each label (x, y): x of shape (points,), y of shape (points,) or (seeds, points), from 0 to 1.
        xlabel: what x is, with its unit.
        ylabel: what y is, with its unit.
        trained: the largest x of the training.
        roles: the names of the roles of labels that the registry does not know, as `looks` takes them.
        ordered: whether the labels are the steps of one quantity, or those that are, as `looks` takes it.

    Raises:
        ValueError: there is no series, or the shapes of an x and a y do not agree.

    Example:
        >>> shares = {"16 units": ([1, 2, 3], [1.0, 0.4, 0.0]), "64 units": ([1, 2, 3], [1.0, 0.9, 0.1])}
        >>> fig = falls(shares, xlabel="letters", ylabel="share", trained=3, ordered=True)
        >>> [text.get_text() for text in fig.axes[0].texts]
        ['trained to here', '16 units', '64 units']
        >>> plt.close(fig)
    """
    if not series:
        raise ValueError("series is empty: give at least one label with its (x, y)")
    told = {}
    for label, (x, y) in series.items():
        x, y = np.asarray(x, dtype=float), np.atleast_2d(np.asarray(y, dtype=float))
        if x.ndim != 1 or y.ndim != 2 or y.shape[1] != len(x):
            right = "(points,) and (points,) or (seeds, points)"
            raise ValueError(f"{label!r} has x of shape {x.shape} and y of shape {y.shape}; right are {right}")
        told[label] = x, y
    fig, ax = plt.subplots()
    size = STYLE["legend.fontsize"]
    first = min(x.min() for x, _ in told.values())
    ax.axvspan(first, trained, color=GREY, alpha=0.08, linewidth=0)
    ax.axvline(trained, color=INK, linestyle=":", linewidth=1.2)
    above = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "xytext": (0, 3), "ha": "right"}
    ax.annotate("trained to here", (trained, 1.0), va="bottom", fontsize=size, color=INK, **above)
    ax.axhline(0.5, color=GREY, linewidth=0.8)
    names = []
    for (label, (x, y)), look in zip(told.items(), looks(told, roles=roles, ordered=ordered), strict=True):
        mean, gid = y.mean(axis=0), look["gid"]
        ax.plot(x, mean, label=label, markersize=4, **look)
        if len(y) > 1:
            band = {"color": look["color"], "gid": gid, "alpha": 0.18, "linewidth": 0}
            ax.fill_between(x, y.min(axis=0), y.max(axis=0), **band)
        names.append((label, x, mean, look))
    scale(ax, np.concatenate([x for _, x, _, _ in names]), xlog=False, ylog=False)
    ax.set(xlabel=xlabel, ylabel=ylabel, ylim=(-0.03, 1.03))
    beside = {"textcoords": "offset points", "va": "center", "fontsize": size}
    ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.8}
    low, high = ax.get_xlim()
    for label, place, look in _places(names):
        right = place[0] < low + 0.75 * (high - low)  # of its line, unless there is no room
        beside |= {"xytext": (7 if right else -7, 0), "ha": "left" if right else "right"}
        ax.annotate(label, place, color=ink(look["color"]), gid=look["gid"], bbox=ground, **beside)
    return fig


def _places(names: list[tuple]) -> list[tuple]:
    """Return each line's label, the place of its name and its look, from label, x, mean and look of each line.

    Lines that cross a half are taken from left to right; where crossings are close, the names' heights differ. A line
    that does not cross is named below its end.
    """
    crossing, found = [], []
    for label, x, mean, look in names:
        below = np.flatnonzero(mean < 0.5)
        if len(below):
            crossing.append((_reaches(x, mean, 0.5), label, x, mean, look))
        else:
            found.append((label, (x[-1], mean[-1] - 0.1), look))
    crossing.sort(key=lambda each: each[0])
    span = max((np.ptp(x) for _, x, *_ in names), default=1.0)
    runs: list[list[tuple]] = []
    for each in crossing:  # a run holds the names that would overprint each other
        if runs and each[0] - runs[-1][-1][0] < CLOSE * span:
            runs[-1].append(each)
        else:
            runs.append([each])
    for run in runs:
        heights = apart(np.full(len(run), 0.5), STEP)[::-1]
        for (_, label, x, mean, look), height in zip(run, heights, strict=True):
            found.append((label, (_reaches(x, mean, height), height), look))
    return found


def _reaches(x: np.ndarray, mean: np.ndarray, height: float) -> float:
    """Return where a line first falls to a height, or its last x if it does not."""
    below = np.flatnonzero(mean < height)
    if not len(below):
        return float(x[-1])
    upto = int(below[0]) + 1
    return float(np.interp(-height, -mean[:upto], x[:upto]))
