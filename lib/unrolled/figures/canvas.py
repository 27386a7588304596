"""Give the diagrams their paper, pens and colours: boxes, arrows and texts in inches, on a white ground."""

from __future__ import annotations

import schemdraw
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.layout_engine import PlaceHolderLayoutEngine
from schemdraw import elements as elm
from schemdraw import flow

INK, GREY = "#222222", "#666666"
INPUT, STATE, OUTPUT, LAYER = "#dcebf7", "#fdebc8", "#e9e1f2", "#e3efe0"  # grounds of the vectors and of layers
W_XH, W_HH, W_HY = "#1f6aa5", "#a65a00", "#7a3d9a"  # colours of the weights, each readable on white
OTHERS = (W_XH, "#2b7a3d", "#a8323e", "#6b5310", "#0f6f78", "#5a4fcf")  # one for each of several weights
BACK, FAINT = "#a8323e", "#b5b5b5"  # the way of a gradient, and what is not on the way
SIZE = 17  # of the letters, in points: about 8 on a phone
SMALL, LEGIBLE = 13, 14  # LEGIBLE is 8 on a phone, in a drawing of 6.5 inches
WIDE = 3.0  # of a cell's state, in points
X, H, C, Y = r"\mathbf{x}", r"\mathbf{h}", r"\mathbf{c}", r"\hat{\mathbf{y}}"  # the vectors' names
SIGMA, TANH = r"$\sigma$", r"$\tanh$"
STACK, GATES, PRODUCTS, SQUASH, TOP = 1.05, 2.3, 3.3, 4.015, 4.8  # heights in a gated cell, in inches


def weight(name: str) -> str:
    """Return the sign of a matrix of weights, with its subscript."""
    return rf"$\mathbf{{W}}_{{{name}}}$"


def vector(name: str, step: object) -> str:
    """Return the sign of a vector at a step."""
    return rf"${name}_{{{step}}}$"


class Sheet:
    """A drawing in inches, on a white ground, whose mathematics is set like the book's.

    Args:
        width: of the drawing, in inches.
        height: of the drawing, in inches.
        head: the length of an arrow's head, in inches.
    """

    def __init__(self, width: float, height: float, head: float = 0.25):
        still = PlaceHolderLayoutEngine(adjust_compatible=True, colorbar_gridspec=True)  # nothing to lay out
        self.figure = plt.figure(figsize=(width, height), facecolor="white", layout=still)
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.drawing = schemdraw.Drawing(canvas=self.axes, show=False)
        self.drawing.config(unit=1, inches_per_unit=1, fontsize=SIZE, lw=1.6, color=INK, margin=0)
        self.limits = (0, width), (0, height)
        self.head = head

    def box(
        self,
        x: float,
        y: float,
        text: str,
        fill: str,
        width: float = 0.62,
        height: float = 0.5,
        corner: float = 0.1,
        colour: str = INK,
        ink: str = INK,
    ) -> None:
        """Put a box with its centre at (x, y), and in it a text in ink; where its corners meet it is a circle."""
        shape = flow.RoundBox(w=width, h=height, cornerradius=corner).anchor("center").at((x, y))
        shape = shape.fill(fill).color(colour)
        self.drawing.add(shape.label(text, fontsize=SIZE, color=ink) if text else shape)

    def arrow(self, *points: tuple[float, float], colour: str = INK, width: float = 1.6) -> None:
        """Draw an arrow from the first point to the last, by way of those between."""
        *before, end = zip(points, points[1:], strict=False)
        pieces = [elm.Line().at(start).to(corner) for start, corner in before]
        pieces.append(elm.Arrow(arrowlength=self.head, arrowwidth=0.6 * self.head).at(end[0]).to(end[1]))
        for piece in pieces:
            self.drawing.add(piece.color(colour).linewidth(width))

    def dot(self, x: float, y: float, colour: str = INK) -> None:
        """Draw a dot, as where a line forks."""
        self.drawing.add(elm.Dot(radius=0.035).at((x, y)).color(colour))

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


class CellSheet(Sheet):
    """The drawing of a gated cell, of which one path can be lit while the rest is grey.

    Each part is told on which paths it lies, in one string. On the path "gradient" arrows point backwards.

    Args:
        path: the path to light, or None to draw all in full.
        paths: the paths that there are.

    Raises:
        ValueError: `path` is none of them.
    """

    def __init__(self, path: str | None, paths: tuple[str, ...]):
        if path is not None and path not in paths:
            raise ValueError(f"path is {path!r}; None or one of {', '.join(map(repr, paths))} is expected")
        super().__init__(6.5, 5.35, head=0.17)
        self.path = path

    def lit(self, on: str) -> bool:
        """Tell whether what lies on these paths is drawn in full."""
        return self.path is None or self.path in on.split()

    def way(self, *points: tuple[float, float], on: str, colour: str = INK, width: float = 1.6) -> None:
        """Draw an arrow through the points."""
        if self.path == "gradient" and self.lit(on):
            points, colour = points[::-1], BACK
        self.arrow(*points, colour=colour if self.lit(on) else FAINT, width=width)

    def part(self, x: float, y: float, text: str, fill: str, on: str, **form: float) -> None:
        """Put a box with its centre at (x, y)."""
        lit = self.lit(on)
        colours = {"colour": INK, "ink": INK} if lit else {"colour": FAINT, "ink": GREY}
        self.box(x, y, text, fill if lit else "white", **form, **colours)

    def node(self, x: float, y: float, text: str, on: str, width: float = 0.36) -> None:
        """Put an elementwise function, which has no weights, with its centre at (x, y)."""
        self.part(x, y, text, "white", on, width=width, height=0.36, corner=0.18)

    def product(self, x: float, y: float, on: str) -> None:
        """Put an elementwise product with its centre at (x, y)."""
        self.node(x, y, "", on)
        self.dot(x, y, INK if self.lit(on) else FAINT)

    def shape(self, x: float, y: float, shape: str = "(h)", align: str = "center") -> None:
        """Write the shape of a vector."""
        self.text(x, y, f"${shape}$", GREY, align, LEGIBLE)

    def name(self, x: float, y: float, name: str, on: str, colour: str) -> None:
        """Write the name and the shape of a layer's result right of the line at x."""
        self.text(x + 0.1, y, vector(name, "t"), colour if self.lit(on) else GREY, "left")
        self.shape(x + 0.1, y - 0.27, align="left")

    def layer(self, x: float, function: str, letter: str, on: str, colour: str) -> None:
        """Put a layer above the vector that it reads, and write its weights beside the arrow between."""
        start, end = STACK + 0.45, GATES - 0.23
        self.way((x, start), (x, end), on=on, colour=colour)
        self.text(x + 0.1, (start + end) / 2, weight(letter), colour if self.lit(on) else GREY, "left")
        self.part(x, GATES, function, LAYER, on, width=0.5 if function == SIGMA else 0.72, height=0.46)

    def stack(self, left: float, right: float, seam: float, above: str, on: str, on_input: str) -> None:
        """Stack a vector of length h on the input; their names end at the seam, and their shapes begin there."""
        middle, form = (left + right) / 2, {"width": right - left, "height": 0.45, "corner": 0.0}
        rows = (0.225, above, "(h)", STATE, on), (-0.225, f"{X}_t", "(d)", INPUT, on_input)
        for y, name, shape, fill, lies in rows:
            self.part(middle, STACK + y, "", fill, lies, **form)
            self.text(seam - 0.06, STACK + y, f"${name}$", INK if self.lit(lies) else GREY, "right")
            self.shape(seam + 0.06, STACK + y, shape, "left")
        self.shape(middle, STACK - 0.68, rf"[{above}, {X}_t]\;\;(h + d)")
