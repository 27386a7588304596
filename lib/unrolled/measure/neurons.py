"""Look for single units that stand for something with a name, without being fooled by how many units there are."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

SHIFTS = 20  # searches by chance
LEAST = 1000  # characters that a meaning is shifted by


class Found(NamedTuple):
    """The unit that stands for a meaning best.

    Attributes:
        unit: its number.
        correlation: with the meaning, on the half of the text on which it was not chosen; negative where its sign there
            is another one.
        sign: 1 where the unit rises with the meaning, −1 where it falls.
        chance: the largest correlation that the same search finds where there is nothing to find.
    """

    unit: int
    correlation: float
    sign: int
    chance: float


def since(text: str, marks: str) -> np.ndarray:
    """Return at each character how many were read after the last of these marks, (characters,); 0 at a mark."""
    counts = [0]
    for letter in text:
        counts.append(0 if letter in marks else counts[-1] + 1)
    return np.array(counts[1:], dtype=float)


def meanings(text: str) -> dict[str, np.ndarray]:
    """Return what a unit might stand for in an English text, under its name, at each character: (characters,) each.

    The places in the word, in the sentence and in the story are counted in characters, a story being a line. A
    quotation is open, 1, from one straight quotation mark to the next. "She, not he" is 1 where the last of the two
    pronouns was "she".
    """
    she = np.zeros(len(text))
    for found in re.finditer(r"\b[Ss]?[Hh]e\b", text):
        she[found.end() :] = found.group().lower() == "she"
    return {
        "place in the word": since(text, ' \n.,!?"'),
        "place in the sentence": since(text, ".!?\n"),
        "place in the story": since(text, "\n"),
        "inside a quotation": np.cumsum([letter == '"' for letter in text]) % 2.0,
        "she, not he": she,
    }


def correlations(units: np.ndarray, meaning: np.ndarray) -> np.ndarray:
    """Return the correlation of every unit with a meaning, (units,); 0 for what never changes.

    Args:
        units: their values, (characters, units).
        meaning: (characters,).

    Raises:
        ValueError: there is not one value of the meaning for each character.
    """
    if units.ndim != 2 or meaning.shape != units.shape[:1]:
        raise ValueError(
            f"units have shape {units.shape} and the meaning {meaning.shape}; "
            "(characters, units) and (characters,) are expected"
        )
    units, meaning = units - units.mean(axis=0), meaning - meaning.mean()
    scale = np.sqrt((units**2).sum(axis=0) * (meaning**2).sum())
    return np.divide(units.T @ meaning, scale, out=np.zeros_like(scale), where=scale > 0)


def search(units: np.ndarray, meaning: np.ndarray, rng: np.random.Generator) -> Found:
    """Return the unit that stands for a meaning best: chosen on one half of a text, judged on the other.

    With many units, one of them correlates with anything. How much is told by the same search for the same meaning,
    shifted against the text by a random number of characters, so that the two have nothing to do with each other.

    Args:
        units: their values, (characters, units).
        meaning: (characters,).
        rng: draws the shifts.

    Raises:
        ValueError: the text is too short to be shifted, or the shapes do not agree.
    """
    half = len(units) // 2
    if half <= 2 * LEAST:
        raise ValueError(f"there are {len(units)} characters; a search with shifts needs more than {4 * LEAST}")
    chosen = correlations(units[:half], meaning[:half])
    best = int(np.abs(chosen).argmax())
    judged = correlations(units[half:, [best]], meaning[half:]).item()
    shifted = (np.roll(meaning[:half], shift) for shift in rng.integers(LEAST, half - LEAST, SHIFTS))
    chance = max(np.abs(correlations(units[:half], other)).max() for other in shifted)
    sign = int(np.sign(chosen[best]))
    return Found(best, sign * judged, sign, float(chance))
