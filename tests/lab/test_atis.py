"""ATIS is read as it was published, and the simplest tagger is right as often as is known."""

import sys

import pytest

from lab.ch10_depth_and_direction.atis import load_atis, read_conllu
from unrolled.ngram import MostFrequentTag
from unrolled.text import CorpusError
from unrolled.text.tagged import ambiguous_words

CONLLU = """\
# text = don't go
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tdo\tdo\tAUX\t_\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\t_\t_\t3\tadvmod\t_\t_
3\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_

1\tyes\tyes\tINTJ\t_\t_\t0\troot\t_\t_
"""


@pytest.fixture(scope="module")
def corpus():
    """ATIS; skip where the corpus or the package is not here."""
    pytest.importorskip("conllu", reason="the package conllu is not installed")
    try:
        return load_atis()
    except CorpusError as error:
        if "cannot download" not in str(error):
            raise
        pytest.skip(f"no network and no mirror: {error}")


def test_conllu_is_read_word_by_word_with_universal_tags():
    pytest.importorskip("conllu", reason="the package conllu is not installed")
    first, second = read_conllu(CONLLU)
    assert first == (("do", "n't", "go"), ("AUX", "PART", "VERB"))
    assert second == (("yes",), ("INTJ",))


def test_a_treebank_without_tags_is_refused():
    pytest.importorskip("conllu", reason="the package conllu is not installed")
    with pytest.raises(ValueError, match="sentence 2 has a word without a tag.*give a treebank that is tagged"):
        list(read_conllu(CONLLU.replace("INTJ", "_")))


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "conllu", None)
    with pytest.raises(ModuleNotFoundError, match="pip install conllu"):
        list(read_conllu(CONLLU))


def test_atis_is_the_published_split(corpus):
    assert [len(part) for part in (corpus.train, corpus.validation, corpus.test)] == [4274, 572, 586]
    words = [sum(len(sentence.words) for sentence in part) for part in (corpus.train, corpus.validation, corpus.test)]
    assert words == [48_655, 6_644, 6_580]
    assert len(set(corpus.words)) == 863 and len(ambiguous_words(corpus.train)) == 76
    assert len(corpus.tags) == 13 and {"NOUN", "PROPN", "VERB"} < set(corpus.tags)
    known = set(corpus.words)
    assert sum(word not in known for sentence in corpus.test for word in sentence.words) == 43


def test_the_most_frequent_tag_is_right_as_often_as_is_known(corpus):
    tagger = MostFrequentTag(corpus.train)
    right = sum(sum(map(str.__eq__, tagger.tags(each.words), each.tags)) for each in corpus.test)
    assert right == 6314 and round(100 * right / 6580, 2) == 95.96
