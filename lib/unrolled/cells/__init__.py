"""Recurrent cells in the order of their equations, and the loop over time (chapters 2, 5, 6 and 13).

A cell splits its step in two: `project` is the part that needs no state, and so is done for all steps at once; `step`
is the part that has to wait for the step before. `unroll` puts the two together, and `trace` also returns the values of
all equations on the way.

`rnn`, `lstm`, `gru`, `linear`, `linear_attention` and `delta` hold the cells, `base` what they all share, and `twin`
what those that PyTorch has too share. `state` is what is carried on, and `initialisation` draws weights. `sequence` is
the loop over time, and `fast` says which cell goes another way: by PyTorch's kernels, by `fused`, a GRU's backward pass
derived by hand, or by `parallel_scan` and the like, where a step is linear in the state.
"""

from unrolled.cells.base import Cell
from unrolled.cells.delta import DeltaCell
from unrolled.cells.gru import GRUCell
from unrolled.cells.initialisation import initialise
from unrolled.cells.linear import DiagonalCell, LinearCell, MinGRUCell, MinLSTMCell
from unrolled.cells.linear_attention import LinearAttentionCell
from unrolled.cells.lstm import LSTMCell, OriginalLSTMCell
from unrolled.cells.parallel_scan import scan, scan_by_logs
from unrolled.cells.rnn import NONLINEARITIES, RNNCell
from unrolled.cells.sequence import trace, unroll
from unrolled.cells.state import State, check_state, detach, restart, select
from unrolled.cells.twin import TwinCell

CELLS = {
    "rnn": RNNCell,
    "lstm": LSTMCell,
    "lstm-1997": OriginalLSTMCell,
    "gru": GRUCell,
    "mingru": MinGRUCell,
    "minlstm": MinLSTMCell,
    "diagonal": DiagonalCell,
    "linear-attention": LinearAttentionCell,
    "delta": DeltaCell,
}

__all__ = [
    "CELLS",
    "NONLINEARITIES",
    "Cell",
    "DeltaCell",
    "DiagonalCell",
    "GRUCell",
    "LSTMCell",
    "LinearAttentionCell",
    "LinearCell",
    "MinGRUCell",
    "MinLSTMCell",
    "OriginalLSTMCell",
    "RNNCell",
    "State",
    "TwinCell",
    "check_state",
    "detach",
    "initialise",
    "restart",
    "scan",
    "scan_by_logs",
    "select",
    "trace",
    "unroll",
]
