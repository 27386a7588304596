"""The story grammar: its floor, its one derivation a story, its recalls. What it tells is frozen by a hash."""

import hashlib
import itertools
import math
import random
import re
import statistics
import tomllib
from pathlib import Path

import pytest

from story_parser import parse
from unrolled.text import stories
from unrolled.text.grammar import Grammar

STORIES_TOML = Path(stories.__file__).with_name("stories.toml")
SHA256 = {  # of 100,000 characters, by seed
    0: "85c924ae2a4eab59abcf3c201f569aba93a15f13860ba56ff663efea579461cc",
    12345: "9efa35fdbd5789b144a90c52b71ea70a1948c9eb97106b0d173887c2a60f0141",
}
TINY = """
story = [
    "{greeting} {name=hero} and {name=friend}. {ending}",
    [2, "{name=hero} had {a animal}. {Their hero} day was {mood}."],
]
name.she = ["Ann", "Mary"]
name.he = ["Bo"]
greeting = [[3, "Here are"], "Meet"]
animal = ["owl", "cat"]
mood = ["good", [4, "not so {mood_word}"]]
mood_word = ["bad", "sunny"]
ending = [
    "Goodbye, {friend}!",
    [2, "{They hero} met {name=third}."],
    "Once more, {hero}, and {friend}'s {a animal=pet}, the {pet}.",
]
"""


def drawn(grammar, count, seed):
    """Return so many stories of a grammar."""
    rng = random.Random(seed)
    return [stories.Draft(grammar, rng).story() for _ in range(count)]


@pytest.fixture(scope="module")
def sample():
    return drawn(stories.grammar(), 10_000, seed=1)


@pytest.mark.parametrize("seed", SHA256)
def test_the_same_seed_gives_the_same_text_for_ever(seed):
    text = stories.corpus(100_000, seed=seed).text
    assert hashlib.sha256(text.encode("ascii")).hexdigest() == SHA256[seed]


def test_words_cut_a_text_without_loss():
    text = """Mia's half-open box, she said, "is empty!"\n"""
    assert "|".join(stories.words(text)) == """Mia|'s|half-open|box|,|she|said|,|"|is|empty|!|"|\n"""
    at = stories.word_positions(text)
    assert [text[first:].startswith(word) for first, word in zip(at, stories.words(text), strict=True)] == [True] * 14


# The floor


def test_entropy_and_length_agree_with_the_sample(sample):
    grammar = stories.grammar()
    measured = {
        grammar.entropy(): [-story.log_prob for story in sample],
        grammar.expected_length(): [len(story.text) + 1 for story in sample],
    }
    for expected, values in measured.items():
        error = statistics.stdev(values) / math.sqrt(len(values))
        assert abs(statistics.fmean(values) - expected) < 3 * error < 0.02 * expected
    assert grammar.entropy_per_character() == grammar.entropy() / grammar.expected_length()


def test_a_tiny_grammar_enumerated_whole():
    grammar = Grammar(tomllib.loads(TINY))
    told = drawn(grammar, 2000, seed=3)
    every = {text: math.exp(parse(grammar, text).log_prob) for text in {story.text for story in told}}
    assert len(every) == 2 * 3 * 2 * (1 + 1 + 2) + 3 * 2 * 3
    assert math.isclose(math.fsum(every.values()), 1, rel_tol=1e-12)  # so there are no others
    assert math.isclose(grammar.entropy(), -math.fsum(p * math.log(p) for p in every.values()), rel_tol=1e-12)
    length = math.fsum(p * (len(text) + 1) for text, p in every.items())
    assert math.isclose(grammar.expected_length(), length, rel_tol=1e-12)
    assert all(math.isclose(math.exp(story.log_prob), every[story.text], rel_tol=1e-12) for story in told)


# Unambiguity


def test_every_story_has_one_derivation_and_its_probability(sample):
    for story in sample[:1500]:
        parsed = parse(stories.grammar(), story.text)
        assert parsed.derivations == 1, story.text
        assert math.isclose(parsed.log_prob, story.log_prob, rel_tol=1e-9)


def test_what_the_grammar_cannot_say_has_no_derivation(sample):
    grammar = stories.grammar()
    story = next(story for story in sample if story.recalls[-1].kind == "name")
    name = story.recalls[-1]
    other = "Ada" if name.value != "Ada" else "Zoe"
    wrong = story.text[: name.position] + other + story.text[name.position + len(name.value) :]
    assert [parse(grammar, text).derivations for text in (story.text + " ", story.text[:-1], wrong)] == [0, 0, 0]


def test_a_planted_ambiguity_is_reported():
    old, new = "snack = [\n", 'snack = [\n    "Lunch was cold pie with {spice}.",\n'
    text = STORIES_TOML.read_text(encoding="utf8")
    assert text.count(old) == 1
    grammar = Grammar(tomllib.loads(text.replace(old, new)))
    parses = [(story, parse(grammar, story.text)) for story in drawn(grammar, 200, seed=4)]
    twofold = [(story, parsed) for story, parsed in parses if parsed.derivations > 1]
    assert twofold and {parsed.derivations for _, parsed in parses} == {1, 2}
    assert all(parsed.log_prob > story.log_prob for story, parsed in twofold)


# Recalls


def test_recalls_point_at_what_they_say_and_lags_agree_with_a_search_of_the_text(sample):
    grammar, seen = stories.grammar(), 0
    for story in sample[:3000]:
        assert [recall.position for recall in story.recalls] == sorted(recall.position for recall in story.recalls)
        for recall in story.recalls:
            assert story.text[recall.position : recall.position + len(recall.value)] == recall.value
            expected = "pronoun" if recall.value.lower() in ("she", "he", "her", "him", "his") else None
            assert recall.kind == (expected or grammar.variables[recall.variable])
            if recall.kind == "name":
                mentions = [match.end() for match in re.finditer(rf"\b{recall.value}\b", story.text[: recall.position])]
                assert recall.lag == recall.position - mentions[-1]
                seen += 1
        hero = [recall for recall in story.recalls if recall.variable == "hero"]
        for before, recall in itertools.pairwise(hero):
            if recall.kind == "pronoun":  # any mention counts
                assert recall.lag == recall.position - before.position - len(before.value)
    assert seen > 3000


# The corpus


def test_a_corpus_is_whole_stories_and_a_split_falls_between_them():
    corpus = stories.corpus(50_000, seed=5)
    assert len(corpus.text) >= 50_000 > len(corpus.text) - len(corpus.stories[-1].text) - 1
    assert corpus.text == "".join(story.text + "\n" for story in corpus.stories)
    assert [corpus.text[start - 1] for start in corpus.starts[1:]] == ["\n"] * (len(corpus.stories) - 1)
    assert corpus.nats_per_character == -math.fsum(story.log_prob for story in corpus.stories) / len(corpus.text)
    for fraction in (0.1, 0.5, 0.9):
        first, second = corpus.split(fraction)
        assert first.text + second.text == corpus.text
        assert first.text.endswith("\n") and abs(len(first.text) - fraction * len(corpus.text)) < 600
        for recall in second.recalls:
            assert second.text[recall.position : recall.position + len(recall.value)] == recall.value


@pytest.mark.parametrize(("characters", "fraction"), [(5000, 0), (5000, 1), (5000, math.nan), (1, 0.9), (5000, 0.999)])
def test_a_part_without_a_story_is_refused(characters, fraction):
    with pytest.raises(ValueError, match=f"fraction is {fraction} of .* stories, and each part needs one"):
        stories.corpus(characters).split(fraction)


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ('story = ["A {dog}."]', "'dog' in 'A {dog}.' of 'story' is neither a symbol nor a bound variable"),
        ('story = ["{pet} {dog=pet}."]\ndog = ["pug"]', "'pet' can be used before it is bound, or be bound twice"),
        ('story = ["{a} {pet}."]\na = ["{dog=pet}", "Once"]\ndog = ["pug"]', "'pet' can be used before it is bound"),
        ('story = ["{dog=pet} {dog=pet}."]\ndog = ["pug", "lab"]', "'pet' can be used .*, or be bound twice"),
    ],
)
def test_a_wrong_grammar_is_refused(toml, message):
    with pytest.raises(ValueError, match=message):
        Grammar(tomllib.loads(toml))
