"""How a training is scored, stopped, saved and shown."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self


@dataclass(frozen=True)
class Options:
    """What `train` and `train_examples` take as further keywords: how to score, stop, save and show a training.

    With a checkpoint, everything that the run consists of is saved every ``checkpoint_every`` updates, at least every
    minute, and when Ctrl-C or SIGTERM stops the process: the update in progress ends first. (A second Ctrl-C stops at
    once.) If the run was stopped or killed, the same call resumes it, and it ends with the same weights as if nothing
    had happened (to the bit, on the same machine).

    Attributes:
        validate_every: updates between two scores, and one more score at the end; 0 never scores.
        until: stop after this update, in the middle of the schedule. With a checkpoint the same call with a later one
            goes on from there. None trains to the end.
        checkpoint: the file to save the run in; the log that `Progress` describes is written beside it, to a file with
            ``.jsonl`` added to the name. None saves nothing.
        checkpoint_every: updates between two checkpoints.
        watch: called after each update with the number of updates done, to measure on the way. After an interruption
            it may be called again for updates that are repeated.
        progress: whether to show a bar with the loss, the perplexity, the speed and the last score.
        label: the bar's name.

    Raises:
        ValueError: ``validate_every`` is below 0, or ``checkpoint_every`` is not above 0.

    Example:
        >>> Options(checkpoint="run.pt").checkpoint_every
        1000
        >>> Options.of({"checkpoints": "run.pt"})
        Traceback (most recent call last):
            ...
        TypeError: there is no option checkpoints; those of a training are validate_every, until, checkpoint, ...
    """

    validate_every: int = 0
    until: int | None = None
    checkpoint: Path | str | None = None
    checkpoint_every: int = 1000
    watch: Callable[[int], None] | None = None
    progress: bool = True
    label: str = "training"

    def __post_init__(self):
        if self.validate_every < 0:
            raise ValueError(f"validate_every is {self.validate_every}; it must be 0 or more")
        if not self.checkpoint_every > 0:
            raise ValueError(f"checkpoint_every is {self.checkpoint_every}; it must be above 0")

    @classmethod
    def of(cls, keywords: Mapping[str, Any]) -> Self:
        """Return the options that are given as keywords; raise TypeError for a keyword that is none of them."""
        if unknown := sorted(keywords.keys() - cls.__dataclass_fields__):
            known = ", ".join(cls.__dataclass_fields__)
            raise TypeError(f"there is no option {', '.join(unknown)}; those of a training are {known}")
        return cls(**keywords)
