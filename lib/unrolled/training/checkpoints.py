"""Save a training run in a file, so that it can be stopped at any moment and resumed as if nothing had happened."""

from __future__ import annotations

import io
import pickle
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import torch

from unrolled import __version__
from unrolled.cells import detach, select
from unrolled.models import Network
from unrolled.models.files import read_archive
from unrolled.training import distributed
from unrolled.training.run import History, Run
from unrolled.whole_files import replace_file

FIELDS = {  # of a checkpoint, each with its type
    "version": str,
    "recipe": dict,
    "text": str,
    "made": str,
    "done": int,
    "model": dict,
    "optimizer": dict,
    "state": torch.Tensor | tuple | None,
    "history": dict,
    "best": dict | None,
    "random": torch.Tensor,
    "cuda-random": torch.Tensor | None,
}
MINUTES = 1.0  # between two checkpoints at the most, however slow the updates are


class CheckpointError(RuntimeError):
    """A checkpoint cannot be written, read or resumed; the message names the file and the remedy."""


class Checkpoints:
    """Save a run in a file every so many updates, and at least every minute, each time in place of the last.

    Args:
        path: the file; None saves nothing.
        every: updates between two checkpoints, unless a minute has passed first.

    Attributes:
        written: the number of updates of the run in the file; 0 if there is none.

    Raises:
        ValueError: `every` is not above 0.
        CheckpointError: the folder cannot be written to.

    Example:
        >>> from unrolled.models import LanguageModel
        >>> from unrolled.training import Recipe
        >>> model, recipe = LanguageModel(5), Recipe(updates=100)
        >>> run = Run(model, recipe.optimizer_of(model.parameters()), recipe)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoints = Checkpoints(Path(folder, "run.pt"), every=2)
        ...     for done in range(1, 6):
        ...         run.done = done  # after an update
        ...         checkpoints.save(run)
        ...     resumed = Run(model, run.optimizer, recipe)
        ...     checkpoints.restore(resumed)
        >>> resumed.done
        4
    """

    def __init__(self, path: Path | str | None, every: int):
        if not every > 0:
            raise ValueError(f"checkpoint_every is {every}; it must be above 0")
        self.path = None if path is None else Path(path)
        self.every = every
        self.written, self._saved_at = 0, time.monotonic()
        if self.path is not None:
            distributed.first(lambda: _check_writable(self.path))

    def restore(self, run: Run) -> None:
        """Turn the run into the one in the file, if there is a file.

        Raises:
            CheckpointError: what `restore` raises.
        """
        if self.path is not None and distributed.first(self.path.exists):
            restore(self.path, run)
            self.written = run.done

    def save(self, run: Run, *, now: bool = False) -> None:
        """Save the run if it is due, or in any case if `now`, but never the same run twice.

        Raises:
            CheckpointError: what `save_checkpoint` raises.
        """
        if self.path is None or run.done == self.written:
            return
        late = time.monotonic() - self._saved_at >= 60 * MINUTES
        if now or run.done % self.every == 0 or distributed.largest(late):
            save_checkpoint(self.path, run)
            self.written, self._saved_at = run.done, time.monotonic()


def _check_writable(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise CheckpointError(
            f"checkpoints cannot be written to {path.parent} ({error.strerror}); choose another folder"
        ) from error


def save_checkpoint(path: Path, run: Run) -> None:
    """Save the run in a file, in place of what was there: a reader finds the old run or the new one.

    Where several processes share the streams, the first one writes the states of all.

    Args:
        path: the file.
        run: the run.

    Raises:
        CheckpointError: the file cannot be written; the previous one stays.
    """
    on_gpu = run.model.device.type == "cuda"
    content = {
        "version": __version__,
        "recipe": asdict(run.recipe),
        "text": run.text,
        "made": _constructor_call(run.model),
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
    try:
        with replace_file(path) as file:
            torch.save(content, file)
    except OSError as error:
        raise CheckpointError(f"the checkpoint {error}; the last one stays") from error


def restore(path: Path, run: Run) -> None:
    """Turn a run into the one in a file, and set the random number generators to where they were.

    Args:
        path: the file that `save_checkpoint` wrote.
        run: a run of the same recipe, text and model.

    Raises:
        CheckpointError: the file cannot be read, is damaged, or belongs to another run.
    """
    try:
        file = io.BytesIO(distributed.first(path.read_bytes))
    except OSError as error:
        raise CheckpointError(
            f"the checkpoint {path} cannot be read ({error.strerror}); make it readable, or use another file"
        ) from error
    try:
        content = read_archive(file, run.model.device)
        if missing := [name for name in FIELDS if name not in content]:
            raise ValueError(f"it lacks {', '.join(missing)}")
        if wrong := [name for name, kind in FIELDS.items() if not isinstance(content[name], kind)]:
            raise ValueError(f"its {wrong[0]} is of the type {type(content[wrong[0]]).__name__}")
        recipe, text, constructor_call = content["recipe"], content["text"], content["made"]
        history = History(**content["history"])
        if not all(isinstance(values, list) for values in content["history"].values()):
            raise ValueError("its history does not consist of lists")
        if content["best"] is not None and content["best"].keys() != content["model"].keys():
            raise ValueError("its best weights are not those of its model")
    except torch.OutOfMemoryError:
        raise  # nothing is wrong with the file
    except (RuntimeError, EOFError, LookupError, ValueError, TypeError, pickle.UnpicklingError) as error:
        raise CheckpointError(
            f"the checkpoint {path} is damaged and cannot be read ({error}); delete it to start again"
        ) from error
    expected = asdict(run.recipe)
    if unlike := sorted(recipe.keys() ^ expected.keys()):
        raise CheckpointError(
            f"the checkpoint {path} was written by version {content['version']}, whose recipes differ in "
            f"{', '.join(unlike)} from those of version {__version__}; go on with that version, or use another file"
        )
    other = [f"{name}={value}" for name, value in recipe.items() if value != expected[name]]
    if other:
        raise CheckpointError(
            f"the checkpoint {path} belongs to a run with {', '.join(other)}; use the same recipe to go on, "
            "or another file"
        )
    if text != run.text:
        raise CheckpointError(
            f"the checkpoint {path} belongs to a run on another text; use the same text to go on, or another file"
        )
    if constructor_call != _constructor_call(run.model):
        raise CheckpointError(
            f"the checkpoint {path} belongs to another model, made by {constructor_call}, where this one is made by "
            f"{_constructor_call(run.model)}; make the same to go on, or use another file"
        )
    try:
        run.model.load_state_dict(content["model"])
        run.optimizer.load_state_dict(content["optimizer"])
    except (RuntimeError, ValueError, LookupError) as error:
        raise CheckpointError(f"the checkpoint {path} belongs to another model; use another file") from error
    run.history = history
    run.done, run.best = content["done"], content["best"]
    if content["state"] is not None:
        run.state = select(content["state"], distributed.share(run.recipe.batch))
    torch.set_rng_state(_own_part(content["random"], torch.get_rng_state()))
    if content["cuda-random"] is not None and run.model.device.type == "cuda":
        current = torch.cuda.get_rng_state(run.model.device)
        torch.cuda.set_rng_state(_own_part(content["cuda-random"], current), run.model.device)


def _constructor_call(model: Network) -> str:
    """Return the call that makes a model like this one, as Python code."""
    positional, keywords = model.arguments
    arguments = [*map(repr, positional), *(f"{name}={value!r}" for name, value in sorted(keywords.items()))]
    return f"{type(model).__name__}({', '.join(arguments)})"


def _own_part(states: torch.Tensor, current: torch.Tensor) -> torch.Tensor:
    """Return this process's part of all processes' random states, or its current one if there were fewer processes."""
    parts = states.cpu().split(len(current))
    own = parts[distributed.rank()] if distributed.rank() < len(parts) else current
    return own.clone()  # PyTorch crashes when it is given a view into something longer
