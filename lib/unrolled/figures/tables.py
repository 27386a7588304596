"""Set results in a table of plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def table(columns: Mapping[str, str], rows: Mapping[str, Sequence]) -> str:
    """Return rows of results under their headings; the labels are flush left, everything else flush right.

    Args:
        columns: for each heading the format of its column, such as ``",.0f"``.
        rows: for each label its values, one for each column; None leaves a gap.

    Raises:
        ValueError: the number of values in a row is not the number of columns.

    Example:
        >>> print(table({"updates": ",.0f", "nats": ".2f"}, {"free": [567, 0.717], "forget open": [1000, None]}))
                      updates   nats
        free              567   0.72
        forget open     1,000
    """
    for label, values in rows.items():
        if len(values) != len(columns):
            raise ValueError(f"row {label!r} has {len(values)} values, but there are {len(columns)} columns")
    texts = {
        label: [
            "" if value is None else format(value, form) for value, form in zip(values, columns.values(), strict=True)
        ]
        for label, values in rows.items()
    }
    label_width = max(map(len, texts), default=0)
    widths = [max(len(text) for text in column) for column in zip(columns, *texts.values(), strict=True)]
    lines = {"": list(columns)} | texts
    return "\n".join(
        "   ".join(
            [f"{label:{label_width}}", *(f"{text:>{width}}" for text, width in zip(cells, widths, strict=True))]
        ).rstrip()
        for label, cells in lines.items()
    )
