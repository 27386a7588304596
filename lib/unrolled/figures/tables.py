"""Set results in a table: HTML where there is any, and plain text everywhere else."""

import re
from collections.abc import Mapping, Sequence
from html import escape

from unrolled.figures.numerals import number

FIGURE, POINT = "\u2007", "\u2008"  # spaces as wide as a digit and as a full stop


class Table(str):
    """A table as plain text that a notebook and the pages show as HTML.

    Args:
        text: the plain text.
        html: the same table as HTML.

    Example:
        >>> Table("loss   0.72", "<table>…</table>")
        loss   0.72
    """

    html: str

    def __new__(cls, text: str, html: str) -> "Table":
        """Return the text, which knows its HTML."""
        made = super().__new__(cls, text)
        made.html = html
        return made

    def __repr__(self) -> str:
        """Return the plain text."""
        return str(self)

    def _repr_html_(self) -> str:
        """Return the HTML, which IPython asks for under this name."""
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

    Raises:
        ValueError: the number of values in a row is not the number of columns, or a unit belongs to no column.

    Example:
        >>> rows = {"free": [567, -0.717], "open": [1000, None]}
        >>> table({"updates": ",.0f", "loss": ".2f"}, rows, units={"loss": "nats"})
               updates   loss, nats
        free       567        −0.72
        open     1,000
    """
    units = dict(units or {})
    unknown = [head for head in units if head not in columns]
    if unknown:
        raise ValueError(f"units has {unknown[0]!r}, but the columns are {list(columns)}")
    for label, values in rows.items():
        if len(values) != len(columns):
            raise ValueError(f"row {label!r} has {len(values)} values, but there are {len(columns)} columns")
    cells = [
        ["" if value is None else number(value, form) for value in column]
        for form, column in zip(columns.values(), zip(*rows.values(), strict=True), strict=False)
    ] or [[] for _ in columns]
    words = [any(isinstance(value, str) for value in column) for column in zip(*rows.values(), strict=True)]
    words += [False] * (len(columns) - len(words))
    plain, wide = (
        [texts if names else _aligned(texts, *spaces) for texts, names in zip(cells, words, strict=True)]
        for spaces in ((" ", " "), (FIGURE, POINT))
    )
    return Table(_text(columns, units, rows, plain, caption), _html(columns, units, rows, wide, words, caption))


def _aligned(texts: list[str], digit: str, point: str) -> list[str]:
    """Return numbers with the space after them that makes their points stand below each other, flush right.

    Args:
        texts: the numbers; an empty one stays as it is.
        digit: a space as wide as a digit.
        point: a space as wide as a point.
    """
    tails = [len(re.search(r"(\.\d*)?%?$", text)[0].rstrip("%")) for text in texts]  # the point and what follows it
    most = max(tails, default=0)
    space = {tail: (digit * (most - tail) if tail else point + digit * (most - 1)) for tail in tails if tail < most}
    return [text and text + space.get(tail, "") for text, tail in zip(texts, tails, strict=True)]


def _text(columns: Mapping, units: Mapping, rows: Mapping, cells: list[list[str]], caption: str) -> str:
    """Return a table as plain text, from the texts of its cells, (columns, rows)."""
    heads = [f"{head}, {units[head]}" if head in units else head for head in columns]
    label_width = max(map(len, rows), default=0)
    widths = [max(map(len, [head, *column])) for head, column in zip(heads, cells, strict=True)]
    lines = [("", *heads), *zip(rows, *cells, strict=True)]
    texts = [
        "   ".join([f"{label:{label_width}}", *(f"{text:>{width}}" for text, width in zip(row, widths, strict=True))])
        for label, *row in lines
    ]
    return "\n".join([*([caption] if caption else []), *(text.rstrip() for text in texts)])


def _html(
    columns: Mapping, units: Mapping, rows: Mapping, cells: list[list[str]], words: list[bool], caption: str
) -> str:
    """Return a table as HTML, from the texts of its cells, (columns, rows), and whether a column holds words."""
    kinds = [' class="words"' if names else "" for names in words]
    measures = [f' <span class="unit">{escape(units[head])}</span>' if head in units else "" for head in columns]
    heads = "".join(
        f'<th scope="col"{kind}>{escape(head)}{unit}</th>'
        for head, kind, unit in zip(columns, kinds, measures, strict=True)
    )
    lines = [
        f'<tr><th scope="row">{escape(label)}</th>'
        + "".join(f"<td{kind}>{escape(text)}</td>" for text, kind in zip(row, kinds, strict=True))
        + "</tr>"
        for label, *row in zip(rows, *cells, strict=True)
    ]
    top = [f"<caption>{escape(caption)}</caption>"] if caption else []
    body = ["<tbody>", *lines, "</tbody>"]
    return "\n".join(['<table class="results">', *top, f"<thead><tr><td></td>{heads}</tr></thead>", *body, "</table>"])
