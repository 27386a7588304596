"""Draw how a gradient travels back through a recurrent network: one path, and the numbers of all of them."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from unrolled.figures.canvas import (
    BACK,
    FAINT,
    HIGH,
    INPUT,
    LEGIBLE,
    LOW,
    MIDDLE,
    OUTPUT,
    SMALL,
    STATE,
    H,
    Sheet,
    vector,
    weight,
)
from unrolled.figures.numerals import number


def gradient_paths(steps: int = 4, t: int = 4, s: int = 2) -> Figure:
    """Draw the path of the gradient from one step's loss back to one use of the recurrent weights, and name it.

    The path from L_t leads back through the states, with one Jacobian for each, and leaves them at step s with the
    immediate derivative: one term of the double sum (:eq:`eq-double-sum`), written out above the drawing. The arrows of
    the forward pass are grey.

    Args:
        steps: T, the length of the sequence, 2 to 5.
        t: the step of the loss.
        s: the step at which the weights are used, at most t.

    Raises:
        ValueError: `steps` is out of range, or 1 ≤ s ≤ t ≤ steps does not hold.

    Example:
        >>> from matplotlib import pyplot as plt
        >>> figure = gradient_paths(steps=4, t=4, s=2)
        >>> sum(text.get_text().startswith("$\\\\mathbf{J}") for text in figure.axes[0].texts)  # J_4 and J_3
        2
        >>> plt.close(figure)
    """
    if not 2 <= steps <= 5:
        raise ValueError(f"steps is {steps}; from 2 to 5 fit on a page")
    if not 1 <= s <= t <= steps:
        raise ValueError(f"t is {t} and s is {s}; 1 ≤ s ≤ t ≤ {steps} is expected")
    start, between = 0.5, 1.45
    sheet = Sheet(start + between * steps + 1.05, 4.1)
    jacobians = "".join(rf"\mathbf{{J}}_{{{step}}}\," for step in range(t, s, -1))
    use = rf"\partial^{{+}}\mathbf{{h}}_{{{s}}}/\partial\mathbf{{W}}_{{hh}}"
    loss = rf"\partial^{{+}}L/\partial\mathbf{{h}}_{{{t}}}"
    sheet.text(start - 0.31, 3.8, f"path from loss {t} to use {s}:", BACK, "left", LEGIBLE)
    sheet.text(start + 2.6, 3.8, rf"$({jacobians}{use})^\top\,{loss}$", BACK, "left")
    sheet.box(start, MIDDLE, vector(H, 0), "white")
    for step in range(1, steps + 1):
        x = start + between * step
        on_path = s < step <= t  # the path leads from this state to the one before
        sheet.box(x, LOW, weight("hh"), INPUT, width=0.84)
        sheet.box(x, MIDDLE, vector(H, step), STATE)
        sheet.box(x, HIGH, rf"$L_{{{step}}}$", OUTPUT)
        ends = (x - 0.31, MIDDLE), (x - between + 0.31, MIDDLE)
        sheet.arrow(*(ends if on_path else reversed(ends)), colour=BACK if on_path else FAINT)
        if on_path:
            sheet.text(x - between / 2, MIDDLE + 0.24, rf"$\mathbf{{J}}_{{{step}}}^\top$", BACK)
        ends = (x, HIGH - 0.25), (x, MIDDLE + 0.25)
        sheet.arrow(*(ends if step == t else reversed(ends)), colour=BACK if step == t else FAINT)
        ends = (x, MIDDLE - 0.25), (x, LOW + 0.25)
        sheet.arrow(*(ends if step == s else reversed(ends)), colour=BACK if step == s else FAINT)
        if step == t:
            sheet.text(x + 0.12, (MIDDLE + HIGH) / 2, f"${loss}$", BACK, "left", LEGIBLE)
        if step == s:
            sheet.text(x + 0.08, (LOW + MIDDLE) / 2, rf"$({use})^\top$", BACK, "left", SMALL)
    return sheet.finish()


def gradient_messages(
    states: Sequence[float], own: Sequence[float], passed: Sequence[float], shares: Sequence[float]
) -> Figure:
    """Draw the backward pass of a network of single numbers, with every number that it sends (:eq:`eq-delta-h`).

    A state hears from its own loss above and from the state after it; what it makes of the two goes to the use of the
    recurrent weight below, and on to the state before.

    Args:
        states: h_0 to h_T, from one to four steps.
        own: of each step, what its loss sends to its state.
        passed: of each step, what its state sends to the one before.
        shares: of each step, what its use of the weight adds to the gradient.

    Raises:
        ValueError: there are no or too many steps, or the lengths do not fit.

    Example:
        >>> from matplotlib import pyplot as plt
        >>> figure = gradient_messages([0.2, 0.7], own=[-0.1], passed=[0.05], shares=[-0.02])
        >>> [text.get_text() for text in figure.axes[0].texts][:3]
        ['−0.100', '+0.050', '−0.020']
        >>> plt.close(figure)
    """
    steps = len(states) - 1
    if not 1 <= steps <= 4:
        raise ValueError(f"there are {steps} steps; from 1 to 4 fit on a page")
    if not len(own) == len(passed) == len(shares) == steps:
        lengths = ", ".join(map(str, map(len, (own, passed, shares))))
        raise ValueError(f"own, passed and shares have lengths {lengths}; {steps} is expected, one for each step")
    start, between = 0.75, 2.05
    sheet = Sheet(start + between * steps + 0.95, 3.4)
    for step, state in enumerate(states):
        x = start + between * step
        sheet.box(x, MIDDLE, rf"$h_{{{step}}}=${number(state, '.2f')}", STATE if step else "white", width=1.24)
        if not step:
            continue
        sheet.box(x, HIGH, rf"$L_{{{step}}}$", OUTPUT)
        sheet.box(x, LOW, "$w$", INPUT)
        sheet.arrow((x, HIGH - 0.25), (x, MIDDLE + 0.25), colour=BACK)
        sheet.arrow((x - 0.62, MIDDLE), (x - between + 0.62, MIDDLE), colour=BACK)
        sheet.arrow((x, MIDDLE - 0.25), (x, LOW + 0.25), colour=BACK)
        sheet.text(x + 0.12, (MIDDLE + HIGH) / 2, number(own[step - 1], "+.3f"), BACK, "left", LEGIBLE)
        sheet.text(x - between / 2, MIDDLE + 0.4, number(passed[step - 1], "+.3f"), BACK, "center", LEGIBLE)
        sheet.text(x + 0.12, (LOW + MIDDLE) / 2, number(shares[step - 1], "+.3f"), BACK, "left", LEGIBLE)
    return sheet.finish()
