"""The pronouncing dictionary: stress dropped, and what is written with marks left out."""

import itertools
from types import SimpleNamespace

import pytest

from lab.ch11_attention import pronunciations
from unrolled.text import CorpusError, corpora

LINES = [
    "'bout B AW1 T",
    "a.m. EY2 EH1 M",
    "aalborg AO1 L B AO0 R G # place, danish",
    "aalborg(2) AA1 L B AO0 R G",
    "permit P ER0 M IH1 T",
    "permit(2) P ER1 M IH2 T",
    "zoo Z UW1",
]


def test_stress_and_remarks_are_dropped_and_alternatives_that_then_agree_are_one():
    words = pronunciations.read_dictionary("\n".join(LINES))
    assert words["aalborg"] == (("AO", "L", "B", "AO", "R", "G"), ("AA", "L", "B", "AO", "R", "G"))
    assert words["permit"] == (("P", "ER", "M", "IH", "T"),)
    assert set(words) == {"aalborg", "permit", "zoo"}


def test_an_entry_without_phonemes_is_refused():
    with pytest.raises(ValueError, match="the entry 'zoo # animals' has no phonemes"):
        pronunciations.read_dictionary("zoo # animals")


def test_no_word_is_in_two_parts_of_a_dictionary(monkeypatch):
    words = ["".join(letters) for letters in itertools.product("abcdef", repeat=3)]
    text = "".join(f"{word} AH0 B\n{word}(2) B AH1\n" for word in words)
    split = dict(zip(("train", "validation", "test"), corpora.by_word(text), strict=True))
    monkeypatch.setattr(pronunciations, "load_corpus", lambda name: SimpleNamespace(**split))
    dictionary = pronunciations.load_cmudict()
    parts = [*dictionary.train], [*dictionary.validation], [*dictionary.test]
    assert all(parts) and sorted(sum(parts, [])) == words
    assert all(len(alternatives) == 2 for alternatives in dictionary.test.values())


def test_the_real_dictionary_has_its_words_in_three_parts():
    try:
        dictionary = pronunciations.load_cmudict()
    except CorpusError as error:
        if "cannot download" not in str(error):
            raise
        pytest.skip(f"no network and no mirror: {error}")
    parts = dictionary.train, dictionary.validation, dictionary.test
    assert [len(part) for part in parts] == [99_748, 5_819, 11_926]
    assert not set(parts[0]) & set(parts[2]) and not set(parts[0]) & set(parts[1]) and not set(parts[1]) & set(parts[2])
    assert len(dictionary.phonemes) == 39 and "AH" in dictionary.phonemes and "AH0" not in dictionary.phonemes
    assert all(word.isascii() and word.isalpha() and word.islower() for part in parts for word in part)
    assert dictionary.test["read"] == (("R", "EH", "D"), ("R", "IY", "D"))
