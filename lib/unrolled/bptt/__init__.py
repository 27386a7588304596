"""Backward passes written by hand in NumPy (chapters 3, 5 and 6).

`rnn`, `lstm` and `gru` each have a forward pass, which keeps what the backward pass needs, and that backward pass. In
them everything by step is indexed by the chapters' t: h[t] is h_t, (time + 1, …, hidden_size), where … is empty for one
sequence and (batch,) for several, and a comment names the equation that its line computes. `common` has the output
layer and the sums they share; `differences` checks them without the chain rule.
"""

from unrolled.bptt import gru, lstm, rnn
from unrolled.bptt.common import Gradients, Trace, output_errors, path_sizes, sigmoid
from unrolled.bptt.differences import complex_step, relative_error

__all__ = ["Gradients", "Trace", "complex_step", "gru", "lstm", "output_errors", "path_sizes", "relative_error", "rnn"]
__all__ += ["sigmoid"]
