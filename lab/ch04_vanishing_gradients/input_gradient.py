"""How far back does a loss reach an input, and where does what arrives drown in a minibatch's noise (chapters 4 to 6)?

The gradient of the embedding matrix is a sum over lags: that of the input k steps before each prediction. Averaged over
many sequences, the term of one lag is what training could learn from it. An update does not see that average. It sees
one minibatch, whose gradient scatters about its mean, and a term much smaller than that scatter is of no use, long
before it underflows.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

from lab.ch04_vanishing_gradients.gradients import last_loss, windows_of
from lab.ch06_gru import cells_over_budget
from lab.engine.experiment import Config, Experiment, Metric
from lab.engine.store import kept
from lab.engine.texts import Encoded, encoded
from lab.engine.training import NATS, fit, recipe_of
from unrolled import settings
from unrolled.measure import evaluate, gradients
from unrolled.models import LanguageModel


def input_gradients(read: gradients.Loss, inputs: torch.Tensor, loss: gradients.Loss) -> torch.Tensor:
    """Return ∂L_T/∂x_t of every sequence at every lag T − t: the sensitivity of the last loss to each input.

    This compares models that have no state in common, such as a recurrent network and a transformer.

    Args:
        read: maps inputs, (batch, time, input_size), to hidden states, (batch, time, hidden_size). For a recurrent
            language model it is ``lambda x: model.core(x, model.initial_state(len(x)))[0]``, for a transformer
            ``model.attend``.
        inputs: (batch, time, input_size).
        loss: maps the last hidden state to one loss for each sequence.

    Returns:
        The gradients, (batch, time, input_size), float64: at lag 0 that of the last input.

    Example:
        >>> doubles = lambda inputs: 2 * inputs
        >>> input_gradients(doubles, torch.zeros(1, 2, 1), lambda last: last[:, 0]).tolist()
        [[[2.0], [0.0]]]
    """
    inputs = inputs.detach().requires_grad_()
    with torch.enable_grad():
        losses = loss(read(inputs)[:, -1])
        (gradient,) = torch.autograd.grad(losses.sum(), inputs)  # sequences do not interact
    return gradient.double().flip(1)


def terms(network: LanguageModel, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the gradient of the last prediction's loss with respect to the input at every lag.

    Args:
        network: the model.
        tokens: (sequences, steps + 1), the last of each to be predicted.

    Returns:
        The median over the sequences of its norm, as a share of that at lag 0, (steps,); and its mean over the
        sequences, as a term of the gradient of the embedding matrix, (steps, vocabulary, embedding_size).
    """

    def read(inputs: torch.Tensor) -> torch.Tensor:
        return network.core(inputs, network.initial_state(len(inputs)))[0]

    inputs, symbols = network.embed(tokens[:, :-1]), tokens[:, :-1].flip(1)  # the symbols by lag
    gradient = input_gradients(read, inputs, last_loss(network, tokens[:, -1]))
    norms = gradient.norm(dim=-1)  # (sequences, steps)
    (_, steps, embedding_size), vocab_size = gradient.shape, network.vocab_size
    sums = gradient.new_zeros(steps * vocab_size, embedding_size)
    rows = symbols + vocab_size * torch.arange(steps, device=symbols.device)
    sums.index_add_(0, rows.flatten(), gradient.flatten(0, 1))
    mean = sums.view(steps, vocab_size, embedding_size) * network.embedding_scale / len(tokens)
    return (norms / norms[:, :1]).median(dim=0).values, mean


def noise(network: LanguageModel, tokens: torch.Tensor, batches: int) -> float:
    """Return how far the gradient of the embedding matrix lies from its mean in one minibatch: the root mean square.

    Args:
        network: the model.
        tokens: all minibatches, one after another, (batches · batch, seq_len + 1); all steps are predicted.
        batches: how many they are.
    """
    sampled = []
    for batch in tokens.chunk(batches):
        logits, _ = network(batch[:, :-1])
        loss = cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        (gradient,) = torch.autograd.grad(loss, network.embedding.weight)
        sampled.append(gradient.double())
    return torch.stack(sampled).var(dim=0).sum().sqrt().item()


def probe(network: LanguageModel, read: Encoded, config: Config) -> dict:
    """Return the metrics of one moment of the training: `METRICS` without the nats."""
    recipe, device = recipe_of(config), settings.device()
    tokens = windows_of(read.held_out.to(device), config["sequences"], config["steps"])
    medians, means = zip(*(terms(network, half) for half in (tokens[::2], tokens[1::2])), strict=True)
    # The halves err independently: the expectation of their product is the square of the mean's norm, without a bias.
    squared = (means[0] * means[1]).sum(dim=(1, 2))
    batches = windows_of(read.training.to(device), config["minibatches"] * recipe.batch, recipe.seq_len)
    shuffled = batches[torch.randperm(len(batches), generator=torch.Generator().manual_seed(0))]
    return {
        "lag": (sum(medians) / 2).tolist(),
        "signal": squared.clamp(min=0).sqrt().tolist(),
        "noise": noise(network, shuffled, config["minibatches"]),
    }


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a network of characters; look at its gradients before, on the way, and after."""
    read, probes = encoded(config), []
    for updates in config["points"]:
        trained = fit(config, seed, folder, text=read, until=updates)
        look = partial(probe, trained.model, read, config)
        probes.append(kept(folder / f"after-{updates}.json", look))
    nats = evaluate(trained.model, read.test).nats_per_symbol
    return {"nats": nats} | {name: [each[name] for each in probes] for name in probes[0]}


METRICS = {
    "nats": NATS._replace(about="what a character of the test costs in the end"),
    "lag": Metric(
        "", "median over the sequences of ‖∂L_T/∂x_t‖ as a share of ‖∂L_T/∂x_T‖, by the lag T − t", ("point", "lag")
    ),
    "signal": Metric(
        "", "the norm of the mean gradient of the embedding, what of it comes by one lag alone", ("point", "lag")
    ),
    "noise": Metric("", "how far that of a minibatch, by all lags, lies from its mean", ("point",)),
}


def _contenders() -> dict[str, Callable[[], Config]]:
    """Return each cell of `cells-over-budget` after the second of its numbers of updates."""
    updates = cells_over_budget.BUDGETS.updates[1]
    probed = {"points": [0, updates // 10, updates], "sequences": 4096, "steps": 128, "minibatches": 64}

    def contender(name: str) -> Config:
        return cells_over_budget.BUDGETS.chosen(name, updates) | probed | {"validations": 0}

    return {name: partial(contender, name) for name in cells_over_budget.CELLS}


EXPERIMENTS = (
    Experiment(
        "input-gradient",
        "Stories: the last prediction's gradient with respect to each input, and a minibatch's noise, for every cell",
        METRICS,
        _contenders(),
        measure,
        lambda config: {"point": config["points"], "lag": range(config["steps"])},  # updates done, lags
        small={"points": [0, 3], "sequences": 8, "steps": 16, "minibatches": 2},
    ),
)
