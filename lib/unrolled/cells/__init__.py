"""Recurrent cells in the order of their equations, and the loop over time (chapters 2, 5, 6 and 13).

A cell splits its step in two: `project` is the part that needs no state, and so is done for all steps at once; `step`
is the part that has to wait for the step before. `unroll` puts the two together, and `trace` also returns the values of
all equations on the way.

`rnn`, `lstm`, `gru`, `linear` and `matrix` hold the cells, `base` what they all share, `twin` what those share that
PyTorch has too, and `parallel_scan` what computes the linear ones.
"""

from unrolled.cells.base import Cell, State
from unrolled.cells.gru import GRUCell
from unrolled.cells.initialisation import initialise
from unrolled.cells.linear import LinearCell, MinGRUCell
from unrolled.cells.loop import detach, restart, select, trace, unroll
from unrolled.cells.lstm import LSTMCell
from unrolled.cells.matrix import DeltaCell, LinearAttentionCell
from unrolled.cells.parallel_scan import scan, scan_by_logs
from unrolled.cells.rnn import RNNCell

CELLS = {
    "rnn": RNNCell,
    "lstm": LSTMCell,
    "gru": GRUCell,
    "mingru": MinGRUCell,
    "linear-attention": LinearAttentionCell,
    "delta": DeltaCell,
}

__all__ = [
    "CELLS",
    "Cell",
    "DeltaCell",
    "GRUCell",
    "LSTMCell",
    "LinearAttentionCell",
    "LinearCell",
    "MinGRUCell",
    "RNNCell",
    "State",
    "detach",
    "initialise",
    "restart",
    "scan",
    "scan_by_logs",
    "select",
    "trace",
    "unroll",
]
