"""Let a reader move a slider over frames that were drawn beforehand, with a kernel or without.

In a published page no Python runs: there the browser itself links the slider to the stack of pictures. ipywidgets
before version 8, as in Colab, has no `Stack`; but there a kernel runs, and a callback changes the picture.
"""

import html
import io
import json
from collections.abc import Mapping

import ipywidgets as widgets
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from PIL import Image

DPI = 144  # dots per inch of a frame: one and a half for each of the page's 96
COLOURS = 96  # in a frame's palette: enough for lines with smooth edges, in a quarter of the bytes

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


def slider(frames: Mapping[object, Figure], label: str) -> widgets.VBox:
    """Show a slider over frames; make this the last expression of its cell.

    Each figure is drawn once and closed, so that ``plt.show()`` does not show it again.

    Args:
        frames: a figure for each value of the slider, in the slider's order; all of one size.
        label: what the slider changes; screen readers speak it.

    Returns:
        The slider above its pictures.

    Raises:
        TypeError: a frame is no figure.
        ValueError: there are fewer than two frames, they differ in size, or the label is empty.

    Example:
        >>> frames = {}
        >>> for width in (1, 2, 3):
        ...     frames[width], ax = plt.subplots(figsize=(2, 1))
        ...     _ = ax.plot([0, 1], [0, 1], linewidth=width)
        >>> box = slider(frames, label="line width")
        >>> [name for name, _ in box.children[0].options]
        ['1', '2', '3']
    """
    if not label.strip():
        raise ValueError("label is empty: say what the slider changes")
    if len(frames) < 2:
        raise ValueError(f"a slider needs at least two frames, and there are {len(frames)}")
    first, sizes = next(iter(frames)), {}
    for value, frame in frames.items():
        if not isinstance(frame, Figure):
            raise TypeError(f"the frame for {value!r} is a {type(frame).__name__}; give a Figure")
        sizes[value] = "{:g} × {:g} inches".format(*frame.get_size_inches())
        if sizes[value] != sizes[first]:
            raise ValueError(
                f"the frame for {value!r} is {sizes[value]} and the one for {first!r} is {sizes[first]}; "
                "draw all frames in one size"
            )
    pictures = [
        widgets.Image(value=_png(frame), format="png", layout={"max_width": "100%", "width": "672px"})
        for frame in frames.values()
    ]
    choice = widgets.SelectionSlider(
        options=[(str(value), number) for number, value in enumerate(frames)],
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


def _png(figure: Figure) -> bytes:
    """Draw a figure as a small PNG, and close it."""
    raw, small = io.BytesIO(), io.BytesIO()
    figure.savefig(raw, format="png", dpi=DPI, facecolor="white", bbox_inches=None)
    plt.close(figure)
    flat = Image.open(raw).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    flat.save(small, format="png", optimize=True)
    return small.getvalue()
