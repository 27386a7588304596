"""Symbols to integers and back."""

import time

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from unrolled.text import UNKNOWN, Vocabulary, WordVocabulary, split_words, stories

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
WORDS = st.lists(st.sampled_from(["a", "b", "c", "dd", "é", "\n", UNKNOWN]) | st.text(min_size=1), min_size=1)


@given(TEXTS)
@example("\ufeff\x00\r\n\x85\u2028")  # a byte order mark, a null, line breaks of every kind
@example("e\u0301 é \U0010ffff \U0001f469\u200d\U0001f680")  # an accent in two ways, the last code point, an emoji
def test_every_text_comes_back_exactly(text):
    vocabulary = Vocabulary(text)
    numbers = vocabulary.encode(text)
    assert vocabulary.decode(numbers) == text
    assert numbers.shape == (len(text),) and int(numbers.max()) == len(vocabulary) - 1
    assert [vocabulary[symbol] for symbol in text] == numbers.tolist()


@given(TEXTS, TEXTS)
def test_an_unknown_symbol_is_named_with_its_position(known, text):
    vocabulary = Vocabulary(known)
    unknown = [at for at, symbol in enumerate(text) if symbol not in vocabulary]
    if unknown:
        with pytest.raises(ValueError, match="is not among the") as caught:
            vocabulary.encode(text)
        assert str(caught.value).startswith(f"{text[unknown[0]]!r} at position {unknown[0]} ")
    else:
        assert vocabulary.decode(vocabulary.encode(text)) == text


def test_empty_texts_are_refused():
    for empty in (lambda: Vocabulary(""), lambda: Vocabulary("abc").encode("")):
        with pytest.raises(ValueError, match="the text is empty"):
            empty()


@given(WORDS, WORDS, st.none() | st.integers(2, 9))
def test_words_are_numbered_by_frequency_and_the_rest_is_unknown(corpus, words, size):
    vocabulary = WordVocabulary(corpus, size)
    ranked = sorted({*corpus} - {UNKNOWN}, key=lambda word: (-corpus.count(word), word))
    assert vocabulary.symbols == (UNKNOWN, *ranked)[:size]
    assert vocabulary.symbols == WordVocabulary(corpus[::-1], size).symbols  # their order does not matter
    assert vocabulary[UNKNOWN] == vocabulary.unknown == 0 and UNKNOWN in vocabulary

    numbers = vocabulary.encode(words)
    assert numbers.dtype == torch.int64 and numbers.shape == (len(words),)
    assert numbers.tolist() == [vocabulary[word] for word in words]
    assert vocabulary.decode(numbers) == [word if word in vocabulary else UNKNOWN for word in words]


def test_a_small_vocabulary_by_hand():
    words = split_words("the cat saw the dog \n a dog saw <unk> \n")
    assert words == ["the", "cat", "saw", "the", "dog", "\n", "a", "dog", "saw", "<unk>", "\n"]
    vocabulary = WordVocabulary(words, size=4)
    assert vocabulary.symbols == ("<unk>", "\n", "dog", "saw") and len(vocabulary) == 4
    assert "the" not in vocabulary  # as frequent as the others, but the last of them
    assert vocabulary.encode(words).tolist() == [0, 0, 3, 0, 2, 1, 0, 2, 3, 0, 1]
    assert WordVocabulary(words, size=99).symbols == WordVocabulary(words).symbols
    assert WordVocabulary([UNKNOWN]).symbols == (UNKNOWN,)


def test_words_that_make_no_vocabulary_are_refused():
    with pytest.raises(ValueError, match="words is empty; a vocabulary needs at least one"):
        WordVocabulary([])
    with pytest.raises(TypeError, match="words is the text 'the cat'; split it first"):
        WordVocabulary("the cat")
    for size in (1, 0, -3):
        with pytest.raises(ValueError, match=f"size is {size}; it must be 2 or more"):
            WordVocabulary(["the"], size)
    vocabulary = WordVocabulary(["the", "cat"])
    with pytest.raises(ValueError, match="words is empty; there is nothing to encode"):
        vocabulary.encode([])
    with pytest.raises(TypeError, match="split it first"):
        vocabulary.encode("the")


def test_two_million_words_take_seconds():
    words = [str(number % 33_000) for number in range(2_000_000)]
    vocabulary = WordVocabulary(words)
    began = time.process_time()  # of this process, whatever else the machine does
    numbers = vocabulary.encode(words)
    assert time.process_time() - began < 2  # about 0.15 s
    assert vocabulary.decode(numbers) == words


@given(st.text())
def test_splitting_loses_white_space_only(text):
    words = split_words(text)
    assert words.count("\n") == text.count("\n")
    assert "".join(words) == "".join(symbol for symbol in text if symbol == "\n" or not symbol.isspace())
    assert split_words(" ".join(words)) == words


def test_what_is_tokenised_already_is_left_whole():
    line = " a <unk> of the 2 @-@ 1 \t season , don 't \r\n\n"
    assert split_words(line) == ["a", "<unk>", "of", "the", "2", "@-@", "1", "season", ",", "don", "'t", "\n", "\n"]
    assert split_words(" \t ") == split_words("") == []
    story = "Mia's owl, the red one, slept.\n"
    assert "slept." in split_words(story) and "slept" in stories.words(story)
    assert split_words(" ".join(stories.words(story))) == stories.words(story)  # they agree on what is separated


@pytest.mark.parametrize("vocabulary", [Vocabulary("abc"), WordVocabulary(["a", "b"])])
def test_what_is_no_number_of_a_symbol_is_not_decoded(vocabulary):
    for wrong in ([1.7], [1.0], torch.tensor([1.7]), np.array([1.7]), [True]):
        with pytest.raises(ValueError, match="numbers are torch.*; symbol numbers are integers"):
            vocabulary.decode(wrong)
    for wrong in (3, -1):
        with pytest.raises(ValueError, match=f"numbers run from .*{wrong}.*; symbols are numbered 0 to 2"):
            vocabulary.decode([0, wrong])
    with pytest.raises(ValueError, match=r"numbers have shape \(1, 2\); one axis is expected: \(length,\)"):
        vocabulary.decode(torch.tensor([[1, 2]]))
    right = vocabulary.decode([1, 2])
    for numbers in (torch.tensor([1, 2]).int(), np.array([1, 2]), iter([1, 2]), [np.int64(1), torch.tensor(2)]):
        assert vocabulary.decode(numbers) == right
    assert vocabulary.decode([]) == right[:0]
