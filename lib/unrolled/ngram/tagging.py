"""Taggers that count: the most frequent tag of each word, and a hidden Markov model (chapter 10)."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from unrolled.text import TaggedSentence


class MostFrequentTag:
    """Give each word the tag that it has most often in the training sentences, and unknown words the commonest tag.

    Of equally frequent tags it is the one that was seen first. `tag_of` maps each known word to its tag.

    >>> tagger = MostFrequentTag([TaggedSentence(("a", "round", "trip"), ("DET", "NOUN", "NOUN"))])
    >>> tagger.tags(("round", "a", "lake"))
    ('NOUN', 'DET', 'NOUN')
    """

    def __init__(self, sentences: Sequence[TaggedSentence]):
        counts: dict[str, Counter[str]] = {}
        for sentence in sentences:
            for word, tag in zip(*sentence, strict=True):
                counts.setdefault(word, Counter())[tag] += 1
        self.tag_of = {word: tags.most_common(1)[0][0] for word, tags in counts.items()}
        tags = Counter(tag for sentence in sentences for tag in sentence.tags)
        self.commonest = tags.most_common(1)[0][0]

    def tags(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return a tag for each word."""
        return tuple(self.tag_of.get(word, self.commonest) for word in words)


class HiddenMarkovTagger:
    """Tag sentences by the most probable sequence of tags of a bigram hidden Markov model (:eq:`eq-hmm`).

        p(w_1 … w_n, t_1 … t_n) = ∏ p(t_i | t_{i−1}) p(w_i | t_i) · p(end | t_n)            t_0 = start

    Both probabilities are shares of the counts, after adding k to each. All unknown words count as one more word.

    Args:
        sentences: what to count.
        k: what is added to the count of each pair of tags, and of each tag with each word; above 0.

    Attributes:
        names: the tags, (tags,).
        column: maps each known word to its column of `emit`.
        start: ln p(t | start), (tags,).
        follow: ln p(t | the tag before), a row for each tag before, (tags, tags).
        end: ln p(end | t), (tags,).
        emit: ln p(w | t), (tags, words + 1), the last column for unknown words.

    >>> pairs = [(("they", "fish"), ("PRON", "VERB")), (("the", "fish"), ("DET", "NOUN"))]
    >>> train = [TaggedSentence(words, tags) for words, tags in pairs]
    >>> HiddenMarkovTagger(train, k=0.1).tags(("the", "fish"))
    ('DET', 'NOUN')
    """

    def __init__(self, sentences: Sequence[TaggedSentence], k: float = 0.01):
        if not k > 0:
            raise ValueError(f"k is {k}; it must be above 0, or what was never seen could not be tagged")
        self.names = sorted({tag for sentence in sentences for tag in sentence.tags})
        words = sorted({word for sentence in sentences for word in sentence.words})
        number = {tag: index for index, tag in enumerate(self.names)}
        self.column = {word: index for index, word in enumerate(words)}
        edge = len(self.names)  # of a sentence: its start as a row, its end as a column
        follow, emit = np.full((edge + 1, edge + 1), k), np.full((edge, len(words) + 1), k)
        for sentence in sentences:
            path = [edge, *(number[tag] for tag in sentence.tags), edge]
            for before, tag in zip(path, path[1:], strict=False):
                follow[before, tag] += 1
            for word, tag in zip(sentence.words, path[1:-1], strict=True):
                emit[tag, self.column[word]] += 1
        follow[edge, edge] = 0  # no sentence is empty
        with np.errstate(divide="ignore"):
            log_follow = np.log(follow / follow.sum(axis=1, keepdims=True))
        self.start, self.end, self.follow = log_follow[edge, :edge], log_follow[:edge, edge], log_follow[:edge, :edge]
        self.emit = np.log(emit / emit.sum(axis=1, keepdims=True))

    def tags(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return the most probable tags (:eq:`eq-viterbi`).

        v_1(j) = ln p(j | start) + ln p(w_1 | j)
        v_i(j) = max_k [v_{i−1}(k) + ln p(j | k)] + ln p(w_i | j)
        """
        columns = [self.column.get(word, len(self.column)) for word in words]
        first, *rest = self.emit[:, columns].T  # (words, tags)
        best, came_from = self.start + first, []
        for emitted in rest:
            reached = best[:, None] + self.follow  # (tag before, tag)
            came_from.append(reached.argmax(axis=0))
            best = reached.max(axis=0) + emitted
        path = [int((best + self.end).argmax())]
        for before in reversed(came_from):
            path.append(int(before[path[-1]]))
        return tuple(self.names[tag] for tag in reversed(path))
