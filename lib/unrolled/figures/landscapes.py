"""Draw a loss over two parameters as a map, and the ways that descents take over it."""

from collections.abc import Mapping

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from unrolled.figures.labels import ink, scale
from unrolled.figures.roles import GREY, INK, looks
from unrolled.figures.style import STYLE

HALO = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.5}  # the ground of a name on the map


def descents(
    x: np.ndarray,
    y: np.ndarray,
    loss: np.ndarray,
    paths: Mapping[str, np.ndarray],
    *,
    levels: np.ndarray,
    xlabel: str,
    ylabel: str,
    label: str,
) -> Figure:
    """Draw the loss over two parameters as contours, darker where it is larger, and descents from one start.

    A mark stands for each update. A way that leaves the map ends in an arrow at its edge.

    Args:
        x: the values of the first parameter, in ascending order, (columns,).
        y: the values of the second, in ascending order, (rows,).
        loss: the loss, (rows, columns).
        paths: for each descent, by its name, its places from the start on, (updates + 1, 2).
        levels: the losses at which a contour is drawn, in ascending order, (contours,).
        xlabel: what the first parameter is.
        ylabel: what the second is.
        label: what the loss is, with its unit.

    Raises:
        ValueError: the shape of the loss is not that of the parameters' values, there is no path or one is not of its
            shape, or the paths do not begin at one place of the map.

    Example:
        >>> x, y = np.linspace(-1, 1, 5), np.linspace(-2, 2, 9)
        >>> loss = x**2 + y[:, None] ** 2
        >>> paths = {"stays": np.array([[0.5, 1.0], [0.2, 0.4]]), "leaves": np.array([[0.5, 1.0], [0.9, 4.0]])}
        >>> fig = descents(x, y, loss, paths, levels=[1, 2], xlabel="w", ylabel="b", label="loss")
        >>> [text.get_text() for text in fig.axes[0].texts if text.get_text()]
        ['stays', 'leaves', 'start']
        >>> plt.close(fig)
    """
    x, y, loss = np.asarray(x), np.asarray(y), np.asarray(loss)
    paths = {name: np.asarray(path, dtype=float) for name, path in paths.items()}
    if loss.shape != (len(y), len(x)):
        raise ValueError(f"loss has shape {loss.shape}; ({len(y)}, {len(x)}) is expected, a row for each y")
    if not paths or any(path.ndim != 2 or path.shape[1] != 2 for path in paths.values()):
        shapes = [path.shape for path in paths.values()]
        raise ValueError(f"paths have the shapes {shapes}; (updates + 1, 2) is right, for one path at least")
    start, low, high = next(iter(paths.values()))[0], np.array([x[0], y[0]]), np.array([x[-1], y[-1]])
    if any((path[0] != start).any() for path in paths.values()) or not _within(start, low, high):
        begun = [path[0].tolist() for path in paths.values()]
        raise ValueError(f"the paths begin at {begun}; one place of the map is right, the same for all")
    fig, ax = plt.subplots(figsize=(7.0, 4.6))
    ground = ax.contourf(x, y, loss, levels=levels, extend="both", cmap="Greys", alpha=0.45)
    ax.contour(x, y, loss, levels=levels, colors=GREY, linewidths=0.7)
    fig.colorbar(ground, ax=ax, label=label, pad=0.02, spacing="uniform")
    size, middle = STYLE["legend.fontsize"], (low + high) / 2
    for (name, path), look in zip(paths.items(), looks(paths), strict=True):
        colour, gid = look["color"], look["gid"]
        outside = [place for place, point in enumerate(path) if not _within(point, low, high)]
        seen = path[: outside[0]] if outside else path
        ax.plot(*seen.T, color=colour, linewidth=1.0, marker=look["marker"], markersize=3, gid=gid)
        if outside:
            last = seen[-1]
            end = _edge(last, path[outside[0]], low, high)
            arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 2.2, "shrinkA": 0, "shrinkB": 0, "gid": gid}
            ax.annotate("", end, last, arrowprops=arrow)
            right, down = end[0] < middle[0], -14 if end[1] > middle[1] else 14
        else:
            end = seen[-1]
            right, down = end[0] >= middle[0], 0  # the name stands beside its end, away from the middle
            ax.plot(*end, color=colour, marker=look["marker"], markersize=9, gid=gid, zorder=4)
        place = {"xytext": (12 if right else -12, down), "textcoords": "offset points", "va": "center"}
        place |= {"ha": "left" if right else "right", "fontsize": size, "bbox": HALO}
        ax.annotate(name, end, color=ink(colour), gid=gid, **place)
    ax.plot(*start, "o", color=INK, markerfacecolor="white", markersize=9, zorder=5)
    place = {"xytext": (0, -14), "textcoords": "offset points", "ha": "center", "va": "center", "bbox": HALO}
    ax.annotate("start", start, fontsize=size, color=INK, **place)
    scale(ax, np.zeros(0), xlog=False, ylog=False)
    ax.grid(False)
    ax.set(xlabel=xlabel, ylabel=ylabel, xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    return fig


def _within(point: np.ndarray, low: np.ndarray, high: np.ndarray) -> bool:
    """Tell whether a point lies on the map from its lowest to its highest corner; one that is no number does not."""
    return bool(((point >= low) & (point <= high)).all())


def _edge(inside: np.ndarray, outside: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return where the straight line from a point of the map to one outside crosses the map's edge."""
    way = np.clip(outside - inside, -1e6 * (high - low), 1e6 * (high - low))  # what has overflowed goes straight on
    limit = np.where(way > 0, high, low) - inside
    shares = np.divide(limit, way, out=np.full(2, np.inf), where=way != 0)
    return inside + shares.min() * way
