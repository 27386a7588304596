"""Is it better to make a network deeper, or wider (chapter 10)?

Language models of stories with one, two and four layers, the last also with residual connections, have as many weights
as each other, and settings from a search of its own for each number of updates. No character is read twice.
"""

from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

from lab.engine.experiment import Config, Experiment, Metric, model, recipe, text
from lab.engine.scoring import BY_STORY, by_story
from lab.engine.search import TRIALS, Budgets, Setting, search
from lab.engine.texts import Encoded, encoded, unseen_stories
from lab.engine.training import COURSE, CURVE, NATS, course, fit, model_of
from unrolled.measure import evaluate
from unrolled.models import LanguageModel, evaluating


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a language model of some layers; measure the gradient of each layer before and after, and the test."""
    read = encoded(config)
    torch.manual_seed(seed)
    before = by_layer(model_of(config, len(read.vocabulary)), read)
    trained = fit(config, seed, folder, text=read)
    _, test = unseen_stories()
    return course(config, trained) | {
        "nats": evaluate(trained.model, read.test).nats_per_symbol,
        "gradient_before": before,
        "gradient_after": by_layer(trained.model, read),
        **(by_story(trained.model, read, test) if config.get("by_story") else {}),
    }


def by_layer(network: LanguageModel, read: Encoded, sequences: int = 16, steps: int = 64) -> list[float]:
    """Return the norm of the loss's gradient in the weights of each layer, divided by the root of their number.

    Args:
        network: a model of the book's cells, which is left as it is, with no gradient.
        read: the text; the first windows of what is held out are read.
        sequences: how many windows.
        steps: how long they are.
    """
    tokens = read.held_out[: sequences * (steps + 1)].view(sequences, steps + 1).to(network.device)
    with evaluating(network):
        logits, _ = network(tokens[:, :-1])
    loss = cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    norms = []
    for cell in network.core.layers:
        weights = list(cell.parameters())
        parts = torch.autograd.grad(loss, weights, retain_graph=True)
        square = sum(float(part.square().sum()) for part in parts)
        norms.append((square / sum(weight.numel() for weight in weights)) ** 0.5)
    return norms


METRICS = COURSE | {
    "nats": NATS._replace(about="what a character of the test costs"),
    "curve": CURVE._replace(about="what a character of the validation text cost then"),
    "gradient_before": Metric("", "the root mean square of the gradient's elements, before training", ("layer",)),
    "gradient_after": Metric("", "the same after training", ("layer",)),
    **BY_STORY,
}

SHAPES = {  # kind, layers, and units of a layer; with the 59 characters of the stories each has about 80,000 weights
    "1-layer": ("LanguageModel", 1, 118),
    "2-layers": ("LanguageModel", 2, 73),
    "4-layers": ("LanguageModel", 4, 49),
    "4-layers-residual": ("ResidualLM", 4, 49),
}
RATES = {name: [2e-3, 4e-3, 8e-3, 1.6e-2, 3.2e-2, 6.4e-2] for name in SHAPES}
VARIANTS: list[Setting] = [
    {"initialisation": "uniform", "forget_bias": 1.0},
    *({"initialisation": "orthogonal", "forget_bias": bias} for bias in (1.0, 0.0, -1.0, -2.0)),
]


def _base(name: str, updates: int) -> Config:
    kind, layers, units = SHAPES[name]
    return {
        "text": text("stories", round(1.01 * updates * 2048), three_parts=True),
        "model": model(kind, core="lstm", num_layers=layers, hidden_size=units),
        "recipe": recipe(updates=updates, symbols_per_update=2048, seq_len=64, reset=0.05),
    }


BUDGETS = Budgets(
    "depth-tuning",
    RATES,
    dict.fromkeys(SHAPES, VARIANTS),
    (100, 400, 1600),
    _base,
    whole=True,
)


def _longest(config: Config) -> Config:
    """Return what is kept of those trained longest only: what each story of the test cost."""
    return {"by_story": True} if config["recipe"]["updates"] == BUDGETS.updates[-1] else {}


EXPERIMENTS = (
    Experiment(
        BUDGETS.search,
        "Stories: learning rate, initialisation and forget bias for each number of layers and of updates",
        TRIALS,
        BUDGETS.searches,
        search,
        seeds=1,
    ),
    Experiment(
        "depth-against-width",
        "Stories: LSTMs of one, two and four layers with equally many weights, after three numbers of updates",
        METRICS,
        BUDGETS.contenders(_longest),
        measure,
    ),
)
