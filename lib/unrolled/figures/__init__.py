"""What a chapter draws; everything is given to it, and it computes nothing.

`charts` has the charts, in the colours of the `palette`; `tables` sets tables and writes numbers; `diagrams` has the
drawings of networks, on a `canvas`, with the `gated` cells in a file of their own. `excerpts` draws texts, `explore`
makes sliders, and `live` lets a trained network answer in the page itself, with its `weights` in a script.
"""

from unrolled.figures.live import demonstration
from unrolled.figures.tables import table

__all__ = ["demonstration", "table"]
