"""Draw results against what they cost, with dots that grow with the size of the model."""

from collections.abc import Mapping

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from unrolled.figures.labels import ink, name_legend, scale
from unrolled.figures.roles import GREY, looks
from unrolled.figures.style import STYLE


def growing(
    models: Mapping[str, Mapping[int, tuple]],
    *,
    xlabel: str,
    ylabel: str,
    sizes: str,
    baseline: tuple[str, float],
    roles: Mapping[str, str] | None = None,
) -> Figure:
    """Draw a line of dots for each model and size, the mean of its seeds with their range, larger where the size is.

    The area of a dot is in proportion to the size, and the largest dots of all models are alike. The sizes stand above
    the first dots of the first model's lines, and below those of the others.

    Args:
        models: by its name each model, and for each of its sizes (x, y): x of shape (points,), positive, y of shape
            (seeds, points), from 0 to 1.
        xlabel: what x is, with its unit; the axis is logarithmic.
        ylabel: what y is.
        sizes: what the size is, with its unit.
        baseline: the name and the value of what needs no model.
        roles: the names of the roles of models that the registry does not know, as `looks` takes them.

    Raises:
        ValueError: there is no model, or the shapes of an x and a y do not agree.

    Example:
        >>> models = {"GRU": {32: ([1, 8], [[0.1, 0.7]]), 128: ([4, 32], [[0.7, 0.9]])}}
        >>> told = {"xlabel": "numbers a pair", "ylabel": "share right", "sizes": "units"}
        >>> fig = growing(models, **told, baseline=("guessing", 0.06))
        >>> [text.get_text() for text in fig.axes[0].texts]
        ['32', '128', 'guessing']
        >>> plt.close(fig)
    """
    if not models or not all(models.values()):
        raise ValueError("models is empty, or has one without sizes: give at least one size with its (x, y)")
    for name, of in models.items():
        for size, (x, y) in of.items():
            if np.ndim(y) != 2 or np.shape(x) != np.shape(y)[1:]:
                right = "(points,) and (seeds, points)"
                raise ValueError(f"{name!r}, {size}: x has shape {np.shape(x)} and y {np.shape(y)}; right are {right}")
    fig, ax = plt.subplots(figsize=(7.0, 4.2))
    letters = {"fontsize": STYLE["ytick.labelsize"], "textcoords": "offset points", "va": "center"}
    letters["ha"] = "center"
    handles = []
    for (name, of), look in zip(models.items(), looks(models, roles=roles), strict=True):
        colour, gid = look["color"], look["gid"]
        for size, (x, y) in of.items():
            x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
            mean, wide = y.mean(axis=0), 15 * np.sqrt(size / max(of))
            ax.vlines(x, y.min(axis=0), y.max(axis=0), color=colour, linewidth=1.2, gid=gid)
            ax.plot(x, mean, color=colour, linestyle=look["linestyle"], linewidth=1.2, gid=gid)
            ax.plot(x, mean, "o", color=colour, markersize=wide, markeredgecolor="white", gid=gid)
            at, up = int(np.argmin(x)), 1 if not handles else -1
            place = {"xytext": (0, up * (wide / 2 + 8)), **letters}
            ax.annotate(f"{size}", (x[at], mean[at]), color=ink(colour), gid=gid, **place)
        (sample,) = ax.plot([], [], label=name, markersize=8, **look | {"marker": "o"})
        handles.append(sample)
    ax.axhline(baseline[1], color=GREY, linestyle="--", linewidth=1.2, zorder=1)
    scale(ax, np.zeros(0), xlog=True, ylog=False)
    ax.set(xlabel=xlabel, ylabel=ylabel, ylim=(0, 1.05))
    ax.margins(x=0.07)
    right = letters | {"xycoords": ("axes fraction", "data"), "xytext": (0, 9), "ha": "right"}
    ax.annotate(baseline[0], (1.0, baseline[1]), color=GREY, **right)
    title = f"dot and number: {sizes}"
    place = {"loc": "outside lower center", "ncols": len(handles), "frameon": False, "title": title}
    name_legend(fig.legend(handles=handles, **place))
    return fig
