"""The sentences of a text, and those that a story grammar can write."""

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
THERE = ["Ivy kept an owl.", "Ben fed ten hens and a cat.", '"Dear owl!"', "said Ben.", "She went."]
THERE += ["He ran off, and the cat left.", "The end?"]
ELSEWHERE = ["Ivy kept a owl.", "Ivy kept an owl", "Ivy kept an owl. She went.", "ivy kept an owl."]
ELSEWHERE += ["Ben fed hens and a cat.", "They went.", "Ivy kept an owlX", ""]


def test_a_text_is_cut_after_its_marks_and_nothing_else_is_lost():
    text = stories.corpus(5000).text
    assert "".join(split_sentences(text)).replace(" ", "") == text.replace(" ", "").replace("\n", "")
    assert split_sentences('"Go!" she said. He ran.\n\n') == ['"Go!"', "she said.", "He ran."]


def test_a_sentence_is_there_if_some_story_can_have_it():
    forms = SentenceForms(Grammar(PETS))
    assert [sentence in forms for sentence in THERE + ELSEWHERE] == [True] * len(THERE) + [False] * len(ELSEWHERE)


def test_every_sentence_of_the_stories_is_there_and_few_with_a_slip_are():
    forms = SentenceForms(stories.grammar())
    drawn = set(split_sentences(stories.corpus(60_000, seed=1).text))
    assert len(drawn) > 1000 and [sentence for sentence in drawn if sentence not in forms] == []
    for old, new in [(" a ", " an "), ("child", "childe"), ("was", "were"), (".", ","), ("the ", ""), (" to", " too")]:
        slipped = [sentence.replace(old, new, 1) for sentence in drawn if old in sentence]
        assert len(slipped) > 10
        assert sum(sentence in forms for sentence in slipped) < 0.2 * len(slipped), new
