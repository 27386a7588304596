"""The loss is shared out among positions and words without a remainder."""

import numpy as np
import pytest

from lab.ch08_fair_comparisons import breakdown
from unrolled.text import stories


@pytest.fixture(scope="module")
def corpus():
    return stories.corpus(30_000)


def test_positions_begin_with_each_story(corpus):
    marked = np.zeros(len(corpus.text))
    marked[0] = 1
    for place in [at for at, symbol in enumerate(corpus.text) if symbol == "\n"][:-1]:
        marked[place + 1] = 1  # the first character of the next story
    assert breakdown.by_position(marked, corpus, [0, 1, 2, 5000, 6000]).tolist()[:3] == [1, 0, 0]
    assert np.isnan(breakdown.by_position(marked, corpus, [5000, 6000])).all()
    only = breakdown.by_position(np.arange(len(corpus.text)), corpus, [0, 100_000])
    assert only == pytest.approx([(len(corpus.text) - 1) / 2])


def test_the_classes_are_the_words_that_they_say(corpus):
    classes = {}
    for story in corpus.stories:
        for name, begin, end in breakdown._mentions(story):
            classes.setdefault(name, set()).add(story.text[begin:end])
    grammar = stories.grammar()
    for name, written in classes.items():
        kind = name.removeprefix("new ")
        if kind == "pronoun":
            assert written <= {"she", "he", "her", "him", "his", "She", "He", "Her", "Him", "His"}
        else:
            assert written <= set(grammar.values[kind])
    assert {"name", "pronoun", "place", "new name", "new place"} <= set(classes) and "new pronoun" not in classes


def test_a_first_mention_is_the_first(corpus):
    for story in corpus.stories:
        for name, begin, end in breakdown._mentions(story):
            if name == "new name":
                assert story.text.index(story.text[begin:end]) == begin
        spans = sorted((begin, end) for _, begin, end in breakdown._mentions(story))
        assert all(end <= begin for (_, end), (begin, _) in zip(spans, spans[1:], strict=False))


def test_all_that_is_paid_is_shared_out(corpus):
    nats = np.random.default_rng(0).random(len(corpus.text))
    shares = breakdown.by_class(nats, corpus)
    assert sum(share.nats for share in shares.values()) == pytest.approx(nats.sum())
    assert sum(share.characters for share in shares.values()) == len(corpus.text)
    names = [recall for recall in corpus.recalls if recall.kind == "name"]
    assert shares["name"].words == len(names)
    costs = [nats[name.position : name.position + len(name.value)].sum() for name in names]
    assert shares["name"].nats == pytest.approx(sum(costs))
    assert list(shares)[-1] == breakdown.FRAME and shares[breakdown.FRAME].words == 0


def test_every_character_needs_its_price(corpus):
    nats = np.zeros(len(corpus.text) - 1)
    for ask, *edges in ((breakdown.by_class,), (breakdown.by_position, [0, 1])):
        with pytest.raises(ValueError, match="characters is expected: score it with a start"):
            ask(nats, corpus, *edges)
