"""Measurements of trained models, and of what it costs to train them (chapters 4, 5, 7 and 12).

`evaluation` scores a text, `recall` tests what was remembered, and `comparison` asks whether a difference would come
out the same again. `gradients` and `jacobians` follow the derivative back through time; `neurons` looks at single
units, and `probes` ask what a linear classifier reads off the states. `hardware` times the machine, and `memory` counts
what a backward pass keeps.
"""

from unrolled.measure import comparison, gradients, hardware, memory, neurons, probes
from unrolled.measure.evaluation import Score, evaluate, mixed, token_nats
from unrolled.measure.recall import recall_by_lag

__all__ = [
    "Score",
    "comparison",
    "evaluate",
    "gradients",
    "hardware",
    "memory",
    "mixed",
    "neurons",
    "probes",
    "recall_by_lag",
    "token_nats",
]
