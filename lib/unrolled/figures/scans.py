"""Draw a linear recurrence solved by a tree instead of a chain."""

from matplotlib.figure import Figure

from unrolled.figures.canvas import FAINT, INK, INPUT, SMALL, STATE, W_HH, Sheet

ACROSS, UP = 0.86, 0.8  # between two steps, and between two levels, in inches


def scan_tree(levels: int = 3) -> Figure:
    """Draw how the states of 2^levels steps are found in fewer than twice as many rounds as there are levels.

    From the bottom: the single steps; then pairs, pairs of pairs and so on, each made of two neighbours. As soon as its
    two parts are there, every other state is made of an earlier state and a piece. What begins at step 1 is a state.

    Args:
        levels: log₂ of the number of steps, 1 to 3.

    Raises:
        ValueError: `levels` is out of range.

    Example:
        >>> from matplotlib import pyplot as plt
        >>> figure = scan_tree()
        >>> texts = [text.get_text() for text in figure.axes[0].texts]
        >>> sum("h" in text for text in texts), "5–8" in texts
        (8, True)
        >>> plt.close(figure)
    """
    if not 1 <= levels <= 3:
        raise ValueError(f"levels is {levels}; from 1 to 3 fit on a page")
    steps = 2**levels
    sheet = Sheet(ACROSS * steps + 0.1, UP * max(levels, 2 * levels - 2) + 0.7, head=0.16)

    def place(step: int, round_: int) -> tuple[float, float]:
        return ACROSS * (step - 0.5) + 0.05, 0.35 + UP * round_

    def arrow(start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
        (x_1, y_1), (x_2, y_2) = start, end
        sheet.arrow((x_1, y_1 + 0.2), (x_2, y_2 - 0.2), colour=colour, width=1.3)

    def box(first: int, last: int, round_: int) -> None:
        piece = str(last) if first == last else f"{first}–{last}"
        sheet.box(*place(last, round_), "", STATE if first == 1 else INPUT, width=0.7, height=0.4)
        sheet.text(*place(last, round_), rf"$h_{{{last}}}$" if first == 1 else piece, size=SMALL)

    for level in range(levels + 1):  # pieces of 2^level steps, each ending at `last`
        length = 2**level
        for last in range(length, steps + 1, length):
            if level:
                for before in (last - length // 2, last):
                    arrow(place(before, level - 1), place(last, level), INK)
            box(last - length + 1, last, level)
    known = {2**level: level for level in range(levels + 1)}  # the round in which each state was found
    for level in reversed(range(levels)):
        length = 2**level
        for last in range(3 * length, steps, 2 * length):
            round_ = 1 + max(known[last - length], level)
            arrow(place(last - length, known[last - length]), place(last, round_), W_HH)
            arrow(place(last, level), place(last, round_), FAINT)
            box(1, last, round_)
            known[last] = round_
    return sheet.finish()
