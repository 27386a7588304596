"""Draw networks as graphs: a window network, a recurrent one with its loop and unrolled, a gradient's way back."""

from __future__ import annotations

import schemdraw
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.layout_engine import PlaceHolderLayoutEngine
from schemdraw import elements as elm
from schemdraw import flow

INK, GREY = "#222222", "#666666"
INPUT, STATE, OUTPUT = "#dcebf7", "#fdebc8", "#e9e1f2"  # grounds of the vectors
W_XH, W_HH, W_HY = "#1f6aa5", "#a65a00", "#7a3d9a"  # colours of the weights, each readable on white
OTHERS = (W_XH, "#2b7a3d", "#a8323e", "#6b5310", "#0f6f78", "#5a4fcf")  # one for each position of a window
BACK, FAINT = "#a8323e", "#b5b5b5"  # the way of a gradient, and what it does not take
SIZE = 17  # of the letters, in points: about 8 on a phone
SMALL = 13
X, H, Y = r"\mathbf{x}", r"\mathbf{h}", r"\hat{\mathbf{y}}"  # the vectors' names
LOW, MIDDLE, HIGH = 0.45, 1.7, 2.95  # of inputs, states and outputs, in inches


class _Sheet:
    """A drawing in inches, on a white ground, whose mathematics is set like the book's."""

    def __init__(self, width: float, height: float):
        still = PlaceHolderLayoutEngine(adjust_compatible=True, colorbar_gridspec=True)  # nothing to lay out
        self.figure = plt.figure(figsize=(width, height), facecolor="white", layout=still)
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.drawing = schemdraw.Drawing(canvas=self.axes, show=False)
        self.drawing.config(unit=1, inches_per_unit=1, fontsize=SIZE, lw=1.6, color=INK, margin=0)
        self.limits = (0, width), (0, height)

    def box(self, x: float, y: float, text: str, fill: str, width: float = 0.62, height: float = 0.5) -> None:
        """Put a vector's box with its centre at (x, y)."""
        shape = flow.RoundBox(w=width, h=height, cornerradius=0.1).anchor("center").at((x, y))
        self.drawing.add(shape.fill(fill).label(text, fontsize=SIZE))

    def arrow(self, start: tuple, end: tuple, colour: str = INK) -> None:
        """Draw an arrow from one point to another."""
        self.drawing.add(elm.Arrow(headwidth=0.13, headlength=0.16).at(start).to(end).color(colour))

    def loop(self, x: float, y: float, colour: str) -> None:
        """Draw an arrow that leaves the right side of a box, whose middle is (x, y), and comes back to it."""
        arc = elm.ArcLoop(radius=0.3, arrow="->", arrowlength=0.16, arrowwidth=0.13)
        self.drawing.add(arc.at((x, y + 0.13)).to((x, y - 0.13)).color(colour))

    def text(self, x: float, y: float, text: str, colour: str = INK, align: str = "center", size: float = SIZE) -> None:
        """Write a text at half height y, with its left end, its centre or its right end at x."""
        self.axes.text(x, y, text, color=colour, ha=align, va="center", fontsize=size)

    def finish(self) -> Figure:
        """Return the figure."""
        self.drawing.draw(show=False)
        self.axes.set(xlim=self.limits[0], ylim=self.limits[1], aspect="equal")
        self.axes.axis("off")
        for written in self.axes.texts:
            written.set_math_fontfamily("cm")
        return self.figure


def _weight(name: str) -> str:
    return rf"$\mathbf{{W}}_{{{name}}}$"


def _vector(name: str, step: object) -> str:
    return rf"${name}_{{{step}}}$"


def _column(sheet: _Sheet, x: float, step: object) -> None:
    """Draw one step of the recurrent network: its input below, its state, its output above, and their weights."""
    sheet.box(x, LOW, _vector(X, step), INPUT)
    sheet.box(x, MIDDLE, _vector(H, step), STATE)
    sheet.box(x, HIGH, _vector(Y, step), OUTPUT)
    sheet.arrow((x, LOW + 0.25), (x, MIDDLE - 0.25), W_XH)
    sheet.arrow((x, MIDDLE + 0.25), (x, HIGH - 0.25), W_HY)
    sheet.text(x + 0.12, (LOW + MIDDLE) / 2, _weight("xh"), W_XH, "left")
    sheet.text(x + 0.12, (MIDDLE + HIGH) / 2, _weight("hy"), W_HY, "left")


def rnn_unrolled(steps: int = 3) -> Figure:
    """Draw a recurrent network with its loop and, beside it, unrolled: the same weights at every step (:eq:`eq-rnn`).

    Args:
        steps: copies of the step to draw, 1 to 6.

    Raises:
        ValueError: `steps` is out of range.
    """
    if not 1 <= steps <= 6:
        raise ValueError(f"steps is {steps}; from 1 to 6 fit on a page")
    start, between = 3.35, 1.3
    sheet = _Sheet(start + between * steps + 0.95, 3.4)
    loop = 0.5
    _column(sheet, loop, "t")
    sheet.loop(loop + 0.31, MIDDLE, W_HH)
    sheet.text(loop + 0.92, MIDDLE, _weight("hh"), W_HH, "left")
    sheet.arrow((2.0, MIDDLE), (2.75, MIDDLE))
    sheet.text(2.37, MIDDLE + 0.2, "unroll", size=SMALL)
    sheet.box(start, MIDDLE, _vector(H, 0), "white")
    for step in range(1, steps + 1):
        x = start + between * step
        _column(sheet, x, step)
        sheet.arrow((x - between + 0.31, MIDDLE), (x - 0.31, MIDDLE), W_HH)
        sheet.text(x - between / 2 - 0.02, MIDDLE + 0.2, _weight("hh"), W_HH)
    end = start + between * steps
    sheet.arrow((end + 0.31, MIDDLE), (end + 0.68, MIDDLE), W_HH)
    sheet.text(end + 0.8, MIDDLE, "…", W_HH)
    return sheet.finish()


def window_network(window: int = 4) -> Figure:
    """Draw a network that reads a window of fixed length: a graph without a loop, other weights for each position.

    Args:
        window: positions that it reads, 2 to 6.

    Raises:
        ValueError: `window` is out of range.
    """
    if not 2 <= window <= 6:
        raise ValueError(f"window is {window}; from 2 to 6 fit on a page")
    between, left = 1.3, 1.55
    middle = left + between * (window - 1) / 2
    sheet = _Sheet(left + between * (window - 1) + 1.55, 3.4)
    wide = between * (window - 1) + 0.62
    sheet.box(middle, MIDDLE, r"$\mathbf{h}$", STATE, width=wide)
    sheet.box(middle, HIGH, _vector(Y, "t"), OUTPUT)
    sheet.arrow((middle, MIDDLE + 0.25), (middle, HIGH - 0.25), W_HY)
    sheet.text(middle + 0.12, (MIDDLE + HIGH) / 2, _weight("hy"), W_HY, "left")
    for position in range(window):
        x, back = left + between * position, window - 1 - position
        sheet.box(x, LOW, _vector(X, f"t-{back}" if back else "t"), INPUT, width=0.84)
        sheet.arrow((x, LOW + 0.25), (x, MIDDLE - 0.25), OTHERS[position])
        sheet.text(x + 0.12, (LOW + MIDDLE) / 2, _weight(f"{position + 1}"), OTHERS[position], "left")
    before = _vector(X, f"t-{window}")
    sheet.text(0.6, LOW, before, GREY)
    sheet.text(0.6, LOW + 0.42, "out of view", GREY, size=SMALL)
    return sheet.finish()


def gradient_paths(steps: int = 4, t: int = 4, k: int = 2) -> Figure:
    """Draw the way that the gradient of one step's loss takes back to one use of the recurrent weights.

    The way from L_t goes through the states, a Jacobian each, and leaves them at step k with the immediate derivative:
    one term of the double sum (:eq:`eq-double-sum`). All other arrows are grey.

    Args:
        steps: T, the steps of the sequence, 2 to 5.
        t: the step whose loss it is.
        k: the step at which the weights are used, at most t.

    Raises:
        ValueError: `steps` is out of range, or not 1 ≤ k ≤ t ≤ steps.
    """
    if not 2 <= steps <= 5:
        raise ValueError(f"steps is {steps}; from 2 to 5 fit on a page")
    if not 1 <= k <= t <= steps:
        raise ValueError(f"t is {t} and k is {k}; 1 ≤ k ≤ t ≤ {steps} is expected")
    start, between = 0.5, 1.45
    sheet = _Sheet(start + between * steps + 0.75, 3.4)
    sheet.box(start, MIDDLE, _vector(H, 0), "white")
    for step in range(1, steps + 1):
        x = start + between * step
        on_way = k < step <= t  # the way crosses from this state to the one before
        sheet.box(x, LOW, _weight("hh"), INPUT, width=0.84)
        sheet.box(x, MIDDLE, _vector(H, step), STATE)
        sheet.box(x, HIGH, rf"$L_{{{step}}}$", OUTPUT)
        ends = (x - 0.31, MIDDLE), (x - between + 0.31, MIDDLE)
        sheet.arrow(*(ends if on_way else reversed(ends)), BACK if on_way else FAINT)
        if on_way:
            sheet.text(x - between / 2, MIDDLE + 0.24, rf"$\mathbf{{J}}_{{{step}}}^\top$", BACK)
        ends = (x, HIGH - 0.25), (x, MIDDLE + 0.25)
        sheet.arrow(*(ends if step == t else reversed(ends)), BACK if step == t else FAINT)
        ends = (x, MIDDLE - 0.25), (x, LOW + 0.25)
        sheet.arrow(*(ends if step == k else reversed(ends)), BACK if step == k else FAINT)
        if step == k:
            sheet.text(x + 0.12, (LOW + MIDDLE) / 2, r"$\partial^{+}$", BACK, "left")
    return sheet.finish()
