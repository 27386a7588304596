"""Recurrent cells in the order of their equations, and the loop over time (chapters 2, 5 and 6).

A cell splits its step in two: `project` does what needs no state, and so can be done for all steps at once; `step`
does what has to wait for the step before. `unroll` puts the two together, and `trace` keeps everything that was
computed on the way.

`rnn`, `lstm` and `gru` hold the cells, `base` what all of them share and `twin` what those share that PyTorch has too;
`sequence` applies a cell at every step, `fused` is the fast path with derivatives derived by hand, and `initialisation`
chooses recurrent weights to begin with.
"""

from unrolled.cells.base import Cell, State, check_state, detach, select
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
    "select",
    "trace",
    "unroll",
]
