"""What does a vanilla RNN lose where its windows end: the gradient, the state, or both (chapters 2 and 3)?"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

from lab.engine.experiment import Config, Experiment, Metric, model, recipe, text
from lab.engine.store import kept
from lab.engine.texts import encoded
from lab.engine.training import CURVE, NATS, UPDATES, fit
from unrolled.measure import evaluate
from unrolled.models import LanguageModel
from unrolled.text import Streams

STATES = {"reset": False, "carried": True}  # at the end of a window


def measure_windows(config: Config, seed: int, folder: Path) -> dict:
    """Train with windows of one length, the state reset at each or carried into the next; score in both ways."""
    network, read, history, _ = fit(config, seed, folder)
    window = config["recipe"]["seq_len"]
    return {
        "scored_carried": evaluate(network, read.held_out).nats_per_symbol,
        "scored_reset": evaluate(network, read.held_out, window=window).nats_per_symbol,
        "updates": history.validated,
        "curve": history.validation,
    }


WINDOWS = {
    "scored_carried": Metric(
        "nats per character", "what a character of the held-out text costs where the state is carried through all of it"
    ),
    "scored_reset": Metric(
        "nats per character", "what it costs where the state is reset at every window of the training's length"
    ),
    "updates": UPDATES,
    "curve": CURVE,
}


def measure_initial_state(config: Config, seed: int, folder: Path) -> dict:
    """Train with h_0 at zero or learned; score as was trained, the state reset at every window or carried."""
    network, read, *_ = fit(config, seed, folder)
    window = None if config["recipe"]["carry"] else config["recipe"]["seq_len"]
    return {"nats": evaluate(network, read.held_out, window=window).nats_per_symbol}


def truncated_gradients(network: LanguageModel, streams: Streams, batches: int, length: int) -> torch.Tensor:
    """Return the gradient of each batch's mean loss in W_hh, the state detached at the end of every segment.

    Args:
        network: a language model of one recurrent layer.
        streams: the text; a window of it is a batch, and the state is carried from one to the next.
        batches: how many are read.
        length: of a segment, in steps; that of a window never cuts.

    Returns:
        (batches, h · h), float64.
    """
    found, state = [], network.initial_state(streams.batch)
    for number in range(batches):
        inputs, targets, _ = streams.window(number)
        loss = 0.0
        for read, wanted in zip(inputs.split(length, dim=1), targets.split(length, dim=1), strict=True):
            logits, state = network(read, state)
            loss = loss + cross_entropy(logits.flatten(0, 1), wanted.flatten(), reduction="sum") / targets.numel()
            state = state.detach()
        (gradient,) = torch.autograd.grad(loss, network.core.layers[0].W_hh)
        found.append(gradient.flatten().double())
    return torch.stack(found)


def compare(network: LanguageModel, streams: Streams, config: Config) -> dict:
    """Return the metrics of one moment of the training, `BIAS` without the nats.

    Raises:
        ValueError: the batches are too few: the gradients of their halves point apart.
    """
    by_length = {n: truncated_gradients(network, streams, config["batches"], n) for n in config["lengths"]}
    full = truncated_gradients(network, streams, config["batches"], streams.seq_len)

    def product(ours: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
        """Return the product of two mean gradients: halves err independently, so their noise does not enter it."""
        (a, b), (c, d) = ([half.mean(dim=0) for half in each.chunk(2)] for each in (ours, theirs))
        return (a @ d + b @ c) / 2

    squared, means = product(full, full), [half.mean(dim=0) for half in full.chunk(2)]
    if squared <= 0:
        raise ValueError(f"the gradients of the halves of {config['batches']} batches point apart; average over more")
    others = torch.stack(means[::-1]).repeat_interleave(len(full) // 2, dim=0)
    return {
        "cosine": [
            (product(cut, full) / (product(cut, cut).sqrt() * squared.sqrt())).item() for cut in by_length.values()
        ],
        "kept": [(product(cut, full) / squared).item() for cut in by_length.values()],
        "cosine_same_batch": [torch.cosine_similarity(cut, full).mean().item() for cut in by_length.values()],
        "cosine_one_batch": torch.cosine_similarity(full, others).mean().item(),
        "cosine_halves": torch.cosine_similarity(*means, dim=0).item(),
    }


def measure_bias(config: Config, seed: int, folder: Path) -> dict:
    """Train a network, and on the way compare truncated gradients with the full one, averaged over many batches."""
    read, compared = encoded(config), []
    streams = Streams(read.training, config["streams"], config["steps"])
    for updates in config["points"]:
        trained = fit(config, seed, folder, text=read, until=updates)
        look = partial(compare, trained.model, streams, config)
        compared.append(kept(folder / f"after-{updates}.json", look))
    nats = evaluate(trained.model, read.held_out).nats_per_symbol
    return {"nats": nats} | {name: [each[name] for each in compared] for name in compared[0]}


BIAS = {
    "nats": NATS,
    "cosine": Metric(
        "", "of the truncated gradient in W_hh with the full one, each averaged over all batches", ("point", "length")
    ),
    "kept": Metric(
        "", "the projection of the averaged truncated one onto the full one, as a share of that", ("point", "length")
    ),
    "cosine_same_batch": Metric("", "of the two in one batch, the mean over the batches", ("point", "length")),
    "cosine_one_batch": Metric("", "of one batch's full gradient with the average over half of them", ("point",)),
    "cosine_halves": Metric("", "of the averages over the two halves of the batches", ("point",)),
}


def _recipe(updates: int, seq_len: int, carry: bool) -> Config:
    return recipe(updates=updates, symbols_per_update=2048, seq_len=seq_len, learning_rate=1e-2, carry=carry)


def _windows(read: Config, seq_lens: Sequence[int], updates: int) -> dict[str, Config]:
    """Return the contenders of `rnn-windows`, labelled by what becomes of the state and by the windows' length."""
    return {
        f"{state} {seq_len}": {
            "text": read,
            "model": model("LanguageModel", hidden_size=128),
            "recipe": _recipe(updates, seq_len, carry),
        }
        for state, carry in STATES.items()
        for seq_len in seq_lens
    }


INITIAL_STATES = {
    f"{state} {'learned' if learned else 'zero'}": {
        "text": text("stories", 500_000),
        "model": model("LanguageModel", hidden_size=64, learn_initial_state=learned),
        "recipe": _recipe(250, 16, carry),
    }
    for state, carry in STATES.items()
    for learned in (False, True)
}
_STORIES = text("stories", 2_000_000)
_PUBLISHED, _DOUBLED = (16, 32, 64), (1, 2, 4, 8, 16, 32, 64)

TRUNCATED = {
    "text": _STORIES,
    "model": model("LanguageModel", hidden_size=128),
    "recipe": _recipe(2000, 64, carry=True),
    "validations": 0,
    "points": [0, 200, 2000],
    "batches": 160,
    "streams": 64,
    "steps": 128,
    "lengths": [*_DOUBLED],
}

EXPERIMENTS = (
    Experiment(
        "rnn-windows",
        "Stories: a vanilla RNN with windows of 16, 32 and 64, state forgotten and carried",
        WINDOWS,
        _windows(_STORIES, _PUBLISHED, updates=4000),
        measure_windows,
    ),
    Experiment(
        "rnn-windows-tinystories",
        "TinyStories sample: the same, on the kind of text that the comparison is known from",
        WINDOWS,
        _windows(text("tinystories-sample"), _PUBLISHED, updates=4000),
        measure_windows,
    ),
    Experiment(
        "rnn-truncation",
        "Stories: a vanilla RNN trained through 1 to 64 steps, state forgotten and carried",
        WINDOWS,
        _windows(_STORIES, _DOUBLED, updates=2000),
        measure_windows,
    ),
    Experiment(
        "truncation-bias",
        "Stories: truncated gradients of a vanilla RNN against the full one, averaged over 160 batches",
        BIAS,
        {"rnn": TRUNCATED},
        measure_bias,
        lambda config: {"point": config["points"], "length": config["lengths"]},  # updates done, steps
        small={"points": [0, 3], "batches": 2, "streams": 4, "steps": 16, "lengths": [1, 4]},
    ),
    Experiment(
        "rnn-initial-state",
        "Stories: the state before the first symbol, zero or learned",
        {"nats": NATS._replace(about="what a character of the held-out text costs where the state is as in training")},
        INITIAL_STATES,
        measure_initial_state,
        seeds=5,
    ),
)
