"""Tasks with known baselines, and the training of a network until it solves one (chapters 4 to 6 and 13).

A task draws batches and judges outputs by its `error`. It knows its `trivial` error, that of the best answer without
memory, and its `goal`, the error below which it counts as solved. `memory` has those that need a memory, `state` the
one that asks what a state can track; `solving` trains. The tasks of `rewriting`, from one sequence to another, are of
another kind.
"""

from unrolled.tasks import rewriting
from unrolled.tasks.base import Task
from unrolled.tasks.memory import Adding, Copy, Counting, FlipFlop
from unrolled.tasks.solving import Outcome, SequenceModel, score, solve
from unrolled.tasks.state import ShellGame

TASKS = {"adding": Adding, "copy": Copy, "counting": Counting, "flip-flop": FlipFlop}

__all__ = ["TASKS", "Adding", "Copy", "Counting", "FlipFlop", "Outcome"]
__all__ += ["SequenceModel", "ShellGame", "Task", "rewriting", "score", "solve"]
