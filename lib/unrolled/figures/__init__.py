"""What a chapter draws; everything is given to it, and it computes nothing.

`plots` has the charts, in the `style` of the book and the colours of its `roles`, and takes those without lines from
`marks`; `labels` places their words, and `numerals` writes their numbers. `lens` enlarges a part of a chart. `diagrams`
has the drawings of networks, on a `canvas`, with the `gated` cells in a file of their own. `excerpts` draws texts,
`landscapes` a loss over two parameters, `strips` shares over time as heat, `falls` shares that fall with a length, and
`gaps` what an intervention takes away. `tables` sets tables, `explore` makes sliders that move without a kernel, and
`live` lets a trained network answer in the page itself, with its `weights` in a script.
"""

from unrolled.figures.live import demonstration
from unrolled.figures.tables import table

__all__ = [
    "demonstration",
    "table",
]
