"""Save a training run in a file, so that it can be stopped at any moment and resumed as if nothing had happened."""

import io
import pickle
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import torch

from unrolled import __version__
from unrolled.cells import detach, select
from unrolled.models import Network
from unrolled.models.files import read_archive
from unrolled.training import distributed
from unrolled.training.run import History, Run
from unrolled.whole_files import replace_file, writing

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
    "mean": dict | None,
    "random": torch.Tensor,
    "cuda-random": torch.Tensor | None,
}
MINUTES = 1.0  # between two checkpoints at the most, however slow the updates are


class CheckpointError(RuntimeError):
    """A checkpoint cannot be written or read, or belongs to another run; the message names the file and the remedy."""


class Checkpoints:
    """Save a run in a file every so many updates, and at least every minute, each time in place of the last.

    Args:
        path: the file; None saves nothing.
        every: updates between two checkpoints, unless a minute has passed first.

    Attributes:
        written: the number of updates of the run in the file; 0 if there is none.

    Raises:
        CheckpointError: the file cannot be written.
    """

    def __init__(self, path: Path | str | None, every: int):
        self.path, self.every = None if path is None else Path(path), every
        self.written, self._saved_at = 0, time.monotonic()
        if self.path is not None:
            distributed.first(lambda: _check_writable(self.path))

    def save(self, run: Run, *, now: bool = False) -> None:
        """Save the run if it is due, or in any case if `now`, but never the same run twice.

        Raises:
            CheckpointError: the file cannot be written; the previous one stays.
        """
        if self.path is None or run.done == self.written:
            return
        late = time.monotonic() - self._saved_at >= 60 * MINUTES
        if now or run.done % self.every == 0 or distributed.largest(late):
            save_checkpoint(self.path, run)
            self.written, self._saved_at = run.done, time.monotonic()

    def restore(self, run: Run) -> None:
        """Turn a run into the one in the file, if there is a file, and the random number generators back to then.

        Raises:
            CheckpointError: the file cannot be read, or belongs to a run of another recipe, text or model.
        """
        if self.path is None or not distributed.first(self.path.exists):
            return
        content = _read(self.path, run.model.device)
        _load_weights(self.path, content, run)
        run.history = History(**content["history"])
        run.done, run.best, run.mean = content["done"], content["best"], content["mean"]
        self.written = run.done
        if content["state"] is not None:
            run.state = select(content["state"], distributed.share(run.recipe.batch))
        torch.set_rng_state(_own_part(content["random"], torch.get_rng_state()))
        if content["cuda-random"] is not None and run.model.device.type == "cuda":
            current = torch.cuda.get_rng_state(run.model.device)
            torch.cuda.set_rng_state(_own_part(content["cuda-random"], current), run.model.device)


def save_checkpoint(path: Path, run: Run) -> None:
    """Save the run in a file, in place of what was there: a reader finds the old run or the new one.

    Where several processes share the streams, the first one writes the states of all.
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
        "mean": run.mean,
        "random": distributed.join(torch.get_rng_state()),
        "cuda-random": distributed.join(torch.cuda.get_rng_state(run.model.device)) if on_gpu else None,
    }

    def write() -> None:
        with _unwritable(), replace_file(path) as file:
            torch.save(content, file)

    distributed.first(write)


def _check_writable(path: Path) -> None:
    with _unwritable(), writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass


@contextmanager
def _unwritable() -> Iterator[None]:
    """Make a CheckpointError of what `writing` raises, which names the file and the remedy."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(f"the checkpoint {error}; what was there stays") from error


def _read(path: Path, device: torch.device) -> dict:
    """Return what a checkpoint holds; raise CheckpointError where it cannot be read, or not all `FIELDS` are there."""
    try:
        content = read_archive(io.BytesIO(distributed.first(path.read_bytes)), device)
        if missing := [name for name in FIELDS if name not in content]:
            raise ValueError(f"it lacks {', '.join(missing)}")
        if wrong := [name for name, kind in FIELDS.items() if not isinstance(content[name], kind)]:
            raise ValueError(f"its {wrong[0]} is of the type {type(content[wrong[0]]).__name__}")
        if not all(isinstance(values, list) for values in vars(History(**content["history"])).values()):
            raise ValueError("its history does not consist of lists")
        if content["best"] is not None and content["best"].keys() != content["model"].keys():
            raise ValueError("its best weights are not those of its model")
    except torch.OutOfMemoryError:
        raise  # nothing is wrong with the file
    except (OSError, RuntimeError, EOFError, LookupError, ValueError, TypeError, pickle.UnpicklingError) as error:
        problem = f"is damaged and cannot be read ({error}); delete it to start again"
        if isinstance(error, OSError):
            problem = f"cannot be read ({error.strerror}); make it readable, or use another file"
        raise CheckpointError(f"the checkpoint {path} {problem}") from error
    return content


def _load_weights(path: Path, content: dict, run: Run) -> None:
    """Give a run its weights and its optimizer from a checkpoint; raise CheckpointError if it is of another run."""
    theirs = content["recipe"] | {"text": content["text"], "model": content["made"]}
    ours = asdict(run.recipe) | {"text": run.text, "model": _constructor_call(run.model)}
    pairs = {name: (theirs.get(name, "absent"), ours.get(name, "absent")) for name in ours | theirs}
    unlike = [f"{name} is {there} there and {here} here" for name, (there, here) in pairs.items() if there != here]
    if not unlike:
        try:
            run.model.load_state_dict(content["model"])
            run.optimizer.load_state_dict(content["optimizer"])
        except (RuntimeError, ValueError, LookupError) as error:
            unlike = [f"its weights do not fit: {' '.join(str(error).split())}"]  # PyTorch may take several lines
    if unlike:
        raise CheckpointError(
            f"the checkpoint {path}, of version {content['version']}, belongs to another run ({'; '.join(unlike)}); go "
            "on with the same recipe, text, model and version, or use another file"
        )


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
