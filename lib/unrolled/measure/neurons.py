"""Find single units that stand for something, without being misled by the large number of units."""

from typing import NamedTuple

import numpy as np

SHIFTS = 20  # searches with a shifted meaning
MIN_SHIFT = 1000  # the shortest shift, in characters


class Match(NamedTuple):
    """The unit that matches a meaning best.

    Attributes:
        unit: its number.
        correlation: with the meaning, on the half of the text on which the unit was not chosen; negative if its sign
            differs between the halves.
        sign: 1 if the unit rises with the meaning, −1 if it falls.
        chance: the largest correlation that the same search finds by chance.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> meaning = rng.normal(size=5000)
        >>> units = rng.normal(size=(5000, 8))
        >>> units[:, 3] -= 2 * meaning
        >>> match = search(units, meaning, rng)
        >>> match.unit, match.sign, match.correlation > 5 * match.chance
        (3, -1, True)
    """

    unit: int
    correlation: float
    sign: int
    chance: float


def place_in_word(text: str) -> np.ndarray:
    """Return how many characters of its word each character ends, (characters,): 0 at a space or a mark.

    Example:
        >>> place_in_word("I am.").tolist()
        [1.0, 0.0, 1.0, 2.0, 0.0]
    """
    places = [0]
    for letter in text:
        places.append(0 if letter in ' \n.,!?"' else places[-1] + 1)
    return np.array(places[1:], dtype=float)


def correlations(units: np.ndarray, meaning: np.ndarray) -> np.ndarray:
    """Return the correlation of every unit with a meaning, (units,); 0 if the unit or the meaning is constant.

    Args:
        units: their values, (characters, units).
        meaning: (characters,).
    """
    if not np.isfinite(units).all():
        raise ValueError("the units have values that are not finite; train again, with a smaller learning rate")
    units, meaning = units - units.mean(axis=0), meaning - meaning.mean()
    scale = np.sqrt((units**2).sum(axis=0) * (meaning**2).sum())
    return np.divide(units.T @ meaning, scale, out=np.zeros_like(scale), where=scale > 0)


def search(units: np.ndarray, meaning: np.ndarray, rng: np.random.Generator) -> Match:
    """Return the unit that matches a meaning best, chosen on one half of a text and judged on the other.

    Among many units, some unit correlates with anything. The same search, with the meaning shifted against the text by
    a random number of characters so that the two are unrelated, shows how strong such a correlation is.

    Args:
        units: their values, (characters, units), of a text of more than 4,000 characters.
        meaning: (characters,).
        rng: draws the shifts.
    """
    half = len(units) // 2
    chosen = correlations(units[:half], meaning[:half])
    best = int(np.abs(chosen).argmax())
    judged = correlations(units[half:, [best]], meaning[half:]).item()
    shifted = (np.roll(meaning[:half], shift) for shift in rng.integers(MIN_SHIFT, half - MIN_SHIFT, SHIFTS))
    chance = max(np.abs(correlations(units[:half], unrelated)).max() for unrelated in shifted)
    sign = int(np.sign(chosen[best]))
    return Match(best, sign * judged, sign, float(chance))
