"""The sentences of a text."""

from unrolled.text import split_sentences, stories


def test_a_text_is_cut_after_its_marks_and_nothing_else_is_lost():
    text = stories.corpus(5000).text
    assert "".join(split_sentences(text)).replace(" ", "") == text.replace(" ", "").replace("\n", "")
    assert split_sentences('"Go!" she said. He ran.\n\n') == ['"Go!"', "she said.", "He ran."]
