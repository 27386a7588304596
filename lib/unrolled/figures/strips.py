"""Draw shares over time as strips of heat: a row for each model, grouped by what the models have in common."""

from collections.abc import Mapping

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from unrolled.figures.labels import ink
from unrolled.figures.roles import DARKEST, GREY, INK, LIGHTEST, looks
from unrolled.figures.style import STYLE

HEAT = LinearSegmentedColormap.from_list("heat", ["#ffffff", LIGHTEST, DARKEST])  # from 0 to 1
HEADING, STRIP = 0.95, 0.72  # heights of a group's heading and of a strip, in rows


def strips(
    groups: Mapping[str, Mapping[str, Mapping[str, np.ndarray]]],
    *,
    xlabel: str,
    ends: tuple[str, str],
    marked: tuple[str, float],
) -> Figure:
    """Draw a strip for each model and panel, light at 0 and dark at 1; each of its thin lines is one seed.

    Args:
        groups: by its heading each group of models, by its label each of them, and by its title for each panel the
            model's values, (seeds, steps), from 0 to 1; a model has the same panels as every other.
        xlabel: what the steps are, which are counted from 1.
        ends: what 0 and 1 stand for.
        marked: the name and the step of a line across all strips, such as the end of training.

    Raises:
        ValueError: there is no model, the panels differ, or values are not of one shape or not between 0 and 1.

    Example:
        >>> found = {"sees the state": {"GRU": {"2 cups": [[1.0, 1.0, 0.9]]}}}
        >>> fig = strips(found, xlabel="step", ends=("guessing", "always"), marked=("trained to here", 2))
        >>> fig.axes[0].images[0].get_clim(), [label.get_text() for label in fig.axes[0].get_yticklabels()]
        ((0.0, 1.0), ['GRU'])
        >>> plt.close(fig)
    """
    rows = {label: panels for group in groups.values() for label, panels in group.items()}
    titles = list(next(iter(rows.values()), {}))
    if not titles or any(list(panels) != titles for panels in rows.values()):
        raise ValueError(f"the models have the panels {[list(of) for of in rows.values()]}; give the same to each")
    shapes = {np.shape(values) for panels in rows.values() for values in panels.values()}
    if len(shapes) != 1 or len(next(iter(shapes))) != 2:
        raise ValueError(f"values have the shapes {sorted(shapes)}; (seeds, steps) is right, the same everywhere")
    ((_, steps),) = shapes
    for label, panels in rows.items():
        least, most = np.min(list(panels.values())), np.max(list(panels.values()))
        if not 0 <= least <= most <= 1:
            raise ValueError(f"{label!r} has values from {least:g} to {most:g}; right is 0 to 1")
    places, headings, row = {}, {}, 0.0
    for heading, group in groups.items():
        headings[heading] = row + HEADING / 2
        for number, label in enumerate(group):
            places[label] = row + HEADING + number + 0.5
        row += HEADING + len(group)
    fig, axes = plt.subplots(1, len(titles), sharey=True, squeeze=False, figsize=(7.0, 1.35 + 0.27 * row))
    size = STYLE["legend.fontsize"]
    for ax, title in zip(axes[0], titles, strict=True):
        for label, panels in rows.items():
            values, middle = np.asarray(panels[title], dtype=float), places[label]
            extent = (0.5, steps + 0.5, middle + STRIP / 2, middle - STRIP / 2)
            image = ax.imshow(values, cmap=HEAT, vmin=0, vmax=1, extent=extent, interpolation="none", zorder=1)
            frame = {"fill": False, "edgecolor": GREY, "linewidth": 0.5, "zorder": 2}
            ax.add_patch(plt.Rectangle((0.5, middle - STRIP / 2), steps, STRIP, **frame))
        ax.axvline(marked[1] + 0.5, color=INK, linestyle="--", linewidth=1.2, zorder=3)
        ax.set(title=title, xlabel=xlabel, xlim=(0.5, steps + 0.5), ylim=(row, 0), aspect="auto")
        ax.spines[:].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.grid(False)
        ax.patch.set_visible(False)  # a heading may reach across the gap between the panels
    for heading, place in headings.items():
        where = {"transform": axes[0, 0].get_yaxis_transform(), "ha": "left", "va": "center", "fontsize": size}
        text = axes[0, 0].text(-0.02, place, heading, color=GREY, style="italic", **where)
        text.set_bbox({"color": "white", "pad": 1})
        text.set_in_layout(False)
    axes[0, 0].set_zorder(1)
    above = {"xycoords": ("data", "axes fraction"), "xytext": (4, 0), "textcoords": "offset points"}
    axes[0, -1].annotate(marked[0], (marked[1] + 0.5, 1.0), va="top", fontsize=size, color=INK, **above)
    axes[0, 0].set_yticks(list(places.values()), list(places))
    for text, look in zip(axes[0, 0].get_yticklabels(), looks(rows), strict=True):
        text.set(color=ink(look["color"]), gid=look["gid"])
    bar = fig.colorbar(image, ax=axes[0].tolist(), orientation="horizontal", ticks=[0, 1], shrink=0.4, aspect=30)
    bar.ax.set_xticklabels(ends)
    return fig
