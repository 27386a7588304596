"""Recurrent cells in the order of their equations, and the loop over time (chapters 2, 5 and 6).

`rnn`, `lstm` and `gru` hold one cell each, and `base` what they share; `sequence` applies a cell at every step, `fused`
is the fast path with derivatives derived by hand, and `initialisation` chooses recurrent weights to begin with.
"""

from unrolled.cells.base import Cell, State, check_state, detach, select
from unrolled.cells.gru import GRUCell
from unrolled.cells.initialisation import initialise
from unrolled.cells.lstm import LSTMCell
from unrolled.cells.rnn import NONLINEARITIES, RNNCell
from unrolled.cells.sequence import trace, unroll

CELLS = {"rnn": RNNCell, "lstm": LSTMCell, "gru": GRUCell}

__all__ = [
    "CELLS",
    "NONLINEARITIES",
    "Cell",
    "GRUCell",
    "LSTMCell",
    "RNNCell",
    "State",
    "check_state",
    "detach",
    "initialise",
    "select",
    "trace",
    "unroll",
]
