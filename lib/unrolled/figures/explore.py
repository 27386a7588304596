"""Let a reader move a slider over frames that were drawn beforehand, with a kernel or without.

In a notebook the browser links the slider of ipywidgets to a stack of pictures. ipywidgets before version 8, as in
Colab, has no `Stack`; but there a kernel runs, and a callback changes the picture. While the book is being made, the
frames are also saved, and its pages show them without ipywidgets.
"""

import html
import io
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import ipywidgets as widgets
import matplotlib
from matplotlib import pyplot as plt
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from PIL import Image

from unrolled.figures.labels import name_at_right
from unrolled.figures.style import STYLE

DPI = 144  # dots per inch of a frame: one and a half for each of the page's 96
COLOURS = 96  # in a frame's palette: enough for lines with smooth edges, in a quarter of the bytes
FOLDER = "explorers"  # in the folder that UNROLLED_FIGURES names
LISTED = "explorer.json"  # in the folder of an explorer, beside its frames 0.svg, 1.svg, ...

# The slider that ipywidgets draws has no name for a screen reader to speak, and its pictures have no alternative text.
# Python can set neither. So an image of one transparent dot brings the script that sets both.
NAMING = """
const name = {label}, dot = this;
(function find() {{
  const box = dot.closest(".unrolled-explorer");
  const handle = box && box.querySelector("[role=slider], .ui-slider-handle");
  const readout = box && box.querySelector(".widget-readout");
  if (!handle || !readout) return void setTimeout(find, 100);
  handle.setAttribute("aria-label", name);
  const describe = () => {{
    const value = readout.textContent;
    if (handle.getAttribute("aria-valuetext") !== value) handle.setAttribute("aria-valuetext", value);
    box.querySelectorAll("img.widget-image").forEach((img) => {{ img.alt = name + ": " + value; }});
  }};
  new MutationObserver(describe).observe(box, {{
    subtree: true, childList: true, characterData: true, attributeFilter: ["aria-valuetext"],
  }});
  describe();
}})();
"""
DOT = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


def slider(frames: Mapping[object, Figure], label: str, start: object = None) -> widgets.VBox:
    """Show a slider over frames; make this the last expression of its cell.

    What the frames have in common stays where it is: each axis has the limits that hold all frames, each colour means
    the same value, and the axes have one place. A heatmap keeps its own rows and columns. The figures are closed, so
    that ``plt.show()`` does not show them again.

    Args:
        frames: a figure for each value of the slider, in the slider's order; all of one size, with as many axes.
        label: what the slider changes; screen readers speak it. The explorers of a notebook have different labels.
        start: the value at which the slider stands in the beginning; None for the first.

    Returns:
        The slider above its pictures. Where ``UNROLLED_FIGURES`` names a folder, the frames are in it, in
        ``explorers/``, as SVG, with the label, the values and the number of the first one shown in ``explorer.json``.

    Raises:
        TypeError: a frame is no figure.
        ValueError: there are fewer than two frames, they differ in size or in the number of their axes, the slider
            shall start where there is none, or the label has no letter from a to z.
        OSError: the frames cannot be written.

    Example:
        >>> frames = {}
        >>> for width in (1, 2, 3):
        ...     frames[width], ax = plt.subplots(figsize=(2, 1))
        ...     _ = ax.plot([0, 1], [0, width], linewidth=width)
        >>> box = slider(frames, label="line width")
        >>> [name for name, _ in box.children[0].options]
        ['1', '2', '3']
        >>> [f"{figure.axes[0].get_ylim()[1]:.2f}" for figure in frames.values()]
        ['3.15', '3.15', '3.15']
    """
    if not re.search("[a-z]", label.lower()):
        raise ValueError(f"label is {label!r}: say in letters what the slider changes")
    if len(frames) < 2:
        raise ValueError(f"a slider needs at least two frames, and there are {len(frames)}")
    if start is not None and start not in frames:
        raise ValueError(f"the slider cannot start at {start!r}: its values are {', '.join(map(repr, frames))}")
    begin = 0 if start is None else list(frames).index(start)
    first, looks = next(iter(frames)), {}
    for value, frame in frames.items():
        if not isinstance(frame, Figure):
            raise TypeError(f"the frame for {value!r} is a {type(frame).__name__}; give a Figure")
        looks[value] = "{:g} × {:g} inches, with {} axes".format(*frame.get_size_inches(), len(frame.axes))
        if looks[value] != looks[first]:
            raise ValueError(
                f"the frame for {value!r} is {looks[value]}, and the one for {first!r} is {looks[first]}; "
                "draw all frames alike"
            )
    figures = list(frames.values())
    _fix(figures)
    if folder := os.environ.get("UNROLLED_FIGURES"):
        listed = {"label": label, "values": [str(value) for value in frames], "start": begin}
        _save(figures, listed, Path(folder) / FOLDER)
    pictures = [
        widgets.Image(value=_png(figure), format="png", layout={"max_width": "100%", "width": "672px"})
        for figure in figures
    ]
    choice = widgets.SelectionSlider(
        options=[(str(value), number) for number, value in enumerate(frames)],
        value=begin,
        description=label,
        style={"description_width": "initial"},
        layout={"width": "100%", "max_width": "672px"},
    )
    if hasattr(widgets, "Stack"):
        shown = widgets.Stack(pictures, selected_index=begin)
        widgets.jslink((choice, "index"), (shown, "selected_index"))
    else:
        shown = pictures[begin]
        values = [picture.value for picture in pictures]
        choice.observe(lambda change: setattr(shown, "value", values[change["new"]]), "index")
    script = html.escape(NAMING.format(label=json.dumps(label)))
    naming = widgets.HTML(f'<img hidden alt="" src="{DOT}" onload="{script}">', layout={"display": "none"})
    box = widgets.VBox([choice, shown, naming])
    box.add_class("unrolled-explorer")
    return box


def _fix(figures: Sequence[Figure]) -> None:
    """Give all frames the same limits, colours and places of their axes, as far as they show the same."""
    for figure in figures:
        figure.draw_without_rendering()  # from here on the limits are known
    alike = list(zip(*(figure.axes for figure in figures), strict=True))
    named = {ax: _named_at_right(ax) for axes in alike for ax in axes}
    limits = [[_common(axes, axis) for axis in "xy"] for axes in alike]
    for axes, (xlim, ylim) in zip(alike, limits, strict=True):
        _share_colours(axes)
        charts = not any(ax.images or hasattr(ax, "_colorbar") or not ax.axison for ax in axes)
        for ax in axes if charts else ():
            ax.set(xlim=xlim, ylim=ylim)
            for axis in (ax.xaxis, ax.yaxis):
                low, high = sorted(axis.get_view_interval())
                if isinstance(axis.get_major_locator(), ticker.LogLocator):  # it was for the frame's own limits
                    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,)))
    for ax, names in named.items():
        if names:
            name_at_right(ax, names, STYLE["legend.fontsize"])
    for figure in figures:
        figure.draw_without_rendering()
    places = [[ax.get_position().extents for ax in axes] for axes in alike]  # (x0, y0, x1, y1), shares of the figure
    if all(abs(place - boxes[0]).max() < 1e-6 for boxes in places for place in boxes):
        return
    for axes, boxes in zip(alike, places, strict=True):
        x0, y0, x1, y1 = zip(*boxes, strict=True)
        for ax in axes:
            ax.figure.set_layout_engine("none")
            ax.set_position((max(x0), max(y0), min(x1) - max(x0), min(y1) - max(y0)))


def _common(axes: Sequence[Axes], axis: str) -> tuple[float, float]:
    """Return the limits that hold those of all axes, in the direction of the first, of the x or the y axis."""
    limits = [getattr(ax, f"get_{axis}lim")() for ax in axes]
    ends = min(map(min, limits)), max(map(max, limits))
    return ends if limits[0][0] <= limits[0][1] else ends[::-1]


def _share_colours(axes: Sequence[Axes]) -> None:
    """Let a colour mean the same value in the images of all axes, where they have the same colours."""
    for images in zip(*(ax.images for ax in axes), strict=False):
        if len({image.get_cmap().name for image in images}) == 1:
            least, most = zip(*(image.get_clim() for image in images), strict=True)
            for image in images:
                image.set_clim(min(least), max(most))


def _named_at_right(ax: Axes) -> list[tuple]:
    """Take away the names beside the right end of the axes; return them as `name_at_right` takes them."""
    names = [text for text in ax.texts if isinstance(text, Annotation) and text.xycoords == "axes fraction"]
    if not names:
        return []
    places = ax.transData.inverted().transform(ax.transAxes.transform([name.xy for name in names]))
    taken = [
        (value, name.get_text(), name.get_color(), name.get_gid())
        for (_, value), name in zip(places, names, strict=True)
    ]
    for name in names:
        name.remove()
    return taken


def _save(figures: Sequence[Figure], listed: dict, folder: Path) -> None:
    """Write the frames and what the slider says of them into a folder of the label's name."""
    place = folder / re.sub("[^a-z0-9]+", "-", listed["label"].lower()).strip("-")
    try:
        place.mkdir(parents=True, exist_ok=True)
        for number, figure in enumerate(figures):
            with matplotlib.rc_context({"svg.hashsalt": STYLE["svg.hashsalt"]}):
                metadata = {"Date": None, "Creator": None}
                figure.savefig(place / f"{number}.svg", facecolor="white", bbox_inches=None, metadata=metadata)
        (place / LISTED).write_text(json.dumps(listed, ensure_ascii=False), "utf8")
    except OSError as error:
        raise OSError(f"cannot write {place}: {error.strerror}; set UNROLLED_FIGURES to another folder") from error


def _png(figure: Figure) -> bytes:
    """Draw a figure as a small PNG, and close it."""
    raw, small = io.BytesIO(), io.BytesIO()
    figure.savefig(raw, format="png", dpi=DPI, facecolor="white", bbox_inches=None)
    plt.close(figure)
    flat = Image.open(raw).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    flat.save(small, format="png", optimize=True)
    return small.getvalue()
