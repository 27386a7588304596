"""Measure what a model remembers of a story, by the distance to its last mention."""

import random
from collections.abc import Sequence

import numpy as np

from unrolled.measure.evaluation import token_nats
from unrolled.models import LanguageModel
from unrolled.text import Vocabulary
from unrolled.text.stories import Recall, StoryCorpus

OTHER_PRONOUN = {"she": "he", "he": "she", "She": "He", "He": "She"}


def recall_by_lag(
    model: LanguageModel,
    vocabulary: Vocabulary,
    corpus: StoryCorpus,
    kind: str,
    edges: Sequence[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Offer the model two words where a story mentions something again, and count how often it prefers the right one.

    Somebody called Ada was introduced; now her name comes again. Does the model give its first letter a higher
    probability than the first letter of a name from another story? A reader without memory is right half of the time.
    The wrong words are drawn at random, the same ones in every call.

    Args:
        model: the model; its state is carried through the text.
        vocabulary: the symbols that it was trained on.
        corpus: stories that it has not seen.
        kind: what is recalled: ``"name"``, ``"pronoun"`` (she or he), or another `stories.Recall.kind`.
        edges: limits of the bins of lag, in characters since the last mention, (bins + 1,).

    Returns:
        The share of right answers in each bin (a tie counts half; NaN if the bin is empty), and the number of questions
        in it, both (bins,).
    """
    recalls = [recall for recall in corpus.recalls if recall.kind == kind]
    if kind == "pronoun":
        recalls = [recall for recall in recalls if recall.value in OTHER_PRONOUN]
    if not recalls:
        kinds = ", ".join(sorted({recall.kind for recall in corpus.recalls}))
        raise ValueError(f"kind is {kind!r}, which this corpus never recalls; it recalls {kinds}")
    rng = random.Random(0)
    tokens = vocabulary.encode(corpus.text)
    wrong = tokens.clone()
    for recall in recalls:
        others = [OTHER_PRONOUN[recall.value]] if kind == "pronoun" else [other.value for other in recalls]
        letters = [other[0] for other in others if other[0] != recall.value[0]]
        wrong[recall.position] = vocabulary[rng.choice(letters)]
    positions = np.array([recall.position for recall in recalls])
    start = vocabulary["\n"]
    right_nats = token_nats(model, tokens, start=start)[positions]
    wrong_nats = token_nats(model, tokens, start=start, instead=wrong)[positions]
    if np.isnan(right_nats + wrong_nats).any():
        raise ValueError("some of the model's costs are not numbers; train it again, with a smaller learning rate")
    points = np.where(right_nats == wrong_nats, 0.5, right_nats < wrong_nats)
    return mean_by_lag(points, recalls, edges)


def mean_by_lag(points: np.ndarray, recalls: Sequence[Recall], edges: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of the points of some recalls in each bin of lag, and their number, both (bins,).

    Args:
        points: one for each recall, (recalls,).
        recalls: whose lags decide the bins.
        edges: limits of the bins of lag, in characters since the last mention, (bins + 1,).
    """
    lags = np.array([recall.lag for recall in recalls])
    bins = [(lags >= low) & (lags < high) for low, high in zip(edges[:-1], edges[1:], strict=True)]
    shares = np.array([points[in_bin].mean() if in_bin.any() else np.nan for in_bin in bins])
    return shares, np.array([int(in_bin.sum()) for in_bin in bins])
