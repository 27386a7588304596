"""The loop that trains a model, and loses nothing when it is stopped (chapter 7).

`Recipe` decides how to train, `train` trains a language model on a text, `train_examples` any other model on examples
with an answer; both return the `History`.
"""

import hashlib
import math
import os
import pickle
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TypeVar

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_
from tqdm.auto import tqdm

from unrolled.cells import State, detach, restart
from unrolled.measure import evaluate
from unrolled.models import EncoderDecoder, Network, NeuralModel, TaggingNetwork
from unrolled.text import Examples, Streams, check_range, symbol_numbers

__all__ = ["History", "Recipe", "TrainingDiverged", "train", "train_examples"]

T = TypeVar("T")
OPTIMIZERS = {"adam": torch.optim.AdamW, "sgd": torch.optim.SGD}
CHOICES = {"optimizer": tuple(OPTIMIZERS), "schedule": ("cosine", "constant"), "precision": ("float32", "bf16")}


class TrainingDiverged(RuntimeError):
    """The loss or its gradient is no longer finite; the message says at which update, and what may help."""


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the result of a training, apart from the model's first weights and the text.

    Attributes:
        updates: the largest number of updates of the weights.
        batch: the number of parallel streams.
        seq_len: the number of tokens through which the gradient flows back.
        learning_rate: the highest learning rate.
        clip: a gradient longer than this is scaled down to this norm (Pascanu et al. 2013); infinity never scales.
        carry: whether each window starts from the state at the end of the previous one, or from the initial state.
        reset: the probability that a stream starts from the initial state in a window, although the state is carried.
            Streams begin too rarely to teach a network how a text begins: with 0, once in a pass over the text.
        optimizer: ``"adam"`` (Kingma & Ba 2015) or ``"sgd"``, plain gradient descent without momentum.
        beta2: β₂, the share of the squared gradients' running mean that Adam keeps in an update.
        weight_decay: λ: in each update every weight also loses λ times the learning rate of itself, apart from the
            optimizer's step (Loshchilov & Hutter 2019).
        averaging: the share of the weights' running mean that is kept in an update. It is the mean that is scored, and
            that the model has in the end (Polyak & Juditsky 1992). At first it is a plain mean of all updates so far. 0
            takes none.
        schedule: ``"cosine"`` or ``"constant"``; see `rate`.
        warm_up: the share of the updates in which the rate of ``"cosine"`` rises.
        patience: stop after so many validations in a row without a new lowest score, and restore the weights that had
            the lowest one; 0 trains to the end and keeps the last weights.
        precision: ``"float32"``, or ``"bf16"`` to multiply in bfloat16 in training (mixed precision). The weights, the
            optimizer and the validation stay in float32.

    Example:
        >>> recipe = Recipe(updates=100, learning_rate=0.01)
        >>> [round(recipe.rate(update), 4) for update in (0, 9, 55, 99)]  # warm-up, peak, half-way down, almost zero
        [0.001, 0.01, 0.005, 0.0]
    """

    updates: int
    batch: int = 64
    seq_len: int = 32
    learning_rate: float = 5e-3
    clip: float = 1.0
    carry: bool = True
    reset: float = 0.0
    optimizer: str = "adam"
    beta2: float = 0.999
    weight_decay: float = 0.0
    averaging: float = 0.0
    schedule: str = "cosine"
    warm_up: float = 0.1
    patience: int = 0
    precision: str = "float32"

    def __post_init__(self):
        for name in ("updates", "batch", "seq_len", "learning_rate", "clip"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be above 0")
        for name in ("reset", "averaging", "warm_up"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it is a share, from 0 to 1")
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it can be one of {', '.join(choices)}")

    def rate(self, update: int) -> float:
        """Return the learning rate of an update, 0 … updates − 1.

            constant    learning_rate
            cosine      learning_rate · (update + 1) / W                in the first W updates, the warm-up
                        learning_rate · ½ (1 + cos π p)                 after it, with p rising from 0 to 1

        The cosine is that of Loshchilov & Hutter (2017), without restarts.
        """
        if self.schedule == "constant":
            return self.learning_rate
        warm_up = max(1, int(self.updates * self.warm_up))
        if update < warm_up:
            return self.learning_rate * (update + 1) / warm_up
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * (update - warm_up) / (self.updates - warm_up)))

    def optimizer_of(self, weights: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
        """Return the optimizer of these weights; each of its steps is one fused operation where PyTorch has one."""
        weights = list(weights)
        fused = all(weight.device.type in ("cpu", "cuda") for weight in weights)
        betas = {"betas": (0.9, self.beta2)} if self.optimizer == "adam" else {}
        how = {"lr": self.learning_rate, "weight_decay": self.weight_decay, "fused": fused}
        return OPTIMIZERS[self.optimizer](weights, **how, **betas)


@dataclass
class History:
    """What happened in a training, update by update.

    Attributes:
        losses: the training loss of each update, nats per token.
        norms: the norm of the gradient at each update, before clipping.
        validated: the numbers of updates after which the model was scored.
        validation: those scores, nats per token.
        seconds: how long all updates took together, in however many runs; no part of a comparison.

    Example:
        >>> History(validated=[10, 20, 30, 40], validation=[3.0, 1.0, 2.0, 1.5]).waited
        2
    """

    losses: list[float] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    validated: list[int] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    seconds: float = field(default=0.0, compare=False)

    @property
    def waited(self) -> int:
        """The number of validations since the lowest score."""
        return len(self.validation) - 1 - self.validation.index(min(self.validation)) if self.validation else 0


def train(
    model: NeuralModel,
    tokens: torch.Tensor,
    recipe: Recipe,
    *,
    validation: torch.Tensor | None = None,
    validate_every: int = 0,
    until: int | None = None,
    checkpoint: Path | str | None = None,
    checkpoint_every: int = 1000,
    watch: Callable[[int], None] | None = None,
    progress: bool = True,
    label: str = "training",
) -> History:
    """Train a language model on a text, in place, by truncated backpropagation through time.

    With a checkpoint, the same call goes on where a run was stopped or killed, and ends with the same weights as if
    nothing had happened (to the bit, on the same machine). Processes that ``torchrun`` started share the streams, if
    each has called ``torch.distributed.init_process_group`` and, on GPUs, ``torch.cuda.set_device`` for one of its own.

    Args:
        model: the model to train.
        tokens: the text, token ids, (length,).
        recipe: how to train.
        validation: a held-out text to score on the way, token ids, (length,). It is scored as the model is trained:
            with the state carried, or forgotten after every ``seq_len`` tokens.
        validate_every: updates between two scores, and one more score at the end; 0 never scores.
        until: stop after this update, in the middle of the schedule; None trains to the end.
        checkpoint: the file to keep the run in; None keeps nothing.
        checkpoint_every: updates between two checkpoints, unless a minute has passed first.
        watch: called after each update with the number of updates done, to measure on the way.
        progress: whether to show a bar with the loss and the last score.
        label: the bar's name.

    Example:
        >>> from unrolled.models import LanguageModel
        >>> _ = torch.manual_seed(0)
        >>> model, tokens = LanguageModel(5, hidden_size=16), torch.arange(400) % 5  # 0 1 2 3 4 0 1 2 …
        >>> recipe = Recipe(updates=30, batch=4, seq_len=8, learning_rate=0.03)
        >>> history = train(model, tokens, recipe, progress=False)
        >>> len(history.losses), history.losses[0] > 1.4, history.losses[-1] < 0.4  # it began at about ln 5 = 1.6
        (30, True, True)
    """
    tokens = symbol_numbers(tokens, ("length",))
    check_range(tokens, model.vocab_size)  # here, once, so that no update has to wait for it
    streams = Streams(tokens.to(model.device), recipe.batch, recipe.seq_len)
    mean_cost, rows = _shared(model, recipe.batch)

    def loss_of(update: int, state: State | None) -> tuple[torch.Tensor, State]:
        inputs, targets, fresh = streams.window(update)
        if fresh or not recipe.carry:
            state = None
        elif recipe.reset:  # which streams begin afresh depends on the update alone, so a run can be resumed
            chance = torch.rand(recipe.batch, generator=torch.Generator().manual_seed(update))[rows]
            state = restart(state, model.initial_state(len(chance)), (chance < recipe.reset).to(model.device))
        loss, state = mean_cost(inputs[rows], targets[rows], state)
        return loss, detach(state)  # the gradient stops at the edge of a window

    def score() -> float:
        return evaluate(model, validation, window=None if recipe.carry else recipe.seq_len).nats_per_symbol

    data = hashlib.sha256(tokens.cpu().contiguous().numpy()).hexdigest()[:16]
    scoring = (None if validation is None else score), validate_every
    return _fit(model, recipe, data, loss_of, *scoring, until, checkpoint, checkpoint_every, watch, progress, label)


def train_examples(
    model: TaggingNetwork | EncoderDecoder,
    examples: Examples,
    recipe: Recipe,
    *,
    score: Callable[[], float] | None = None,
    validate_every: int = 0,
    until: int | None = None,
    checkpoint: Path | str | None = None,
    checkpoint_every: int = 1000,
    watch: Callable[[int], None] | None = None,
    progress: bool = True,
    label: str = "training",
) -> History:
    """Train a model on examples that come with an answer, in place: a tagger, or an encoder–decoder.

    What is not said here is as in `train`. One process trains; every batch starts from the initial state.

    Args:
        model: the model to train; its ``loss`` prices a batch.
        examples: what it learns from. A source of batches that never end will do, if it has `Examples.batch_of` and
            `Examples.digest`.
        recipe: how to train. Its ``batch`` is that of the examples; ``seq_len`` and ``carry`` are of no effect.
        score: returns how good the model is, the lower the better, on examples held out.

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
    if recipe.batch != examples.batch:
        raise ValueError(f"batch is {recipe.batch}, and that of the examples {examples.batch}; they must be equal")
    if _processes()[1] > 1:
        raise ValueError(f"{_processes()[1]} processes share this training; examples are trained by one, so start one")

    def loss_of(update: int, _: None) -> tuple[torch.Tensor, None]:
        batch = examples.batch_of(update)
        return model.loss(type(batch)(*(part.to(model.device) for part in batch))), None

    scoring = score, validate_every
    return _fit(
        model, recipe, examples.digest, loss_of, *scoring, until, checkpoint, checkpoint_every, watch, progress, label
    )


def _fit(
    model: Network,
    recipe: Recipe,
    data: str,
    loss_of: Callable[[int, State | None], tuple[torch.Tensor, State | None]],
    score: Callable[[], float] | None,
    validate_every: int,
    until: int | None,
    checkpoint: Path | str | None,
    checkpoint_every: int,
    watch: Callable[[int], None] | None,
    progress: bool,
    label: str,
) -> History:
    """Update the weights until the end, as `train` describes it; `data` is the digest of what is trained on."""
    if recipe.patience and not (score and validate_every):
        raise ValueError(
            f"patience is {recipe.patience}, which needs scores; give a validation text and validate_every"
        )
    (rank, processes), device = _processes(), model.device
    weights = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    optimizer = recipe.optimizer_of(weights.values())
    history, done, state = History(), 0, None
    best = mean = None  # the weights at the lowest score, and the running mean of the weights, by name
    run = asdict(recipe) | {"model": f"{type(model).__name__}{model.arguments}", "data": data, "processes": processes}
    path = None if checkpoint is None else Path(checkpoint)
    if path is not None and path.exists():
        kept = read_checkpoint(path, device, run)
        model.load_state_dict(kept["model"])
        optimizer.load_state_dict(kept["optimizer"])
        history, done, best, mean = History(**kept["history"]), kept["done"], kept["best"], kept["mean"]
        own = kept["own"][rank]  # what differs from process to process
        state = own["state"]
        torch.set_rng_state(own["random"].cpu())
        if device.type == "cuda" and own["cuda-random"] is not None:
            torch.cuda.set_rng_state(own["cuda-random"].cpu(), device)

    def save() -> None:
        own = {"state": state, "random": torch.get_rng_state(), "cuda-random": None}
        if device.type == "cuda":
            own["cuda-random"] = torch.cuda.get_rng_state(device)
        content = {"run": run, "done": done, "history": asdict(history), "best": best, "mean": mean}
        content |= {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "own": _gathered(own)}
        if rank == 0:
            _replace(path, content)

    model.train()
    autocast = torch.autocast(device.type, torch.bfloat16, enabled=recipe.precision == "bf16")
    end = recipe.updates if until is None else min(until, recipe.updates)
    saved, saved_at = done, time.monotonic()
    with tqdm(total=recipe.updates, initial=done, desc=label, disable=not progress or rank > 0, leave=False) as bar:
        while done < end and not 0 < recipe.patience <= history.waited:
            started = time.perf_counter()
            with autocast:
                loss, state = loss_of(done, state)
            optimizer.zero_grad()
            loss.backward()
            norm = clip_grad_norm_(weights.values(), recipe.clip)
            nats, length = torch.stack([loss.detach(), norm]).tolist()  # the only line that waits for a GPU
            nats, since_saved = map(fmean, zip(*_gathered((nats, time.monotonic() - saved_at)), strict=True))
            if not math.isfinite(nats + length):
                culprit = f"the gradient's norm is {length}" if math.isfinite(nats) else f"the loss is {nats}"
                remedy = f"lower learning_rate (now {recipe.learning_rate}) or clip (now {recipe.clip})"
                raise TrainingDiverged(f"{culprit} at update {done}; {remedy}")
            for group in optimizer.param_groups:
                group["lr"] = recipe.rate(done)
            optimizer.step()
            done += 1
            if recipe.averaging:
                mean = mean or {name: torch.zeros_like(weight) for name, weight in weights.items()}
                for name, weight in weights.items():
                    mean[name].lerp_(weight.detach(), max(1 / done, 1 - recipe.averaging))
            history.losses.append(nats)
            history.norms.append(length)
            history.seconds += time.perf_counter() - started

            if score and validate_every and (done % validate_every == 0 or done == recipe.updates):
                last = {name: weight.detach().clone() for name, weight in weights.items()}
                _put(mean or {}, weights)
                history.validated.append(done)
                history.validation.append(fmean(_gathered(score())))
                if recipe.patience and history.waited == 0:
                    best = {name: value.clone() for name, value in model.state_dict().items()}
                _put(last, weights)
            scored = f", score {history.validation[-1]:.3f}" if history.validation else ""
            bar.set_postfix_str(f"loss {nats:.3f}{scored}", refresh=False)
            bar.update()
            if watch is not None:
                watch(done)
            if path is not None and (done % checkpoint_every == 0 or since_saved > 60):
                save()
                saved, saved_at = done, time.monotonic()
    if path is not None and done > saved:
        save()
    if best is not None and (done >= recipe.updates or recipe.patience <= history.waited):
        model.load_state_dict(best)
    elif done >= recipe.updates:
        _put(mean or {}, weights)
    return history


@torch.no_grad()
def _put(values: dict[str, torch.Tensor], weights: dict[str, torch.nn.Parameter]) -> None:
    """Give some weights these values."""
    for name, value in values.items():
        weights[name].copy_(value)


# Checkpoints


def read_checkpoint(path: Path, device: torch.device | str = "cpu", run: dict | None = None) -> dict:
    """Return what a checkpoint holds; refuse one that is damaged, or of another run than this one.

    Args:
        path: the file.
        device: where its tensors shall be.
        run: what decides the result of the run that is to go on: recipe, model, data, processes; None asks for nothing.
    """
    try:
        content = torch.load(path, map_location=device, weights_only=True)
        theirs, _ = content["run"], content["own"]
    except torch.OutOfMemoryError:  # nothing is wrong with the file
        raise
    except (RuntimeError, EOFError, LookupError, TypeError, ValueError, pickle.UnpicklingError) as error:
        raise ValueError(f"{path} is no checkpoint that can be read; delete it to begin again") from error
    ours = theirs if run is None else run
    if unlike := [
        f"{name} is {theirs.get(name)} there and {ours[name]} here" for name in ours if theirs.get(name) != ours[name]
    ]:
        raise ValueError(
            f"{path} is the checkpoint of another run ({'; '.join(unlike)}); go on as there, or name another file"
        )
    return content


def _replace(path: Path, content: dict) -> None:
    """Write a checkpoint in place of the last: a process that is killed meanwhile leaves that as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    with part.open("wb") as file:
        torch.save(content, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


# Several processes


class _MeanCost(torch.nn.Module):
    """A model's mean cost, as the forward pass that PyTorch's parallel training needs."""

    def __init__(self, model: NeuralModel):
        super().__init__()
        self.model = model

    def forward(self, *window) -> tuple[torch.Tensor, State]:
        return self.model.mean_cost(*window)


def _shared(model: NeuralModel, batch: int) -> tuple[Callable[..., tuple[torch.Tensor, State]], slice]:
    """Return what computes the mean cost of a window, with gradients averaged over all processes; and our rows."""
    rank, processes = _processes()
    if processes == 1:
        return model.mean_cost, slice(None)
    if batch % processes:
        raise ValueError(f"batch is {batch}, which {processes} processes cannot share equally; start another number")
    if rank:
        torch.manual_seed(torch.initial_seed() + rank)  # or all would drop the same units
    own = batch // processes
    return DistributedDataParallel(_MeanCost(model), find_unused_parameters=True), slice(rank * own, (rank + 1) * own)


def _processes() -> tuple[int, int]:
    """Return the number of this process, and of how many."""
    together = dist.is_available() and dist.is_initialized()
    return (dist.get_rank(), dist.get_world_size()) if together else (0, 1)


def _gathered(own: T) -> list[T]:
    """Return what every process has, in the order of their numbers."""
    everyones = [own] * _processes()[1]
    if len(everyones) > 1:
        dist.all_gather_object(everyones, own)
    return everyones
