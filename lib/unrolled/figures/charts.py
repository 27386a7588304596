"""Draw the book's charts, in one style: curves, panels, rows of dots, heatmaps, scatter plots; and save its figures.

The functions draw what they are given and compute nothing but the mean and the range over seeds. Colour, which the
`palette` says, is never the only cue: lines differ by dashes and markers too, and are named at their ends if the names
fit there.

Everywhere, `xlabel` and `ylabel` say what an axis shows, with its unit; `xlog` and `ylog` make it logarithmic; `xlim`
and `ylim` are its limits, the same for all frames of an explorer. `floor` is the label and the value of a line that
nothing can cross, and `baselines` are labels and values to compare with. What else is given, `roles` and `ordered`,
goes to `unrolled.figures.palette.styles`.
"""

import io
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib import pyplot as plt
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from unrolled.figures import palette
from unrolled.figures.palette import GREY, INK, legible, name_of, reference, styles
from unrolled.figures.tables import number, ticks

LEADING = 1.25  # the distance between two lines of text, in font sizes
FEW = 12  # up to this many points are marked one by one
GROUND = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}  # behind a number
STYLE = {
    "axes.prop_cycle": cycler(color=palette.CATEGORIES) + cycler(linestyle=palette.DASHES[: len(palette.CATEGORIES)]),
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
SMALL = STYLE["ytick.labelsize"]


def style() -> None:
    """Apply the book's figure style; in a notebook, show figures at twice the screen's resolution."""
    matplotlib.rcParams.update(STYLE)
    try:
        from IPython import get_ipython
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:  # plain Python
        return
    if getattr(get_ipython(), "kernel", None) is not None:
        set_matplotlib_formats("retina")


def svg(fig: Figure) -> bytes:
    """Return a figure as SVG: on one machine the same data gives the same bytes, and there is no date.

    What stands for something in the palette says so in its identifier: role-gru.1, role-gru.2 and so on.
    """
    seen: Counter[str] = Counter()
    for part in fig.findobj(lambda part: (part.get_gid() or "").startswith("role-")):
        name = part.get_gid().partition(".")[0]
        seen[name] += 1
        part.set_gid(f"{name}.{seen[name]}")
    written = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": STYLE["svg.hashsalt"]}):
        metadata = {"Date": None, "Creator": None}
        fig.savefig(written, format="svg", facecolor="white", bbox_inches=None, metadata=metadata)
    return written.getvalue()


def save(fig: Figure, name: str) -> None:
    """Write a figure as ``name.svg`` into the folder that ``UNROLLED_FIGURES`` names, if it names one.

    Args:
        fig: the figure; it stays open, for ``plt.show()``.
        name: lower-case letters and digits, in words joined by single hyphens.
    """
    if folder := os.environ.get("UNROLLED_FIGURES"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"{name}.svg").write_bytes(svg(fig))


class _Ticks(ticker.Formatter):
    """Write the numbers of an axis as `ticks` does: all of one kind."""

    def format_ticks(self, values: list[float]) -> list[str]:
        return ticks(values, even=self.axis.get_scale() == "linear")

    def __call__(self, value: float, place: int | None = None) -> str:
        return self.format_ticks([value])[0]


def scale(ax: Axes, x: np.ndarray = (), xlog: bool = False, ylog: bool = False) -> None:
    """Set the scales of the axes, with numbers at round values, or at the values of x if these are few.

    Whole numbers have no ticks between them, and of the values of x those are left out that would run into others.
    """
    ax.set(xscale="log" if xlog else "linear", yscale="log" if ylog else "linear")
    for axis, log in ((ax.xaxis, xlog), (ax.yaxis, ylog)):
        if log:
            low, high = axis.get_view_interval()
            axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,)))
            axis.set_minor_locator(ticker.NullLocator())
        axis.set_major_formatter(_Ticks())
    if xlog and 0 < len(np.unique(x)) <= FEW:
        ax.xaxis.set_major_locator(ticker.FixedLocator(_apart_below(ax, np.unique(x[x > 0]))))
    elif not xlog and len(x) and np.array_equal(x, np.round(x)):
        ax.xaxis.set_major_locator(ticker.MaxNLocator(nbins="auto", steps=(1, 2, 5, 10), integer=True))


def _apart_below(ax: Axes, x: np.ndarray) -> np.ndarray:
    """Return those of the ascending x whose numbers, below a logarithmic axis, do not run into each other."""
    share = matplotlib.rcParams["xtick.labelsize"] * ax.figure.dpi / 72 / (ax.bbox.width * 0.85)  # an em, of the width
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


def _apart(wanted: np.ndarray, gap: float) -> np.ndarray:
    """Return the places nearest to those wanted, in ascending order, that are a gap apart and between 0 and 1.

    Labels that collide are pooled and centred on the mean of the places that they wanted (isotonic regression).

    Example:
        >>> _apart(np.array([0.2, 0.5, 0.5]), gap=0.1).round(2).tolist()
        [0.2, 0.45, 0.55]
    """
    pools: list[list[float]] = []
    for value in wanted - gap * np.arange(len(wanted)):
        pools.append([value])
        while len(pools) > 1 and np.mean(pools[-2]) > np.mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    level = np.concatenate([np.full(len(pool), np.mean(pool)) for pool in pools])
    return np.clip(level, 0.0, 1.0 - gap * (len(wanted) - 1)) + gap * np.arange(len(wanted))


def _name_at_right(ax: Axes, names: list[tuple]) -> bool:
    """Write labels beside the right end of the axes, none over another; return False, writing none, if they do not fit.

    Args:
        ax: the axes.
        names: for each label (value on the y axis, label, colour, identifier).
    """
    if not names:
        return True
    size = STYLE["legend.fontsize"]
    ax.figure.draw_without_rendering()  # from here on the limits and the layout are known
    gap = LEADING * size * ax.figure.dpi / 72 / ax.bbox.height
    if len(names) * gap > 1.0 + gap:
        return False
    names = sorted(names, key=lambda name: name[0])
    pixels = ax.transData.transform([(1.0, value) for value, *_ in names])
    wanted = ax.transAxes.inverted().transform(pixels)[:, 1].clip(0, 1)  # a value out of view is named at the edge
    for (_, label, colour, gid), place, meant in zip(names, _apart(wanted, gap), wanted, strict=True):
        leader = {"arrowstyle": "-", "color": colour, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0, "relpos": (0, 0.5)}
        nudged = abs(place - meant) > gap / 4
        where = {"xy": (1.0, meant), "xytext": (1.03, place), "xycoords": "axes fraction", "annotation_clip": False}
        arrow = leader if nudged else None
        name = ax.annotate(label, **where, color=colour, fontsize=size, va="center", gid=gid, arrowprops=arrow)
        if nudged:
            name.arrow_patch.set_gid(gid)
    return True


def draw_lines(
    ax: Axes, series: Mapping[str, tuple], size: float = 5, few: int = FEW, **how
) -> tuple[list[tuple], list[float]]:
    """Draw a line for each series, as `curves` takes them, the mean of its seeds within their range.

    Args:
        ax: the axes to draw on.
        series: as `curves` takes them.
        size: of the marks, in points.
        few: up to this many points are marked one by one.
        **how: `roles` and `ordered`.

    Returns:
        For each line with a finite value, (y, label, colour of the label, identifier) and x, both of its last one.
    """
    names, ends = [], []
    for (label, (x, y)), look in zip(series.items(), styles(series, **how), strict=True):
        x, y = np.asarray(x), np.atleast_2d(np.asarray(y, dtype=float))
        if x.ndim != 1 or y.ndim != 2 or y.shape[1] != len(x):
            raise ValueError(f"{label!r} has x of {x.shape} and y of {y.shape}: give (points,) and (seeds, points)")
        mean = y.mean(axis=0)
        marked = look if len(x) <= few else look | {"marker": None}
        (line,) = ax.plot(x, mean, label=label, markersize=size, **marked)
        if len(y) > 1:
            band = {"color": line.get_color(), "gid": line.get_gid(), "alpha": 0.18, "linewidth": 0}
            ax.fill_between(x, y.min(axis=0), y.max(axis=0), **band)
        seen = np.flatnonzero(np.isfinite(mean))
        if len(seen):
            names.append((mean[seen[-1]], label, legible(line.get_color()), line.get_gid()))
            ends.append(x[seen[-1]])
    return names, ends


def _places(series: Mapping[str, tuple]) -> np.ndarray:
    """Return the values of x at which lines have points: where all seeds are missing there is none, and no tick."""
    found = [np.asarray(x)[~np.isnan(np.atleast_2d(y)).all(axis=0)] for x, y in series.values()]
    return np.concatenate(found)


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
    **how,
) -> Figure:
    """Draw lines, each the mean of its seeds within their range, above a floor and beside baselines.

    Args:
        series: for each label (x, y): x of shape (points,), y of shape (points,) or (seeds, points).

    Example:
        >>> losses = {"RNN": ([100, 200, 300], [[2.0, 1.5, 1.2], [2.2, 1.7, 1.4]])}  # two seeds
        >>> fig = curves(losses, xlabel="updates", ylabel="nats", floor=("entropy", 0.9))
        >>> fig.axes[0].lines[0].get_ydata().round(2).tolist(), len(fig.axes[0].lines)
        ([2.1, 1.6, 1.3], 2)
        >>> plt.close(fig)
    """
    fig, ax = plt.subplots()
    names, ends = draw_lines(ax, series, **how)
    references = [(value, label, *reference(label)) for label, value in (baselines or {}).items()]
    references += [(floor[1], floor[0], GREY, "role-floor")] if floor else []
    for value, _, colour, gid in references:
        dashes = "-" if gid == "role-floor" else "--"
        ax.axhline(value, color=colour, linestyle=dashes, linewidth=1.2, zorder=1.5, gid=gid)
    if ylim is not None:  # the ticks are those of the limits; ylim=None would fix them before they are known
        ax.set_ylim(ylim)
    scale(ax, _places(series), xlog, ylog)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    reach = ax.transData.transform([(end, names[0][0]) for end in ends])[:, 0] if names else np.zeros(0)
    together = len(reach) == 0 or np.ptp(reach) < 0.05 * ax.bbox.width
    if not (together and _name_at_right(ax, names + references)):
        name_legend(ax.legend())
        _name_at_right(ax, references)
    return fig


def panels(
    groups: Mapping[str, Mapping[str, tuple]],
    *,
    xlabel: str,
    ylabel: str,
    xlog: bool = False,
    ylog: bool = False,
    ylim: tuple[float, float] | None = None,
    shared: bool = True,
    **how,
) -> Figure:
    """Draw the same kinds of lines under several conditions, in panels side by side.

    Args:
        groups: for each panel, by its title, the series as `curves` takes them; every panel has the same labels.
        shared: whether all panels share one y axis, which `ylim` limits; otherwise each has its own.
    """
    labels = [list(series) for series in groups.values()]
    if any(other != labels[0] for other in labels):
        raise ValueError(f"the panels have the labels {labels}, and one legend: give the same labels to each")
    fig, axes = plt.subplots(1, len(groups), sharey=shared, squeeze=False, figsize=(7.0, 3.9))
    for ax, (title, series) in zip(axes[0], groups.items(), strict=True):
        draw_lines(ax, series, **how)
        ax.set(title=title, xlabel=xlabel)
    if ylim is not None:  # ylim=None would fix the limits of the first panel for all
        axes[0, 0].set_ylim(ylim)
    for ax, series in zip(axes[0], groups.values(), strict=True):
        scale(ax, _places(series), xlog, ylog)
    axes[0, 0].set_ylabel(ylabel)
    columns = 5 if len("".join(labels[0])) < 25 else 4  # that fit into a line
    place = {"loc": "outside lower center", "ncols": columns, "frameon": False}
    name_legend(fig.legend(*axes[0, 0].get_legend_handles_labels(), **place))
    return fig


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
        label: what the colour is, with its unit.
        logarithms: whether the values are logarithms.
        limit: the size that has the darkest colour, the same for all frames of an explorer; None is the largest there.
    """
    matrix = np.asarray(matrix, dtype=float)
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
        ax.set_xticks(range(width), shown, family="DejaVu Sans Mono", fontsize=11.0, parse_math=False)
        ax.tick_params(axis="x", length=0)
    if rows is not None:
        ax.set_yticks(range(height), rows)
    return fig


def _dot_styles(rows: Mapping[str, Mapping], kinds: list[str | None], **how) -> dict[tuple, dict]:
    """Return the style of the dots of each row and kind."""
    if kinds == [None]:
        known = dict(zip(rows, styles(rows, **how), strict=True))
        (plain,) = styles([None])
        return {(row, None): plain if look["gid"] == "role-other" else look for row, look in known.items()}
    result = {}
    for look, kind in zip(styles(kinds, **how), kinds, strict=True):
        for row in rows:
            own = name_of(row) if look["gid"] in ("role-before", "role-after") else None
            result[row, kind] = look | ({"color": palette.PALETTE[own][0], "gid": f"role-{own}"} if own else {})
    return result


def dots(
    values: Mapping[str, float | np.ndarray | Mapping[str, float | np.ndarray]],
    *,
    xlabel: str,
    floor: tuple[str, float] | None = None,
    baselines: Mapping[str, float] | None = None,
    xlog: bool = False,
    xlim: tuple[float, float] | None = None,
    **how,
) -> Figure:
    """Draw one row for each result: a dot at the mean of its seeds, a line over their range, the mean in figures.

    Unlike bars, dots need no zero, so differences between perplexities can be seen. Floor and baselines are rows too.
    Where the kinds in a group stand for before and after, their dots are hollow and filled, in the colour of the row.

    Args:
        values: for each row a number, or the numbers of all seeds, (seeds,); or, for each group of rows, a mapping of
            that kind, which need not all have the same labels.
    """
    fixed = [(label, value) for label, value in (baselines or {}).items()] + ([floor] if floor else [])
    grouped = {row: group if isinstance(group, Mapping) else {None: group} for row, group in values.items()}
    kinds = list(dict.fromkeys(kind for group in grouped.values() for kind in group))
    looked = _dot_styles(grouped, kinds, **how)
    count = len(grouped) + len(fixed)
    most = max(len(group) for group in grouped.values())  # rows of dots in a group
    fig, ax = plt.subplots(figsize=(7.0, 1.0 + 0.42 * len(fixed) + 0.3 * len(grouped) * max(most, 1.4)))
    beside = {"xytext": (8, 0), "textcoords": "offset points", "va": "center", "fontsize": SMALL, "bbox": GROUND}
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
            ax.annotate(number(seeds.mean()), (seeds.max(), place), color=legible(colour), gid=gid, **beside)
    for row, (label, value) in enumerate(fixed, start=len(grouped)):
        least = floor and row == count - 1
        colour, gid = (GREY, "role-floor") if least else reference(label)
        ax.axvline(value, color=colour, linestyle="-" if least else "--", linewidth=1, gid=gid)
        ax.plot(value, row, color=colour, marker="|", markersize=12, linestyle="", gid=gid)
        ax.annotate(number(value), (value, row), color=colour, gid=gid, **beside)
    scale(ax, xlog=xlog)
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
        groups: by their names, the items that have a colour and a marker in common; together they hold every item.
        log: whether both axes are logarithmic.
    """
    fig, ax = plt.subplots(figsize=(7.0, 4.2))
    inks, gids = dict.fromkeys(named, legible(palette.MAGENTA)), {}
    if groups is None:
        ax.plot(*zip(*points.values(), strict=True), ".", color=palette.SLATE, alpha=0.35, markersize=6)
        for name in named:
            ax.plot(*points[name], palette.MARKERS[1], color=inks[name], markersize=5)
    else:
        for (group, items), look in zip(groups.items(), styles(groups), strict=True):
            x, y = zip(*(points[item] for item in items), strict=True)
            ax.plot(x, y, **look | {"linestyle": ""}, markersize=6, label=group)
            inks |= dict.fromkeys(items, legible(look["color"]))
            gids |= dict.fromkeys(items, look["gid"])
        name_legend(ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False))
    names = []
    for name in named:
        place = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        place |= {"color": inks[name], "gid": gids.get(name), "fontsize": STYLE["legend.fontsize"]}
        names.append(ax.annotate(name, points[name], parse_math=False, **place))
    if log:
        scale(ax, xlog=True, ylog=True)
    ax.margins(x=0.08)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    fig.draw_without_rendering()
    for pair in combinations(names, 2):
        lower, upper = sorted(pair, key=lambda name: name.xy[1])
        if lower.get_window_extent().overlaps(upper.get_window_extent()):
            lower.xyann, upper.xyann = (6, -5), (6, 5)
    return fig
