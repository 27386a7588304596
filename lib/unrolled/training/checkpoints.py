"""Keep a training run in a file, so that it can be stopped at any moment and go on as if nothing had happened."""

from __future__ import annotations

import io
import os
import pickle
import time
from dataclasses import asdict
from pathlib import Path

import torch

from unrolled.cells import detach, select
from unrolled.models import NeuralModel
from unrolled.training import distributed
from unrolled.training.recipe import Recipe
from unrolled.training.run import History, Run


class CheckpointError(RuntimeError):
    """A checkpoint cannot be written, read or continued; the message says which file and what to do."""


class Checkpoints:
    """Write a run into a file from time to time, each time in place of the last.

    Args:
        path: the file; None: keep nothing.
        every: updates between two writings.
        minutes: minutes between two writings. Whichever is over first counts.

    Attributes:
        written: the updates done by the run in the file; 0 where there is none.

    Raises:
        ValueError: an interval that is not above 0.
        CheckpointError: the folder cannot be written.
    """

    def __init__(self, path: Path | str | None, every: int, minutes: float):
        for name, interval in (("checkpoint_every", every), ("checkpoint_minutes", minutes)):
            if not interval > 0:
                raise ValueError(f"{name} is {interval}; it must be above 0")
        self.path = None if path is None else Path(path)
        self.every, self.minutes = every, minutes
        self.written, self._when = 0, time.monotonic()
        if self.path is not None:
            distributed.first(lambda: _check_writable(self.path))

    def restore(self, run: Run) -> None:
        """Make the run the one in the file, where there is a file; raise CheckpointError where that does not work."""
        if self.path is not None and distributed.first(self.path.exists):
            restore(self.path, run)
            self.written = run.done

    def keep(self, run: Run, *, now: bool = False) -> None:
        """Write the run if it is time, or `now`; not twice the same."""
        if self.path is None or run.done == self.written:
            return
        late = time.monotonic() - self._when >= 60 * self.minutes
        if now or run.done % self.every == 0 or distributed.largest(late):
            save_checkpoint(self.path, run)
            self.written, self._when = run.done, time.monotonic()


def _check_writable(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        probe = path.with_name(path.name + ".part")
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise CheckpointError(
            f"checkpoints cannot be written to {path.parent} ({error.strerror}); choose another folder"
        ) from error


def save_checkpoint(path: Path, run: Run) -> None:
    """Write the run to a file beside the checkpoint, then put it in its place: a reader sees the old or the new.

    Where several processes share the streams, the first writes the states of all.

    Raises:
        CheckpointError: the file cannot be written; the last one stays.
    """
    on_gpu = run.model.device.type == "cuda"
    content = {
        "recipe": asdict(run.recipe),
        "text": run.text,
        "made": _made(run.model),
        "done": run.done,
        "model": run.model.state_dict(),
        "optimizer": run.optimizer.state_dict(),
        "state": None if run.state is None else distributed.join(detach(run.state)),
        "history": asdict(run.history),
        "best": run.best,
        "random": distributed.join(torch.get_rng_state()),
        "cuda-random": distributed.join(torch.cuda.get_rng_state(run.model.device)) if on_gpu else None,
    }
    distributed.first(lambda: _write(path, content))


def _write(path: Path, content: dict) -> None:
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            torch.save(content, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except (OSError, RuntimeError) as error:  # torch reports a full disk as a RuntimeError
        raise CheckpointError(f"the checkpoint {path} could not be written: {error}; the last one stays") from error


def restore(path: Path, run: Run) -> None:
    """Load a run from its file into one with the same recipe, text and model, and set the random numbers to go on.

    Raises:
        CheckpointError: the file cannot be read, is damaged, or is of another run.
    """
    try:
        file = io.BytesIO(distributed.first(path.read_bytes))
    except OSError as error:
        raise CheckpointError(
            f"the checkpoint {path} cannot be read ({error.strerror}); make it readable, or use another file"
        ) from error
    try:
        content = torch.load(file, map_location=run.model.device, weights_only=True)
        before = Recipe(**content["recipe"])
    except torch.OutOfMemoryError:
        raise  # nothing is wrong with the file
    except (RuntimeError, EOFError, LookupError, ValueError, TypeError, pickle.UnpicklingError) as error:
        raise CheckpointError(
            f"the checkpoint {path} is damaged and cannot be read; delete it to start again"
        ) from error
    was = [f"{name}={value}" for name, value in asdict(before).items() if value != getattr(run.recipe, name)]
    if was:
        raise CheckpointError(
            f"the checkpoint {path} belongs to a run with {', '.join(was)}; use the same recipe to go on, "
            "or another file"
        )
    if content.get("text", run.text) != run.text:
        raise CheckpointError(
            f"the checkpoint {path} belongs to a run on another text; use the same text to go on, or another file"
        )
    now = _made(run.model)
    if (other := content.get("made", now)) != now:
        raise CheckpointError(
            f"the checkpoint {path} belongs to another model, made by {other}, where this one is made by {now}; "
            "make the same to go on, or use another file"
        )
    try:
        run.model.load_state_dict(content["model"])
        run.optimizer.load_state_dict(content["optimizer"])
    except (RuntimeError, ValueError) as error:
        raise CheckpointError(f"the checkpoint {path} belongs to another model; use another file") from error
    run.history = History(**content["history"])
    run.done, run.best = content["done"], content.get("best")
    if content["state"] is not None:
        run.state = select(content["state"], distributed.share(run.recipe.batch))
    torch.set_rng_state(_own(content["random"], torch.get_rng_state()))
    if content.get("cuda-random") is not None and run.model.device.type == "cuda":
        now = torch.cuda.get_rng_state(run.model.device)
        torch.cuda.set_rng_state(_own(content["cuda-random"], now), run.model.device)


def _made(model: NeuralModel) -> str:
    """Return how a model was made, as one writes it."""
    by_place, by_name = model.arguments
    told = [*map(repr, by_place), *(f"{name}={value!r}" for name, value in sorted(by_name.items()))]
    return f"{type(model).__name__}({', '.join(told)})"


def _own(states: torch.Tensor, now: torch.Tensor) -> torch.Tensor:
    """Return this process's part of all processes' random states, or its state now if there were fewer processes."""
    parts = states.cpu().split(len(now))
    mine = parts[distributed.rank()] if distributed.rank() < len(parts) else now
    return mine.clone()  # PyTorch crashes where it is given a view into something longer
