"""Draw networks as graphs, and a GPU: window and recurrent network, language models, gradients, gated cells, scans."""

from matplotlib.figure import Figure

from unrolled.figures.canvas import (
    BACK,
    GREY,
    HIGH,
    INPUT,
    LEGIBLE,
    LOW,
    MIDDLE,
    OUTPUT,
    SMALL,
    STATE,
    W_HH,
    W_HY,
    W_XH,
    H,
    Sheet,
    X,
    Y,
    vector,
    weight,
)
from unrolled.figures.gated import GRU_PATHS, LSTM_PATHS, gru_cell, lstm_cell
from unrolled.figures.machines import gpu
from unrolled.figures.paths import gradient_messages, gradient_paths
from unrolled.figures.roles import GREEN, ramp
from unrolled.figures.scans import scan_tree

__all__ = [
    "GRU_PATHS",
    "LSTM_PATHS",
    "encoder_decoder",
    "gpu",
    "gradient_messages",
    "gradient_paths",
    "gru_cell",
    "language_model",
    "lstm_cell",
    "rnn_unrolled",
    "scan_tree",
    "stacked_layers",
    "window_network",
]


def _column(sheet: Sheet, x: float, step: object) -> None:
    """Draw one step of the recurrent network at x: input below, state, output above, and the weights between them."""
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
        steps: the number of steps to draw, 1 to 6.

    Raises:
        ValueError: `steps` is out of range.

    Example:
        >>> from matplotlib import pyplot as plt
        >>> figure = rnn_unrolled(steps=3)
        >>> [text.get_text() for text in figure.axes[0].texts].count(weight("hh"))  # beside the loop, and three times
        4
        >>> plt.close(figure)
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
    """Draw a recurrent language model in training: each symbol is an input, and the target of the step before.

    From the bottom to the top, the rows are the symbols, their vectors, the hidden states, the predictions and the
    targets, each with its shape.

    Args:
        text: the text to read, 2 to 6 symbols; the last one is a target only.

    Raises:
        ValueError: `text` is too short or too long.

    Example:
        >>> from matplotlib import pyplot as plt
        >>> figure = language_model("once")
        >>> [text.get_text() for text in figure.axes[0].texts].count("n")  # the first target and the second input
        2
        >>> plt.close(figure)
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
        sheet.arrow((x, low + 0.2), (x, LOW - 0.25), colour=GREEN)
        sheet.text(x + 0.12, low + 0.475, r"$\mathbf{E}$", GREEN, "left")
        sheet.arrow((x - between + 0.31, MIDDLE), (x - 0.31, MIDDLE), colour=W_HH)
        sheet.text(x - between / 2 - 0.02, MIDDLE + 0.2, weight("hh"), W_HH)
        sheet.text(x, high, target)
        sheet.arrow((x, high - 0.2), (x, HIGH + 0.25), colour=BACK)
        sheet.text(x + 0.12, high - 0.475, f"$L_{step}$", BACK, "left")
    return sheet.finish()


def encoder_decoder(source: str = "gate") -> Figure:
    """Draw an encoder–decoder that reverses a word: one vector is all that the decoder knows of it.

    The encoder reads the source on the left, its last state is made into the vector in the middle, and the decoder on
    the right begins with it (:eq:`eq-encoder-decoder`).

    Args:
        source: the symbols that are read, 2 to 5.

    Raises:
        ValueError: `source` is too short or too long.

    Example:
        >>> from matplotlib import pyplot as plt
        >>> figure = encoder_decoder("gate")
        >>> [text.get_text() for text in figure.axes[0].texts].count("g")  # read, and written
        2
        >>> plt.close(figure)
    """
    if not 2 <= len(source) <= 5:
        raise ValueError(f"source is {source!r}, of {len(source)} symbols; from 2 to 5 fit on a page")
    between, start = 0.95, 0.5
    middle = start + between * len(source) + 0.1
    places = [start + between * step for step in range(len(source))]
    places += [2 * middle - x for x in reversed(places)]
    sheet = Sheet(2 * middle, HIGH + 0.35)
    sheet.box(middle, MIDDLE, r"$\mathbf{s}_0$", OUTPUT, width=0.5, height=0.9)
    sheet.text(middle, MIDDLE - 0.75, "one vector", size=LEGIBLE)
    sheet.text(places[0] - 0.31, HIGH, "the encoder reads", GREY, "left", LEGIBLE)
    sheet.text(places[-1] + 0.31, LOW, "the decoder writes", GREY, "right", LEGIBLE)
    for x in places:
        sheet.box(x, MIDDLE, "", STATE)
    ends = sorted([(x, 0.31) for x in places] + [(middle, 0.25)])
    for (x, half), (following, other) in zip(ends, ends[1:], strict=False):
        sheet.arrow((x + half, MIDDLE), (following - other, MIDDLE), colour=W_HH)
    for x, symbol in zip(places, source, strict=False):
        sheet.text(x, LOW, symbol)
        sheet.arrow((x, LOW + 0.2), (x, MIDDLE - 0.25), colour=W_XH)
    for x, symbol in zip(places[len(source) :], reversed(source), strict=True):
        sheet.text(x, HIGH, symbol)
        sheet.arrow((x, MIDDLE + 0.25), (x, HIGH - 0.2), colour=W_HY)
    return sheet.finish()


def window_network(window: int = 4) -> Figure:
    """Draw a network that reads a window of fixed length: no loop, and its own weights for each position.

    Args:
        window: the number of positions that it reads, 2 to 6.

    Raises:
        ValueError: `window` is out of range.

    Example:
        >>> from matplotlib import pyplot as plt
        >>> figure = window_network(window=4)
        >>> texts = [text.get_text() for text in figure.axes[0].texts]
        >>> weight("4") in texts, weight("5") in texts
        (True, False)
        >>> plt.close(figure)
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
    for position, colour in enumerate(ramp(window)):
        x, back = left + between * position, window - 1 - position
        sheet.box(x, LOW, vector(X, f"t-{back}" if back else "t"), INPUT, width=0.84)
        sheet.arrow((x, LOW + 0.25), (x, MIDDLE - 0.25), colour=colour)
        sheet.text(x + 0.12, (LOW + MIDDLE) / 2, weight(f"{position + 1}"), colour, "left")
    before = vector(X, f"t-{window}")
    sheet.text(0.6, LOW, before, GREY)
    sheet.text(0.6, LOW + 0.42, "out of view", GREY, size=SMALL)
    return sheet.finish()


def stacked_layers(layers: int = 2, steps: int = 4) -> Figure:
    """Draw recurrent layers on top of each other, unrolled: each reads the states of the one below (:eq:`eq-stack`).

    Args:
        layers: how many, 2 to 4.
        steps: the length of the text, 2 to 5.

    Raises:
        ValueError: `layers` or `steps` is out of range.

    Example:
        >>> from matplotlib import pyplot as plt
        >>> figure = stacked_layers(layers=2, steps=3)
        >>> [text.get_text() for text in figure.axes[0].texts].count(r"$\\mathbf{h}^{(2)}_{3}$")
        1
        >>> plt.close(figure)
    """
    if not (2 <= layers <= 4 and 2 <= steps <= 5):
        raise ValueError(f"there are {layers} layers and {steps} steps; from 2 to 4 and from 2 to 5 fit on a page")
    between, rise = 1.5, 0.95
    sheet = Sheet(between * (steps - 1) + 2.15, rise * (layers + 1) + 0.8)
    for row in range(layers + 2):
        y, inside = 0.4 + rise * row, 0 < row <= layers
        name = f"layer {row}" if inside else ("output" if row else "input")
        sheet.text(0.15, y, name, GREY, "left", LEGIBLE)
        for step in range(1, steps + 1):
            x = 1.6 + between * (step - 1)
            symbol = rf"$\mathbf{{h}}^{{({row})}}_{{{step}}}$" if inside else vector(Y if row else X, step)
            sheet.box(x, y, symbol, STATE if inside else (OUTPUT if row else INPUT), width=0.74)
            if row:
                sheet.arrow((x, y - rise + 0.25), (x, y - 0.25), colour=W_HY if row > layers else W_XH)
            if inside and step < steps:
                sheet.arrow((x + 0.37, y), (x + between - 0.37, y), colour=W_HH)
    return sheet.finish()
