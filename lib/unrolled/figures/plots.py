"""Draw the book's charts: curves, panels, heatmaps, rows of dots, scatter plots.

The functions draw what they are given and compute nothing but the mean and the range over seeds. Colour is never the
only cue: lines differ by dashes and markers too, and are named at their ends if the names fit there. Colours are those
of the registry (`unrolled.figures.roles`): a model has the same look in every chart, n-grams are black, the steps of an
ordered quantity a ramp of one hue.
"""

from collections.abc import Collection, Mapping

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unrolled.figures.labels import FEW, ink, name_at_right, name_legend, scale
from unrolled.figures.marks import dots, heatmap, scatter
from unrolled.figures.roles import GREY, looks, reference
from unrolled.figures.style import STYLE, save, style

__all__ = ["curves", "dots", "heatmap", "panels", "save", "scatter", "style"]


def _lines(ax: Axes, series: Mapping[str, tuple], **kinds) -> tuple[list[tuple], list[float]]:
    """Draw a line for each series, the mean of its seeds within their range.

    Args:
        ax: the axes to draw on.
        series: as `curves` takes them.
        **kinds: `roles` and `ordered`, as `looks` takes them.

    Returns:
        For each line with a finite value, (y, label, colour of the label, identifier) and x, both of its last finite
        value.

    Raises:
        ValueError: there is no series, or the shapes of an x and a y do not agree.
    """
    if not series:
        raise ValueError("series is empty: give at least one label with its (x, y)")
    names, ends = [], []
    for (label, (x, y)), look in zip(series.items(), looks(series, **kinds), strict=True):
        x, y = np.asarray(x), np.atleast_2d(np.asarray(y, dtype=float))
        if x.ndim != 1 or y.ndim != 2 or y.shape[1] != len(x) or len(x) == 0:
            raise ValueError(
                f"{label!r} has x of shape {x.shape} and y of shape {np.shape(series[label][1])}; "
                "right are (points,) with (points,) or (seeds, points)"
            )
        mean = y.mean(axis=0)
        marked = look if len(x) <= FEW else look | {"marker": None}
        (line,) = ax.plot(x, mean, label=label, markersize=5, **marked)
        if len(y) > 1:
            band = {"color": line.get_color(), "gid": line.get_gid(), "alpha": 0.18, "linewidth": 0}
            ax.fill_between(x, y.min(axis=0), y.max(axis=0), **band)
        seen = np.flatnonzero(np.isfinite(mean))
        if len(seen):
            names.append((mean[seen[-1]], label, ink(line.get_color()), line.get_gid()))
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
    roles: Mapping[str, str] | None = None,
    ordered: bool | Collection[str] = False,
) -> Figure:
    """Draw lines, each the mean of its seeds within their range, above a floor and beside baselines.

    Args:
        series: for each label (x, y): x of shape (points,), y of shape (points,) or (seeds, points).
        xlabel: what x is, with its unit.
        ylabel: what y is, with its unit.
        floor: the label and the value of a line that no curve can cross, in the unit of y.
        baselines: labels and values of lines to compare with, in the unit of y.
        xlog: whether the x axis is logarithmic.
        ylog: whether the y axis is logarithmic.
        ylim: the limits of the y axis; all frames of an explorer need the same ones.
        roles: the names of the roles of labels that the registry does not know, as `looks` takes them.
        ordered: whether the labels are the steps of one quantity, in order, such as units, lags or budgets; or those
            that are.

    Raises:
        ValueError: there is no series, or the shapes of an x and a y do not agree.

    Example:
        >>> losses = {"RNN": ([100, 200, 300], [[2.0, 1.5, 1.2], [2.2, 1.7, 1.4]])}  # two seeds
        >>> fig = curves(losses, xlabel="updates", ylabel="nats", floor=("entropy", 0.9))
        >>> fig.axes[0].lines[0].get_ydata().round(2).tolist(), len(fig.axes[0].lines)
        ([2.1, 1.6, 1.3], 2)
        >>> plt.close(fig)
    """
    fig, ax = plt.subplots()
    names, ends = _lines(ax, series, roles=roles, ordered=ordered)
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
    size = STYLE["legend.fontsize"]
    together = len(reach) == 0 or np.ptp(reach) < 0.05 * ax.bbox.width
    if not (together and name_at_right(ax, names + references, size)):
        name_legend(ax.legend())
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
    shared: bool = True,
    roles: Mapping[str, str] | None = None,
    ordered: bool | Collection[str] = False,
) -> Figure:
    """Draw the same kinds of lines under several conditions, in panels side by side.

    Args:
        groups: for each panel, by its title, the series as `curves` takes them; every panel has the same labels.
        xlabel: what x is, with its unit.
        ylabel: what y is, with its unit.
        xlog: whether the x axes are logarithmic.
        ylog: whether the y axes are logarithmic.
        ylim: the limits of the first y axis, and of all that share it.
        shared: whether all panels share one y axis; otherwise each has its own.
        roles: the names of the roles of labels that the registry does not know, as `looks` takes them.
        ordered: whether the labels are the steps of one quantity, in order, such as units, lags or budgets; or those
            that are.

    Raises:
        ValueError: there is no panel, the labels differ, or what `curves` raises for a panel's series.

    Example:
        >>> groups = {"before": {"RNN": ([1, 2], [0.5, 0.1])}, "after": {"RNN": ([1, 2], [0.6, 0.4])}}
        >>> fig = panels(groups, xlabel="lag", ylabel="norm")
        >>> [ax.get_title() for ax in fig.axes]
        ['before', 'after']
        >>> plt.close(fig)
    """
    labels = [list(series) for series in groups.values()]
    if not labels or any(other != labels[0] for other in labels):
        raise ValueError(f"the panels have the labels {labels}; give at least one panel, and the same labels in each")
    fig, axes = plt.subplots(1, len(groups), sharey=shared, squeeze=False, figsize=(7.0, 3.9))
    for ax, (title, series) in zip(axes[0], groups.items(), strict=True):
        _lines(ax, series, roles=roles, ordered=ordered)
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


def _places(series: Mapping[str, tuple]) -> np.ndarray:
    """Return the values of x at which lines have points: where all seeds are missing there is none, and no tick."""
    found = [np.asarray(x)[~np.isnan(np.atleast_2d(y)).all(axis=0)] for x, y in series.values()]
    return np.concatenate(found)
