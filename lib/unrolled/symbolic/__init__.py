"""The same derivations by SymPy (chapters 3, 5 and 6).

`networks` has a vanilla network, an LSTM and a GRU, unrolled, with a symbol for every weight; `recurrence` is what they
share. `polynomials` compares two results exactly, and `proofs` holds inductions over any number of steps.
"""

from unrolled.symbolic import proofs
from unrolled.symbolic.networks import GRU, LSTM, Network
from unrolled.symbolic.polynomials import difference

__all__ = ["GRU", "LSTM", "Network", "difference", "proofs"]
