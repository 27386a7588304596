"""Tagged stories: they are the stories of the book, and their grammar knows the class of every word."""

import random
from collections import Counter

from unrolled.text import stories, tagged


def test_the_tagged_stories_are_the_stories_of_the_book_and_what_is_recalled_has_the_class_of_its_kind():
    """The recalls are noted by other code: where each stands, and what kind it is."""
    rng, book = random.Random(7), iter(stories.corpus(100_000, seed=7).stories)
    for _ in range(100):
        story, drawn = tagged.tag_story(rng), next(book)
        assert [*story.words] == [*stories.words(drawn.text), "\n"] and len(story.tags) == len(story.words)
        tag_at = dict(zip(stories.word_positions(drawn.text), story.tags, strict=False))
        for recall in drawn.recalls:
            if recall.kind == "pronoun":
                assert tag_at[recall.position] in ("they", "them", "their")
            else:
                assert tag_at[recall.position] == (recall.kind if recall.kind in tagged.CLASSES else tagged.OTHER)


def test_every_word_of_a_class_is_one_that_the_grammar_has_there():
    values, count = stories.grammar().values, Counter()
    learnt = tagged.tagged_stories(300, 1, 1).train
    for word, tag in (pair for story in learnt for pair in zip(*story, strict=True)):
        count[tag] += 1
        assert tag not in values or any(word in stories.words(value) for value in values[tag]), (word, tag)
        assert tag == tagged.OTHER or word.lower() not in ("a", "an")  # an article belongs to no class
        assert tag == "place" or word not in ("hall", "factory")  # a value of two words has one
    assert set(count) == {*tagged.CLASSES, tagged.OTHER}
    assert count["they"] > count["their"] > count["them"]
    assert "her" in tagged.ambiguous_words(learnt)  # until the next word


def test_the_parts_are_drawn_apart_and_begin_alike_whatever_their_sizes():
    small, large = tagged.tagged_stories(2, 1, 1, seed=5), tagged.tagged_stories(4, 3, 2, seed=5)
    assert large.train[:2] == small.train and large.validation[:1] == small.validation
    assert len({story for part in (large.train, large.validation, large.test) for story in part}) == 9
    assert tagged.tagged_stories(2, 1, 1, seed=6).train != small.train
