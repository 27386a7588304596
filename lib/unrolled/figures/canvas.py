"""The paper, pens and colours of the diagrams: boxes, arrows and texts in inches, on a white ground."""

import schemdraw
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.layout_engine import PlaceHolderLayoutEngine
from schemdraw import elements as elm
from schemdraw import flow

from unrolled.figures.palette import INK, MAGENTA, OLIVE, SLATE

GREY = "#666666"
INPUT, STATE, OUTPUT = "#dcebf7", "#fdebc8", "#e9e1f2"  # fills of the vectors' boxes
W_XH, W_HH, W_HY = SLATE, MAGENTA, OLIVE  # colours of the weights, each readable on white and none a model's
BACK, FAINT = "#b5174f", "#b5b5b5"  # the path of a gradient, and what is not on the path
SIZE = 17  # of letters, in points: about 8 on a phone
SMALL, LEGIBLE = 13, 14  # of smaller letters, in points; LEGIBLE is 8 on a phone, in a drawing of 6.5 inches
LOW, MIDDLE, HIGH = 0.45, 1.7, 2.95  # heights of inputs, states and outputs of an unrolled network, in inches
X, H, Y = r"\mathbf{x}", r"\mathbf{h}", r"\hat{\mathbf{y}}"  # the vectors' names


def weight(name: str) -> str:
    """Return the symbol of a weight matrix with its subscript, as mathtext."""
    return rf"$\mathbf{{W}}_{{{name}}}$"


def vector(name: str, step: object) -> str:
    """Return the symbol of a vector at a step, as mathtext."""
    return rf"${name}_{{{step}}}$"


class Sheet:
    """A drawing in inches, on a white ground, with its formulas set like the book's.

    Args:
        width: the width of the drawing, in inches.
        height: the height of the drawing, in inches.
        head: the length of an arrow's head, in inches.

    Example:
        >>> sheet = Sheet(width=2.0, height=1.0)
        >>> sheet.box(0.5, 0.5, vector(H, "t"), STATE)
        >>> sheet.arrow((0.85, 0.5), (1.6, 0.5), colour=W_HH)
        >>> figure = sheet.finish()
        >>> figure.get_size_inches().tolist(), len(figure.axes[0].texts)
        ([2.0, 1.0], 1)
        >>> plt.close(figure)
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
        """Draw a box with its centre at (x, y) and a text in it; `corner` is the radius of its corners."""
        shape = flow.RoundBox(w=width, h=height, cornerradius=corner).anchor("center").at((x, y))
        shape = shape.fill(fill).color(colour)
        self.drawing.add(shape.label(text, fontsize=SIZE, color=ink) if text else shape)

    def arrow(self, *points: tuple[float, float], colour: str = INK, width: float = 1.6) -> None:
        """Draw an arrow through points (x, y) in inches, from the first to the last."""
        *before, end = zip(points, points[1:], strict=False)
        pieces = [elm.Line().at(start).to(corner) for start, corner in before]
        pieces.append(elm.Arrow(arrowlength=self.head, arrowwidth=0.6 * self.head).at(end[0]).to(end[1]))
        for piece in pieces:
            self.drawing.add(piece.color(colour).linewidth(width))

    def dot(self, x: float, y: float, colour: str = INK) -> None:
        """Draw a dot at (x, y), for example where a line forks."""
        self.drawing.add(elm.Dot(radius=0.035).at((x, y)).color(colour))

    def loop(self, x: float, y: float, colour: str) -> None:
        """Draw an arrow that leaves the right side of a box at (x, y) and returns to it."""
        arc = elm.ArcLoop(radius=0.3, arrow="->", arrowlength=0.16, arrowwidth=0.13)
        self.drawing.add(arc.at((x, y + 0.13)).to((x, y - 0.13)).color(colour))

    def text(self, x: float, y: float, text: str, colour: str = INK, align: str = "center", size: float = SIZE) -> None:
        """Write a text with its middle at height y, and with its left end, centre or right end at x."""
        self.axes.text(x, y, text, color=colour, ha=align, va="center", fontsize=size)

    def finish(self) -> Figure:
        """Return the finished figure."""
        self.drawing.draw(show=False)
        self.axes.set(xlim=self.limits[0], ylim=self.limits[1], aspect="equal")
        self.axes.axis("off")
        for text in self.axes.texts:
            text.set_math_fontfamily("cm")
        return self.figure
