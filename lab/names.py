"""Names in stories of words: who recalls them, over how long, after how much training (front page; chapters 5, …)."""

from pathlib import Path

import torch

from lab import recipe
from lab.experiment import CHOSEN_BY, Config, Experiment, Metric, model, text
from lab.first_choice import first_choice_by_lag
from lab.texts import encoded, unseen_stories
from lab.training import NATS, PARAMETERS, SECONDS, fit, parameters
from unrolled.measure import evaluate
from unrolled.models import NeuralModel, evaluating
from unrolled.text import WordVocabulary, stories

EDGES = [1, 20, 40, 80, 160, 320, 640]  # of the bins of lag, in characters since the last mention
UPDATES = 8000
MODELS = {  # with the 1,171 words of the stories: about 500,000 weights
    "rnn": model("LanguageModel", core="rnn", hidden_size=280, embedding_size=64, cell_options=recipe.START),
    "lstm": model("LanguageModel", core="lstm", hidden_size=192, embedding_size=64, cell_options=recipe.START),
    "gru": model("LanguageModel", core="gru", hidden_size=212, embedding_size=64, cell_options=recipe.START),
    "mingru": model("ResidualLM", core="mingru", hidden_size=238, embedding_size=64, cell_options=recipe.START),
    "delta": model(
        "ResidualLM", core="delta", hidden_size=198, embedding_size=64, cell_options=recipe.START | {"num_heads": 2}
    ),
    "transformer": model("TransformerLM", context=256, hidden_size=88, num_layers=3),
}
STORY = [  # the race's: a network is asked for the hero's name at every word
    "{hero} was a patient child with a short name. Even the cats knew {hero}, and {hero} knew the cats.",
    "One calm Sunday {they} set out for the mill with a red kite for {their} old friend Yara.",
    "{They} skipped and then strolled.",
    "A snail was crossing the lane.",
    "A parrot on a gate said {hero} and then {hero} again.",
    "{They} kicked a pebble along the path.",
    "Lunch was toast with honey.",
    "Halfway there the road stopped, as if it had lost heart.",
    "One cloud looked like a whale.",
    """Out of the reeds came a hedgehog and pointed the way. "Thank you, dear hedgehog," said {hero}.""",
    """At last {they} reached the mill. "You came!" cried Yara.""",
    """Inside the brown paper was the kite. "It is perfect, {hero}!\"""",
]
SHE, HE = {"they": "she", "their": "her", "They": "She"}, {"they": "he", "their": "his", "They": "He"}
HEROES = {"Ada": SHE, "Nora": SHE, "Zoe": SHE, "Ben": HE, "Hugo": HE, "Oscar": HE}


def told(hero: str) -> list[str]:
    """Return the words of the race's story, told of a hero."""
    return stories.words(" ".join(STORY).format(hero=hero, **HEROES[hero]))


@torch.no_grad()
def race(network: NeuralModel, vocabulary: WordVocabulary) -> list[list[float]]:
    """Return for each of the `HEROES` the probability of the name before each word of the story, (heroes, words)."""
    chances = []
    for hero in HEROES:
        tokens = vocabulary.encode(["\n", *told(hero)])
        with evaluating(network):
            logits, _ = network(tokens[None, :-1])  # (1, time, vocab)
        chances.append([round(p, 4) for p in logits[0].softmax(dim=-1)[:, vocabulary[hero]].tolist()])
    return chances


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a network of words; ask it for names by lag and for nats, on the way and at the end."""
    read, (validation, test) = encoded(config), unseen_stories()
    config = config | {"recipe": recipe.training(config, config["asked"][-1]), "validations": 0}
    nats, shares = [], []
    for updates in config["asked"]:
        trained = fit(config, seed, folder, text=read, until=updates, untrained=lambda size: recipe.begun(config, size))
        nats.append(evaluate(trained.model, read.held_out).nats_per_symbol)
        shares.append(first_choice_by_lag(trained.model, read.vocabulary, validation, "name", EDGES)[0].tolist())
    right, asked = first_choice_by_lag(trained.model, read.vocabulary, test, "name", EDGES)
    return {
        CHOSEN_BY: nats[-1],
        "nats": evaluate(trained.model, read.test).nats_per_symbol,
        "name": right.tolist(),
        "name_asked": asked.tolist(),
        "nats_on_the_way": nats,
        "name_on_the_way": shares,
        "race": race(trained.model, read.vocabulary),
        "parameters": parameters(trained.model),
        "seconds": trained.history.seconds,
    }


WORD = "nats per word"
METRICS = {
    CHOSEN_BY: Metric(WORD, "what a word of the validation text costs"),
    "nats": NATS._replace(unit=WORD, about="what a word of the test costs"),
    "name": Metric("", "the share of names in the test that were the first choice of all names", ("lag_bin",)),
    "name_asked": Metric("questions", "how many there were", ("lag_bin",)),
    "nats_on_the_way": Metric(WORD, "what a word of the validation text cost then", ("updates",)),
    "name_on_the_way": Metric("", "the share of names of the validation text then", ("updates", "lag_bin")),
    "race": Metric("", "the probability of the hero's name before each word of one story", ("hero", "word")),
    "parameters": PARAMETERS,
    "seconds": SECONDS,
}


def untuned(network: Config) -> Config:
    """Return the configuration of a network before its settings are chosen."""
    read = text("stories", round(4.5 * UPDATES * recipe.SYMBOLS), words=True, three_parts=True)
    return {"text": read, "model": network, "asked": [2000, 4000, UPDATES]}  # on the way, and at the end


EXPERIMENTS = (
    Experiment(
        "recall-of-names",
        "Stories, words: who recalls a name after 8,000 updates, half a million weights each, by the book's recipe",
        METRICS,
        {core: untuned(network) for core, network in MODELS.items()}
        | {"lstm, bias 0": recipe.put(untuned(MODELS["lstm"]), {"rate": 0.005, "bias": 0})},  # what the bias is worth
        measure,
        # the upper edges of the bins of lag, in characters; a word of the story is named once
        lambda config: {"lag_bin": EDGES[1:], "updates": config["asked"], "hero": list(HEROES)},
        trials={core: recipe.trials(core) for core in MODELS},
        put=recipe.put,
        small={"asked": [1, 2]},
    ),
)
