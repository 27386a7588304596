"""Write numbers, the same way on axes, beside dots and in tables; and set results in a table."""

import math
import re
from collections.abc import Mapping, Sequence
from html import escape

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
FIGURE, POINT = "\u2007", "\u2008"  # spaces as wide as a digit and as a full stop


def number(value: float | str, form: str = ".3g") -> str:
    """Return a number as a reader writes it: a real minus, commas between thousands, powers of ten as exponents.

    Args:
        value: the number; a text is returned as it is.
        form: its format, as `format` takes it.

    Example:
        >>> number(-0.5), number(12345.0, ",.0f"), number(0.000001), number(2.5e-7), number(-0.0, ".1f")
        ('−0.5', '12,345', '10⁻⁶', '2.5·10⁻⁷', '0.0')
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
        >>> ticks([0, 0.25, 0.5], even=True), ticks([1e-9, 1e-3, 1]), ticks([1000, 20000])
        (['0.00', '0.25', '0.50'], ['10⁻⁹', '10⁻³', '1'], ['1,000', '20,000'])
    """
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    powers = bool(sizes) and (min(sizes) < 0.9e-3 or max(sizes) > 1.1e6)
    texts = [number(v, ".9e" if powers and v and not 0.9 < abs(v) < 9.9 else ",.10g") for v in values]
    if even and not powers:
        decimals = max((len(text.partition(".")[2]) for text in texts), default=0)
        texts = [number(value, f",.{decimals}f") for value in values]
    return texts


class Table(str):
    """A table as plain text that a notebook and the pages show as HTML."""

    html: str

    def __repr__(self) -> str:
        """Return the plain text."""
        return str(self)

    def _repr_html_(self) -> str:
        return self.html


def table(
    columns: Mapping[str, str],
    rows: Mapping[str, Sequence],
    *,
    units: Mapping[str, str] | None = None,
    caption: str = "",
) -> Table:
    """Return rows of results under their heads: numbers rounded, aligned at their points, and written as `number` does.

    ``display(table(…))`` puts a table into the page; ``print`` writes it as plain text, with the labels flush left and
    everything else flush right.

    Args:
        columns: for each head the format of its column, such as ``",.0f"``; words have the format ``""``.
        rows: for each label its values, one for each column; None leaves a gap.
        units: the units of columns, by their heads.
        caption: what the table says, in a sentence, where it is a result.

    Example:
        >>> rows = {"free": [567, -0.717], "open": [1000, None]}
        >>> table({"updates": ",.0f", "loss": ".2f"}, rows, units={"loss": "nats"})
               updates   loss, nats
        free       567        −0.72
        open     1,000
    """
    units = units or {}
    if unknown := [head for head in units if head not in columns]:
        raise ValueError(f"units has {unknown[0]!r}: give units of the columns {list(columns)}")
    for label, values in rows.items():
        if len(values) != len(columns):
            raise ValueError(f"row {label!r} has {len(values)} values: give one for each of {len(columns)} columns")
    values = [[row[place] for row in rows.values()] for place in range(len(columns))]
    words = [any(isinstance(value, str) for value in column) for column in values]
    cells = [
        ["" if value is None else number(value, form) for value in column]
        for form, column in zip(columns.values(), values, strict=True)
    ]
    plain, wide = (
        [texts if text else _aligned(texts, *spaces) for texts, text in zip(cells, words, strict=True)]
        for spaces in ((" ", " "), (FIGURE, POINT))
    )
    heads = [f"{head}, {units[head]}" if head in units else head for head in columns]
    sizes = [
        max(map(len, rows), default=0),
        *(max(map(len, c)) for c in map(list.__add__, ([h] for h in heads), plain)),
    ]
    lines = [caption] if caption else []
    for first, *others in [("", *heads), *zip(rows, *plain, strict=True)]:
        shown = [first.ljust(sizes[0]), *(text.rjust(size) for text, size in zip(others, sizes[1:], strict=True))]
        lines.append("   ".join(shown).rstrip())
    made = Table("\n".join(lines))
    made.html = _html(columns, units, rows, wide, [' class="words"' if text else "" for text in words], caption)
    return made


def _aligned(texts: list[str], digit: str, point: str) -> list[str]:
    """Return numbers with the spaces after them that make their points stand below each other, flush right."""
    tails = [len(re.search(r"(\.\d*)?%?$", text)[0].rstrip("%")) for text in texts]  # the point and what follows it
    most = max(tails, default=0)
    space = {tail: (digit * (most - tail) if tail else point + digit * (most - 1)) for tail in tails if tail < most}
    return [text and text + space.get(tail, "") for text, tail in zip(texts, tails, strict=True)]


def _html(columns: Mapping, units: Mapping, rows: Mapping, cells: list, kinds: list[str], caption: str) -> str:
    """Return a table as HTML, from the texts of its cells, (columns, rows), and the attributes of each column."""
    measures = [f' <span class="unit">{escape(units[head])}</span>' if head in units else "" for head in columns]
    heads = "".join(
        f'<th scope="col"{kind}>{escape(head)}{unit}</th>'
        for head, kind, unit in zip(columns, kinds, measures, strict=True)
    )
    top = [f"<caption>{escape(caption)}</caption>"] if caption else []
    lines = ['<table class="results">', *top, f"<thead><tr><td></td>{heads}</tr></thead>", "<tbody>"]
    for label, *row in zip(rows, *cells, strict=True):
        texts = "".join(f"<td{kind}>{escape(text)}</td>" for text, kind in zip(row, kinds, strict=True))
        lines.append(f'<tr><th scope="row">{escape(label)}</th>{texts}</tr>')
    return "\n".join([*lines, "</tbody>", "</table>"])
