"""Symbols to integers and back."""

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from unrolled.text import UNKNOWN, Vocabulary, WordVocabulary, split_words, stories

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
WORDS = st.lists(st.sampled_from(["a", "b", "c", "dd", "é", "\n", UNKNOWN]) | st.text(min_size=1), min_size=1)
LETTERS, THREE = Vocabulary("abc"), WordVocabulary(["a", "b"])


@given(TEXTS)
@example("\ufeff\x00\r\n\x85\u2028")  # a byte order mark, a null, line breaks of every kind
@example("e\u0301 é \U0010ffff \U0001f469\u200d\U0001f680")  # an accent in two ways, the last code point, an emoji
def test_every_text_comes_back_exactly(text):
    vocabulary = Vocabulary(text)
    tokens = vocabulary.encode(text)
    assert vocabulary.decode(tokens) == text
    assert tokens.shape == (len(text),) and int(tokens.max()) == len(vocabulary) - 1
    assert [vocabulary[symbol] for symbol in text] == tokens.tolist()


@given(TEXTS, TEXTS)
def test_an_unknown_symbol_is_named_with_its_position(known, text):
    vocabulary = Vocabulary(known)
    unknown = [at for at, symbol in enumerate(text) if symbol not in vocabulary]
    if unknown:
        with pytest.raises(ValueError, match="is not among the") as caught:
            vocabulary.encode(text)
        assert str(caught.value).startswith(f"{text[unknown[0]]!r} at position {unknown[0]} ")
        others = sorted({text[at] for at in unknown} - {text[unknown[0]]})
        assert (f"(nor are those in {''.join(others[:20])!r})" in str(caught.value)) == bool(others)
    else:
        assert vocabulary.decode(vocabulary.encode(text)) == text


@given(WORDS, WORDS, st.none() | st.integers(2, 9))
def test_words_are_numbered_by_frequency_and_the_rest_is_unknown(corpus, words, size):
    vocabulary = WordVocabulary(corpus, size)
    ranked = sorted({*corpus} - {UNKNOWN}, key=lambda word: (-corpus.count(word), word))
    assert vocabulary.symbols == (UNKNOWN, *ranked)[:size]
    assert vocabulary[UNKNOWN] == vocabulary.unknown == 0 and UNKNOWN in vocabulary
    tokens = vocabulary.encode(words)
    assert tokens.dtype == torch.int64 and tokens.tolist() == [vocabulary[word] for word in words]
    assert vocabulary.decode(tokens) == [word if word in vocabulary else UNKNOWN for word in words]


def test_a_small_vocabulary_by_hand():
    words = split_words("the cat saw the dog \n a dog saw <unk> \n")
    assert words == ["the", "cat", "saw", "the", "dog", "\n", "a", "dog", "saw", "<unk>", "\n"]
    vocabulary = WordVocabulary(words, size=4)
    assert vocabulary.symbols == ("<unk>", "\n", "dog", "saw") and len(vocabulary) == 4
    assert "the" not in vocabulary  # as frequent as the others, but the last of them
    assert vocabulary.encode(words).tolist() == [0, 0, 3, 0, 2, 1, 0, 2, 3, 0, 1]
    same = WordVocabulary.of(vocabulary.symbols)
    assert same.symbols == vocabulary.symbols and torch.equal(same.encode(words), vocabulary.encode(words))


@given(st.text())
def test_splitting_loses_white_space_only(text):
    words = split_words(text)
    assert words.count("\n") == text.count("\n")
    assert "".join(words) == "".join(symbol for symbol in text if symbol == "\n" or not symbol.isspace())


def test_what_is_tokenised_already_is_left_whole():
    line = " a <unk> of the 2 @-@ 1 \t season , don 't \r\n\n"
    assert split_words(line) == ["a", "<unk>", "of", "the", "2", "@-@", "1", "season", ",", "don", "'t", "\n", "\n"]
    words = stories.words("Mia's owl, the red one, slept.\n")
    assert split_words(" ".join(words)) == words  # they agree on what is separated


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: Vocabulary(""), "the text is empty; a vocabulary needs a text"),
        (lambda: WordVocabulary([]), "there are 0 words and size is None; give at least one word"),
        (lambda: WordVocabulary(["the"], 1), "there are 1 words and size is 1; .* size 2 or more"),
        (lambda: WordVocabulary("the cat"), "words is the text 'the cat'; split it first"),
        (lambda: THREE.encode("the"), "words is the text 'the'; split it first"),
        *(
            (lambda v=vocabulary, w=wrong: v.decode(w), message)
            for vocabulary in (LETTERS, THREE)
            for wrong, message in {
                (1.7,): "numbers are torch.float32; symbol numbers are integers",
                (0, 3): "numbers run from 0 to 3; symbols are numbered 0 to 2",
                (0, -1): "numbers run from -1 to 0; symbols are numbered 0 to 2",
                ((1, 2),): r"numbers have shape \(1, 2\); one axis is expected: \(length,\)",
            }.items()
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


@pytest.mark.parametrize("vocabulary", [LETTERS, THREE])
def test_tokens_of_any_integer_type_are_decoded(vocabulary):
    right = vocabulary.decode([1, 2])
    for tokens in (torch.tensor([1, 2]).int(), np.array([1, 2]), iter([1, 2]), [np.int64(1), torch.tensor(2)]):
        assert vocabulary.decode(tokens) == right
    assert vocabulary.decode([]) == right[:0]
