"""The same derivations by SymPy (chapters 3, 5 and 6).

`rnn` and `gated` unroll a network with a symbol for every weight; `recurrence` is what they share. `polynomials`
compares two results exactly, and `proofs` holds inductions over any number of steps.
"""

from unrolled.symbolic import proofs
from unrolled.symbolic.gated import GRU, LSTM
from unrolled.symbolic.polynomials import difference
from unrolled.symbolic.rnn import Network

__all__ = [
    "GRU",
    "LSTM",
    "Network",
    "difference",
    "proofs",
]
