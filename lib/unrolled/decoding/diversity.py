"""How varied a text is: how many different n-grams there are in it, and how much it repeats itself."""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def _ngrams(text: Sequence[Hashable], n: int) -> list[tuple]:
    """Return the n-grams of a text, one after the other."""
    if n < 1:
        raise ValueError(f"n is {n}; it must be 1 or more")
    return list(zip(*(text[place:] for place in range(n)), strict=False))


def distinct(texts: Sequence[Sequence[Hashable]], n: int) -> float:
    """Return how many different n-grams there are in all the texts, as a share of their number (Li et al. 2016).

    Texts that are all alike have few between them, however varied each of them is. The share falls with the amount of
    text, so compare equal amounts.

    Args:
        texts: each a sequence of symbols, words for example.
        n: the length of the n-grams.

    Raises:
        ValueError: n is below 1, or no text is that long.
    """
    found = [gram for text in texts for gram in _ngrams(text, n)]
    if not found:
        raise ValueError(f"no text has {n} symbols; give longer texts or a smaller n")
    return len(set(found)) / len(found)


def repetition(texts: Sequence[Sequence[Hashable]], n: int) -> float:
    """Return the share of n-grams that came before in the same text (Welleck et al. 2020).

        1 − Σ different n-grams of a text / Σ n-grams of a text

    Both sums are over the texts: what one text has in common with another is no repetition.

    Args:
        texts: each a sequence of symbols, words for example.
        n: the length of the n-grams.

    Raises:
        ValueError: n is below 1, or no text is that long.
    """
    found = [_ngrams(text, n) for text in texts]
    if not any(found):
        raise ValueError(f"no text has {n} symbols; give longer texts or a smaller n")
    return 1 - sum(len(set(grams)) for grams in found) / sum(map(len, found))
