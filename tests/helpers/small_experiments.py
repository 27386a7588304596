"""Experiments on a little text with small models, and a look at what is trained."""

from unrolled.experiments import base, reading

from unrolled.training import History, Recipe

SIZES = {"hidden_size": 4, "embedding_size": 4, "context": 16, "num_heads": 2}
STEPS = {"updates": 3, "batch": 4, "seq_len": 16}


def small(config: dict, **changes) -> dict:
    """Return a contender's configuration with 20,000 characters of stories, three updates and a small model.

    The trainings that it begins with are made small as well.
    """
    config = {key: small(part) if isinstance(part, dict) and "model" in part else part for key, part in config.items()}
    if "text" in config:
        config["text"] = reading.text("stories", 20_000)
    if "recipe" in config:
        config["recipe"] = config["recipe"] | STEPS
    if "model" in config:
        options = config["model"]["options"]
        options = options | {name: size for name, size in SIZES.items() if name in options}
        config["model"] = config["model"] | {"options": options}
    return config | changes


class Watched:
    """A function that trains, and what it was given, by the name of the checkpoint's file.

    Attributes:
        recipes, models, read, losses: each training's recipe, model, text and losses.
        keywords: the other keywords of the last one.
    """

    def __init__(self, train):
        self.train, self.recipes, self.models, self.read, self.losses = train, {}, {}, {}, {}

    def __call__(self, model, tokens, recipe: Recipe, *, checkpoint, **keywords) -> History:
        name = checkpoint.stem
        self.recipes[name], self.models[name], self.read[name], self.keywords = recipe, model, tokens, keywords
        history = self.train(model, tokens, recipe, checkpoint=checkpoint, **keywords)
        self.losses[name] = history.losses
        return history


def watch(monkeypatch) -> Watched:
    """Return what looks at every training of an experiment for the length of a test."""
    monkeypatch.setattr(base, "train", watched := Watched(base.train))
    return watched
