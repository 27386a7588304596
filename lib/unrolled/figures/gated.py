"""Draw the gated cells, whole or with one of their paths lit: the LSTM and the GRU."""

from matplotlib.figure import Figure

from unrolled.figures.canvas import BACK, FAINT, GREY, INK, INPUT, LEGIBLE, STATE, H, Sheet, X, vector, weight
from unrolled.figures.palette import GATES as COLOURS

LSTM_PATHS = ("cell", "forget", "input", "candidate", "output", "gradient")
GRU_PATHS = ("keep", "update", "reset", "candidate", "gradient")

LAYER = "#e3efe0"  # fill of a layer's box
WIDE = 3.0  # width of the state's arrows, in points
STACK, GATES, PRODUCTS, SQUASH, TOP = 1.05, 2.3, 3.3, 4.015, 4.8  # heights, in inches
C = r"\mathbf{c}"  # the cell state's name
SIGMA, TANH = r"$\sigma$", r"$\tanh$"


class CellSheet(Sheet):
    """The drawing of a gated cell, in which one path can be lit while the rest is grey.

    Each part names the paths that it lies on, in one string. On the path "gradient" arrows point backwards.
    """

    def __init__(self, path: str | None):
        super().__init__(6.5, 5.35, head=0.17)
        self.path = path

    def lit(self, on: str) -> bool:
        """Return whether a part on these paths is drawn in full."""
        return self.path is None or self.path in on.split()

    def trace(self, *points: tuple[float, float], on: str, colour: str = INK, width: float = 1.6) -> None:
        """Draw an arrow through points (x, y), from the first to the last."""
        if self.path == "gradient" and self.lit(on):
            points, colour = points[::-1], BACK
        self.arrow(*points, colour=colour if self.lit(on) else FAINT, width=width)

    def part(self, x: float, y: float, text: str, fill: str, on: str, **form: float) -> None:
        """Draw a box with its centre at (x, y)."""
        lit = self.lit(on)
        colours = {"colour": INK, "ink": INK} if lit else {"colour": FAINT, "ink": GREY}
        self.box(x, y, text, fill if lit else "white", **form, **colours)

    def node(self, x: float, y: float, text: str, on: str, width: float = 0.36) -> None:
        """Draw an elementwise function, which has no weights, with its centre at (x, y)."""
        self.part(x, y, text, "white", on, width=width, height=0.36, corner=0.18)

    def product(self, x: float, y: float, on: str) -> None:
        """Draw an elementwise product with its centre at (x, y)."""
        self.node(x, y, "", on)
        self.dot(x, y, INK if self.lit(on) else FAINT)

    def shape(self, x: float, y: float, shape: str = "(h)", align: str = "center") -> None:
        """Write the shape of a vector."""
        self.text(x, y, f"${shape}$", GREY, align, LEGIBLE)

    def name(self, x: float, y: float, name: str, on: str, colour: str) -> None:
        """Write the name and the shape of a layer's result to the right of the line at x."""
        self.text(x + 0.1, y, vector(name, "t"), colour if self.lit(on) else GREY, "left")
        self.shape(x + 0.1, y - 0.27, align="left")

    def layer(self, x: float, function: str, letter: str, on: str, colour: str) -> None:
        """Draw a layer above the vector that it reads, with its weights beside the arrow between them."""
        start, end = STACK + 0.45, GATES - 0.23
        self.trace((x, start), (x, end), on=on, colour=colour)
        self.text(x + 0.1, (start + end) / 2, weight(letter), colour if self.lit(on) else GREY, "left")
        self.part(x, GATES, function, LAYER, on, width=0.5 if function == SIGMA else 0.72, height=0.46)

    def stack(self, left: float, right: float, seam: float, above: str, on: str, on_input: str) -> None:
        """Draw a vector of length h on top of the input; their names end at x = seam, and their shapes begin there."""
        middle, form = (left + right) / 2, {"width": right - left, "height": 0.45, "corner": 0.0}
        rows = (0.225, above, "(h)", STATE, on), (-0.225, f"{X}_t", "(d)", INPUT, on_input)
        for y, name, shape, fill, paths in rows:
            self.part(middle, STACK + y, "", fill, paths, **form)
            self.text(seam - 0.06, STACK + y, f"${name}$", INK if self.lit(paths) else GREY, "right")
            self.shape(seam + 0.06, STACK + y, shape, "left")
        self.shape(middle, STACK - 0.68, rf"[{above}, {X}_t]\;\;(h + d)")


def lstm_cell(path: str | None = None) -> Figure:
    """Draw an LSTM cell: the cell state as a highway, and the layers that act on it (:eq:`eq-lstm-cell`).

    Args:
        path: None for the whole cell, or the one path that is not grey:
            "cell", from c_{t−1} to c_t past the forget gate and the sum;
            "forget", "input", "candidate", from [h_{t−1}, x_t] through that layer to c_t;
            "output", from the output gate and from c_t to h_t;
            "gradient", back along the highway, from h_t and c_t to c_{t−1}.
    """
    sheet = CellSheet(path)
    direct, new, end = "cell gradient", "cell forget input candidate gradient", "output gradient"
    layers = "forget input candidate output"
    forget, entry, candidate, output = (COLOURS[gate] for gate in ("forget", "input", "candidate", "output"))
    # what the layers read, and the layers
    sheet.trace((0.05, STACK + 0.225), (0.38, STACK + 0.225), on=layers)
    sheet.trace((0.8, 0.05), (0.8, STACK - 0.45), on=layers)
    sheet.stack(0.38, 5.12, 2.85, f"{H}_{{t-1}}", layers, layers)
    for x, function, letter, on, colour in (
        (1.8, SIGMA, "f", "forget", forget),
        (2.8, SIGMA, "i", "input", entry),
        (3.8, TANH, "c", "candidate", candidate),
        (4.8, SIGMA, "o", "output", output),
    ):
        sheet.layer(x, function, letter, on, colour)
        name = rf"\mathbf{{{letter}}}"
        sheet.name(x, GATES + 0.63, name if function == SIGMA else rf"\tilde{{{name}}}", on, colour)
    above = GATES + 0.23
    sheet.trace((1.8, above), (1.8, TOP - 0.18), on="forget", colour=forget)
    sheet.trace((2.8, above), (2.8, PRODUCTS), (3.62, PRODUCTS), on="input", colour=entry)
    sheet.trace((3.8, above), (3.8, PRODUCTS - 0.18), on="candidate", colour=candidate)
    sheet.trace((4.8, above), (4.8, PRODUCTS), (5.62, PRODUCTS), on="output", colour=output)
    sheet.product(3.8, PRODUCTS, "input candidate")
    sheet.trace((3.8, PRODUCTS + 0.18), (3.8, TOP - 0.18), on="input candidate")
    # the cell state
    sheet.trace((0.05, TOP), (0.38, TOP), on=direct, width=WIDE)
    sheet.part(0.8, TOP, vector(C, "t-1"), STATE, direct, width=0.84)
    sheet.shape(0.8, TOP + 0.39)
    sheet.trace((1.22, TOP), (1.62, TOP), on=direct, width=WIDE)
    sheet.product(1.8, TOP, f"forget {direct}")
    sheet.trace((1.98, TOP), (3.62, TOP), on=f"forget {direct}", width=WIDE)
    sheet.node(3.8, TOP, "$+$", new)
    sheet.trace((3.98, TOP), (5.49, TOP), on=new, width=WIDE)
    sheet.part(5.8, TOP, vector(C, "t"), STATE, f"output {new}")
    sheet.shape(5.8, TOP + 0.39)
    sheet.trace((6.11, TOP), (6.45, TOP), on=new, width=WIDE)
    # the hidden state
    sheet.trace((5.8, TOP - 0.25), (5.8, SQUASH + 0.18), on=end)
    sheet.node(5.8, SQUASH, TANH, end, width=0.72)
    sheet.trace((5.8, SQUASH - 0.18), (5.8, PRODUCTS + 0.18), on=end)
    sheet.product(5.8, PRODUCTS, end)
    sheet.trace((5.8, PRODUCTS - 0.18), (5.8, STACK + 0.475), on=end)
    sheet.part(5.8, STACK + 0.225, vector(H, "t"), STATE, end)
    sheet.shape(5.8, STACK - 0.165)
    sheet.trace((6.11, STACK + 0.225), (6.45, STACK + 0.225), on=end)
    if path == "gradient":
        sheet.text(1.8, TOP + 0.39, r"$\odot\;\mathbf{f}_t$", BACK)
    return sheet.finish()


def gru_cell(path: str | None = None) -> Figure:
    """Draw a GRU cell whose reset gate acts before the matrix product (:eq:`eq-gru-state`).

    Args:
        path: None for the whole cell, or the one path that is not grey:
            "keep", from h_{t−1} to h_t past the update gate and the sum;
            "update", from [h_{t−1}, x_t] through that gate to both products;
            "reset", through that gate and the candidate to h_t;
            "candidate", from r_t ⊙ h_{t−1} and x_t to h_t;
            "gradient", directly back from h_t to h_{t−1}.
    """
    sheet = CellSheet(path)
    direct, layers, second = "keep gradient", "update reset candidate", "reset candidate"
    update, reset, candidate = (COLOURS[gate] for gate in ("update", "reset", "candidate"))
    # what the layers read, and the layers
    sheet.trace((0.8, TOP - 0.25), (0.8, STACK + 0.45), on=layers)
    sheet.trace((0.8, 0.05), (0.8, STACK - 0.45), on=layers)
    sheet.stack(0.38, 3.18, 1.88, f"{H}_{{t-1}}", layers, layers)
    sheet.layer(1.8, SIGMA, "z", "update", update)
    sheet.name(1.8, GATES + 0.63, r"\mathbf{z}", "update", update)
    sheet.layer(2.8, SIGMA, "r", "reset", reset)
    sheet.trace((3.05, GATES), (3.6, GATES), (3.6, STACK + 0.405), on="reset", colour=reset)
    sheet.name(3.6, GATES - 0.25, r"\mathbf{r}", "reset", reset)
    sheet.trace((3.18, STACK + 0.225), (3.42, STACK + 0.225), on="candidate")
    sheet.product(3.6, STACK + 0.225, second)
    sheet.trace((3.78, STACK + 0.225), (4.02, STACK + 0.225), on=second)
    sheet.trace((3.18, STACK - 0.225), (4.02, STACK - 0.225), on="candidate")
    sheet.stack(4.02, 5.58, 5.13, rf"\mathbf{{r}}_t \odot {H}_{{t-1}}", second, "candidate")
    sheet.layer(4.8, TANH, "h", second, candidate)
    sheet.name(4.8, GATES + 0.63, rf"\tilde{{{H}}}", second, candidate)
    # the update gate divides between the old state and the candidate
    sheet.trace((1.8, GATES + 0.23), (1.8, SQUASH - 0.18), on="update", colour=update)
    sheet.trace((1.8, PRODUCTS), (4.62, PRODUCTS), on="update", colour=update)
    sheet.dot(1.8, PRODUCTS, update if sheet.lit("update") else FAINT)
    sheet.node(1.8, SQUASH, r"$1 - \mathbf{z}_t$", "update", width=0.92)
    sheet.shape(2.34, SQUASH, align="left")
    sheet.trace((1.8, SQUASH + 0.18), (1.8, TOP - 0.18), on="update", colour=update)
    sheet.trace((4.8, GATES + 0.23), (4.8, PRODUCTS - 0.18), on=second, colour=candidate)
    sheet.product(4.8, PRODUCTS, layers)
    sheet.trace((4.8, PRODUCTS + 0.18), (4.8, TOP - 0.18), on=layers)
    # the state
    everywhere = f"{direct} {layers}"
    sheet.trace((0.05, TOP), (0.38, TOP), on=everywhere, width=WIDE)
    sheet.part(0.8, TOP, vector(H, "t-1"), STATE, everywhere, width=0.84)
    sheet.shape(0.8, TOP + 0.39)
    sheet.trace((1.22, TOP), (1.62, TOP), on=direct, width=WIDE)
    sheet.product(1.8, TOP, f"update {direct}")
    sheet.trace((1.98, TOP), (4.62, TOP), on=f"update {direct}", width=WIDE)
    sheet.node(4.8, TOP, "$+$", everywhere)
    sheet.trace((4.98, TOP), (5.49, TOP), on=everywhere, width=WIDE)
    sheet.part(5.8, TOP, vector(H, "t"), STATE, everywhere)
    sheet.shape(5.8, TOP + 0.39)
    sheet.trace((6.11, TOP), (6.45, TOP), on=everywhere, width=WIDE)
    if path == "gradient":
        sheet.text(1.8, TOP + 0.39, r"$\odot\;(1 - \mathbf{z}_t)$", BACK)
    return sheet.finish()
