"""Draw recurrent networks as graphs, unrolled, and the gated cells."""

from matplotlib.figure import Figure

from unrolled.figures import canvas
from unrolled.figures.canvas import HIGH, LOW, MIDDLE, H, Sheet, X, Y, vector, weight
from unrolled.figures.gated import GRU_PATHS, LSTM_PATHS, gru_cell, lstm_cell
from unrolled.figures.palette import GREEN

__all__ = ["GRU_PATHS", "LSTM_PATHS", "gru_cell", "language_model", "lstm_cell", "rnn_unrolled"]


def _column(sheet: Sheet, x: float, step: object) -> None:
    """Draw one step of the recurrent network at x: input below, state, output above, and the weights between them."""
    sheet.box(x, LOW, vector(X, step), canvas.INPUT)
    sheet.box(x, MIDDLE, vector(H, step), canvas.STATE)
    sheet.box(x, HIGH, vector(Y, step), canvas.OUTPUT)
    sheet.arrow((x, LOW + 0.25), (x, MIDDLE - 0.25), colour=canvas.W_XH)
    sheet.arrow((x, MIDDLE + 0.25), (x, HIGH - 0.25), colour=canvas.W_HY)
    sheet.text(x + 0.12, (LOW + MIDDLE) / 2, weight("xh"), canvas.W_XH, "left")
    sheet.text(x + 0.12, (MIDDLE + HIGH) / 2, weight("hy"), canvas.W_HY, "left")


def rnn_unrolled(steps: int = 3) -> Figure:
    """Draw a recurrent network with its loop and, beside it, unrolled: the same weights at each step (:eq:`eq-rnn`)."""
    start, between = 3.35, 1.3
    sheet = Sheet(start + between * steps + 0.95, 3.4)
    loop = 0.5
    _column(sheet, loop, "t")
    sheet.loop(loop + 0.31, MIDDLE, canvas.W_HH)
    sheet.text(loop + 0.92, MIDDLE, weight("hh"), canvas.W_HH, "left")
    sheet.arrow((2.0, MIDDLE), (2.75, MIDDLE))
    sheet.text(2.37, MIDDLE + 0.2, "unroll", size=canvas.SMALL)
    sheet.box(start, MIDDLE, vector(H, 0), "white")
    for step in range(1, steps + 1):
        x = start + between * step
        _column(sheet, x, step)
        sheet.arrow((x - between + 0.31, MIDDLE), (x - 0.31, MIDDLE), colour=canvas.W_HH)
        sheet.text(x - between / 2 - 0.02, MIDDLE + 0.2, weight("hh"), canvas.W_HH)
    end = start + between * steps
    sheet.arrow((end + 0.31, MIDDLE), (end + 0.68, MIDDLE), colour=canvas.W_HH)
    sheet.text(end + 0.8, MIDDLE, "…", canvas.W_HH)
    return sheet.finish()


def language_model(text: str = "once") -> Figure:
    """Draw a recurrent language model in training: each symbol is an input, and the target of the step before.

    From the bottom to the top, the rows are the symbols, their vectors, the hidden states, the predictions and the
    targets, each with its shape.
    """
    start, between, low, high = 0.4, 1.3, LOW - 0.95, HIGH + 0.95
    end = start + between * (len(text) - 1)
    sheet = Sheet(end + 2.3, high - low + 0.6)
    sheet.limits = sheet.limits[0], (low - 0.3, high + 0.3)
    shapes = {low: "text: $(B, T)$", LOW: "$(B, T, d)$", MIDDLE: "$(B, T, h)$", HIGH: "$(B, T, V)$"}
    for y, shape in (shapes | {high: "next: $(B, T)$"}).items():
        sheet.text(end + 0.55, y, shape, canvas.GREY, "left", canvas.LEGIBLE)
    sheet.box(start, MIDDLE, vector(H, 0), "white")
    for step, (symbol, target) in enumerate(zip(text, text[1:], strict=False), start=1):
        x = start + between * step
        _column(sheet, x, step)
        sheet.text(x, low, symbol)
        sheet.arrow((x, low + 0.2), (x, LOW - 0.25), colour=GREEN)
        sheet.text(x + 0.12, low + 0.475, r"$\mathbf{E}$", GREEN, "left")
        sheet.arrow((x - between + 0.31, MIDDLE), (x - 0.31, MIDDLE), colour=canvas.W_HH)
        sheet.text(x - between / 2 - 0.02, MIDDLE + 0.2, weight("hh"), canvas.W_HH)
        sheet.text(x, high, target)
        sheet.arrow((x, high - 0.2), (x, HIGH + 0.25), colour=canvas.BACK)
        sheet.text(x + 0.12, high - 0.475, f"$L_{step}$", canvas.BACK, "left")
    return sheet.finish()
