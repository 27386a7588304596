"""Train a language model by truncated backpropagation through time, and never lose a run."""

from __future__ import annotations

import math
import os
import pickle
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils import clip_grad_norm_
from tqdm.auto import tqdm

from unrolled.batches import Streams
from unrolled.cells import detach
from unrolled.evaluation import evaluate
from unrolled.models import LanguageModel


@dataclass(frozen=True)
class Recipe:
    """How to train: everything that decides the result, apart from the model's first weights and the text.

    Attributes:
        updates: how many times the weights are changed.
        batch: parallel streams.
        seq_len: symbols through which the gradient flows back.
        learning_rate: Adam's (Kingma & Ba 2015) peak rate: reached after a tenth of the updates, then
            falling to zero along a cosine.
        clip: the gradient is scaled down to this norm where it is longer (Pascanu et al. 2013).
        carry: start each window from the state at the end of the last one; False starts it afresh.
    """

    updates: int
    batch: int = 64
    seq_len: int = 32
    learning_rate: float = 5e-3
    clip: float = 1.0
    carry: bool = True

    def __post_init__(self):
        for name in ("updates", "learning_rate", "clip"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be above 0")

    def rate(self, update: int) -> float:
        """Return the learning rate for this update, 0 … updates − 1."""
        warm_up = max(1, self.updates // 10)
        if update < warm_up:
            return self.learning_rate * (update + 1) / warm_up
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * (update - warm_up) / (self.updates - warm_up)))


@dataclass
class History:
    """What happened during training.

    Attributes:
        losses: the training loss of each update, nats per symbol.
        norms: the norm of the gradient at each update, before clipping.
        validated: the updates after which the model was scored.
        validation: those scores, nats per symbol.
    """

    losses: list[float] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    validated: list[int] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)


class TrainingDiverged(RuntimeError):
    """The loss is no longer a number; the message says at which update and what may help."""


class CheckpointError(RuntimeError):
    """A checkpoint cannot be written, read or continued; the message says which file and what to do."""


def train(
    model: LanguageModel,
    tokens: torch.Tensor,
    recipe: Recipe,
    *,
    validation: torch.Tensor | None = None,
    validate_every: int = 0,
    checkpoint: Path | str | None = None,
    checkpoint_every: int = 1000,
    watch: Callable[[int], None] | None = None,
    progress: bool = True,
    label: str = "training",
) -> History:
    """Train the model in place.

    With a `checkpoint`, everything that the run consists of is written there every `checkpoint_every` updates.
    A run that was killed goes on from there when the same call is made again, and ends with the same weights as
    if nothing had happened (to the bit, on the same machine).

    Args:
        model: the model to train.
        tokens: the text, symbol numbers, (length,).
        recipe: how to train.
        validation: a text to score on the way, scored as the model is trained: with the state carried, or
            forgotten after every `seq_len` symbols.
        validate_every: score it after every so many updates, and at the end; 0: never.
        checkpoint: the file to keep the run in.
        checkpoint_every: updates between two writings.
        watch: called after each update with the number of those done, to measure on the way.
        progress: show a bar with the loss.
        label: the bar's name.

    Returns:
        The losses, gradient norms and scores along the way.

    Raises:
        ValueError: the text is too short for the recipe's windows.
        TrainingDiverged: the loss became infinite or NaN; the last checkpoint stays as it was.
        CheckpointError: the checkpoint's folder cannot be written, or the file is damaged or of another run.
    """
    streams = Streams(tokens.to(model.device), recipe.batch, recipe.seq_len)
    weights = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(weights, lr=recipe.learning_rate, fused=model.device.type in ("cpu", "cuda"))
    history, state, done = History(), None, 0
    if checkpoint is not None:
        checkpoint = Path(checkpoint)
        _check_writable(checkpoint)
        if checkpoint.exists():
            done, state = _restore(checkpoint, model, optimizer, recipe, history)

    model.train()
    bar = tqdm(total=recipe.updates, initial=done, desc=label, disable=not progress, leave=False)
    try:
        for update in range(done, recipe.updates):
            inputs, targets, fresh = streams.window(update)
            state = None if fresh or not recipe.carry else detach(state)  # the gradient stops at the window's edge
            logits, state = model(inputs, state)
            loss = cross_entropy(logits.flatten(0, 1), targets.flatten())
            if not torch.isfinite(loss):
                raise TrainingDiverged(
                    f"the loss is {loss.item()} at update {update}; lower learning_rate (now {recipe.learning_rate}) "
                    f"or clip (now {recipe.clip})" + (f"; the last good state is in {checkpoint}" if checkpoint else "")
                )
            optimizer.zero_grad()
            loss.backward()
            norm = clip_grad_norm_(weights, recipe.clip)
            for group in optimizer.param_groups:
                group["lr"] = recipe.rate(update)
            optimizer.step()
            done = update + 1

            history.losses.append(loss.item())
            history.norms.append(norm.item())
            if validate_every and validation is not None and (done % validate_every == 0 or done == recipe.updates):
                score = evaluate(model, validation, window=None if recipe.carry else recipe.seq_len)
                history.validated.append(done)
                history.validation.append(score.nats_per_symbol)
            if checkpoint is not None and done % checkpoint_every == 0:
                _save(checkpoint, model, optimizer, recipe, history, done, state)
            if watch is not None:
                watch(done)
            bar.set_postfix(loss=f"{history.losses[-1]:.3f}", refresh=False)
            bar.update()
    finally:
        bar.close()
    if checkpoint is not None and done % checkpoint_every:
        _save(checkpoint, model, optimizer, recipe, history, done, state)
    return history


def _check_writable(checkpoint: Path) -> None:
    try:
        checkpoint.parent.mkdir(parents=True, exist_ok=True)
        probe = checkpoint.with_name(checkpoint.name + ".part")
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise CheckpointError(
            f"checkpoints cannot be written to {checkpoint.parent} ({error.strerror}); choose another folder"
        ) from error


def _save(checkpoint: Path, model, optimizer, recipe: Recipe, history: History, done: int, state) -> None:
    """Write the run to a file beside the checkpoint, then put it in its place: a reader sees the old or the new."""
    part = checkpoint.with_name(checkpoint.name + ".part")
    content = {
        "recipe": asdict(recipe),
        "done": done,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "state": None if state is None else detach(state),
        "history": asdict(history),
        "random": torch.get_rng_state(),
    }
    try:
        with part.open("wb") as file:
            torch.save(content, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, checkpoint)
    except (OSError, RuntimeError) as error:  # torch reports a full disk as a RuntimeError
        raise CheckpointError(
            f"the checkpoint {checkpoint} could not be written: {error}; the last one stays"
        ) from error


def _restore(checkpoint: Path, model, optimizer, recipe: Recipe, history: History):
    """Load a run into the model, the optimizer and the history; return the updates done and the carried state."""
    try:
        content = torch.load(checkpoint, map_location=model.device, weights_only=True)
        before = content["recipe"]
    except (OSError, RuntimeError, EOFError, LookupError, ValueError, TypeError, pickle.UnpicklingError) as error:
        raise CheckpointError(
            f"the checkpoint {checkpoint} is damaged and cannot be read; delete it to start again"
        ) from error
    changed = [name for name, value in asdict(recipe).items() if before.get(name) != value]
    if changed:
        was = ", ".join(f"{name}={before.get(name)}" for name in changed)
        raise CheckpointError(
            f"the checkpoint {checkpoint} belongs to a run with {was}; use the same recipe to go on, or another file"
        )
    try:
        model.load_state_dict(content["model"])
    except RuntimeError as error:
        raise CheckpointError(f"the checkpoint {checkpoint} belongs to another model; choose another file") from error
    optimizer.load_state_dict(content["optimizer"])
    torch.set_rng_state(content["random"].cpu())
    for name, values in content["history"].items():
        getattr(history, name)[:] = values
    return content["done"], content["state"]
