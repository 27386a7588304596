"""Write numbers, the same way on axes, beside dots and in tables."""

import math
import re
from collections.abc import Sequence

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | str, form: str = ".3g") -> str:
    """Return a number as a reader writes it: a real minus, commas between thousands, powers of ten as exponents.

    Args:
        value: the number; a text is returned as it is.
        form: its format, as `format` takes it.

    Example:
        >>> number(-0.5), number(12345.0, ",.0f"), number(0.000001), number(2.5e-7), number(-0.0, ".1f")
        ('−0.5', '12,345', '10⁻⁶', '2.5·10⁻⁷', '0.0')
        >>> number(1234567.0, ".6g"), number(float("inf"))
        ('1,234,570', '∞')
    """
    if isinstance(value, str):
        return format(value, form)
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "−∞"}.get(value, "–")
    text = format(value, form)
    if "e" in text:
        digits, power = text.split("e")
        if form.endswith("g") and 0 <= int(power) < 9:  # a count, not a power of ten
            text = f"{float(text):,.0f}"
        else:
            digits, exponent = digits.rstrip("0").rstrip(".") if "." in digits else digits, str(int(power))
            sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
            text = sign + ("" if digits == "1" else f"{digits}·") + "10" + exponent.translate(RAISED)
    elif form.endswith("g") and "," not in form and len(text.split(".")[0].lstrip("-")) > 3:
        text = f"{float(text):,}".removesuffix(".0")
    if re.fullmatch(r"-[0.,]*%?", text):  # nothing is left of a small negative number
        text = text[1:]
    return text.replace("-", "−")


def ticks(values: Sequence[float], *, even: bool = False) -> list[str]:
    """Return the labels of an axis: all of them powers of ten if some would be too small or large to read, else plain.

    Args:
        values: the values of the ticks.
        even: whether the ticks are evenly spaced: all plain labels then have as many decimals as one of them needs.

    Example:
        >>> ticks([0, 0.25, 0.5], even=True)
        ['0.00', '0.25', '0.50']
        >>> ticks([0.001, 0.1, 10]), ticks([1e-9, 1e-3, 1]), ticks([1000, 20000]), ticks([-0.5, 0])
        (['0.001', '0.1', '10'], ['10⁻⁹', '10⁻³', '1'], ['1,000', '20,000'], ['−0.5', '0'])
    """
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    powers = bool(sizes) and (min(sizes) < 0.9e-3 or max(sizes) > 1.1e6)
    texts = []
    for value in values:
        if powers and value and not 0.9 < abs(value) < 9.9:
            texts.append(number(value, ".9e"))
        else:
            texts.append(number(value, ",.10g"))
    if even and not powers:
        decimals = max((len(text.partition(".")[2]) for text in texts), default=0)
        texts = [number(value, f",.{decimals}f") for value in values]
    return texts
