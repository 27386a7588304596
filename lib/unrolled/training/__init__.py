"""The loop that trains a model and loses nothing (chapter 7).

`recipe` decides how to train, `loop` does it, and `run` holds all that a training consists of.
`checkpoints`, `interruption` and `progress` let it be stopped, resumed and watched, as its `options` say; `distributed`
shares it among several processes.
"""

from unrolled.training.checkpoints import CheckpointError
from unrolled.training.loop import TrainingDiverged, train, train_examples
from unrolled.training.options import Options
from unrolled.training.recipe import Recipe
from unrolled.training.run import History, Run

__all__ = [
    "CheckpointError",
    "History",
    "Options",
    "Recipe",
    "Run",
    "TrainingDiverged",
    "train",
    "train_examples",
]
