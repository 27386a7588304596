"""Which knobs of the recipe matter, and for which cell (chapters 7 and 8)?

An LSTM and a GRU of 80,000 weights read stories in characters, with the start that each cell's search chose. One factor
of the recipe at a time differs from the base, and all read as much text. Each variant has the best of three learning
rates, and of further ones while the best is the first or the last, so that none is blamed for a rate of another. At its
best rate it is then trained from two further seeds. Adam's β₂ is turned for an RNN and a transformer as well.
"""

import math
from functools import partial
from pathlib import Path

from lab.ch06_gru import cells_over_budget
from lab.engine.experiment import Config, Experiment, Metric, model, recipe
from lab.engine.search import with_setting
from lab.engine.store import kept, of_first_seed
from lab.engine.texts import encoded
from lab.engine.training import fit
from unrolled.measure import evaluate
from unrolled.training import TrainingDiverged

RATE_FILE = "rate-{:.2g}"  # what the files of a network are called
FURTHER = 2  # rates beyond an end, each twice or half of the last
UPDATES = 2000
FACTORS: dict[str, dict] = {  # what differs in the recipe
    "base": {},
    "β₂ 0.99": {"beta2": 0.99},
    "β₂ 0.9": {"beta2": 0.9},
    "β₂ 0.5": {"beta2": 0.5},
    "16 × 128": {"seq_len": 128},
    "64 × 32": {"seq_len": 32},
    "half an update, twice as many": {"symbols_per_update": 1024, "updates": 2 * UPDATES},
    "twice an update, half as many": {"symbols_per_update": 4096, "updates": UPDATES // 2},
    "no resets": {"reset": 0.0},
    "constant rate": {"schedule": "constant"},
    "no warm-up": {"warm_up": 0.0},
    "no clipping": {"clip": None},
}
BETA2 = ("base", "β₂ 0.99", "β₂ 0.9")  # what is turned of further networks
SHAPES: dict[str, dict[str, dict]] = {  # what differs in the network; its weights are as many
    "embedding 8": {
        "lstm": {"embedding_size": 8, "hidden_size": 130},
        "gru": {"embedding_size": 8, "hidden_size": 149},
    },
    "embedding 128": {
        "lstm": {"embedding_size": 128, "hidden_size": 81},
        "gru": {"embedding_size": 128, "hidden_size": 98},
    },
    "embedding × 0.3": {core: {"embedding_scale": 0.3} for core in ("lstm", "gru")},
}
STARTS: dict[str, dict[str, dict]] = {  # what differs in the first weights
    "the other start": {
        "lstm": {"initialisation": "uniform"},
        "gru": {"initialisation": "orthogonal", "update_bias": 0.0},
    },
    "forget bias 0": {"lstm": {"initialisation": "orthogonal", "forget_bias": 0.0}},
    "forget bias 1": {"lstm": {"initialisation": "orthogonal", "forget_bias": 1.0}},
}

TRANSFORMER = {  # in place of the LSTM and its recipe; each window is read apart
    "model": model("TransformerLM", context=128, hidden_size=44, num_layers=3),
    "recipe": recipe(updates=UPDATES, symbols_per_update=2048, seq_len=128, carry=False, learning_rate=2e-3),
}
VARIANTS = [
    f"{core}: {factor}"
    for core in ("lstm", "gru")
    for factor in FACTORS | SHAPES | STARTS
    if core in STARTS.get(factor, {core: None})
]
FURTHER_VARIANTS = [f"{name}: {factor}" for name in ("rnn", "transformer") for factor in BETA2]


def configuration(core: str, factor: str) -> Config:
    """Return a network with the start that its search chose and the base recipe, and one factor changed."""
    config = cells_over_budget.BUDGETS.chosen("lstm" if core == "transformer" else core, UPDATES)
    if core == "transformer":
        config |= TRANSFORMER
    if start := STARTS.get(factor):
        config["model"]["cell_options"] = cells_over_budget.CELLS[core][1] | start[core]
    settings = dict(config["recipe"])
    rate = settings.pop("learning_rate")
    return config | {
        "model": config["model"] | SHAPES.get(factor, {}).get(core, {}),
        "recipe": settings | FACTORS.get(factor, {}),
        "learning_rates": [rate / 2, rate, rate * 2],
        "validations": 0,
    }


def at_each_rate(config: Config, seed: int, folder: Path) -> dict:
    """Train a network at each rate of a configuration, and at further ones while the best is the first or the last."""
    read = encoded(config)

    def cost(rate: float) -> float:
        try:
            tried = with_setting(config, {"learning_rate": rate})
            network = fit(tried, seed, folder, text=read, name=RATE_FILE.format(rate)).model
        except TrainingDiverged:
            return math.inf
        return evaluate(network, read.held_out).nats_per_symbol

    rates, costs = list(config["learning_rates"]), {}

    def try_all() -> int:
        for rate in rates:
            if rate not in costs:
                costs[rate] = kept(folder / f"{RATE_FILE.format(rate)}.json", partial(cost, rate))
        return min(range(len(rates)), key=lambda number: costs[rates[number]])

    best = try_all()
    for _ in range(FURTHER):
        if best == 0:
            rates.insert(0, rates[0] / 2)
        elif best == len(rates) - 1:
            rates.append(rates[-1] * 2)
        best = try_all()
    return {"learning_rate": rates, "nats": [costs[rate] for rate in rates], "best": best}


def preferred(label: str) -> Config:
    """Return a variant with the one of its rates that the validation text preferred.

    Raises:
        NotChosen: that has not been recorded.
    """
    searched = next(each for each in EXPERIMENTS[::2] if label in each.contenders)
    tried = of_first_seed(searched, label)
    config = with_setting(searched.config(label), {"learning_rate": tried["learning_rate"][tried["best"]]})
    return {what: part for what, part in config.items() if what != "learning_rates"}


def from_further_seed(config: Config, seed: int, folder: Path) -> dict:
    """Train a variant from the weights after those of `at_each_rate`, whose seed is 0."""
    read = encoded(config)
    try:
        network = fit(config, seed + 1, folder, text=read).model
    except TrainingDiverged:
        return {"nats": math.inf}
    return {"nats": evaluate(network, read.held_out).nats_per_symbol}


RATES = {
    "learning_rate": Metric("", "the peaks that were tried", ("rate",)),
    "nats": Metric("nats per character", "what a character of the validation text cost with each", ("rate",)),
    "best": Metric("", "the number of the best of them"),
}
FURTHER_SEEDS = {"nats": Metric("nats per character", "what a character of the validation text cost")}


def both(name: str, title: str, title_of_seeds: str, variants: list[str]) -> tuple[Experiment, Experiment]:
    """Return the experiment that tries rates for some variants, and the one with further seeds at the best of them."""
    tried = {label: partial(configuration, *label.split(": ")) for label in variants}
    chosen = {label: partial(preferred, label) for label in variants}
    small = {"learning_rates": [1e-3, 1e-2]}
    return (
        Experiment(name, title, RATES, tried, at_each_rate, seeds=1, small=small),
        Experiment(f"{name}-seeds", title_of_seeds, FURTHER_SEEDS, chosen, from_further_seed, seeds=2),
    )


EXPERIMENTS = (
    *both(
        "recipe-factors",
        "Stories: what each factor of the recipe is worth to an LSTM and a GRU, each at its own best rate",
        "Stories: the same variants of the recipe, each at its best rate, from two further seeds",
        VARIANTS,
    ),
    *both(
        "recipe-beta2",
        "Stories: what Adam's β₂ is worth to an RNN and a transformer, each at its own best rate",
        "Stories: the RNN and the transformer, each at its best rate, from two further seeds",
        FURTHER_VARIANTS,
    ),
)
