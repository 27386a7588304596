"""Measure how varied texts are: how many different n-grams they have, and how much each text repeats itself."""

from collections.abc import Hashable, Sequence


def _ngrams(texts: Sequence[Sequence[Hashable]], n: int) -> list[list[tuple]]:
    """Return the n-grams of each text in their order; there must be one."""
    ngrams = [list(zip(*(text[start:] for start in range(n)), strict=False)) for text in texts]
    if not any(ngrams):
        raise ValueError(f"no text has {n} symbols; give longer texts or a smaller n")
    return ngrams


def distinct(texts: Sequence[Sequence[Hashable]], n: int) -> float:
    """Return the number of different n-grams in all texts, as a share of all their n-grams (Li et al. 2016).

    If the texts resemble each other, the share is low, however varied each of them is. It falls with the amount of
    text, so compare equal amounts.

    >>> distinct([["the", "fox", "and", "the", "owl"]], n=1)  # four different words of five
    0.8
    """
    ngrams = [ngram for text in _ngrams(texts, n) for ngram in text]
    return len(set(ngrams)) / len(ngrams)


def repetition(texts: Sequence[Sequence[Hashable]], n: int) -> float:
    """Return the share of n-grams that occurred before in the same text (Welleck et al. 2020).

        1 − Σ different n-grams of a text / Σ n-grams of a text

    Both sums run over the texts. What one text has in common with another does not count as repetition.

    >>> repetition(["ababa", "ababa"], n=2)  # in each, the second ab and the second ba
    0.5
    """
    ngrams = _ngrams(texts, n)
    return 1 - sum(len(set(own)) for own in ngrams) / sum(map(len, ngrams))
