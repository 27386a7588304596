"""Recurrent cells in the order of their equations, and the loop over time (chapters 2, 5 and 6).

A cell splits its step in two: `project` is the part that needs no state, and so is done for all steps at once; `step`
is the part that has to wait for the step before. `unroll` puts the two together, and `trace` also returns the values of
all equations on the way.

`rnn`, `lstm` and `gru` hold the cells, `base` what they all share, and `twin` what those that PyTorch has too share.
`sequence` is the loop over time, `fused` the fast path with a backward pass derived by hand, and `initialisation` draws
recurrent weights.
"""

from unrolled.cells.base import Cell, State, check_state, detach, restart, select
from unrolled.cells.gru import GRUCell
from unrolled.cells.initialisation import initialise
from unrolled.cells.lstm import LSTMCell, OriginalLSTMCell
from unrolled.cells.rnn import NONLINEARITIES, RNNCell
from unrolled.cells.sequence import trace, unroll
from unrolled.cells.twin import TwinCell

CELLS = {"rnn": RNNCell, "lstm": LSTMCell, "lstm-1997": OriginalLSTMCell, "gru": GRUCell}

__all__ = [
    "CELLS",
    "NONLINEARITIES",
    "Cell",
    "GRUCell",
    "LSTMCell",
    "OriginalLSTMCell",
    "RNNCell",
    "State",
    "TwinCell",
    "check_state",
    "detach",
    "initialise",
    "restart",
    "select",
    "trace",
    "unroll",
]
