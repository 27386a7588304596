"""Who remembers a name, when each network has the recipe and the biases that suit it (chapters 5, 6, 8, 9 and 13)?

Networks of words read stories in 32 streams of 64 words, with β₂ 0.99 and a state that is never reset. Rate, start and
biases of each are drawn together in a search of 2,000 updates. Then each is trained four times as long, at the rate
that was chosen, a half and a quarter of it, and at further ones while the best is the first or the last. RNN,
LSTM and GRU are trained with 850,000 weights, too, with the settings of their smaller networks.
"""

import json
import math
from functools import partial
from pathlib import Path

from lab.ch08_fair_comparisons.first_choice import first_choice_by_lag
from lab.ch08_fair_comparisons.memory import EDGES
from lab.ch08_fair_comparisons.recipe_factors import RATE_FILE, at_each_rate
from lab.engine import draws
from lab.engine.draws import choice, log, random_search, uniform
from lab.engine.experiment import Config, Experiment, Metric, at, model, recipe, text
from lab.engine.scoring import BY_STORY, by_story
from lab.engine.search import Setting, chosen, with_setting
from lab.engine.store import of_first_seed
from lab.engine.texts import encoded, unseen_stories
from lab.engine.training import NATS, PARAMETERS, fit, parameters
from unrolled.measure import evaluate
from unrolled.training import TrainingDiverged

SEARCHED = "names-tuning"
START = {"initialisation": choice("uniform", "orthogonal")}
RATE, BIAS = {"learning_rate": log(5e-4, 5e-2)}, uniform(-3, 3)
SPACES: dict[str, draws.Space] = {
    "rnn": RATE | START,
    "lstm": RATE | START | {"forget_bias": BIAS, "input_bias": BIAS},
    "gru": RATE | START | {"update_bias": BIAS},
    "mingru": RATE | START | {"update_bias": BIAS},
}
MODELS = {  # with the 1,171 words of the stories: about 500,000 weights, or 850,000
    "rnn": model("LanguageModel", core="rnn", hidden_size=280, embedding_size=64),
    "lstm": model("LanguageModel", core="lstm", hidden_size=192, embedding_size=64),
    "gru": model("LanguageModel", core="gru", hidden_size=212, embedding_size=64),
    "mingru": model("ResidualLM", core="mingru", hidden_size=238, embedding_size=64),
}
LARGER = {
    "rnn, larger": model("LanguageModel", core="rnn", hidden_size=406, embedding_size=128),
    "lstm, larger": model("LanguageModel", core="lstm", hidden_size=256, embedding_size=128),
    "gru, larger": model("LanguageModel", core="gru", hidden_size=287, embedding_size=128),
}
SEARCH, LONG = 2000, 8000  # updates


def base(name: str, updates: int) -> Config:
    """Return a network before anything is chosen; no word of its text is read twice."""
    return {
        "text": text("stories", round(4.5 * updates * 2048), words=True, three_parts=True),
        "model": (MODELS | LARGER)[name],
        "recipe": recipe(updates=updates, batch=32, seq_len=64, beta2=0.99),
        "validations": 0,
    }


def search(config: Config, seed: int, folder: Path) -> dict:
    """Search the settings of a network by what a word of the validation text costs it."""
    read = encoded(config)

    def trial(setting: Setting, seed: int, name: str) -> float:
        try:
            network = fit(with_setting(config, setting), seed, folder, text=read, name=name).model
        except TrainingDiverged:
            return math.inf
        return evaluate(network, read.held_out).nats_per_symbol

    return random_search(config, seed, folder, trial)


def longer(name: str) -> Config:
    """Return a network with the setting that was chosen for it, or for the smaller one of its kind."""
    setting = chosen(SEARCHED, name.removesuffix(", larger"))
    rate = setting.pop("learning_rate")
    return with_setting(base(name, LONG), setting) | {"learning_rates": [rate / 4, rate / 2, rate]}


def preferred(name: str) -> Config:
    """Return a network with the one of its rates that the validation text preferred with the first seed.

    Raises:
        NotChosen: that has not been recorded.
    """
    (experiment,) = (each for each in EXPERIMENTS if each.name == "names")
    config = with_setting(longer(name), {"learning_rate": of_first_seed(experiment, name)["learning_rate"]})
    return {what: part for what, part in config.items() if what != "learning_rates"}


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a network at each rate; ask the one that the validation text prefers for the names of the test."""
    by_rate = at_each_rate(config, seed, folder)
    rates, nats, best = (by_rate[what] for what in ("learning_rate", "nats", "best"))
    name = RATE_FILE.format(rates[best])
    read, (_, test) = encoded(config), unseen_stories()
    network = fit(with_setting(config, {"learning_rate": rates[best]}), seed, folder, text=read, name=name).model
    shares, counts = first_choice_by_lag(network, read.vocabulary, test, "name", EDGES)
    return {
        "learning_rate": rates[best],
        "validation": nats[best],
        "tried": json.dumps(dict(zip(rates, nats, strict=True))),
        "parameters": parameters(network),
        "nats": evaluate(network, read.test).nats_per_symbol,
        "name": shares.tolist(),
        "name_asked": counts.tolist(),
        **by_story(network, read, test),
    }


METRICS = {
    "learning_rate": Metric("", "the peak that the validation text prefers"),
    "validation": Metric("nats per word", "what a word of that text cost with it"),
    "tried": Metric("", "all peaks that were tried, and what a word cost with each, as JSON"),
    "parameters": PARAMETERS,
    "nats": NATS._replace(unit="nats per word", about="what a word of the test costs"),
    "name": Metric("", "the share of names in the test that were the first choice of all names", ("lag_bin",)),
    "name_asked": Metric("questions", "how many there were", ("lag_bin",)),
    **BY_STORY,
}


def textbook(core: str) -> Config:
    """Return a larger network as textbooks start it: orthogonal, and an LSTM with a forget bias of 1."""
    start = {"cell_options": {"initialisation": "orthogonal"}}
    return base(f"{core}, larger", LONG // 2) | {
        "model": LARGER[f"{core}, larger"] | start,
        "learning_rates": [1.5e-3, 3e-3, 6e-3],
    }


EXPERIMENTS = (
    Experiment(
        SEARCHED,
        "Stories, words: rate, start and biases of each network, drawn together, after 2,000 updates of 32 × 64 words",
        draws.METRICS,
        {name: base(name, SEARCH) | {"space": space} for name, space in SPACES.items()},
        search,
        seeds=1,
        small={"draws": 3},
    ),
    Experiment(
        "names",
        "Stories, words: who recalls a name after 8,000 updates, when each network has settings of its own",
        METRICS,
        {name: partial(longer, name) for name in MODELS | LARGER},
        measure,
        at(lag_bin=EDGES[1:]),
    ),
    Experiment(
        "names-textbook",
        "Stories, words: an LSTM of 845,000 weights, orthogonal, with a forget bias of 1, after 4,000 updates",
        METRICS,
        {"lstm": textbook("lstm")},
        measure,
        at(lag_bin=EDGES[1:]),
        seeds=1,
    ),
)
