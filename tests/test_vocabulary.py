"""Symbols to integers and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.vocabulary import Vocabulary

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(TEXTS)
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


def test_empty_texts_and_wrong_numbers_are_refused():
    with pytest.raises(ValueError, match="the text is empty"):
        Vocabulary("")
    vocabulary = Vocabulary("abc")
    with pytest.raises(ValueError, match="the text is empty"):
        vocabulary.encode("")
    for wrong in (3, -1):
        with pytest.raises(ValueError, match=f"{wrong} is no symbol's number; they run from 0 to 2"):
            vocabulary.decode([0, wrong])
