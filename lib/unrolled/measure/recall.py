"""Tasks that ask a model what it remembers."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from unrolled.measure.evaluation import token_nats
from unrolled.models import LanguageModel
from unrolled.text import Vocabulary
from unrolled.text.stories import StoryCorpus

OTHER_PRONOUN = {"she": "he", "he": "she", "She": "He", "He": "She"}


def recall_by_lag(
    model: LanguageModel,
    vocabulary: Vocabulary,
    corpus: StoryCorpus,
    kind: str,
    edges: Sequence[int],
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Offer the model two words where a story names something again, and count how often it prefers the right one.

    Somebody called Ada was introduced; now comes her name. Does the model find its first letter more probable than
    the first letter of a name from another story? A reader without memory is right half of the time.

    Args:
        model: the model, with its state carried.
        vocabulary: the symbols that it was trained on.
        corpus: stories that it has not seen.
        kind: what is recalled: ``"name"``, ``"pronoun"`` (she or he), or another `stories.Recall.kind`.
        edges: limits of the bins of lag, in characters since the last mention, (bins + 1,).
        seed: decides the wrong words.

    Returns:
        The share of right answers in each bin (a tie counts half; NaN where nothing is recalled at such a lag),
        and the number of questions in it, both (bins,).

    Raises:
        ValueError: the corpus never recalls that kind.
    """
    asked = [one for one in corpus.recalls if one.kind == kind and (kind != "pronoun" or one.value in OTHER_PRONOUN)]
    if not asked:
        kinds = ", ".join(sorted({one.kind for one in corpus.recalls}))
        raise ValueError(f"kind is {kind!r}, which this corpus never recalls; it recalls {kinds}")
    rng = random.Random(seed)
    tokens = vocabulary.encode(corpus.text)
    wrong = tokens.clone()
    for one in asked:
        others = [OTHER_PRONOUN[one.value]] if kind == "pronoun" else [other.value for other in asked]
        letters = [other[0] for other in others if other[0] != one.value[0]]
        wrong[one.position] = vocabulary[rng.choice(letters)]
    places = np.array([one.position for one in asked])
    start = vocabulary["\n"]
    right_nats = token_nats(model, tokens, start=start)[places]
    wrong_nats = token_nats(model, tokens, start=start, instead=wrong)[places]
    points = np.where(right_nats == wrong_nats, 0.5, right_nats < wrong_nats)
    lags = np.array([one.lag for one in asked])
    bins = [(lags >= low) & (lags < high) for low, high in zip(edges[:-1], edges[1:], strict=True)]
    shares = np.array([points[here].mean() if here.any() else np.nan for here in bins])
    return shares, np.array([int(here.sum()) for here in bins])
