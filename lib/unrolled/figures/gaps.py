"""Draw what an intervention takes away: for each thing asked, before and after, and a bar between them."""

from collections.abc import Sequence

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from unrolled.figures.labels import scale
from unrolled.figures.roles import GREY, INK, MAGENTA
from unrolled.figures.style import STYLE


def gaps(
    names: Sequence[str],
    kept: np.ndarray,
    changed: np.ndarray,
    *,
    labels: tuple[str, str],
    beside: tuple[str, np.ndarray],
    xlabel: str,
    ylabel: str,
) -> Figure:
    """Draw a filled dot, a hollow one, and the bar between them for each name; the longer, the greater the damage.

    Args:
        names: what is asked, such as the symbols of a text.
        kept: the values as they are, (names,), from 0 to 1.
        changed: the values after the intervention, (names,), from 0 to 1.
        labels: what the filled and the hollow dots are.
        beside: the label and the values, (names,), of a mark that stands on the same scale for comparison.
        xlabel: what the names are.
        ylabel: what the values are.

    Raises:
        ValueError: there is no name, or the number of some values is not that of the names.

    Example:
        >>> told = {"labels": ("learned", "shuffled"), "beside": ("largest weight", [0.9, 0.8])}
        >>> fig = gaps("Y-", [1.0, 1.0], [0.3, 0.9], **told, xlabel="symbol", ylabel="share right")
        >>> [text.get_text() for text in fig.axes[0].get_xticklabels()]
        ['Y', '-']
        >>> plt.close(fig)
    """
    values = [np.asarray(each, dtype=float) for each in (kept, changed, beside[1])]
    if not len(names) or any(each.shape != (len(names),) for each in values):
        raise ValueError(f"there are {len(names)} names, and values of shapes {[each.shape for each in values]}")
    kept, changed, compared = values
    places = np.arange(len(names))
    fig, ax = plt.subplots(figsize=(7.0, 3.4))
    ax.vlines(places, changed, kept, color=MAGENTA, linewidth=7, alpha=0.55)
    ax.plot(places, compared, "_", color=GREY, markersize=15, markeredgewidth=2, label=beside[0])
    hollow = {"markerfacecolor": "white", "markeredgewidth": 1.6}
    ax.plot(places, changed, "o", color=INK, markersize=7, label=labels[1], **hollow)
    ax.plot(places, kept, "o", color=INK, markersize=7, label=labels[0])
    scale(ax, np.zeros(0), xlog=False, ylog=False)
    ax.set(xlabel=xlabel, ylabel=ylabel, ylim=(-0.03, 1.06), xlim=(-0.6, len(names) - 0.4))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.set_xticks(places, names, family="DejaVu Sans Mono", fontsize=STYLE["axes.labelsize"])
    ax.grid(False, axis="x")
    handles, texts = ax.get_legend_handles_labels()
    fig.legend(handles[::-1], texts[::-1], loc="outside lower center", ncols=3, frameon=False)
    return fig
