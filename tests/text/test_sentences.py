"""The sentences of a text, and those that a story grammar can write."""

import pytest

from unrolled.text import SentenceForms, split_sentences, stories
from unrolled.text.grammar import Grammar

PETS = {
    "story": ['{start} "Dear {pet}!" said {hero}. {end}', "{start} {They hero} {left}, and the {pet} {left}."],
    "start": ["{name=hero} {kept} {a animal=pet}."],
    "end": ["{They hero} went. {last}", "{last}"],
    "last": ["The end?"],
    "kept": ["kept", "fed {number} hens and"],
    "left": ["left", "ran off"],
    "number": ["two", "ten"],
    "animal": ["owl", "cat"],
    "name": {"she": ["Ivy"], "he": ["Ben"]},
}


@pytest.fixture(scope="module")
def forms():
    return SentenceForms(stories.grammar())


def test_a_text_is_cut_after_its_marks_and_nothing_else_is_lost():
    text = stories.corpus(5000).text
    assert "".join(split_sentences(text)) == "".join(split_sentences(text.replace("\n", " "))) != text
    assert "".join(split_sentences(text)).replace(" ", "") == text.replace(" ", "").replace("\n", "")
    assert split_sentences('"Go!" she said. He ran.') == ['"Go!"', "she said.", "He ran."]
    assert split_sentences("\n\n") == []


@pytest.mark.parametrize(
    ("sentence", "there"),
    [
        ("Ivy kept an owl.", True),
        ("Ben fed ten hens and a cat.", True),
        ('"Dear owl!"', True),
        ("said Ben.", True),
        ("She went.", True),
        ("He ran off, and the cat left.", True),
        ("The end?", True),
        ("Ivy kept a owl.", False),
        ("Ivy kept an owl", False),
        ("Ivy kept an owl. She went.", False),
        ("ivy kept an owl.", False),
        ("Ben fed hens and a cat.", False),
        ("They went.", False),
        ("", False),
    ],
)
def test_a_sentence_is_there_if_some_story_can_have_it(sentence, there):
    assert (sentence in SentenceForms(Grammar(PETS))) is there


def test_every_sentence_of_the_stories_is_there(forms):
    drawn = set(split_sentences(stories.corpus(60_000, seed=1).text))
    assert len(drawn) > 1000
    assert [sentence for sentence in drawn if sentence not in forms] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [(" a ", " an "), ("child", "childe"), ("was", "were"), (".", ","), ("the ", ""), (" to", " too")],
)
def test_a_sentence_with_a_slip_is_not_there(forms, old, new):
    drawn = split_sentences(stories.corpus(20_000, seed=1).text)
    slipped = [sentence.replace(old, new, 1) for sentence in drawn if old in sentence]
    assert len(slipped) > 10
    assert sum(sentence in forms for sentence in slipped) < 0.2 * len(slipped)
