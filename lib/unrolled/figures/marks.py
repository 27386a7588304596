"""Charts without lines: matrices as colours, rows of dots, scatter plots.

They are called by `plots`, whose rules they keep.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from unrolled.figures.labels import ink, name_legend, scale
from unrolled.figures.numerals import number
from unrolled.figures.roles import GREY, INK, MAGENTA, MARKERS, SLATE, looks, reference, role_of
from unrolled.figures.style import STYLE

__all__ = ["dots", "heatmap", "scatter"]


def heatmap(
    matrix: np.ndarray,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    xlabel: str,
    ylabel: str,
    label: str,
    logarithms: bool = False,
    limit: float | None = None,
) -> Figure:
    """Draw a matrix as colours: white at zero, blue below, red above, and none where the value is NaN.

    Logarithms have no zero that matters. Their colours go from dark to light, and none of them is white, so that white
    means NaN and nothing else.

    Args:
        matrix: the values, (rows, columns).
        rows: a name for each row; None numbers them from 0.
        columns: a name for each column, such as the characters of a text; None numbers them from 0.
        xlabel: what the columns are.
        ylabel: what the rows are.
        label: what the colour is, with its unit.
        logarithms: whether the values are logarithms.
        limit: the size that has the darkest colour, the same for all frames of an explorer; None is the largest there.

    Raises:
        ValueError: the matrix is empty or does not have two axes, or the number of names is not that of the rows or
            columns.

    Example:
        >>> fig = heatmap(np.array([[0.5, -2.0, 0.0]]), columns="fox", xlabel="character", ylabel="unit", label="h")
        >>> fig.axes[0].images[0].get_clim()
        (-2.0, 2.0)
        >>> plt.close(fig)
    """
    matrix = np.asarray(matrix, dtype=float)
    if matrix.ndim != 2 or matrix.size == 0:
        raise ValueError(f"matrix has shape {matrix.shape}; it must be (rows, columns), neither of them 0")
    for axis, names, count in (("rows", rows, matrix.shape[0]), ("columns", columns, matrix.shape[1])):
        if names is not None and len(names) != count:
            raise ValueError(f"there are {len(names)} names for {axis}, but the matrix has {count}")
    height, width = matrix.shape
    # A letter of 11 points is 0.6 · 11 / 72 = 0.092 inches wide.
    size = (max(7.0, 1.7 + 0.115 * width * (columns is not None)), min(6.0, max(2.4, 1.1 + 0.16 * height)))
    fig, ax = plt.subplots(figsize=size)
    least, most = np.nanmin(matrix), np.nanmax(matrix)
    darkest, limit = -limit if limit else least, limit or np.nanmax(np.abs(matrix)) or 1.0
    if logarithms:
        colours = {"cmap": "cividis", "vmin": darkest, "vmax": most}
    elif least < 0 and most <= 0:  # of one sign: half of the colours is enough
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


def _dot_looks(rows: Mapping[str, Mapping], kinds: list[str | None], **how) -> dict[tuple, dict]:
    """Return the look of the dots of each row and kind."""
    if kinds == [None]:
        known = dict(zip(rows, looks(rows, **how), strict=True))
        (plain,) = looks([None])
        return {(row, None): plain if look["gid"] == "role-other" else look for row, look in known.items()}
    result = {}
    for look, kind in zip(looks(kinds, **how), kinds, strict=True):
        for row in rows:
            result[row, kind] = look
            role = role_of(row)
            if look["gid"] in ("role-before", "role-after") and role:
                result[row, kind] = look | {"color": role.colour, "gid": f"role-{role.name}"}
    return result


def dots(
    values: Mapping[str, float | np.ndarray | Mapping[str, float | np.ndarray]],
    *,
    xlabel: str,
    floor: tuple[str, float] | None = None,
    baselines: Mapping[str, float] | None = None,
    xlog: bool = False,
    xlim: tuple[float, float] | None = None,
    roles: Mapping[str, str] | None = None,
    ordered: bool | Collection[str] = False,
) -> Figure:
    """Draw one row for each result: a dot at the mean of its seeds, a line over their range, the mean in figures.

    Unlike bars, dots need no zero, so differences between perplexities can be seen. Floor and baselines are rows too.
    A row that stands for a role has its colour. Where the kinds in a group stand for before and after, their dots are
    hollow and filled, and the colour is the row's.

    Args:
        values: for each row a number, or the numbers of all seeds, (seeds,); or, for each group of rows, a mapping of
            that kind, which need not all have the same labels.
        xlabel: what is measured, with its unit.
        floor: the label and the value below which nothing can lie.
        baselines: labels and values to compare with.
        xlog: whether the x axis is logarithmic.
        xlim: the limits of the x axis; all frames of an explorer need the same ones.
        roles: the names of the roles of kinds, or of rows without kinds, that the registry does not know, as `looks`
            takes them.
        ordered: whether these are the steps of one quantity, in order, such as units, lags or budgets; or those that
            are.

    Raises:
        ValueError: there are no values.

    Example:
        >>> fig = dots({"RNN": [3.0, 4.0], "LSTM": 2.0}, xlabel="perplexity", floor=("entropy", 1.5))
        >>> [text.get_text() for text in fig.axes[0].texts]
        ['3.5', '2', '1.5']
        >>> plt.close(fig)
    """
    if not values:
        raise ValueError("values is empty: give at least one label with its number")
    fixed = [(label, value) for label, value in (baselines or {}).items()] + ([floor] if floor else [])
    grouped = {row: group if isinstance(group, Mapping) else {None: group} for row, group in values.items()}
    kinds = list(dict.fromkeys(kind for group in grouped.values() for kind in group))
    looked = _dot_looks(grouped, kinds, roles=roles, ordered=ordered)
    count = len(grouped) + len(fixed)
    most = max(len(group) for group in grouped.values())  # rows of dots in a group
    fig, ax = plt.subplots(figsize=(7.0, 1.0 + 0.42 * len(fixed) + 0.3 * len(grouped) * max(most, 1.4)))

    def write(x: float, row: float, value: float, colour, gid: str) -> None:
        ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        place = {"xytext": (8, 0), "textcoords": "offset points", "va": "center", "bbox": ground}
        size = STYLE["ytick.labelsize"]
        ax.annotate(number(value), (x, row), color=colour, gid=gid, fontsize=size, **place)

    unnamed = set(kinds)  # that the legend does not have yet
    for row, (name, group) in enumerate(grouped.items()):
        for at, kind in enumerate(kind for kind in kinds if kind in group):
            seeds = np.atleast_1d(np.asarray(group[kind], dtype=float))
            place = row + (0.6 / most) * (at - (len(group) - 1) / 2)
            look = looked[name, kind] | {"linestyle": ""}
            colour, gid = look["color"], look["gid"]
            ax.plot([seeds.min(), seeds.max()], [place, place], color=colour, linestyle="-", gid=gid)
            ax.plot(seeds.mean(), place, label=kind if kind in unnamed else None, **look)
            unnamed.discard(kind)
            write(seeds.max(), place, seeds.mean(), ink(colour), gid)
    for row, (label, value) in enumerate(fixed, start=len(grouped)):
        least = floor and row == count - 1
        colour, gid = (GREY, "role-floor") if least else reference(label)
        ax.axvline(value, color=colour, linestyle="-" if least else "--", linewidth=1, gid=gid)
        ax.plot(value, row, color=colour, marker="|", markersize=12, linestyle="", gid=gid)
        write(value, row, value, colour, gid)
    scale(ax, np.zeros(0), xlog=xlog, ylog=False)
    ax.set_yticks(range(count), [*grouped, *(label for label, _ in fixed)])
    ax.set_ylim(count - 0.4, -0.6)
    ax.margins(x=0.1)
    ax.grid(False, axis="y")
    ax.set(xlabel=xlabel, xlim=xlim)
    if len(kinds) > 1:
        legend = ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        name_legend(legend)
        for sample, kind in zip(legend.legend_handles, kinds, strict=True):
            if len({looked[row, kind]["color"] for row in grouped}) > 1:  # it stands for before or after, in any colour
                sample.set(color=INK, gid="role-other")
                sample.set_markerfacecolor(looked[next(iter(grouped)), kind].get("markerfacecolor", INK))
    return fig


def scatter(
    points: Mapping[str, tuple[float, float]],
    *,
    named: Sequence[str],
    xlabel: str,
    ylabel: str,
    groups: Mapping[str, Sequence[str]] | None = None,
    log: bool = False,
) -> Figure:
    """Draw one dot for each item, and write the names of some of them beside theirs.

    Args:
        points: for each item its (x, y).
        named: the items whose names are written.
        xlabel: what x is, with its unit.
        ylabel: what y is, with its unit.
        groups: by their names, the items that have a colour and a marker in common; together they hold every item.
        log: whether both axes are logarithmic.

    Raises:
        ValueError: there are no points, a named item has none, or the items of the groups are not those of the points.

    Example:
        >>> points = {"the": (9000, 800), "upon": (900, 2), "fox": (30, 12)}
        >>> fig = scatter(points, named=["upon"], xlabel="count", ylabel="words before", log=True)
        >>> [text.get_text() for text in fig.axes[0].texts]
        ['upon']
        >>> plt.close(fig)
    """
    missing = [name for name in named if name not in points]
    if not points or missing:
        raise ValueError(f"points has no {missing[0]!r}" if missing else "points is empty: give at least one")
    grouped = sorted(item for items in (groups or {}).values() for item in items)
    if groups is not None and grouped != sorted(points):
        raise ValueError(f"groups holds {grouped} and points {sorted(points)}; each point needs one group")
    fig, ax = plt.subplots(figsize=(7.0, 4.2))
    gids: dict[str, str] = {}
    if groups is None:
        inks = dict.fromkeys(named, ink(MAGENTA))
        ax.plot(*zip(*points.values(), strict=True), ".", color=SLATE, alpha=0.35, markersize=6)
        for name in named:
            ax.plot(*points[name], MARKERS[1], color=inks[name], markersize=5)
    else:
        inks = {}
        for (group, items), look in zip(groups.items(), looks(groups), strict=True):
            x, y = zip(*(points[item] for item in items), strict=True)
            ax.plot(x, y, **look | {"linestyle": ""}, markersize=6, label=group)
            inks |= dict.fromkeys(items, ink(look["color"]))
            gids |= dict.fromkeys(items, look["gid"])
        name_legend(ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False))
    names = []
    for name in named:
        place = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        place |= {"color": inks[name], "gid": gids.get(name), "fontsize": STYLE["legend.fontsize"]}
        names.append(ax.annotate(name, points[name], **place))
    if log:
        scale(ax, np.zeros(0), xlog=True, ylog=True)
    ax.margins(x=0.08)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    fig.draw_without_rendering()
    for pair in combinations(names, 2):
        lower, upper = sorted(pair, key=lambda name: name.xy[1])
        if lower.get_window_extent().overlaps(upper.get_window_extent()):
            lower.xyann, upper.xyann = (6, -5), (6, 5)
    return fig
