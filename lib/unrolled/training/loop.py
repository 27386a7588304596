"""Train a language model by truncated backpropagation through time, or a model on examples, and never lose a run."""

import hashlib
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.nn.utils import clip_grad_norm_

from unrolled.cells import State, detach, restart
from unrolled.measure import evaluate
from unrolled.models import EncoderDecoder, Network, NeuralModel, TaggingNetwork
from unrolled.text import Examples, Streams, check_range, symbol_numbers
from unrolled.training import distributed
from unrolled.training.checkpoints import Checkpoints
from unrolled.training.interruption import Interruption
from unrolled.training.options import Options
from unrolled.training.progress import Progress
from unrolled.training.recipe import Recipe
from unrolled.training.run import History, Run


class TrainingDiverged(RuntimeError):
    """The loss or its gradient is no longer finite; the message says at which update, and what may help."""


def train(
    model: NeuralModel,
    tokens: torch.Tensor,
    recipe: Recipe,
    *,
    validation: torch.Tensor | None = None,
    **keywords: Any,
) -> History:
    """Train a language model on a text, in place.

    Several processes that make the same call together, as `distributed` describes, share the streams and stop together.
    A run may be resumed with another number of processes. The result is then the same up to rounding, except that
    dropout draws other random numbers.

    Args:
        model: the model to train.
        tokens: the text, symbol numbers, (length,).
        recipe: how to train.
        validation: a held-out text to score on the way, symbol numbers, (length,). It is scored as the model is
            trained: with the state carried, or forgotten after every ``seq_len`` symbols.
        keywords: how to score, stop, save and show the training: the attributes of `Options`.

    Returns:
        The losses, gradient norms and scores along the way.

    Raises:
        ValueError: the text is not made of the model's symbols, or too short for the recipe's windows; the validation
            is too short to be scored; an option is out of range; the recipe needs scores and there is no validation; or
            the processes cannot share the streams equally.
        TypeError: a keyword is no attribute of `Options`.
        TrainingDiverged: the loss or the gradient became infinite or NaN; the last checkpoint stays as it was.
        CheckpointError: the checkpoint cannot be written or read, or belongs to a run of another recipe, text or model.
        KeyboardInterrupt, SystemExit: Ctrl-C or SIGTERM stopped it.

    Example:
        >>> from unrolled.models import LanguageModel
        >>> _ = torch.manual_seed(0)
        >>> model, tokens = LanguageModel(5, hidden_size=16), torch.arange(400) % 5  # 0 1 2 3 4 0 1 2 …
        >>> recipe = Recipe(updates=30, batch=4, seq_len=8, learning_rate=0.03)
        >>> history = train(model, tokens, recipe, progress=False)
        >>> len(history.losses), history.losses[0] > 1.4, history.losses[-1] < 0.4  # it began at about ln 5 = 1.6
        (30, True, True)
    """
    options = Options.of(keywords)
    _check(model, recipe, options, scored=validation is not None)
    if options.validate_every and validation is not None and len(validation) < 2:
        raise ValueError(f"the length of validation is {len(validation)}; it must be 2 or more to be scored")
    tokens = symbol_numbers(tokens, ("length",))
    check_range(tokens, model.vocab_size)  # here, once, so that no update has to wait for it
    streams = Streams(tokens.to(model.device), recipe.batch, recipe.seq_len)
    rows = distributed.share(recipe.batch)  # this process's part of the batch
    distributed.synchronise(model)
    digest = hashlib.sha256(tokens.cpu().contiguous().numpy()).hexdigest()[:16]
    run = Run(model, recipe, digest)

    def loss_of_update() -> torch.Tensor:
        inputs, targets, fresh = streams.window(run.done)
        state = None if fresh or not recipe.carry else _carried(run, rows)
        loss, run.state = model.mean_cost(inputs[rows], targets[rows], state)
        return loss

    def score() -> float:
        window = None if recipe.carry else recipe.seq_len
        return evaluate(model, validation, window=window).nats_per_symbol

    return _update(run, loss_of_update, None if validation is None else score, options)


def train_examples(
    model: TaggingNetwork | EncoderDecoder,
    examples: Examples,
    recipe: Recipe,
    *,
    score: Callable[[], float] | None = None,
    **keywords: Any,
) -> History:
    """Train a model on examples that come with an answer, in place: a tagger, or an encoder–decoder.

    What is not said here is as in `train`. One process trains; every batch starts from the initial state.

    Args:
        model: the model to train; its ``loss`` prices a batch.
        examples: what it learns from. A source of batches that never end will do, if it has `Examples.batch_of` and
            `Examples.digest`.
        recipe: how to train, with ``carry=False``. Its ``batch`` is that of the examples; ``seq_len=1`` lets the speed
            count examples.
        score: returns how good the model is, the lower the better, on examples held out.
        keywords: the attributes of `Options`.

    Raises:
        ValueError: the recipe does not fit, several processes train, or what the model's ``loss`` raises.
        TypeError, TrainingDiverged, CheckpointError, KeyboardInterrupt, SystemExit: as `train`.

    Example:
        >>> from unrolled.models import Tagger
        >>> from unrolled.text import pad_tagged
        >>> _ = torch.manual_seed(0)
        >>> words = torch.arange(40).view(8, 5) % 7
        >>> examples = Examples([(row, row % 2) for row in words], batch=4, padded=pad_tagged)
        >>> recipe = Recipe(updates=40, batch=4, seq_len=1, carry=False, learning_rate=0.03)
        >>> history = train_examples(Tagger(7, 2, hidden_size=8), examples, recipe, progress=False)
        >>> history.losses[0] > 0.6, history.losses[-1] < 0.1  # it began at about ln 2
        (True, True)
    """
    options = Options.of(keywords)
    _check(model, recipe, options, scored=score is not None)
    if recipe.carry:
        raise ValueError("carry is True; examples begin afresh, so it must be False")
    if recipe.batch != examples.batch:
        raise ValueError(f"batch is {recipe.batch}, and that of the examples {examples.batch}; they must be equal")
    if distributed.count() > 1:
        raise ValueError(f"{distributed.count()} processes share this training; examples are trained by one: start one")
    run = Run(model, recipe, examples.digest)

    def loss_of_update() -> torch.Tensor:
        batch = examples.batch_of(run.done)
        return model.loss(type(batch)(*(part.to(model.device) for part in batch)))

    return _update(run, loss_of_update, score, options)


def _check(model: Network, recipe: Recipe, options: Options, scored: bool) -> None:
    """Raise ValueError, saying what is wrong, where the recipe does not fit the model, or scores cannot be had."""
    if recipe.reset and not hasattr(model, "initial_state"):
        raise ValueError(f"reset is {recipe.reset}, but a {type(model).__name__} has no initial state; leave out reset")
    if recipe.patience and not (scored and options.validate_every):
        raise ValueError(
            f"patience is {recipe.patience}, which needs scores; give a validation text and validate_every"
        )


def _update(
    run: Run, loss_of_update: Callable[[], torch.Tensor], score: Callable[[], float] | None, options: Options
) -> History:
    """Update the weights of a run until its end, as `train` describes it."""
    model, recipe = run.model, run.recipe
    checkpoints = Checkpoints(options.checkpoint, options.checkpoint_every)
    checkpoints.restore(run)
    reports = distributed.rank() == 0
    log = Path(f"{options.checkpoint}.jsonl") if options.checkpoint is not None and reports else None
    mixed_precision = torch.autocast(model.device.type, torch.bfloat16, enabled=recipe.precision == "bf16")
    end = recipe.updates if options.until is None else options.until

    model.train()
    with (
        Interruption(active=options.checkpoint is not None) as interruption,
        Progress(run, log, show=options.progress and reports, label=options.label) as bar,
    ):
        while not (run.finished or run.done >= end or interruption.requested()):
            started = time.perf_counter()
            with mixed_precision:
                loss = loss_of_update()
            run.optimizer.zero_grad()
            loss.backward()
            distributed.average([loss.detach(), *(weight.grad for weight in run.weights if weight.grad is not None)])
            norm = clip_grad_norm_(run.weights, recipe.clip)
            nats, length = torch.stack([loss.detach(), norm]).tolist()  # the only line that waits for a GPU
            if not math.isfinite(nats + length):
                raise _diverged(nats, length, run, checkpoints)
            rate = recipe.rate(run.done)
            for group in run.optimizer.param_groups:
                group["lr"] = rate
            run.optimizer.step()
            run.done += 1
            run.average()
            run.history.losses.append(nats)
            run.history.norms.append(length)
            seconds = time.perf_counter() - started

            every = options.validate_every
            if score is not None and every and (run.done % every == 0 or run.done == recipe.updates):
                _validate(run, score)
            if options.watch is not None:
                options.watch(run.done)
            bar.advance(rate, seconds)
            checkpoints.save(run)
        checkpoints.save(run, now=True)
    if run.finished:
        run.keep()
    return run.history


def _carried(run: Run, rows: slice) -> State:
    """Return the state that this process's rows go on with: the gradient stops at the edge of a window.

    Which streams start afresh depends on the number of the update alone, so that a run can be resumed and shared.
    """
    state = detach(run.state)
    if not run.recipe.reset:
        return state
    chance = torch.rand(run.recipe.batch, generator=torch.Generator().manual_seed(run.done))
    begins = (chance < run.recipe.reset)[rows].to(run.model.device)
    return restart(state, run.model.initial_state(len(begins)), begins)


def _validate(run: Run, score: Callable[[], float]) -> None:
    """Score the model; if the recipe has patience, remember the weights at the lowest score."""
    with run.averaged():
        nats = distributed.first(score)
        run.history.validated.append(run.done)
        run.history.validation.append(nats)
        if run.recipe.patience and run.history.waited == 0:
            run.best = {name: value.clone() for name, value in run.model.state_dict().items()}


def _diverged(nats: float, norm: float, run: Run, checkpoints: Checkpoints) -> TrainingDiverged:
    """Return the error that names what is no longer finite, and the remedy."""
    culprit = f"the gradient's norm is {norm}" if math.isfinite(nats) else f"the loss is {nats}"
    return TrainingDiverged(
        f"{culprit} at update {run.done}; lower learning_rate (now {run.recipe.learning_rate}) "
        f"or clip (now {run.recipe.clip})"
        + (f"; the state after {checkpoints.written} updates is in {checkpoints.path}" if checkpoints.written else "")
    )
