"""The look of the book's charts, and how a figure is saved: the same data gives an SVG of the same bytes."""

import io
import os
import re
from collections import Counter
from pathlib import Path

import matplotlib
from cycler import cycler
from matplotlib.figure import Figure

from unrolled.figures.roles import CATEGORIES, DASHES

STYLE = {
    "axes.prop_cycle": cycler(color=CATEGORIES) + cycler(linestyle=DASHES[: len(CATEGORIES)]),
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


def style() -> None:
    """Apply the book's figure style; in a notebook, show figures at twice the screen's resolution.

    Example:
        >>> with matplotlib.rc_context():  # so that the style ends with the block
        ...     style()
        ...     matplotlib.rcParams["figure.figsize"]
        [7.0, 3.6]
    """
    matplotlib.rcParams.update(STYLE)
    try:
        from IPython import get_ipython
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ImportError:  # plain Python
        return
    if getattr(get_ipython(), "kernel", None) is not None:
        set_matplotlib_formats("retina")


def _number(fig: Figure) -> None:
    """Make the identifiers of a figure's parts unique: role-gru.1, role-gru.2 and so on."""
    seen: Counter[str] = Counter()
    for part in fig.findobj(lambda part: (part.get_gid() or "").startswith("role-")):
        name = part.get_gid().partition(".")[0]
        seen[name] += 1
        part.set_gid(f"{name}.{seen[name]}")


def save(fig: Figure, name: str) -> Path | None:
    """Write a figure as ``name.svg`` into the folder that ``UNROLLED_FIGURES`` names, if it names one.

    On one machine the same data gives the same bytes: the identifiers are fixed, and there is no date. What stands
    for a role says so in its identifier, so that a test can read which colour stands for what.

    Args:
        fig: the figure; it stays open, for ``plt.show()``.
        name: lower-case letters and digits, in words joined by single hyphens.

    Returns:
        The file's path, or None if ``UNROLLED_FIGURES`` is unset or empty.

    Raises:
        ValueError: the name is not of that form.
        OSError: the file cannot be written.

    Example:
        >>> import tempfile
        >>> from unittest import mock
        >>> with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, UNROLLED_FIGURES=folder):
        ...     path = save(Figure(figsize=(2, 1)), "empty")
        ...     path.name, path.read_text()[:5]
        ('empty.svg', '<?xml')
    """
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise ValueError(f"{name!r} names no figure: use a-z and 0-9 in words joined by hyphens, as in 'rnn-unrolled'")
    folder = os.environ.get("UNROLLED_FIGURES")
    if not folder:
        return None
    _number(fig)
    svg = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": STYLE["svg.hashsalt"]}):
        fig.savefig(svg, format="svg", facecolor="white", metadata={"Date": None, "Creator": None})
    path = Path(folder) / f"{name}.svg"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(svg.getvalue())
    except OSError as error:
        raise OSError(
            f"cannot write {path}: {error.strerror}; set UNROLLED_FIGURES to a folder that can be written, or unset it"
        ) from error
    return path
