"""Train a language model by truncated backpropagation through time, and never lose a run."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch.nn.utils import clip_grad_norm_

from unrolled.cells import detach
from unrolled.measure import evaluate
from unrolled.models import NeuralModel
from unrolled.text import Streams
from unrolled.training import distributed
from unrolled.training.checkpoints import Checkpoints
from unrolled.training.interruption import Interruption
from unrolled.training.loss import cross_entropy
from unrolled.training.progress import Progress
from unrolled.training.recipe import Recipe
from unrolled.training.run import History, Run


class TrainingDiverged(RuntimeError):
    """The loss or its gradient is no longer a number; the message says at which update and what may help."""


def train(
    model: NeuralModel,
    tokens: torch.Tensor,
    recipe: Recipe,
    *,
    validation: torch.Tensor | None = None,
    validate_every: int = 0,
    checkpoint: Path | str | None = None,
    checkpoint_every: int = 1000,
    checkpoint_minutes: float = 10.0,
    log_every: int = 100,
    watch: Callable[[int], None] | None = None,
    progress: bool = True,
    label: str = "training",
) -> History:
    """Train the model in place.

    With a `checkpoint`, everything that the run consists of is written there from time to time, and when Ctrl-C or
    SIGTERM stops the process: the update in progress ends first. (A second Ctrl-C stops at once.) A run that was
    stopped or killed goes on from there when the same call is made again, and ends with the same weights as if nothing
    had happened (to the bit, on the same machine). Beside it, in a file with ``.jsonl`` added to its name, is the log
    that `Progress` describes.

    Several processes that make the same call together, as `distributed` describes, share the streams among them and
    stop together. A run may go on with another number of them; then it is the same up to rounding, and where there is
    dropout the random numbers are others.

    Args:
        model: the model to train.
        tokens: the text, symbol numbers, (length,).
        recipe: how to train.
        validation: a text to score on the way, scored as the model is trained: with the state carried, or
            forgotten after every `seq_len` symbols.
        validate_every: score it after every so many updates, and at the end; 0: never.
        checkpoint: the file to keep the run in.
        checkpoint_every: updates between two writings, unless the minutes are over first.
        checkpoint_minutes: minutes between two writings, unless the updates are done first.
        log_every: updates between two lines of the log.
        watch: called after each update with the number of those done, to measure on the way. After an
            interruption it can be called again for updates that are done again.
        progress: show a bar with the loss, the perplexity and the speed.
        label: the bar's name.

    Returns:
        The losses, gradient norms and scores along the way.

    Raises:
        ValueError: the text is too short for the recipe's windows, or the validation to be scored; a number that cannot
            be; the recipe needs scores and there is no validation; or the processes cannot share the streams equally.
        TrainingDiverged: the loss or the gradient became infinite or NaN; the last checkpoint stays as it was.
        CheckpointError: the checkpoint's folder cannot be written, or the file cannot be read or is of another run:
            of another recipe, text or model.
        KeyboardInterrupt, SystemExit: Ctrl-C or SIGTERM stopped it.
    """
    _check(recipe, validation, validate_every)
    streams = Streams(tokens.to(model.device), recipe.batch, recipe.seq_len)
    mine = distributed.share(recipe.batch)
    distributed.begin(model)
    weights = [parameter for parameter in model.parameters() if parameter.requires_grad]
    run = Run(model, recipe.optimizer_of(weights), recipe, _digest(tokens) if checkpoint is not None else "")
    checkpoints = Checkpoints(checkpoint, checkpoint_every, checkpoint_minutes)
    checkpoints.restore(run)
    tells = distributed.rank() == 0
    log = Path(f"{checkpoint}.jsonl") if checkpoint is not None and tells else None
    predict = torch.compile(model) if recipe.compile else model
    mixed = torch.autocast(model.device.type, torch.bfloat16, enabled=recipe.precision == "bf16")

    model.train()
    with (
        Interruption(active=checkpoint is not None) as interruption,
        Progress(run, log, log_every, show=progress and tells, label=label) as bar,
    ):
        while not (run.finished or interruption.requested()):
            started = time.perf_counter()
            inputs, targets, fresh = streams.window(run.done)
            state = None if fresh or not recipe.carry else detach(run.state)  # the gradient stops at the window's edge
            with mixed:
                logits, run.state = predict(inputs[mine], state)
                loss = cross_entropy(logits.flatten(0, 1), targets[mine].flatten())
            run.optimizer.zero_grad()
            loss.backward()
            distributed.average([loss.detach(), *(weight.grad for weight in weights if weight.grad is not None)])
            norm = clip_grad_norm_(weights, recipe.clip)
            nats, length = torch.stack([loss.detach(), norm]).tolist()  # here, and only here, a GPU is waited for
            if not math.isfinite(nats + length):
                raise _diverged(nats, length, run, checkpoints)
            rate = recipe.rate(run.done, run.history.setbacks)
            for group in run.optimizer.param_groups:
                group["lr"] = rate
            run.optimizer.step()
            run.done += 1
            run.history.losses.append(nats)
            run.history.norms.append(length)
            seconds = time.perf_counter() - started

            due = validate_every and (run.done % validate_every == 0 or run.done == recipe.updates)
            if due and validation is not None:
                _validate(run, validation)
            if watch is not None:
                watch(run.done)
            bar.tell(rate, seconds)
            checkpoints.keep(run)
        checkpoints.keep(run, now=True)
    if run.best is not None:
        model.load_state_dict(run.best)
    return run.history


def _check(recipe: Recipe, validation: torch.Tensor | None, validate_every: int) -> None:
    """Raise ValueError, saying what is wrong, unless there can be scores where they are needed or asked for."""
    if validate_every < 0:
        raise ValueError(f"validate_every is {validate_every}; it must be 0 or more")
    if recipe.needs_validation and (validation is None or not validate_every):
        raise ValueError(
            f"schedule is {recipe.schedule!r} and patience is {recipe.patience}, which needs scores; "
            "give a validation text and validate_every"
        )
    if validate_every and validation is not None and len(validation) < 2:
        raise ValueError(f"the length of validation is {len(validation)}; it must be 2 or more to be scored")


def _digest(tokens: torch.Tensor) -> str:
    """Return a short hash of a text: the same symbols in the same order, the same hash."""
    return hashlib.sha256(tokens.cpu().contiguous().numpy()).hexdigest()[:16]


def _validate(run: Run, validation: torch.Tensor) -> None:
    """Score the model, and where the recipe has patience, remember the weights at the lowest score."""
    window = None if run.recipe.carry else run.recipe.seq_len
    score = distributed.first(lambda: evaluate(run.model, validation, window=window).nats_per_symbol)
    run.history.validated.append(run.done)
    run.history.validation.append(score)
    if run.recipe.patience and run.history.waited == 0:
        run.best = {name: value.clone() for name, value in run.model.state_dict().items()}


def _diverged(nats: float, norm: float, run: Run, checkpoints: Checkpoints) -> TrainingDiverged:
    """Return the error that says so."""
    what = f"the gradient's norm is {norm}" if math.isfinite(nats) else f"the loss is {nats}"
    return TrainingDiverged(
        f"{what} at update {run.done}; lower learning_rate (now {run.recipe.learning_rate}) "
        f"or clip (now {run.recipe.clip})"
        + (f"; the state after {checkpoints.written} updates is in {checkpoints.path}" if checkpoints.written else "")
    )
