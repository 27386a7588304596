"""Draw the machine that a network runs on."""

from itertools import product

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from unrolled.figures.canvas import GREY, INK, INPUT, LEGIBLE, OUTPUT, STATE, W_HH, W_HY, Sheet


def gpu() -> Figure:
    """Draw a GPU: many workers, a small fast memory and a large slow one, and the host that sends it commands.

    Example:
        >>> from matplotlib import pyplot as plt
        >>> figure = gpu()
        >>> [text.get_text() for text in figure.axes[0].texts if "memory" in text.get_text()]
        ['small, fast memory', 'large, slow memory']
        >>> plt.close(figure)
    """
    sheet, chip = Sheet(7.5, 4.6, head=0.2), 4.9  # the middle of the chip, in inches
    sheet.box(chip, 2.35, "", "white", width=4.9, height=4.3, corner=0.15, colour=GREY)
    sheet.text(chip, 4.25, "many slow workers", size=LEGIBLE)
    for row, column in product(range(4), range(10)):
        corner = chip + 0.42 * (column - 4.5) - 0.15, 3.73 - 0.34 * row
        sheet.axes.add_patch(Rectangle(corner, 0.3, 0.24, facecolor=OUTPUT, edgecolor=INK, zorder=3))
    sheet.box(chip, 1.95, "", STATE, width=4.2, height=0.44)
    sheet.text(chip, 1.95, "small, fast memory", size=LEGIBLE)
    for end in (2.2, 2.68):
        sheet.arrow((chip, 2.44), (chip, end), colour=W_HY)
    for end in (1.07, 1.71):
        sheet.arrow((chip, 1.4), (chip, end), colour=W_HH, width=2.4)
    sheet.text(chip + 0.2, 1.39, "bytes a second", W_HH, "left", LEGIBLE)
    sheet.box(chip, 0.66, "", INPUT, width=4.2, height=0.8)
    sheet.text(chip, 0.82, "large, slow memory", size=LEGIBLE)
    sheet.text(chip, 0.48, "weights, states, cache", GREY, size=LEGIBLE)
    sheet.box(0.75, 3.35, "host", "white", width=1.2, height=0.8)
    sheet.arrow((1.35, 3.35), (2.45, 3.35))
    for line, word in enumerate(("a command", "for each", "kernel")):
        sheet.text(1.2, 2.7 - 0.27 * line, word, size=LEGIBLE)
    return sheet.finish()
