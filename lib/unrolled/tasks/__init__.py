"""Tasks with known baselines, and the training of a network until it solves one (chapters 4 to 6 and 13).

A task draws batches, prices outputs, and knows its `trivial` loss, that of the best answer without memory, and its
`goal`, the loss below which it counts as solved. `memory` has those that need a memory, `state` those that ask what a
state can track and hold; `solving` trains. The tasks of `rewriting`, from one sequence to another, are of another kind.
"""

from unrolled.tasks import rewriting
from unrolled.tasks.memory import Adding, Copy, Counting, counted
from unrolled.tasks.solving import Outcome, SequenceModel, Task, score, solve
from unrolled.tasks.state import AssociativeRecall, ShellGame

TASKS = {"adding": Adding, "copy": Copy, "counting": Counting}

__all__ = [
    "TASKS",
    "Adding",
    "AssociativeRecall",
    "Copy",
    "Counting",
    "Outcome",
    "SequenceModel",
    "ShellGame",
    "Task",
    "counted",
    "rewriting",
    "score",
    "solve",
]
