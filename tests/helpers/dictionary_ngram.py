"""Interpolated Kneser–Ney as most tutorials write it, with dictionaries: the peer that `unrolled.ngram` is measured
against, and an independent reference for its tests."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence


class DictionaryKneserNey:
    """Count with dictionaries keyed by tuples of symbols, and score symbol by symbol.

    Args:
        tokens: symbol numbers.
        vocab_size: V, the number of symbols.
        order: the length of the longest n-grams.
    """

    def __init__(self, tokens: Sequence[int], vocab_size: int, order: int):
        self.vocab_size, self.order = vocab_size, order
        counts = [Counter() for _ in range(order + 1)]
        for at in range(len(tokens)):
            for k in range(1, min(order, len(tokens) - at) + 1):
                counts[k][tuple(tokens[at : at + k])] += 1
        self.c, self.total, self.types, self.discount = {}, {}, {}, {}
        for k in range(1, order + 1):
            c = counts[k]
            if k < order:  # below the highest order: how many different symbols stand before it
                c = Counter(gram[1:] for gram in counts[k + 1])
                c[tuple(tokens[:k])] += 1
            self.c[k], self.total[k], self.types[k] = c, defaultdict(int), defaultdict(int)
            for gram, number in c.items():
                self.total[k][gram[:-1]] += number
                self.types[k][gram[:-1]] += 1
            ones, twos = (sum(number == n for number in c.values()) for n in (1, 2))
            self.discount[k] = ones / (ones + 2 * twos) if ones and twos else 0.5

    def probability(self, context: tuple[int, ...], symbol: int) -> float:
        """Return p(symbol | context)."""
        p = 1 / self.vocab_size
        for k in range(1, min(self.order, len(context) + 1) + 1):
            recent = context[len(context) - k + 1 :]
            total = self.total[k].get(recent, 0)
            if total:
                discount = self.discount[k]
                share = max(self.c[k].get((*recent, symbol), 0) - discount, 0)
                p = (share + discount * self.types[k][recent] * p) / total
        return p

    def nats(self, tokens: Sequence[int]) -> float:
        """Return the mean of −ln p over all symbols but the first."""
        costs = (
            -math.log(self.probability(tuple(tokens[max(0, at - self.order + 1) : at]), tokens[at]))
            for at in range(1, len(tokens))
        )
        return sum(costs) / (len(tokens) - 1)
