"""The joint-sequence model: alignments, probabilities, and words it never saw."""

import itertools
import math
import random

import pytest
import torch

from lab.ch11_attention.graphones import JointSequence, align

SOUNDS = {"a": ("AE",), "b": ("B",), "e": (), "x": ("K", "S"), "t": ("T",), "o": ("OW",)}


def spelt(words):
    """Return words with the phonemes of a language in which every letter always sounds alike; e is mute."""
    return {word: [tuple(sound for letter in word for sound in SOUNDS[letter])] for word in words}


def drawn(count, seed=0):
    rng = random.Random(seed)
    words = {"".join(rng.choices("abextt", k=rng.randint(2, 7))) + "o" for _ in range(count)}
    return spelt(sorted(words))


def test_a_language_that_sounds_as_it_is_spelt_is_aligned_letter_by_letter():
    words = drawn(300)
    for word, graphones in zip(words, align((word, listed[0]) for word, listed in words.items()), strict=True):
        assert graphones == [(letter, SOUNDS[letter]) for letter in word]


def test_alignments_keep_all_letters_and_phonemes_in_order_and_leave_out_what_cannot_be():
    pairs = [("through", ("TH", "R", "UW")), ("w", ("D", "AH", "B")), ("box", ("B", "AA", "K", "S"))]
    aligned = align(pairs)
    assert ["".join(letter for letter, _ in word) for word in aligned] == ["through", "box"]
    assert [sum((sounds for _, sounds in word), ()) for word in aligned] == [pairs[0][1], pairs[2][1]]


@pytest.mark.parametrize("width", [1, 8])
def test_words_never_seen_are_transcribed(width):
    joint = JointSequence(drawn(300), order=3)
    unseen = {word: listed for word, listed in drawn(60, seed=9).items() if word not in drawn(300)}
    assert len(unseen) > 5
    assert all(joint.transcribe(word, width) == listed[0] for word, listed in unseen.items())


def test_the_beam_finds_the_most_probable_graphones():
    words = {"oat": [("OW", "T")], "tat": [("T", "AE", "T")], "ta": [("T", "OW")], "ato": [("AE", "T", "OW")]}
    joint = JointSequence(words, order=3)
    number = {graphone: index for index, graphone in enumerate(joint.graphones)}

    def log_p(path):
        text = torch.tensor([[0, *(number[graphone] for graphone in path), 0]])
        return -joint.model.costs(text[:, :-1], text[:, 1:])[0].sum().item()

    for word in ("tato", "oata", "aat"):
        choices = [[graphone for graphone in joint.graphones if graphone[0] == letter] for letter in word]
        best = max(itertools.product(*choices), key=log_p)
        assert math.isfinite(log_p(best))
        assert joint.transcribe(word, width=1000) == sum((sounds for _, sounds in best), ())


def test_what_cannot_be_transcribed_is_refused():
    joint = JointSequence(drawn(20), order=2)
    for word in ("", "zoo"):
        with pytest.raises(ValueError, match=f"the word is '{word}'; it must have letters"):
            joint.transcribe(word)
    with pytest.raises(ValueError, match="none of 1 words has one or two phonemes for each letter"):
        JointSequence({"w": [("D", "AH", "B")]})
