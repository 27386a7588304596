"""Taggers that count: against counting by hand, and Viterbi against every sequence of tags there is."""

import itertools
import math
import random

import numpy as np
import pytest

from unrolled.ngram import HiddenMarkovTagger, MostFrequentTag
from unrolled.text import TaggedSentence, tagged_stories

TRAIN = [
    TaggedSentence(("they", "fish"), ("PRON", "VERB")),
    TaggedSentence(("the", "fish", "swim"), ("DET", "NOUN", "VERB")),
    TaggedSentence(("the", "round", "fish"), ("DET", "ADJ", "NOUN")),
    TaggedSentence(("fish", "fish"), ("NOUN", "VERB")),
]


def drawn(seed, sentences=30):
    """Return random sentences of a few words and tags."""
    rng = random.Random(seed)
    lengths = [rng.randint(1, 6) for _ in range(sentences)]
    return [TaggedSentence(tuple(rng.choices("abcd", k=n)), tuple(rng.choices("XYZ", k=n))) for n in lengths]


def log_p(tagger, words, tags):
    """Return ln p(words, tags) of a hidden Markov model, term by term."""
    path = [tagger.names.index(tag) for tag in tags]
    columns = [tagger.column.get(word, len(tagger.column)) for word in words]
    emitted = sum(tagger.emit[pair] for pair in zip(path, columns, strict=True))
    follow = sum(tagger.follow[pair] for pair in itertools.pairwise(path))
    return tagger.start[path[0]] + follow + emitted + tagger.end[path[-1]]


def test_the_most_frequent_tag_is_counted_and_ties_go_to_the_first_seen():
    tagger = MostFrequentTag(TRAIN)
    assert tagger.tags(("fish", "the", "round", "they", "unseen")) == ("NOUN", "DET", "ADJ", "PRON", "VERB")
    tie = MostFrequentTag([TaggedSentence(("a", "a", "b"), ("Z", "Y", "Y"))])
    assert tie.tags(("a", "b")) == ("Z", "Y") and tie.commonest == "Y"
    assert MostFrequentTag([TaggedSentence(("a", "b"), ("Z", "Y"))]).commonest == "Z"


@pytest.mark.parametrize("k", [0.01, 1.0])
def test_viterbi_finds_what_trying_everything_finds(k):
    for seed in range(20):
        tagger, rng = HiddenMarkovTagger(drawn(seed), k=k), random.Random(seed)
        for n in (1, 2, 4):
            words = rng.choices("abcde", k=n)  # e was never seen
            every = itertools.product(tagger.names, repeat=n)
            best = max(log_p(tagger, words, tags) for tags in every)
            assert log_p(tagger, words, tagger.tags(words)) == pytest.approx(best, abs=1e-12)


def test_the_probabilities_are_shares_of_the_counts_with_k_added():
    tagger = HiddenMarkovTagger(TRAIN, k=0.5)
    noun, verb = tagger.names.index("NOUN"), tagger.names.index("VERB")
    assert tagger.follow[noun, verb] == pytest.approx(math.log((2 + 0.5) / (3 + 6 * 0.5)))  # 5 tags, and the end
    assert tagger.end[noun] == pytest.approx(math.log((1 + 0.5) / (3 + 6 * 0.5)))
    assert tagger.start[tagger.names.index("DET")] == pytest.approx(math.log((2 + 0.5) / (4 + 5 * 0.5)))
    column = tagger.column["fish"]
    assert tagger.emit[noun, column] == pytest.approx(math.log((3 + 0.5) / (3 + 6 * 0.5)))  # 5 words, and unknown
    for shares in (np.exp(tagger.emit).sum(axis=1), np.exp(tagger.follow).sum(axis=1) + np.exp(tagger.end)):
        assert np.allclose(shares, 1)
    assert np.exp(tagger.start).sum() == pytest.approx(1)


def test_context_decides_where_a_word_alone_cannot():
    train = tagged_stories(150, 1, 50)
    most, markov = MostFrequentTag(train.train), HiddenMarkovTagger(train.train)
    right = [0, 0]
    for sentence in train.test:
        for index, tagger in enumerate((most, markov)):
            right[index] += sum(map(str.__eq__, tagger.tags(sentence.words), sentence.tags))
    assert right[1] > right[0]


def test_a_tagger_that_leaves_what_it_never_saw_impossible_is_refused():
    with pytest.raises(ValueError, match="k is 0; it must be above 0"):
        HiddenMarkovTagger(TRAIN, k=0)
