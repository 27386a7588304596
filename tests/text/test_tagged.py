"""Tagged stories: they are the stories of the book, and their grammar knows the class of every word."""

import random
from collections import Counter

import pytest

from unrolled.text import stories, tagged


def test_the_tagged_stories_are_the_stories_of_the_book():
    rng, other = random.Random(3), random.Random(3)
    for _ in range(50):
        story, drawn = tagged.tag_story(rng), stories.grammar().sample(other)
        assert [*story.words] == [*stories.words(drawn.text), "\n"] and len(story.tags) == len(story.words)


def test_every_word_of_a_class_is_one_that_the_grammar_has_there():
    values, count = stories.grammar().values, Counter()
    for story in tagged.tagged_stories(300, 1, 1).train:
        for word, tag in zip(*story, strict=True):
            count[tag] += 1
            if tag in values:
                assert any(word in stories.words(value) for value in values[tag]), (word, tag)
    assert set(count) == {*tagged.CLASSES, tagged.OTHER}
    assert count["they"] > count["their"] > count["them"]


def test_what_is_recalled_has_the_class_of_its_kind():
    """The recalls are noted by other code: where each stands, and what kind it is."""
    rng, other = random.Random(7), random.Random(7)
    for _ in range(100):
        story, drawn = tagged.tag_story(rng), stories.grammar().sample(other)
        tag_at = dict(zip(stories.word_positions(drawn.text), story.tags, strict=False))
        for recall in drawn.recalls:
            if recall.kind in tagged.CLASSES:
                assert tag_at[recall.position] == recall.kind
            elif recall.kind == "pronoun":
                assert tag_at[recall.position] in ("they", "them", "their")
            else:
                assert tag_at[recall.position] == tagged.OTHER


def test_an_article_belongs_to_no_class_and_a_value_of_two_words_has_one():
    pairs = [pair for story in tagged.tagged_stories(300, 1, 1).train for pair in zip(*story, strict=True)]
    assert {tag for word, tag in pairs if word in ("a", "an", "A", "An")} == {tagged.OTHER}
    halls = [pairs[place - 1 : place + 1] for place, (word, _) in enumerate(pairs) if word == "hall"]
    assert halls and all(pair == [("town", "place"), ("hall", "place")] for pair in halls)


def test_her_is_ambiguous_until_the_next_word():
    corpus = tagged.tagged_stories(300, 1, 1)
    assert "her" in tagged.ambiguous_words(corpus.train)


def test_the_parts_are_drawn_apart_and_begin_alike_whatever_their_sizes():
    small, large = tagged.tagged_stories(2, 1, 1, seed=5), tagged.tagged_stories(4, 3, 2, seed=5)
    assert large.train[:2] == small.train and large.validation[:1] == small.validation
    assert len({story for part in (large.train, large.validation, large.test) for story in part}) == 9
    assert tagged.tagged_stories(2, 1, 1, seed=6).train != small.train
    with pytest.raises(ValueError, match="2, 0 and 1 stories; each needs at least 1"):
        tagged.tagged_stories(2, 0, 1)
