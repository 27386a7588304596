"""Characters of stories: who spells best, at equal weights and at equal units (chapters 2, 6 and 8)."""

from pathlib import Path

from lab import recipe
from lab.experiment import CHOSEN_BY, Config, Experiment, Metric, model, text
from lab.texts import encoded, unseen_stories
from lab.training import NATS, PARAMETERS, SECONDS, fit, parameters
from unrolled.measure import evaluate, recall_by_lag

EDGES = [1, 10, 20, 40, 80, 160, 320, 640]  # of the bins of lag, in characters
CORES = {"rnn": ("rnn", {}), "relu": ("rnn", {"nonlinearity": "relu"}), "lstm": ("lstm", {}), "gru": ("gru", {})}
UNITS = {  # the first with about 80,000 weights, the last with 140,000; LSTM and GRU also with as many units
    "rnn": (239, 323),
    "relu": (239, 323),
    "lstm": (118, 160),
    "gru": (137, 186, 118, 160),
}
BUDGETS = (500, 2000, 8000)


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a network of characters; what the test costs it, and how often it knows a name that returns."""
    read, (_, test) = encoded(config), unseen_stories()
    config = config | {"recipe": recipe.training(config, config["updates"]), "validations": 0}
    network, _, history = fit(config, seed, folder, text=read, untrained=lambda size: recipe.begun(config, size))
    shares, counts = recall_by_lag(network, read.vocabulary, test, "name", EDGES)
    return {
        CHOSEN_BY: evaluate(network, read.held_out).nats_per_symbol,
        "nats": evaluate(network, read.test).nats_per_symbol,
        "name": shares.tolist(),
        "name_asked": counts.tolist(),
        "parameters": parameters(network),
        "seconds": history.seconds,
    }


METRICS = {
    CHOSEN_BY: Metric("nats per character", "what a character of the validation text costs"),
    "nats": NATS._replace(about="what a character of the test costs"),
    "name": Metric("", "the share of right answers where a name returns in the test", ("lag_bin",)),
    "name_asked": Metric("questions", "how many there were", ("lag_bin",)),
    "parameters": PARAMETERS,
    "seconds": SECONDS,
}


def contender(name: str, units: int, updates: int) -> Config:
    """Return a network before its settings are chosen; no character is read twice."""
    core, options = CORES[name]
    return {
        "text": text("stories", round(1.01 * updates * recipe.SYMBOLS), three_parts=True),
        "model": model("LanguageModel", core=core, hidden_size=units, cell_options=recipe.START | options),
        "updates": updates,
    }


RUNS = {  # every budget at the smaller size of equal weights; the other sizes at the longest
    f"{name} {units}, {updates}": (name, units, updates)
    for updates in BUDGETS
    for name in CORES
    for units in UNITS[name]
    if units == UNITS[name][0] or updates == BUDGETS[-1]
}

EXPERIMENTS = (
    Experiment(
        "spelling",
        "Stories, characters: RNN, LSTM and GRU at equal weights and at equal units, by the book's recipe",
        METRICS,
        {label: contender(*what) for label, what in RUNS.items()},
        measure,
        lambda config: {"lag_bin": EDGES[1:]},  # the upper edges
        trials={label: recipe.trials(CORES[name][0], recipe.RATES[1:]) for label, (name, *_) in RUNS.items()},
        put=recipe.put,
        small={"updates": 2},
    ),
)
