"""Chapter 2's experiment: a model of stories is asked for names in stories that it has not read."""

import torch

from lab.ch02_vanilla_rnn import recall
from small_experiments import small
from unrolled.measure import recall_by_lag
from unrolled.models import LanguageModel
from unrolled.text import Vocabulary, stories


def test_recall_is_asked_in_stories_that_were_not_trained_on(tmp_path, monkeypatch):
    asked = []

    def watched(model, vocabulary, corpus, kind, edges):
        asked.append((kind, {story.text for story in corpus.stories}))
        return recall_by_lag(model, vocabulary, corpus, kind, edges)

    monkeypatch.setattr(recall, "recall_by_lag", watched)
    config = small("rnn-recall", "rnn", edges=[1, 50, 500])
    metrics = recall.measure(config, 0, tmp_path)
    assert [kind for kind, _ in asked] == ["name", "pronoun"]
    read = {story.text for story in stories.corpus(config["text"]["characters"]).stories}
    assert all(heard and heard.isdisjoint(read) for _, heard in asked)
    assert all(0 <= share <= 1 for share in metrics["name"] + metrics["pronoun"])
    assert min(metrics["name_asked"] + metrics["pronoun_asked"]) > 0 and metrics["nats"] > 0


def test_a_readout_finds_what_lies_open_in_a_state():
    """The letter read last lies open in any state that is not saturated; that of forty places back in none here."""
    config = small("rnn-recall", "rnn", edges=[1, 50, 500], read_out=4000, back=[0, 1, 40])
    vocabulary = Vocabulary(stories.corpus(4000, seed=2).text)
    torch.manual_seed(0)
    found = recall.readable(LanguageModel(len(vocabulary), hidden_size=64), vocabulary, config)
    last, before, far = found["letter"]
    assert last > 0.9 and last > before > 0.5 > 0.3 > far
    assert len(found["hero"]) == 2 and 0 < found["hero_known"] < 1


def test_the_hero_is_asked_for_from_the_end_of_the_name_on():
    corpus = stories.corpus(3000, seed=2)
    hero, since = recall.heroes(corpus)
    assert len(hero) == len(since) == len(corpus.text)
    story = corpus.stories[0]
    name = next(each.value for each in story.recalls if each.variable == "hero" and each.kind == "name")
    first = story.text.index(name) + len(name)
    assert not since[:first].any() and since[first] == 1
    again = next(each for each in story.recalls if each.variable == "hero" and each.kind == "name")
    assert since[again.position] == again.lag + 1
    assert hero[: len(story.text)].unique().numel() == 1
