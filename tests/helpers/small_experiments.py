"""Experiments on a little text with small models, and a look at what is trained."""

import lab
from lab.engine import golden, training
from lab.engine.experiment import Config
from unrolled.training import History, Recipe


def small(name: str, label: str, **changes) -> Config:
    """Return the configuration of a contender with a short text of stories, three updates and a tiny model.

    Args:
        name: the experiment's.
        label: the contender's.
        **changes: what takes the place of its own values, as far as it has them.
    """
    experiment = lab.find(name)
    return golden.small(experiment.config(label), **{**experiment.small, **changes})


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
    monkeypatch.setattr(training, "train", watched := Watched(training.train))
    return watched
