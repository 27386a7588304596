"""Which vanilla networks survive plain gradient descent, and does clipping save the others (chapter 4)?"""

import math
from functools import partial
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils import clip_grad_norm_

from lab.ch04_vanishing_gradients.gradients import STARTS, untrained
from lab.engine.experiment import Config, Experiment, Metric, at, model, text
from lab.engine.store import kept
from lab.engine.texts import Encoded, encoded

RATES = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0]


def descend(config: Config, seed: int, read: Encoded, rate: float) -> dict:
    """Train by gradient descent on random windows, without momentum or schedule, until the loss is not finite."""
    torch.manual_seed(seed)
    network, losses, norms = untrained(config, len(read.vocabulary)), [], []
    optimizer = torch.optim.SGD(network.parameters(), lr=rate)
    clip = math.inf if config["clip"] is None else config["clip"]
    for _ in range(config["updates"]):
        starts = torch.randint(len(read.training) - config["seq_len"], (config["batch"],))
        window = read.training[starts[:, None] + torch.arange(config["seq_len"] + 1)]
        logits, _ = network(window[:, :-1])
        loss = cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten())
        if not torch.isfinite(loss):
            break
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        norms.append(clip_grad_norm_(network.parameters(), clip).item())
        optimizer.step()
    finite = [norm for norm in norms if math.isfinite(norm)]
    return {"updates": len(losses), "nats": sum(losses[-20:]) / len(losses[-20:]), "norm": max(finite)}


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a network at every rate."""
    read = encoded(config)
    descents = {rate: partial(descend, config, seed, read, rate) for rate in config["rates"]}
    ended = [kept(folder / f"rate-{rate:g}.json", descent) for rate, descent in descents.items()]
    return {name: [each[name] for each in ended] for name in METRICS}


METRICS = {
    "updates": Metric("updates", "how many had a finite loss", ("rate",)),
    "nats": Metric("nats per character", "the mean loss of the last twenty of them", ("rate",)),
    "norm": Metric("", "the largest finite norm of the gradient, before it was clipped", ("rate",)),
}


def _contender(kind: str, clip: float | None) -> Config:
    nonlinearity, initialisation, more = STARTS[kind]
    network = model("LanguageModel", hidden_size=128, cell_options={"nonlinearity": nonlinearity})
    budget = {"updates": 300, "batch": 32, "seq_len": 64, "rates": RATES, "clip": clip}
    return {"model": network, "initialisation": initialisation, "text": text("stories", 2_000_000)} | budget | more


EXPERIMENTS = (
    Experiment(
        "plain-descent",
        "Stories: vanilla networks under plain gradient descent, clipped and not, at seven learning rates",
        METRICS,
        {
            f"{kind}{', clipped' if clip else ''}": _contender(kind, clip)
            for kind in ("tanh", "orthogonal", "irnn", "irnn, small inputs")
            for clip in (None, 1.0)
        },
        measure,
        at(rate="rates"),
        seeds=5,
        small={"updates": 3, "rates": [0.1], "seq_len": 4, "batch": 2},
    ),
)
