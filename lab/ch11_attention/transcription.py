"""How far a transcription is from the right one: phoneme and word error rate (chapter 11)."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple


def edit_distance(written: Sequence[Hashable], right: Sequence[Hashable]) -> int:
    """Return the fewest insertions, deletions and substitutions that turn one sequence into the other.

        D(i, j) = min[D(i − 1, j) + 1, D(i, j − 1) + 1, D(i − 1, j − 1) + (w_i ≠ r_j)]

    Args:
        written: w, any symbols.
        right: r, any symbols.

    Example:
        >>> edit_distance("kitten", "sitting")
        3
    """
    row = list(range(len(right) + 1))  # D(0, j)
    for i, symbol in enumerate(written, start=1):
        before, row[0] = row[0], i
        for j, other in enumerate(right, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (symbol != other))
    return row[-1]


class ErrorRates(NamedTuple):
    """How often a transcription is wrong.

    Attributes:
        phonemes: the edit distances, summed over all words, as a share of the right phonemes; it may exceed 1.
        words: the share of words that are not right throughout.

    Example:
        >>> ErrorRates(phonemes=0.06, words=0.24).words
        0.24
    """

    phonemes: float
    words: float


def error_rates(written: Sequence[Sequence[Hashable]], right: Sequence[Sequence[Sequence[Hashable]]]) -> ErrorRates:
    """Return phoneme and word error rate over all words.

    Any listed alternative of a word is right; what is not right is compared with the nearest, the first of several.

    Args:
        written: the phonemes of each word.
        right: the alternatives of each word.

    Raises:
        ValueError: there are no words, or not as many on both sides; a word has no alternative, or an empty one.

    Example:
        >>> rates = error_rates([["R", "EH", "D"], ["K", "AE"]], [[["R", "EH", "D"]], [["K", "AE", "T"]]])
        >>> round(rates.phonemes, 3), rates.words
        (0.167, 0.5)
    """
    if not len(written) or len(written) != len(right):
        raise ValueError(f"there are {len(written)} transcriptions and {len(right)} words; give one for each word")
    distances, lengths = [], []
    for transcribed, alternatives in zip(written, right, strict=True):
        if not alternatives or not all(map(len, alternatives)):
            raise ValueError(f"the alternatives are {alternatives}; there must be one, and none may be empty")
        nearest = min(alternatives, key=lambda each: edit_distance(transcribed, each))
        distances.append(edit_distance(transcribed, nearest))
        lengths.append(len(nearest))
    return ErrorRates(sum(distances) / sum(lengths), sum(distance > 0 for distance in distances) / len(distances))
