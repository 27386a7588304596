"""The story grammar: its floor, its one derivation a story, its recalls."""

import hashlib
import itertools
import math
import random
import re
import statistics
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from story_parser import parse
from unrolled.text import stories
from unrolled.text.grammar import Grammar

STORIES_TOML = Path(stories.__file__).with_name("stories.toml")

SHA256 = "85c924ae2a4eab59abcf3c201f569aba93a15f13860ba56ff663efea579461cc"  # of 100,000 characters, seed 0
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


@pytest.fixture(scope="module")
def sample():
    rng = random.Random(1)
    return [stories.grammar().sample(rng) for _ in range(20_000)]


# ------------------------------------------------------------------------------------------------------- the text


def test_the_same_seed_gives_the_same_text_for_ever():
    text = stories.corpus(100_000, seed=0).text
    assert hashlib.sha256(text.encode("ascii")).hexdigest() == SHA256
    assert stories.corpus(100_000, seed=0).text == text
    assert stories.corpus(100_000, seed=1).text != text


def test_the_size_of_stories_and_of_their_language(sample):
    lengths = [len(story.text.split()) for story in sample]
    assert min(lengths) >= 60 and max(lengths) <= 150
    distinct = {word for story in sample for word in re.findall(r"[a-z'-]+", story.text.lower())}
    assert 600 <= len(distinct) <= 1200
    assert set("".join(story.text for story in sample)) <= set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz .,!?'\"-"
    )


def test_stories_are_well_formed_english_on_the_surface(sample):
    for story in sample[:5000]:
        assert re.fullmatch(r'[A-Z].*[.!]"?', story.text), story.text
        assert "  " not in story.text and story.text.count('"') % 2 == 0, story.text
        assert not re.search(r"\b[Aa] [aeiou]|\b[Aa]n (?!hour)[^aeiou]", story.text), story.text
        assert not re.search(r'[.!?] ?"?[a-z]', re.sub(r'[!?]" (asked|cried|said)', "", story.text)), story.text
        assert not re.search(r"\b([a-z]+) \1\b", story.text), story.text


def test_names_are_half_she_and_half_he_and_their_initials_say_little():
    grammar = stories.grammar()
    assert 36 <= len(grammar.gender) <= 44
    assert sum(grammar.gender.values()) * 2 == len(grammar.gender)
    initials = Counter(name[0] for name in grammar.gender).values()
    assert sum(count**2 for count in initials) <= 0.08 * len(grammar.gender) ** 2  # whoever guesses by their shares


def test_words_cut_a_text_without_loss():
    text = """Mia's half-open box, she said, "is empty!"\n"""
    assert "|".join(stories.words(text)) == """Mia|'s|half-open|box|,|she|said|,|"|is|empty|!|"|\n"""
    assert "".join(stories.words(text)) == text.replace(" ", "")


# ------------------------------------------------------------------------------------------------------ the floor


def test_entropy_length_and_words_agree_with_the_sample(sample):
    grammar = stories.grammar()
    measured = {
        grammar.entropy(): [-story.log_prob for story in sample],
        grammar.expected_length(): [len(story.text) + 1 for story in sample],
        grammar.expected_words(): [len(stories.words(f"{story.text}\n")) for story in sample],
    }
    for expected, values in measured.items():
        error = statistics.stdev(values) / math.sqrt(len(values))
        assert abs(statistics.fmean(values) - expected) < 3 * error
        assert error < 0.005 * expected


def test_a_tiny_grammar_enumerated_whole():
    grammar, rng = stories.StoryGrammar(tomllib.loads(TINY)), random.Random(3)
    drawn = [grammar.sample(rng) for _ in range(2000)]
    every = {text: math.exp(parse(grammar, text).log_prob) for text in {story.text for story in drawn}}
    assert len(every) == 2 * 3 * 2 * (1 + 1 + 2) + 3 * 2 * 3
    assert math.isclose(math.fsum(every.values()), 1, rel_tol=1e-12)  # so there are no others
    assert math.isclose(grammar.entropy(), -math.fsum(p * math.log(p) for p in every.values()), rel_tol=1e-12)
    length = math.fsum(p * (len(text) + 1) for text, p in every.items())
    assert math.isclose(grammar.expected_length(), length, rel_tol=1e-12)
    words = math.fsum(p * len(stories.words(text + "\n")) for text, p in every.items())
    assert math.isclose(grammar.expected_words(), words, rel_tol=1e-12)
    assert math.isclose(grammar.entropy_per_word(), grammar.entropy() / words, rel_tol=1e-12)
    assert all(math.isclose(math.exp(story.log_prob), every[story.text], rel_tol=1e-12) for story in drawn)


# ---------------------------------------------------------------------------------------------------- unambiguity


def test_every_story_has_one_derivation_and_its_probability(sample):
    grammar = stories.grammar()
    for story in sample[:2500]:
        parsed = parse(grammar, story.text)
        assert parsed.derivations == 1, story.text
        assert math.isclose(parsed.log_prob, story.log_prob, rel_tol=1e-9)


def test_what_the_grammar_cannot_say_has_no_derivation(sample):
    grammar = stories.grammar()
    assert parse(grammar, sample[0].text + " ").derivations == 0
    assert parse(grammar, sample[0].text[:-1]).derivations == 0
    story = next(story for story in sample if story.recalls[-1].kind == "name")
    name = story.recalls[-1]
    other = "Ada" if name.value != "Ada" else "Zoe"
    wrong = story.text[: name.position] + other + story.text[name.position + len(name.value) :]
    assert parse(grammar, wrong).derivations == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("snack = [\n", 'snack = [\n    "Lunch was cold pie with {spice}.",\n'),
        ('wait = ["{pause}"', 'hope = ["Minutes passed.", "An hour went by."]\nwait = ["{hope}", "{pause}"'),
    ],
    ids=["in one symbol", "between two"],
)
def test_a_planted_ambiguity_is_reported(old, new):
    text = STORIES_TOML.read_text()
    assert text.count(old) == 1
    grammar, rng = stories.StoryGrammar(tomllib.loads(text.replace(old, new))), random.Random(4)
    parses = [(story, parse(grammar, story.text)) for story in (grammar.sample(rng) for _ in range(400))]
    twofold = [(story, parsed) for story, parsed in parses if parsed.derivations > 1]
    assert twofold
    assert {parsed.derivations for _, parsed in parses} == {1, 2}
    assert all(parsed.log_prob > story.log_prob for story, parsed in twofold)


# -------------------------------------------------------------------------------------------------------- recalls


def test_recalls_point_at_what_they_say(sample):
    grammar = stories.grammar()
    for story in sample[:3000]:
        assert [recall.position for recall in story.recalls] == sorted(recall.position for recall in story.recalls)
        for recall in story.recalls:
            assert story.text[recall.position : recall.position + len(recall.value)] == recall.value
            expected = "pronoun" if recall.value.lower() in ("she", "he", "her", "him", "his") else None
            assert recall.kind == (expected or grammar.variables[recall.variable])


def test_lags_of_names_agree_with_a_search_of_the_text(sample):
    seen = 0
    for story in sample[:3000]:
        for recall in story.recalls:
            if recall.kind == "name":
                mentions = [match.end() for match in re.finditer(rf"\b{recall.value}\b", story.text[: recall.position])]
                assert recall.lag == recall.position - mentions[-1]
                seen += 1
    assert seen > 3000


def test_lags_of_pronouns_reach_back_to_any_mention(sample):
    for story in sample[:3000]:
        hero = [recall for recall in story.recalls if recall.variable == "hero"]
        for before, recall in itertools.pairwise(hero):
            if recall.kind == "pronoun":
                assert recall.lag == recall.position - before.position - len(before.value)


def test_lags_are_spread_from_ten_to_four_hundred(sample):
    for kind in ("name", "place", "animal", "object", "person", "weather"):
        lags = [recall.lag for story in sample for recall in story.recalls if recall.kind == kind]
        assert max(lags) > 400 and statistics.stdev(lags) > 30
        assert min(lags) < 60 or kind in ("place", "object", "weather")
    bins = Counter(recall.lag // 50 for story in sample for recall in story.recalls if recall.kind != "pronoun")
    assert min(recall.lag for story in sample for recall in story.recalls) <= 10
    assert all(bins[index] > 0.01 * bins.total() for index in range(10))  # 0 … 500 characters


def test_the_words_before_a_recall_announce_its_kind(sample):
    """Whoever has read the three words before a recall knows what kind of value comes, so that memory is measured."""
    grammar = stories.grammar()
    values = {kind: tuple(rule.template for rule in grammar.rules[kind]) for kind in grammar.variables.values()}
    kinds, after = defaultdict(Counter), defaultdict(list)
    for story in sample[:8000]:
        recalled = {recall.position: recall.kind for recall in story.recalls if recall.kind != "pronoun"}
        starts = [match.start() for match in re.finditer(r"[^ ]+", story.text)]
        for first, here in zip(starts, starts[3:], strict=False):
            context = story.text[first:here]
            after[context].append(story.text[here : here + 30])
            if here in recalled:
                kinds[context][recalled[here]] += 1
    announced, total = Counter(), Counter()
    for context, counts in kinds.items():
        for kind, count in counts.items():
            share = sum(text.startswith(values[kind]) for text in after[context]) / len(after[context])
            announced[kind] += count * share
            total[kind] += count
    assert set(total) >= {"name", "place", "animal", "object", "person", "weather"}
    for kind in total:
        assert announced[kind] > 0.95 * total[kind], kind


# --------------------------------------------------------------------------------------------------------- corpus


def test_a_corpus_is_whole_stories():
    corpus = stories.corpus(50_000, seed=5)
    assert len(corpus.text) >= 50_000 > len(corpus.text) - len(corpus.stories[-1].text) - 1
    assert corpus.text == "".join(story.text + "\n" for story in corpus.stories)
    assert math.isclose(corpus.log_prob, sum(story.log_prob for story in corpus.stories), rel_tol=1e-12)
    assert len(corpus.recalls) == sum(len(story.recalls) for story in corpus.stories)
    for recall in corpus.recalls:
        assert corpus.text[recall.position : recall.position + len(recall.value)] == recall.value
    assert corpus.nats_per_character == -corpus.log_prob / len(corpus.text)
    assert abs(corpus.nats_per_character / stories.grammar().entropy_per_character() - 1) < 0.05


def test_a_split_falls_between_stories():
    corpus = stories.corpus(50_000, seed=6)
    for fraction in (0.1, 0.5, 0.9):
        first, second = corpus.split(fraction)
        assert first.text + second.text == corpus.text
        assert first.text.endswith("\n") and abs(len(first.text) - fraction * len(corpus.text)) < 600
        assert math.isclose(first.log_prob + second.log_prob, corpus.log_prob, rel_tol=1e-12)
        for recall in second.recalls:
            assert second.text[recall.position : recall.position + len(recall.value)] == recall.value


def test_bad_input_says_what_would_be_right():
    for characters in (0, -5):
        with pytest.raises(ValueError, match=f"characters is {characters}; ask for at least 1"):
            stories.corpus(characters)
    for fraction in (0, 1, -0.5, 1.5, math.nan):
        with pytest.raises(ValueError, match=f"fraction is {fraction}; it must lie between 0 and 1"):
            stories.corpus(5000).split(fraction)
    with pytest.raises(ValueError, match="a part would be empty; take more characters"):
        stories.corpus(1).split(0.9)
    with pytest.raises(ValueError, match="a part would be empty; take more characters"):
        stories.corpus(5000).split(0.999)


# ------------------------------------------------------------------------------------------- what a grammar must be

WRONG = {
    "no TOML": ('story = "', "Unterminated string"),
    "no story": ('tale = ["Once."]', "no symbol 'story'"),
    "not a list": ('story = "Once."', "symbol 'story' is 'Once.'; it must be a list"),
    "an empty list": ("story = []", r"symbol 'story' is \[\]; it must be a list of at least one"),
    "zero weight": ('story = [[0, "Once."]]', r"symbol 'story': \[0, 'Once.'\] is not an alternative.*positive whole"),
    "an alternative twice": ('story = ["Once.", [2, "Once."]]', "'Once.': this alternative occurs twice"),
    "an empty template": ('story = [""]', "symbol 'story', template '': text must not be empty"),
    "a newline": ('story = ["Once.\\nTwice."]', "newlines end stories"),
    "an open brace": ('story = ["Once {a."]', "braces must enclose"),
    "an unknown symbol": ('story = ["A {dog}."]', "'dog' is neither a symbol nor a variable"),
    "an unknown form": ('story = ["{the dog}."]\ndog = ["pug"]', "'the' is not a form; the forms are a, A, they"),
    "binding uneven weights": (
        'story = ["{dog=pet} {pet}."]\ndog = ["pug", [2, "lab"]]',
        "plain values of equal weight",
    ),
    "a dog's pronoun": ('story = ["{dog=pet} {they pet}."]\ndog = ["pug"]', "'dog' has no pronouns; give it two lists"),
    "a pronoun of nobody": ('story = ["{they name=hero}."]\nname = {she = ["Ann"], he = ["Bo"]}', "bind one first"),
    "a number for names": ('story = ["{name}."]\nname = {she = 1, he = 2}', "names come in two lists: she and he"),
    "a name in both lists": (
        'story = ["{name}."]\nname = {she = ["Jo"], he = ["Jo"]}',
        "'Jo': this alternative occurs twice",
    ),
    "a loop": (
        'story = ["{a_b}"]\na_b = ["x {c}", "y"]\nc = ["z {a_b}"]',
        "'a_b' leads back to itself: story > a_b > c > a_b",
    ),
    "an unused symbol": ('story = ["Once."]\ndog = ["pug"]', "symbol 'dog' is never used"),
    "use before binding": ('story = ["{pet} {dog=pet}."]\ndog = ["pug"]', "'pet' can be used before it is bound"),
    "binding on one path": (
        'story = ["{start} {pet}."]\nstart = ["{dog=pet}", "Once"]\ndog = ["pug"]',
        "symbol 'story', template '{start} {pet}.': variable 'pet' can be used before it is bound",
    ),
    "binding twice": ('story = ["{dog=pet} {dog=pet}."]\ndog = ["pug", "lab"]', "'pet' can be bound twice"),
    "too few values": ('story = ["{dog=pet} {dog=rival}."]\ndog = ["pug"]', "no value of 'dog' is left for 'rival'"),
    "a variable of two symbols": (
        'story = ["{dog=pet}", "{cat=pet}"]\ndog = ["pug"]\ncat = ["tom"]',
        "variable 'pet' is already bound from 'dog'",
    ),
    "a variable named as a symbol": (
        'story = ["{dog=cat} {cat}"]\ndog = ["pug"]\ncat = ["tom"]',
        "'cat' is already a symbol",
    ),
    "a slot inside a word": ('story = ["{dog}s."]\ndog = ["pug"]', "marks must separate slots from words"),
}


@pytest.mark.parametrize(("toml", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_grammar_is_refused_with_the_remedy(toml, message):
    with pytest.raises(ValueError, match=message):
        Grammar(tomllib.loads(toml))
