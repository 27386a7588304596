"""Find where the loss of a model on stories comes from: which positions in a story, and which words of the grammar."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from unrolled.text.stories import Story, StoryCorpus

FRAME = "frame"


class Share(NamedTuple):
    """What one class of words cost.

    Attributes:
        nats: the cost of all its characters together.
        words: the number of its words; 0 for the frame.
        characters: the number of its characters.

    Example:
        >>> from unrolled.text import stories
        >>> corpus = stories.corpus(5_000)
        >>> names = by_class(np.ones(len(corpus.text)), corpus)["name"]  # a nat for every character
        >>> names.nats == names.characters > names.words > 0
        True
    """

    nats: float
    words: int
    characters: int


def _check(nats: np.ndarray, corpus: StoryCorpus) -> None:
    """Raise ValueError unless there is one number for each character."""
    if nats.shape != (len(corpus.text),):
        raise ValueError(
            f"nats have shape {nats.shape}; one for each of the text's {len(corpus.text)} characters is expected: "
            "score it with a start"
        )


def by_position(nats: np.ndarray, corpus: StoryCorpus, edges: Sequence[int]) -> np.ndarray:
    """Return the mean cost of a character by its position in its story.

    Args:
        nats: what each character of the text cost, (characters,), as `token_nats` returns it with a start.
        corpus: the stories.
        edges: limits of the bins, (bins + 1,); the first character of a story has position 0.

    Returns:
        Nats per character, (bins,); NaN for an empty bin.

    Raises:
        ValueError: there is not one number for each character.

    Example:
        >>> from unrolled.text import stories
        >>> corpus = stories.corpus(5_000)
        >>> by_position(np.ones(len(corpus.text)), corpus, edges=[0, 10, 100]).tolist()
        [1.0, 1.0]
    """
    _check(nats, corpus)
    position = np.concatenate([np.arange(len(story.text) + 1) for story in corpus.stories])
    bins = [(position >= low) & (position < high) for low, high in zip(edges[:-1], edges[1:], strict=True)]
    return np.array([nats[in_bin].mean() if in_bin.any() else np.nan for in_bin in bins])


def by_class(nats: np.ndarray, corpus: StoryCorpus) -> dict[str, Share]:
    """Return what the words of each class cost.

    The classes are the kinds of `stories.Recall`, such as "name", "pronoun" or "place": words that can only be known by
    remembering. The first mention of something that is recalled later belongs to the class "new name", "new place" and
    so on. All the rest is the "frame": the words of the templates, and values that are never mentioned again.

    Args:
        nats, corpus: as for `by_position`.

    Returns:
        A `Share` for each class, by name, the frame last.

    Raises:
        ValueError: there is not one number for each character.

    Example:
        >>> from unrolled.text import stories
        >>> corpus = stories.corpus(5_000)
        >>> shares = by_class(np.ones(len(corpus.text)), corpus)
        >>> sum(share.characters for share in shares.values()) == len(corpus.text)
        True
    """
    _check(nats, corpus)
    total = np.concatenate([[0.0], nats.cumsum()])
    shares: dict[str, Share] = {}
    for start, story in zip(corpus.starts, corpus.stories, strict=True):
        for name, begin, end in _mentions(story):
            cost, words, characters = shares.get(name, Share(0.0, 0, 0))
            cost += float(total[start + end] - total[start + begin])
            shares[name] = Share(cost, words + 1, characters + end - begin)
    nats_of, _, characters_of = (sum(part) for part in zip(*shares.values(), strict=True))
    rest = Share(float(total[-1]) - nats_of, 0, len(nats) - characters_of)
    return dict(sorted(shares.items())) | {FRAME: rest}


def _mentions(story: Story) -> Iterator[tuple[str, int, int]]:
    """Yield the class, beginning and end of each recalled word, and of the first mention of each recalled value.

    The lag of a value that is written out again leads to where it was written before; for its first recall, that is its
    first mention.
    """
    known = set()
    for recall in story.recalls:
        yield recall.kind, recall.position, recall.position + len(recall.value)
        if recall.kind != "pronoun" and recall.variable not in known:
            known.add(recall.variable)
            end = recall.position - recall.lag
            yield f"new {recall.kind}", end - len(recall.value), end
