"""Let a reader move a slider over frames that were drawn beforehand, with a kernel and without one.

In a published page no Python runs. There the browser itself links the slider to the stack of pictures. Where
ipywidgets is older than 8 and has no `Stack`, as in Colab, a kernel is alive, and a callback changes the picture.
"""

from __future__ import annotations

import html
import io
import json
from collections.abc import Mapping

import ipywidgets as widgets
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from PIL import Image

DPI = 144  # dots per inch of a frame: one and a half for each of the page's 96
COLOURS = 96  # of a frame's palette: enough for lines with smooth edges, a quarter of the bytes
PNG = b"\x89PNG\r\n\x1a\n"

# The slider that ipywidgets draws has no name that a screen reader could speak, and its pictures have no text.
# Neither can be set from Python. So a picture of one transparent dot brings the script that sets both.
NAMING = """
const name = {label}, dot = this;
(function find() {{
  const box = dot.closest(".unrolled-explorer");
  const handle = box && box.querySelector("[role=slider], .ui-slider-handle");
  const readout = box && box.querySelector(".widget-readout");
  if (!handle || !readout) return void setTimeout(find, 100);
  handle.setAttribute("aria-label", name);
  const tell = () => {{
    const value = readout.textContent;
    if (handle.getAttribute("aria-valuetext") !== value) handle.setAttribute("aria-valuetext", value);
    box.querySelectorAll("img.widget-image").forEach((img) => {{ img.alt = name + ": " + value; }});
  }};
  new MutationObserver(tell).observe(box, {{
    subtree: true, childList: true, characterData: true, attributeFilter: ["aria-valuetext"],
  }});
  tell();
}})();
"""
DOT = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


def slider(frames: Mapping[object, Figure | bytes], label: str) -> widgets.VBox:
    """Show a slider over frames; make this the last expression of its cell.

    Figures are drawn once and closed, so that ``plt.show()`` does not show them again.

    Args:
        frames: for each value of the slider, in its order, a figure or the bytes of a PNG or SVG picture, all of
            one kind and size.
        label: what the slider changes; the name that screen readers speak.

    Returns:
        The slider above its pictures.

    Raises:
        TypeError: a frame is neither a figure nor bytes.
        ValueError: there are fewer than two frames, the label is empty, the bytes are no picture, or the frames
            differ in kind or size.
    """
    if not label.strip():
        raise ValueError("label is empty: say what the slider changes")
    if len(frames) < 2:
        raise ValueError(f"a slider needs at least two frames, and there are {len(frames)}")
    drawn = {value: _picture(value, frame) for value, frame in frames.items()}
    kinds = {value: _kind(value, picture) for value, picture in drawn.items()}
    first, *others = kinds
    for value in others:
        if kinds[value] != kinds[first]:
            raise ValueError(f"the frame for {value!r} is {kinds[value]}, the one for {first!r} {kinds[first]}")
    form = "png" if kinds[first].startswith("PNG") else "svg+xml"
    pictures = [
        widgets.Image(value=picture, format=form, layout={"max_width": "100%", "width": "672px"})
        for picture in drawn.values()
    ]
    choice = widgets.SelectionSlider(
        options=[(str(value), number) for number, value in enumerate(drawn)],
        description=label,
        style={"description_width": "initial"},
        layout={"width": "100%", "max_width": "672px"},
    )
    if hasattr(widgets, "Stack"):
        shown = widgets.Stack(pictures, selected_index=0)
        widgets.jslink((choice, "index"), (shown, "selected_index"))
    else:
        shown = pictures[0]
        values = [picture.value for picture in pictures]
        choice.observe(lambda change: setattr(shown, "value", values[change["new"]]), "index")
    script = html.escape(NAMING.format(label=json.dumps(label)))
    naming = widgets.HTML(f'<img hidden alt="" src="{DOT}" onload="{script}">', layout={"display": "none"})
    box = widgets.VBox([choice, shown, naming])
    box.add_class("unrolled-explorer")
    return box


def _picture(value: object, frame: Figure | bytes) -> bytes:
    """Return a frame's bytes; draw and close it first where it is a figure."""
    if isinstance(frame, bytes):
        return frame
    if not isinstance(frame, Figure):
        raise TypeError(f"the frame for {value!r} is a {type(frame).__name__}; give a Figure, or bytes of PNG or SVG")
    raw, small = io.BytesIO(), io.BytesIO()
    frame.savefig(raw, format="png", dpi=DPI, facecolor="white", bbox_inches=None)
    plt.close(frame)
    flat = Image.open(raw).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    flat.save(small, format="png", optimize=True)
    return small.getvalue()


def _kind(value: object, picture: bytes) -> str:
    """Return what a picture is, with its size in pixels where it has one."""
    if picture.startswith(PNG):
        return "PNG of {} × {} pixels".format(*Image.open(io.BytesIO(picture)).size)
    if b"<svg" in picture[:2000]:
        return "SVG"
    raise ValueError(f"the bytes of the frame for {value!r} are neither PNG nor SVG")
