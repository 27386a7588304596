"""Who remembers a name, over how many words, and after how much training (chapter 8)?

Models of words read stories in windows that hold one. Wherever a name returns, each is asked which of all names it
expects. All have about as many weights; each has its settings from a search of its own, as long as the training that
it decides: `memory-tuning`.
"""

from functools import partial
from pathlib import Path

import numpy as np
import torch

from lab.ch08_fair_comparisons.first_choice import first_choice_by_lag
from lab.engine.experiment import Config, Experiment, model, recipe, text
from lab.engine.scoring import BY_STORY, by_story
from lab.engine.search import TRIALS, Budgets, Setting, search
from lab.engine.store import kept
from lab.engine.texts import Encoded, encoded, unseen_stories
from lab.engine.training import NATS, PARAMETERS, fit, parameters, training_seconds
from unrolled import cells
from unrolled.measure import evaluate
from unrolled.models import LanguageModel, NeuralModel, evaluating
from unrolled.records import Metric
from unrolled.text import stories

EDGES = [1, 20, 40, 80, 160, 320, 640]  # of the bins of lag, in characters since the last mention
ASKED = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # shares of the training, on the way
UNITS = 6  # of those that carry a name, the ones that are shown


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a model of words in stretches; ask it for names after each of them, and at the end in the test."""
    read, (validation, test) = encoded(config), unseen_stories()
    asked = []
    for updates in config["points"]:
        trained = fit(config, seed, folder, text=read, until=updates)
        ask = partial(_ask, trained.model, read, validation, read.held_out)
        asked.append(kept(folder / f"after-{updates}.json", ask))
    final = _ask(trained.model, read, test, read.test)
    return {
        "parameters": parameters(trained.model),
        "seconds": training_seconds(config, trained.checkpoint),
        "nats": final["nats"],
        "name": final["name"],
        "name_asked": final["name_asked"],
        "curve": [each["nats"] for each in asked],
        "name_curve": [each["name"] for each in asked],
        **(_carried(trained.model, read, test) | by_story(trained.model, read, test) if config["story"] else {}),
    }


def _ask(network: NeuralModel, read: Encoded, corpus: stories.StoryCorpus, tokens: torch.Tensor) -> dict:
    """Return what the words of some stories cost, and how often the name that returns is the first choice."""
    shares, counts = first_choice_by_lag(network, read.vocabulary, corpus, "name", EDGES)
    return {
        "nats": evaluate(network, tokens).nats_per_symbol,
        "name": shares.tolist(),
        "name_asked": counts.tolist(),
    }


def _carried(network: NeuralModel, read: Encoded, test: stories.StoryCorpus) -> dict:
    """Return how a model carries the hero's name through one story; a single recurrent layer, also in which units.

    Of the first hundred stories it is the one where the hero's name returns most often after 80 characters or more.
    """
    story = max(test.stories[:100], key=lambda story: sum(_is_late(recall) for recall in story.recalls))
    hero = next(recall.value for recall in story.recalls if _is_late(recall))
    tokens = read.vocabulary.encode(["\n", *stories.words(story.text)])
    with torch.no_grad(), evaluating(network):
        logits, _ = network(tokens[None, :-1])  # (1, time, vocab)
    chances = logits[0].softmax(dim=-1)[:, read.vocabulary[hero]].cpu()
    carried = {"story": read.vocabulary.decode(tokens[1:].tolist()), "hero": hero, "chance": _rounded(chances)}
    if not isinstance(network, LanguageModel) or len(network.core.layers) > 1:
        return carried
    states, gate = _trace(network, tokens[:-1])
    shares = name_shares(network, read, test)
    units = shares.argsort()[::-1][:UNITS].copy()
    carried |= {"unit_states": _rounded(states[:, units].T), "unit_shares": _rounded(torch.from_numpy(shares[units]))}
    return carried | ({} if gate is None else {"unit_gates": _rounded(gate[:, units].T)})


def _is_late(recall: stories.Recall) -> bool:
    return recall.kind == "name" and recall.variable == "hero" and recall.lag >= 80


def _rounded(values: torch.Tensor) -> list:
    return values.double().numpy().round(4).tolist()


def _trace(network: LanguageModel, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return what a network keeps after each symbol, c or else h, and how much of it each step keeps: f, or 1 − z.

    Both are (time, hidden_size), on the CPU; a vanilla network has no such gate.
    """
    with torch.no_grad():
        values = cells.trace(network.core.layers[0], network.embed(tokens[None]))
    gate = values["f"] if "f" in values else 1 - values["z"] if "z" in values else None
    return values["c" if "c" in values else "h"][0].cpu(), None if gate is None else gate[0].cpu()


def name_shares(network: LanguageModel, read: Encoded, test: stories.StoryCorpus) -> np.ndarray:
    """Return how much each unit tells of a name that returns after 80 characters or more, (hidden_size,), 0 to 1.

    That is η², the share of the variance of its state that lies between the names, before the name is read; 0 of a unit
    that never changes.
    """
    states, names = [], []
    for story in test.stories[:300]:
        late = [recall for recall in story.recalls if recall.kind == "name" and recall.lag >= 80]
        if late:
            at = {place: index for index, place in enumerate(stories.word_positions(story.text))}
            kept_states, _ = _trace(network, read.vocabulary.encode(["\n", *stories.words(story.text)]))
            states += [kept_states[at[recall.position]] for recall in late]  # the line break comes first
            names += [recall.value for recall in late]
    rows, names = torch.stack(states).double().numpy(), np.array(names)
    total = ((rows - rows.mean(axis=0)) ** 2).sum(axis=0)
    groups = [rows[names == name] for name in np.unique(names)]
    within = sum(((group - group.mean(axis=0)) ** 2).sum(axis=0) for group in groups)
    return np.divide(total - within, total, out=np.zeros_like(total), where=total > 0)


METRICS = {
    "parameters": PARAMETERS,
    "seconds": Metric("seconds", "how long all updates took together"),
    "nats": NATS._replace(unit="nats per word", about="what a word of the test costs"),
    "name": Metric("", "the share of names that were the first choice of all names where they return", ("lag_bin",)),
    "name_asked": Metric("questions", "how many there were", ("lag_bin",)),
    "curve": Metric("nats per word", "what a word of the validation text cost on the way", ("point",)),
    "name_curve": Metric("", "the share of names, asked in the validation text on the way", ("point", "lag_bin")),
    **BY_STORY,
    "story": Metric("", "the words of one story of the test", ("word",)),
    "hero": Metric("", "whose story it is"),
    "chance": Metric("", "the probability that each word of it is the hero's name", ("word",)),
    "unit_states": Metric("", "the states of the units that tell most of a name, before each word", ("unit", "word")),
    "unit_shares": Metric("", "η², the share of their variance that lies between the names", ("unit",)),
    "unit_gates": Metric("", "how much of their states a step keeps: f of an LSTM, 1 − z of a GRU", ("unit", "word")),
}


def axes(config: Config) -> dict:
    """Return the coordinates of the axes of `METRICS`: the upper edges of the bins of lag, and the updates."""
    return {"lag_bin": EDGES[1:], "point": config["points"]}


MODELS = {  # with the 1,171 words of the stories each has about 500,000 weights
    "rnn": model("LanguageModel", core="rnn", hidden_size=280, embedding_size=64),
    "lstm": model("LanguageModel", core="lstm", hidden_size=192, embedding_size=64),
    "gru": model("LanguageModel", core="gru", hidden_size=212, embedding_size=64),
    "transformer": model("TransformerLM", context=160, hidden_size=88, num_layers=3),
}
RATES = {
    "rnn": [1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2],
    "lstm": [4e-3, 8e-3, 1.6e-2, 3.2e-2, 6.4e-2],
    "gru": [1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2],
    "transformer": [5e-4, 1e-3, 2e-3, 4e-3, 8e-3],
}
VARIANTS: dict[str, list[Setting]] = {  # initialisations, and one knob of each model's own
    "rnn": [
        {"initialisation": "uniform"},
        {"initialisation": "orthogonal"},
        {"initialisation": "orthogonal", "nonlinearity": "relu"},
    ],
    "lstm": [
        {"initialisation": "uniform"},
        {"initialisation": "orthogonal"},
        {"initialisation": "chrono", "t_max": 160, "forget_bias": None},
    ],
    "gru": [
        {"initialisation": "uniform"},
        {"initialisation": "orthogonal"},
        {"initialisation": "chrono", "t_max": 160},
    ],
    "transformer": [
        {"num_heads": 4},
        {"num_heads": 8},
        {"num_heads": 4, "hidden_size": 104, "num_layers": 2},  # fewer layers, as many weights
    ],
}
BATCH, SEQ_LEN = 8, 160  # a story has 142 words on average


def configuration(model: Config, updates: int, **recipe_fields) -> Config:
    """Return the configuration of a model before anything is chosen; no word of its text is read twice.

    Args:
        model: its configuration.
        updates: how many.
        **recipe_fields: what is to happen to the state between windows.
    """
    return {
        "text": text("stories", round(4.5 * updates * BATCH * SEQ_LEN), words=True, three_parts=True),
        "model": model,
        "recipe": recipe(updates=updates, batch=BATCH, seq_len=SEQ_LEN, **recipe_fields),
    }


def _base(core: str, updates: int) -> Config:
    between = {"carry": False} if core == "transformer" else {"reset": 0.05}
    return configuration(MODELS[core], updates, **between)


BUDGETS = Budgets(
    "memory-tuning",
    RATES,
    VARIANTS,
    (500, 2000, 8000),
    _base,
    not_longest=("rnn", "transformer"),  # not measured for so long: the longest to train
)


def asked(config: Config) -> Config:
    """Return when a contender is asked on the way; those trained longest also tell of every story."""
    updates = config["recipe"]["updates"]
    points = [round(updates * share) for share in ASKED]
    return {"points": points, "validations": 0, "story": updates == BUDGETS.updates[-1]}


SMALL = {"points": [1, 3]}
EXPERIMENTS = (
    Experiment(
        BUDGETS.search,
        "Stories, words: learning rate, initialisation and one knob for each model and number of updates",
        TRIALS,
        BUDGETS.searches,
        search,
        seeds=1,
    ),
    Experiment(
        "memory-by-lag",
        "Stories, words: which names RNN, LSTM, GRU and transformer recall, over how long, after how much training",
        METRICS,
        BUDGETS.contenders(asked),
        measure,
        axes,
        small=SMALL,
    ),
)
