"""Set results as a table of plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def table(columns: Mapping[str, str], rows: Mapping[str, Sequence]) -> str:
    """Return rows of results under their headings, all flush right but the labels.

                      updates   nats
        free              567   0.72
        forget open     1,000   0.98

    Args:
        columns: for each heading the format of its column, as ``",.0f"``; the labels have none.
        rows: for each label its values, one for each column; None stands for a gap.

    Raises:
        ValueError: a row has not one value for each column.
    """
    for label, values in rows.items():
        if len(values) != len(columns):
            raise ValueError(f"row {label!r} has {len(values)} values, but there are {len(columns)} columns")
    written = {
        label: [
            "" if value is None else format(value, how) for value, how in zip(values, columns.values(), strict=True)
        ]
        for label, values in rows.items()
    }
    width = max(map(len, written), default=0)
    widths = [max(len(text) for text in column) for column in zip(columns, *written.values(), strict=True)]
    lines = {"": list(columns)} | written
    return "\n".join(
        "   ".join(
            [f"{label:{width}}", *(f"{text:>{room}}" for text, room in zip(cells, widths, strict=True))]
        ).rstrip()
        for label, cells in lines.items()
    )
