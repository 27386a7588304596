"""When does a transformer learn to look for what came before, and does a recurrent network learn it (chapter 11)?

Random symbols are repeated until a window is full, with a period that changes from window to window. What follows can
be known from the second period on, by whoever finds where the last symbol stood before and reads on from there: the job
of an induction head (Olsson et al. 2022).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import torch

from unrolled.decoding import evaluating
from unrolled.experiments.base import (
    PARAMETERS,
    Configuration,
    Experiment,
    Metric,
    fit,
    kept,
    model,
    parameters,
    recipe,
    training_seconds,
)
from unrolled.experiments.reading import Encoded
from unrolled.models import NeuralModel, TransformerBlock, TransformerLM, causal_mask
from unrolled.text import Vocabulary

SYMBOLS = "abcdefghijklmnopqrstuvwxyz"
SHORTEST, LONGEST, WINDOW = 8, 24, 64  # of a period, and of what is read at once
ASKED = 256  # windows of the test


def repeated(windows: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return windows of random symbols that repeat themselves, (windows, WINDOW), and the period of each, (windows,).

    Args:
        windows: how many.
        seed: of the draws.

    Example:
        >>> rows, periods = repeated(3, seed=0)
        >>> all(torch.equal(row[period:], row[:-period]) for row, period in zip(rows, periods.tolist()))
        True
    """
    generator = torch.Generator().manual_seed(seed)
    periods = torch.randint(SHORTEST, LONGEST + 1, (windows,), generator=generator)
    drawn = torch.randint(len(SYMBOLS), (windows, LONGEST), generator=generator)
    places = torch.arange(WINDOW) % periods[:, None]
    return drawn.gather(1, places), periods


def known(periods: torch.Tensor) -> torch.Tensor:
    """Return for each symbol of a window but the first whether it can be known: (windows, WINDOW − 1).

    The first symbol of the second period cannot: nothing says that the first period is over.
    """
    return torch.arange(1, WINDOW) > periods[:, None]


def measure(config: Configuration, seed: int, folder: Path) -> dict:
    """Train a model in stretches; after each, ask what a symbol costs that can be known, and where its heads look."""
    rows, _ = repeated(config["recipe"]["updates"] * config["recipe"]["batch"], seed)
    read = Encoded(Vocabulary(SYMBOLS), torch.cat([rows.flatten(), rows[0, :1]]), rows[0])
    train_until = partial(fit, config | {"validations": 0}, seed, folder, text=read)
    asked = []
    for updates in config["points"]:
        trained = train_until(until=updates)
        asked.append(kept(folder / f"after-{updates}.json", partial(ask, trained.model)))
    curves = {name: [each[name] for each in asked] for name in asked[0]}
    seconds = training_seconds(config, trained.checkpoint)
    return curves | {"parameters": parameters(trained.model), "seconds": seconds}


@torch.no_grad()
def ask(network: NeuralModel) -> dict:
    """Return what symbols cost that can be known, and the others; and how much each head of each layer inducts."""
    rows, periods = repeated(ASKED, seed=2**31)
    nats, _ = network.costs(rows[:, :-1], rows[:, 1:])
    there = known(periods)
    found = {"known": nats[there].mean().item(), "unknown": nats[~there].mean().item()}
    if isinstance(network, TransformerLM):
        found |= {"heads": induction(network, rows[:, :-1], periods).flatten().tolist()}
    return found


def induction(network: TransformerLM, rows: torch.Tensor, periods: torch.Tensor) -> torch.Tensor:
    """Return how much each head looks at the symbol that followed the last time, on average, (layers, heads), 0 to 1.

    At step t that is the place t − period + 1.

    Args:
        network: the model.
        rows: symbol numbers, (windows, time).
        periods: of each window, (windows,).
    """
    time = rows.shape[1]
    steps = torch.arange(time)
    later = steps >= periods[:, None]  # (windows, time): the last symbol stood there before
    looked_for = (steps - periods[:, None] + 1).clamp(min=0)  # (windows, time)
    shares = []
    with evaluating(network):
        x = network.embed(rows.to(network.device)) + network.positions.weight[:time]
        for layer in network.layers:
            x, alpha = TransformerBlock.from_torch(layer).eval()(x, causal_mask(time, x.device))
            place = looked_for[:, None, :, None].expand(-1, alpha.shape[1], -1, -1)  # (windows, heads, time, 1)
            weight = alpha.cpu().gather(3, place)[..., 0]  # (windows, heads, time)
            shares.append((weight * later[:, None]).sum(dim=(0, 2)) / later.sum())
    return torch.stack(shares)


METRICS = {
    "parameters": PARAMETERS,
    "seconds": Metric("seconds", "how long all updates took together"),
    "known": Metric("nats per symbol", "what a symbol costs that has been read a period before", ("point",)),
    "unknown": Metric("nats per symbol", "what the others cost", ("point",)),
    "heads": Metric(
        "", "the share of each head's attention, layer by layer, on the place to read on", ("point", "head")
    ),
}


def axes(config: Configuration) -> dict:
    """Return the coordinates of the axis of `METRICS`: the updates after which the model was asked."""
    return {"point": config["points"]}


MODELS = {  # with the 26 letters, each but the first has about 100,000 weights
    "transformer-1": model("TransformerLM", context=WINDOW, hidden_size=64, num_layers=1),
    "transformer-2": model("TransformerLM", context=WINDOW, hidden_size=64, num_layers=2),
    "lstm": model("LanguageModel", core="lstm", hidden_size=140, embedding_size=32),
}
UPDATES = {"quick": 3000, "full": 20_000}
POINTS = (0.0125, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)  # shares of the training


def _contenders(profile: str) -> dict[str, Configuration]:
    updates, contenders = UPDATES[profile], {}
    for label, config in MODELS.items():
        for rate in (1e-3, 4e-3):
            steps = {"updates": updates, "batch": 32, "seq_len": WINDOW, "carry": False, "schedule": "constant"}
            contenders[f"{label} {rate:g}"] = {
                "model": config,
                "recipe": recipe(learning_rate=rate, **steps),
                "points": [round(share * updates) for share in POINTS],
            }
    return contenders


EXPERIMENTS = (
    Experiment(
        "induction-heads",
        "Repeated random letters: what transformers and recurrent networks learn, and what their heads look at",
        METRICS,
        {profile: _contenders(profile) for profile in UPDATES},
        measure,
        axes,
        keeps=False,
    ),
)
