"""When does a transformer learn to look for what came before, and does a recurrent network learn it (chapter 11)?

In each window each letter of the first half is always followed by the same letter, drawn anew for the window; those of
the second half are followed by any letter. Whoever finds an earlier place of such a letter can read there what comes
next: the job of an induction head (Olsson et al. 2022), on a task much like that of Bietti et al. (2023). What repeats
as a whole would not do: there the next letter is also the one not seen for longest, and two layers learned that task
with heads that stayed nearly flat. In training some windows do go round in circles; in the test none does.
"""

from functools import partial
from pathlib import Path

import torch

from lab.experiment import Config, Experiment, Metric, at, kept, model, recipe
from lab.texts import Encoded
from lab.training import PARAMETERS, SECONDS, fit, parameters
from unrolled.models import NeuralModel, TransformerBlock, TransformerLM, causal_mask, evaluating
from unrolled.text import Vocabulary

SYMBOLS = "abcdefghijklmnopqrstuvwxyz"
FOLLOWED = 13  # the first letters, each followed by a letter of its own in a window
WINDOW = 64  # what is read at once
ASKED = 256  # windows of the test


def associated(windows: int, seed: int, circles: bool = True) -> torch.Tensor:
    """Return windows in which each of the first FOLLOWED letters is always followed by the same letter.

    Args:
        windows: how many.
        seed: of the draws.
        circles: whether that letter may be one of the first FOLLOWED as well, so that a window can repeat itself.

    Returns:
        Symbol numbers, (windows, WINDOW).

    Example:
        >>> row = associated(1, seed=0)[0].tolist()
        >>> pairs = {(now, then) for now, then in zip(row, row[1:]) if now < FOLLOWED}
        >>> len(pairs) == len({now for now, _ in pairs})
        True
    """
    generator = torch.Generator().manual_seed(seed)
    least = 0 if circles else FOLLOWED
    own = torch.randint(least, len(SYMBOLS), (windows, len(SYMBOLS)), generator=generator)
    rows = torch.randint(len(SYMBOLS), (windows, WINDOW), generator=generator)
    for step in range(1, WINDOW):
        before = rows[:, step - 1 : step]
        rows[:, step] = torch.where(before < FOLLOWED, own.gather(1, before), rows[:, step : step + 1])[:, 0]
    return rows


def earlier(rows: torch.Tensor) -> torch.Tensor:
    """Return which earlier places have the same symbol, (windows, time, time): the steps, and their earlier places.

    Args:
        rows: symbol numbers, (windows, time).
    """
    return (rows[:, :, None] == rows[:, None, :]).tril(-1)


def known(rows: torch.Tensor) -> torch.Tensor:
    """Return for each symbol of a window but the first whether what was read tells it, (windows, WINDOW − 1).

    The symbol before it is one of the first FOLLOWED, and has been seen before.

    Args:
        rows: symbol numbers, (windows, WINDOW).
    """
    read = rows[:, :-1]
    return (read < FOLLOWED) & earlier(read).any(dim=2)


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a model in stretches; after each, ask what a symbol costs that can be known, and where its heads look."""
    rows = associated(config["recipe"]["updates"] * config["recipe"]["batch"], seed)
    read = Encoded(Vocabulary(SYMBOLS), torch.cat([rows.flatten(), rows[0, :1]]), rows[0])
    train_until = partial(fit, config | {"validations": 0}, seed, folder, text=read)
    asked = []
    for updates in config["points"]:
        trained = train_until(until=updates)
        asked.append(kept(folder / f"after-{updates}.json", partial(ask, trained.model)))
    curves = {name: [each[name] for each in asked] for name in asked[0]}
    seconds = trained.history.seconds
    return curves | {"parameters": parameters(trained.model), "seconds": seconds}


@torch.no_grad()
def ask(network: NeuralModel) -> dict:
    """Return what symbols cost that can be known, and the others; and how much each head of each layer inducts."""
    rows = associated(ASKED, seed=2**31, circles=False)
    nats, _ = network.costs(rows[:, :-1], rows[:, 1:])
    there = known(rows)
    answers = {"known": nats[there].mean().item(), "unknown": nats[~there].mean().item()}
    if isinstance(network, TransformerLM):
        answers |= {name: shares.flatten().tolist() for name, shares in looks(network, rows).items()}
    return answers


def looks(network: TransformerLM, rows: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return how much of its attention each head gives to two kinds of places, where a symbol can be known.

    "after" are the places right after an earlier one with the same symbol, all together: there an induction head
    looks. "before" is the place right before the step's own: what a head there passes on is what such a head needs.

    Args:
        network: the model.
        rows: symbol numbers, (windows, WINDOW).

    Returns:
        The mean share of each head, 0 to 1, (layers, heads), for "after" and for "before".
    """
    read, there = rows[:, :-1], known(rows)
    time = read.shape[1]
    places = {
        "after": torch.nn.functional.pad(earlier(read), (1, 0))[:, None, :, :-1],
        "before": torch.diag(torch.ones(time - 1, dtype=torch.bool), -1),
    }
    shares = {name: [] for name in places}
    with evaluating(network):
        x = network.embed(read.to(network.device)) + network.positions.weight[:time]
        for layer in network.layers:
            x, alpha = TransformerBlock.from_torch(layer).eval()(x, causal_mask(time, x.device))
            for name, where in places.items():
                weight = (alpha.cpu() * where).sum(dim=3)  # (windows, heads, time)
                shares[name].append((weight * there[:, None]).sum(dim=(0, 2)) / there.sum())
    return {name: torch.stack(layers) for name, layers in shares.items()}


METRICS = {
    "parameters": PARAMETERS,
    "seconds": SECONDS,
    "known": Metric("nats per symbol", "what a symbol costs that has followed the one before it already", ("point",)),
    "unknown": Metric("nats per symbol", "what the others cost", ("point",)),
    "after": Metric("", "each head's attention, layer by layer, after earlier places of the symbol", ("point", "head")),
    "before": Metric("", "each head's attention, layer by layer, to the step before", ("point", "head")),
}


MODELS = {  # with the 26 letters, each but the first has about 100,000 weights
    "transformer-1": model("TransformerLM", context=WINDOW, hidden_size=64, num_layers=1),
    "transformer-2": model("TransformerLM", context=WINDOW, hidden_size=64, num_layers=2),
    "lstm": model("LanguageModel", core="lstm", hidden_size=140, embedding_size=32),
}
UPDATES = 3000
POINTS = (0.0125, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)  # shares of the training


def _contender(name: str, rate: float) -> Config:
    steps = recipe(updates=UPDATES, batch=32, seq_len=WINDOW, carry=False, schedule="constant", learning_rate=rate)
    return {"model": MODELS[name], "recipe": steps, "points": [round(share * UPDATES) for share in POINTS]}


EXPERIMENTS = (
    Experiment(
        "induction-heads",
        "Letters that keep their followers: what two kinds of network learn, and where attention looks",
        METRICS,
        {f"{name} {rate:g}": _contender(name, rate) for name in MODELS for rate in (1e-3, 4e-3)},
        measure,
        at(point="points"),  # the updates after which it was asked
        small={"points": [1, 3]},
    ),
)
