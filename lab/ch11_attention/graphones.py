"""Letters to phonemes by counting: an n-gram of letters with their phonemes, the joint-sequence model (chapter 11)."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch

from unrolled.ngram import Counts, KneserNey
from unrolled.text import NONE

Graphone = tuple[str, tuple[str, ...]]
"""A letter, and the phonemes that it stands for in a word: none, one or two."""
MOST = 2  # phonemes of a letter: x stands for two
BOUNDARY: Graphone = ("", ())


def align(pairs: Iterable[tuple[str, Sequence[str]]], rounds: int = 5) -> list[list[Graphone]]:
    """Return the graphones of each word: which letter stands for which phonemes.

    Letters and phonemes keep their order. At first the phonemes of a word are dealt to its letters evenly. Then, in
    each round, a word gets the alignment that is most probable by the counts of the round before (Viterbi training).

    Args:
        pairs: words and their phonemes; a word with more than two phonemes for each letter is left out.
        rounds: how often the alignments are renewed.

    Example:
        >>> pairs = [("tax", ["T", "AE", "K", "S"]), ("at", ["AE", "T"]), ("ax", ["AE", "K", "S"])]
        >>> align(pairs)[0]
        [('t', ('T',)), ('a', ('AE',)), ('x', ('K', 'S'))]
    """
    fitting = [(word, tuple(sounds)) for word, sounds in pairs if 0 < len(sounds) <= MOST * len(word)]
    aligned = [_dealt(*pair) for pair in fitting]
    for _ in range(rounds):
        counts = Counter(graphone for word in aligned for graphone in word)
        letters = Counter(letter for word in aligned for letter, _ in word)
        costs = {graphone: math.log(letters[graphone[0]] / count) for graphone, count in counts.items()}
        unseen = math.log(2 * max(letters.values(), default=1))  # dearer than anything that was seen
        aligned = [_cheapest(word, sounds, costs, unseen) for word, sounds in fitting]
    return aligned


def _dealt(word: str, sounds: tuple[str, ...]) -> list[Graphone]:
    """Return an alignment with the phonemes dealt to the letters evenly, in their order."""
    edges = [i * len(sounds) // len(word) for i in range(len(word) + 1)]
    return [(letter, sounds[begin:end]) for letter, begin, end in zip(word, edges, edges[1:], strict=False)]


def _cheapest(word: str, sounds: tuple[str, ...], costs: Mapping[Graphone, float], unseen: float) -> list[Graphone]:
    """Return the alignment with the lowest sum of costs: C(i, j) = min over k ≤ 2 of C(i − 1, j − k) + cost."""
    best = [0.0] + [math.inf] * len(sounds)  # C(0, j)
    taken = []  # for each letter, k at each j
    for letter in word:
        reached, choice = [math.inf] * len(best), [0] * len(best)
        for j in range(len(best)):
            for k in range(min(MOST, j) + 1):
                cost = best[j - k] + costs.get((letter, sounds[j - k : j]), unseen * (1 + k))
                if cost < reached[j]:
                    reached[j], choice[j] = cost, k
        best = reached
        taken.append(choice)
    graphones, j = [], len(sounds)
    for letter, choice in zip(reversed(word), reversed(taken), strict=True):
        k = choice[j]
        graphones.append((letter, sounds[j - k : j]))
        j -= k
    return graphones[::-1]


class JointSequence:
    """Transcribe words by a Kneser–Ney n-gram of graphones (after Bisani & Ney 2008).

        p(letters, phonemes) = ∏ p(q_i | q_{i−n+1}, …, q_{i−1})         q: the graphones of the word, then its end

    Bisani & Ney learn which letters go together; here every graphone has one letter.

    Args:
        pronunciations: words with their pronunciations, each of which counts as one example.
        order: n.
        rounds: of `align`.

    Attributes:
        graphones: all that were found, the boundary between words first.
        model: the n-gram.

    Raises:
        ValueError: there is no word whose phonemes can be dealt to its letters.

    Example:
        >>> words = {"tax": [("T", "AE", "K", "S")], "at": [("AE", "T")], "ax": [("AE", "K", "S")]}
        >>> joint = JointSequence(words, order=2)
        >>> joint.transcribe("xat")
        ('K', 'S', 'AE', 'T')
    """

    def __init__(self, pronunciations: Mapping[str, Sequence[Sequence[str]]], order: int = 6, rounds: int = 5):
        aligned = align(((word, each) for word, listed in pronunciations.items() for each in listed), rounds)
        if not aligned:
            raise ValueError(
                f"none of {len(pronunciations)} words has one or two phonemes for each letter; give others"
            )
        self.graphones = (BOUNDARY, *sorted({graphone for word in aligned for graphone in word}))
        number = {graphone: index for index, graphone in enumerate(self.graphones)}
        text = [0] + [index for word in aligned for index in (*(number[graphone] for graphone in word), 0)]
        self.model = KneserNey(Counts(text, vocab_size=len(self.graphones), order=order))
        self.of_letter: dict[str, np.ndarray] = {}
        for letter in {letter for letter, _ in self.graphones}:
            self.of_letter[letter] = np.array([number[each] for each in self.graphones if each[0] == letter])

    def transcribe(self, word: str, width: int = 8) -> tuple[str, ...]:
        """Return the phonemes of the most probable graphones that a beam finds.

        Args:
            word: in letters.
            width: the number of hypotheses to keep.

        Raises:
            ValueError: the word is empty, or a letter was never seen.
        """
        if not word or set(word) - set(self.of_letter):
            raise ValueError(f"the word is {word!r}; it must have letters, all of them among those that were counted")
        last, log_p = np.zeros(1, dtype=np.int64), np.zeros(1)  # of each hypothesis; each has read the boundary
        state, paths = np.full((1, self.model.order - 1), NONE), [()]
        for letter in (*word, BOUNDARY[0]):
            next_ones = self.of_letter[letter]
            parent, symbol = np.divmod(np.arange(len(last) * len(next_ones)), len(next_ones))
            symbol = next_ones[symbol]  # every hypothesis with every graphone of the letter
            inputs, targets = (torch.from_numpy(numbers)[:, None] for numbers in (last[parent], symbol))
            costs, read = self.model.costs(inputs, targets, state[parent])
            extended = log_p[parent] - costs[:, 0].numpy()
            order = np.argsort(-extended, kind="stable")[:width]
            last, log_p, state = symbol[order], extended[order], read[order]
            paths = [(*paths[parent[place]], int(symbol[place])) for place in order]
        return tuple(sound for graphone in paths[0] for sound in self.graphones[graphone][1])
