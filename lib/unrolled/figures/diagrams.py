"""Draw networks as graphs: a window network, a recurrent one unrolled, as a language model, its gradient, its cells."""

from __future__ import annotations

from matplotlib.figure import Figure

from unrolled.figures.canvas import (
    BACK,
    FAINT,
    GATES,
    GREY,
    INPUT,
    LEGIBLE,
    OTHERS,
    OUTPUT,
    PRODUCTS,
    SIGMA,
    SMALL,
    SQUASH,
    STACK,
    STATE,
    TANH,
    TOP,
    W_HH,
    W_HY,
    W_XH,
    WIDE,
    C,
    CellSheet,
    H,
    Sheet,
    X,
    Y,
    vector,
    weight,
)

LOW, MIDDLE, HIGH = 0.45, 1.7, 2.95  # of inputs, states and outputs, in inches
LSTM_PATHS = ("cell", "forget", "input", "candidate", "output", "gradient")
GRU_PATHS = ("keep", "update", "reset", "candidate", "gradient")


def _column(sheet: Sheet, x: float, step: object) -> None:
    """Draw one step of the recurrent network: its input below, its state, its output above, and their weights."""
    sheet.box(x, LOW, vector(X, step), INPUT)
    sheet.box(x, MIDDLE, vector(H, step), STATE)
    sheet.box(x, HIGH, vector(Y, step), OUTPUT)
    sheet.arrow((x, LOW + 0.25), (x, MIDDLE - 0.25), colour=W_XH)
    sheet.arrow((x, MIDDLE + 0.25), (x, HIGH - 0.25), colour=W_HY)
    sheet.text(x + 0.12, (LOW + MIDDLE) / 2, weight("xh"), W_XH, "left")
    sheet.text(x + 0.12, (MIDDLE + HIGH) / 2, weight("hy"), W_HY, "left")


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
    sheet = Sheet(start + between * steps + 0.95, 3.4)
    loop = 0.5
    _column(sheet, loop, "t")
    sheet.loop(loop + 0.31, MIDDLE, W_HH)
    sheet.text(loop + 0.92, MIDDLE, weight("hh"), W_HH, "left")
    sheet.arrow((2.0, MIDDLE), (2.75, MIDDLE))
    sheet.text(2.37, MIDDLE + 0.2, "unroll", size=SMALL)
    sheet.box(start, MIDDLE, vector(H, 0), "white")
    for step in range(1, steps + 1):
        x = start + between * step
        _column(sheet, x, step)
        sheet.arrow((x - between + 0.31, MIDDLE), (x - 0.31, MIDDLE), colour=W_HH)
        sheet.text(x - between / 2 - 0.02, MIDDLE + 0.2, weight("hh"), W_HH)
    end = start + between * steps
    sheet.arrow((end + 0.31, MIDDLE), (end + 0.68, MIDDLE), colour=W_HH)
    sheet.text(end + 0.8, MIDDLE, "…", W_HH)
    return sheet.finish()


def language_model(text: str = "once") -> Figure:
    """Draw a recurrent language model as it is trained on a text: each symbol goes in, and is the last one's target.

    The rows are the symbols, (batch, time), their vectors, the hidden states and the predictions, with their shapes.

    Args:
        text: what is read, 2 to 6 symbols; the last is only a target.

    Raises:
        ValueError: `text` is too short or too long.
    """
    if not 2 <= len(text) <= 6:
        raise ValueError(f"text is {text!r}, of {len(text)} symbols; from 2 to 6 fit on a page")
    start, between, low, high = 0.4, 1.3, LOW - 0.95, HIGH + 0.95
    end = start + between * (len(text) - 1)
    sheet = Sheet(end + 2.3, high - low + 0.6)
    sheet.limits = sheet.limits[0], (low - 0.3, high + 0.3)
    shapes = {low: "text: $(B, T)$", LOW: "$(B, T, d)$", MIDDLE: "$(B, T, h)$", HIGH: "$(B, T, V)$"}
    for y, shape in (shapes | {high: "next: $(B, T)$"}).items():
        sheet.text(end + 0.55, y, shape, GREY, "left", LEGIBLE)
    sheet.box(start, MIDDLE, vector(H, 0), "white")
    for step, (symbol, target) in enumerate(zip(text, text[1:], strict=False), start=1):
        x = start + between * step
        _column(sheet, x, step)
        sheet.text(x, low, symbol)
        sheet.arrow((x, low + 0.2), (x, LOW - 0.25), colour=OTHERS[1])
        sheet.text(x + 0.12, low + 0.475, r"$\mathbf{E}$", OTHERS[1], "left")
        sheet.arrow((x - between + 0.31, MIDDLE), (x - 0.31, MIDDLE), colour=W_HH)
        sheet.text(x - between / 2 - 0.02, MIDDLE + 0.2, weight("hh"), W_HH)
        sheet.text(x, high, target)
        sheet.arrow((x, high - 0.2), (x, HIGH + 0.25), colour=BACK)
        sheet.text(x + 0.12, high - 0.475, f"$L_{step}$", BACK, "left")
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
    sheet = Sheet(left + between * (window - 1) + 1.55, 3.4)
    wide = between * (window - 1) + 0.62
    sheet.box(middle, MIDDLE, r"$\mathbf{h}$", STATE, width=wide)
    sheet.box(middle, HIGH, vector(Y, "t"), OUTPUT)
    sheet.arrow((middle, MIDDLE + 0.25), (middle, HIGH - 0.25), colour=W_HY)
    sheet.text(middle + 0.12, (MIDDLE + HIGH) / 2, weight("hy"), W_HY, "left")
    for position in range(window):
        x, back = left + between * position, window - 1 - position
        sheet.box(x, LOW, vector(X, f"t-{back}" if back else "t"), INPUT, width=0.84)
        sheet.arrow((x, LOW + 0.25), (x, MIDDLE - 0.25), colour=OTHERS[position])
        sheet.text(x + 0.12, (LOW + MIDDLE) / 2, weight(f"{position + 1}"), OTHERS[position], "left")
    before = vector(X, f"t-{window}")
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
    sheet = Sheet(start + between * steps + 0.75, 3.4)
    sheet.box(start, MIDDLE, vector(H, 0), "white")
    for step in range(1, steps + 1):
        x = start + between * step
        on_way = k < step <= t  # the way crosses from this state to the one before
        sheet.box(x, LOW, weight("hh"), INPUT, width=0.84)
        sheet.box(x, MIDDLE, vector(H, step), STATE)
        sheet.box(x, HIGH, rf"$L_{{{step}}}$", OUTPUT)
        ends = (x - 0.31, MIDDLE), (x - between + 0.31, MIDDLE)
        sheet.arrow(*(ends if on_way else reversed(ends)), colour=BACK if on_way else FAINT)
        if on_way:
            sheet.text(x - between / 2, MIDDLE + 0.24, rf"$\mathbf{{J}}_{{{step}}}^\top$", BACK)
        ends = (x, HIGH - 0.25), (x, MIDDLE + 0.25)
        sheet.arrow(*(ends if step == t else reversed(ends)), colour=BACK if step == t else FAINT)
        ends = (x, MIDDLE - 0.25), (x, LOW + 0.25)
        sheet.arrow(*(ends if step == k else reversed(ends)), colour=BACK if step == k else FAINT)
        if step == k:
            sheet.text(x + 0.12, (LOW + MIDDLE) / 2, r"$\partial^{+}$", BACK, "left")
    return sheet.finish()


def lstm_cell(path: str | None = None) -> Figure:
    """Draw an LSTM cell: the cell state as a highway, and the layers that act on it (:eq:`eq-lstm-cell`).

    Args:
        path: None for the whole cell, or what alone is not grey:
            "cell", from c_{t−1} to c_t past the forget gate and the sum;
            "forget", "input", "candidate", from [h_{t−1}, x_t] through that layer to c_t;
            "output", from the output gate and from c_t to h_t;
            "gradient", the way back along the highway, from h_t and c_t to c_{t−1}.

    Raises:
        ValueError: `path` is none of these.
    """
    sheet = CellSheet(path, LSTM_PATHS)
    direct, new, end = "cell gradient", "cell forget input candidate gradient", "output gradient"
    layers = "forget input candidate output"
    blue, green, violet, brown = OTHERS[0], OTHERS[1], OTHERS[5], OTHERS[3]
    # what the layers read, and the layers
    sheet.way((0.05, STACK + 0.225), (0.38, STACK + 0.225), on=layers)
    sheet.way((0.8, 0.05), (0.8, STACK - 0.45), on=layers)
    sheet.stack(0.38, 5.12, 2.85, f"{H}_{{t-1}}", layers, layers)
    for x, function, letter, on, colour in (
        (1.8, SIGMA, "f", "forget", blue),
        (2.8, SIGMA, "i", "input", green),
        (3.8, TANH, "c", "candidate", violet),
        (4.8, SIGMA, "o", "output", brown),
    ):
        sheet.layer(x, function, letter, on, colour)
        name = rf"\mathbf{{{letter}}}"
        sheet.name(x, GATES + 0.63, name if function == SIGMA else rf"\tilde{{{name}}}", on, colour)
    above = GATES + 0.23
    sheet.way((1.8, above), (1.8, TOP - 0.18), on="forget", colour=blue)
    sheet.way((2.8, above), (2.8, PRODUCTS), (3.62, PRODUCTS), on="input", colour=green)
    sheet.way((3.8, above), (3.8, PRODUCTS - 0.18), on="candidate", colour=violet)
    sheet.way((4.8, above), (4.8, PRODUCTS), (5.62, PRODUCTS), on="output", colour=brown)
    sheet.product(3.8, PRODUCTS, "input candidate")
    sheet.way((3.8, PRODUCTS + 0.18), (3.8, TOP - 0.18), on="input candidate")
    # the cell state
    sheet.way((0.05, TOP), (0.38, TOP), on=direct, width=WIDE)
    sheet.part(0.8, TOP, vector(C, "t-1"), STATE, direct, width=0.84)
    sheet.shape(0.8, TOP + 0.39)
    sheet.way((1.22, TOP), (1.62, TOP), on=direct, width=WIDE)
    sheet.product(1.8, TOP, f"forget {direct}")
    sheet.way((1.98, TOP), (3.62, TOP), on=f"forget {direct}", width=WIDE)
    sheet.node(3.8, TOP, "$+$", new)
    sheet.way((3.98, TOP), (5.49, TOP), on=new, width=WIDE)
    sheet.part(5.8, TOP, vector(C, "t"), STATE, f"output {new}")
    sheet.shape(5.8, TOP + 0.39)
    sheet.way((6.11, TOP), (6.45, TOP), on=new, width=WIDE)
    # the hidden state
    sheet.way((5.8, TOP - 0.25), (5.8, SQUASH + 0.18), on=end)
    sheet.node(5.8, SQUASH, TANH, end, width=0.72)
    sheet.way((5.8, SQUASH - 0.18), (5.8, PRODUCTS + 0.18), on=end)
    sheet.product(5.8, PRODUCTS, end)
    sheet.way((5.8, PRODUCTS - 0.18), (5.8, STACK + 0.475), on=end)
    sheet.part(5.8, STACK + 0.225, vector(H, "t"), STATE, end)
    sheet.shape(5.8, STACK - 0.165)
    sheet.way((6.11, STACK + 0.225), (6.45, STACK + 0.225), on=end)
    if path == "gradient":
        sheet.text(1.8, TOP + 0.39, r"$\odot\;\mathbf{f}_t$", BACK)
    return sheet.finish()


def gru_cell(path: str | None = None) -> Figure:
    """Draw a GRU cell, whose reset gate acts before the matrix product (:eq:`eq-gru-state`).

    Args:
        path: None for the whole cell, or what alone is not grey:
            "keep", from h_{t−1} to h_t past the update gate and the sum;
            "update", from [h_{t−1}, x_t] through that gate to both products;
            "reset", through that gate and the candidate to h_t;
            "candidate", from r_t ⊙ h_{t−1} and x_t to h_t;
            "gradient", the direct way back, from h_t to h_{t−1}.

    Raises:
        ValueError: `path` is none of these.
    """
    sheet = CellSheet(path, GRU_PATHS)
    direct, layers, second = "keep gradient", "update reset candidate", "reset candidate"
    blue, green, violet = OTHERS[0], OTHERS[1], OTHERS[5]
    # what the layers read, and the layers
    sheet.way((0.8, TOP - 0.25), (0.8, STACK + 0.45), on=layers)
    sheet.way((0.8, 0.05), (0.8, STACK - 0.45), on=layers)
    sheet.stack(0.38, 3.18, 1.88, f"{H}_{{t-1}}", layers, layers)
    sheet.layer(1.8, SIGMA, "z", "update", blue)
    sheet.name(1.8, GATES + 0.63, r"\mathbf{z}", "update", blue)
    sheet.layer(2.8, SIGMA, "r", "reset", green)
    sheet.way((3.05, GATES), (3.6, GATES), (3.6, STACK + 0.405), on="reset", colour=green)
    sheet.name(3.6, GATES - 0.25, r"\mathbf{r}", "reset", green)
    sheet.way((3.18, STACK + 0.225), (3.42, STACK + 0.225), on="candidate")
    sheet.product(3.6, STACK + 0.225, second)
    sheet.way((3.78, STACK + 0.225), (4.02, STACK + 0.225), on=second)
    sheet.way((3.18, STACK - 0.225), (4.02, STACK - 0.225), on="candidate")
    sheet.stack(4.02, 5.58, 5.13, rf"\mathbf{{r}}_t \odot {H}_{{t-1}}", second, "candidate")
    sheet.layer(4.8, TANH, "h", second, violet)
    sheet.name(4.8, GATES + 0.63, rf"\tilde{{{H}}}", second, violet)
    # the update gate divides between the old state and the candidate
    sheet.way((1.8, GATES + 0.23), (1.8, SQUASH - 0.18), on="update", colour=blue)
    sheet.way((1.8, PRODUCTS), (4.62, PRODUCTS), on="update", colour=blue)
    sheet.dot(1.8, PRODUCTS, blue if sheet.lit("update") else FAINT)
    sheet.node(1.8, SQUASH, r"$1 - \mathbf{z}_t$", "update", width=0.92)
    sheet.shape(2.34, SQUASH, align="left")
    sheet.way((1.8, SQUASH + 0.18), (1.8, TOP - 0.18), on="update", colour=blue)
    sheet.way((4.8, GATES + 0.23), (4.8, PRODUCTS - 0.18), on=second, colour=violet)
    sheet.product(4.8, PRODUCTS, layers)
    sheet.way((4.8, PRODUCTS + 0.18), (4.8, TOP - 0.18), on=layers)
    # the state
    everywhere = f"{direct} {layers}"
    sheet.way((0.05, TOP), (0.38, TOP), on=everywhere, width=WIDE)
    sheet.part(0.8, TOP, vector(H, "t-1"), STATE, everywhere, width=0.84)
    sheet.shape(0.8, TOP + 0.39)
    sheet.way((1.22, TOP), (1.62, TOP), on=direct, width=WIDE)
    sheet.product(1.8, TOP, f"update {direct}")
    sheet.way((1.98, TOP), (4.62, TOP), on=f"update {direct}", width=WIDE)
    sheet.node(4.8, TOP, "$+$", everywhere)
    sheet.way((4.98, TOP), (5.49, TOP), on=everywhere, width=WIDE)
    sheet.part(5.8, TOP, vector(H, "t"), STATE, everywhere)
    sheet.shape(5.8, TOP + 0.39)
    sheet.way((6.11, TOP), (6.45, TOP), on=everywhere, width=WIDE)
    if path == "gradient":
        sheet.text(1.8, TOP + 0.39, r"$\odot\;(1 - \mathbf{z}_t)$", BACK)
    return sheet.finish()
