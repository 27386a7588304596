"""Where in the stories the loss of a model sits: at which place of a story, and on which words of the grammar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from unrolled.text.stories import Story, StoryCorpus

FRAME = "frame"


class Share(NamedTuple):
    """What one class of words cost.

    Attributes:
        nats: of all its characters together.
        words: how often it comes, 0 for the frame.
        characters: how many characters that is.
    """

    nats: float
    words: int
    characters: int


def _check(nats: np.ndarray, corpus: StoryCorpus) -> None:
    if nats.shape != (len(corpus.text),):
        raise ValueError(
            f"nats have shape {nats.shape}; the text has {len(corpus.text)} characters, and each needs its own: "
            "score it with a start"
        )


def by_story(nats: np.ndarray, corpus: StoryCorpus) -> np.ndarray:
    """Return what every story cost, its line break included, (stories,).

    Args:
        nats: what each character of the text cost, (characters,): what `evaluation.token_nats` returns with a start.
        corpus: the stories.

    Raises:
        ValueError: there is not one number for each character.
    """
    _check(nats, corpus)
    return np.add.reduceat(nats, corpus.starts)


def by_position(nats: np.ndarray, corpus: StoryCorpus, edges: Sequence[int]) -> np.ndarray:
    """Return the mean cost of a character by its position in its story, nats, (bins,); NaN where there is none.

    Args:
        nats, corpus: as for `by_story`.
        edges: limits of the bins, (bins + 1,); the first character of a story has the position 0.

    Raises:
        ValueError: there is not one number for each character.
    """
    _check(nats, corpus)
    position = np.concatenate([np.arange(len(story.text) + 1) for story in corpus.stories])
    bins = [(position >= low) & (position < high) for low, high in zip(edges[:-1], edges[1:], strict=True)]
    return np.array([nats[here].mean() if here.any() else np.nan for here in bins])


def by_class(nats: np.ndarray, corpus: StoryCorpus) -> dict[str, Share]:
    """Return what the words of each class cost.

    The classes are the kinds of `stories.Recall`, as "name", "pronoun" or "place": words that can only be known by
    remembering. The first mention of what is later recalled is of the class "new name" and so on. All the rest is the
    "frame": the words of the templates, and values that never come again.

    Args:
        nats, corpus: as for `by_story`.

    Raises:
        ValueError: there is not one number for each character.
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
    """Yield the class of each word that is recalled, or is the first mention of one, with its place in the story.

    A value that is written out again tells by its lag where it was written before; at its first return, that is where
    it was drawn.
    """
    known = set()
    for one in story.recalls:
        yield one.kind, one.position, one.position + len(one.value)
        if one.kind != "pronoun" and one.variable not in known:
            known.add(one.variable)
            end = one.position - one.lag
            yield f"new {one.kind}", end - len(one.value), end
