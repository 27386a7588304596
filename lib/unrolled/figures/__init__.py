"""What a chapter draws: everything is given to it, and it computes nothing.

`plots` has the charts and their style, `diagrams` the drawings of networks on a `canvas`, `excerpts` pictures of text,
`tables` tables, and `explore` sliders that move without a kernel; `labels` places the words of a chart.
"""

from unrolled.figures.tables import table

__all__ = [
    "table",
]
