"""Predict the next symbol by counting: maximum likelihood, add-k, and interpolated Kneser–Ney in two forms.

The models are estimated from the `Counts` of a text, at any order up to theirs, and read text as every model of this
book does: ``model(tokens, state) -> (logits, state)``, where the state is the last symbols that were read. A context
that reaches back beyond the beginning of a text is simply shorter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from unrolled.ngram.counts import Counts, Level
from unrolled.text import NONE

FALLBACK = (0.5, 1.0, 1.5)  # discounts where the counts are too few, or too round, to estimate any (as KenLM's)


class NGram:
    """Predict a symbol from the n − 1 before it: what all counting models share; use one of its subclasses.

    After a context that was seen, the probability of a word is its own share and a part of a lower estimate; after
    one that was not, it is the lower estimate alone:

        p(w | context) = share(context w) + rest(context) · lower(w)

    Args:
        counts: the n-grams of a text.
        order: n; the order of the counts where None.

    Attributes:
        order: n.
        vocab_size: V.
        keys: for each order k the keys of its k-grams, ascending: V · (row of the first k − 1 words) + last word.
        share: for each order the shares of its k-grams, (rows,).
        rest: for each order the rests of the contexts before its last words, (rows of the order below,).

    Raises:
        ValueError: the order is not among those counted.
    """

    interpolates = True  # whether the lower estimate is that of the shorter context; else it is uniform

    def __init__(self, counts: Counts, order: int | None = None):
        self.order, self.vocab_size = counts.order if order is None else order, counts.vocab_size
        if not 1 <= self.order <= counts.order:
            raise ValueError(f"order is {order}; it must be from 1 to {counts.order}, the order of the counts")
        self.keys, self.share, self.rest = [], [], []
        contexts = 1  # the empty one
        for k, level in enumerate(counts.levels[: self.order], start=1):
            self.keys.append(level.parent.astype(np.int64) * self.vocab_size + level.word)
            share, rest = self._estimate(level, k, contexts)
            self.share.append(share)
            self.rest.append(rest)
            contexts = len(level.word)

    def _estimate(self, level: Level, k: int, contexts: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the share of each k-gram, (rows,), and the rest of each context, (contexts,)."""
        raise NotImplementedError("NGram is the common part only; use MaximumLikelihood, AddK or KneserNey")

    @property
    def ngrams(self) -> int:
        """How many n-grams the model keeps, of all orders together."""
        return sum(map(len, self.keys))

    @property
    def nbytes(self) -> int:
        """How many bytes the model's tables take."""
        return sum(table.nbytes for table in (*self.keys, *self.share, *self.rest))

    def __call__(self, tokens: torch.Tensor, state: np.ndarray | None = None) -> tuple[torch.Tensor, np.ndarray]:
        """Return the log probabilities of all symbols after each, (batch, time, vocab_size), and the last state.

        Args:
            tokens: symbol numbers, (batch, time).
            state: the symbols before them, (batch, order − 1), `NONE` where there were none; None: none at all.

        Raises:
            ValueError: another shape, or a number that is no symbol's.
        """
        rows, lengths, state = self._read(tokens, state)
        p = self._probability([row[..., None] for row in rows], lengths[..., None], np.arange(self.vocab_size))
        return _log(p), state

    def costs(
        self, inputs: torch.Tensor, targets: torch.Tensor, state: np.ndarray | None = None
    ) -> tuple[torch.Tensor, np.ndarray]:
        """Return −ln p(target | inputs up to its place), float64, (batch, time), and the last state.

        Args:
            inputs: symbol numbers, (batch, time).
            targets: the symbols to score, (batch, time).
            state: as for a call.

        Raises:
            ValueError: another shape, or a number that is no symbol's.
        """
        rows, lengths, state = self._read(inputs, state)
        return -_log(self._probability(rows, lengths, self._checked(targets))), state

    def find(self, k: int, context: np.ndarray, word: np.ndarray) -> np.ndarray:
        """Return the rows of k-grams, `NONE` for those never seen.

        Args:
            k: their length.
            context: the rows of their first k − 1 words among the (k−1)-grams; 0 where k is 1.
            word: the numbers of their last words.
        """
        keys, wanted = self.keys[k - 1], context * self.vocab_size + word
        row = np.searchsorted(keys, wanted)
        row[row == len(keys)] = 0
        return np.where(keys[row] == wanted, row, NONE)  # the key after an unseen context is below 0

    def _checked(self, tokens: torch.Tensor) -> np.ndarray:
        """Return symbol numbers as an array, having checked them."""
        tokens = np.asarray(tokens)
        if tokens.ndim != 2:
            raise ValueError(f"tokens have shape {tokens.shape}; two axes are expected: (batch, time)")
        if tokens.min(initial=0) < 0 or tokens.max(initial=0) >= self.vocab_size:
            raise ValueError(
                f"tokens run from {tokens.min()} to {tokens.max()}; symbols are numbered 0 to {self.vocab_size - 1}"
            )
        return tokens

    def _read(self, tokens: torch.Tensor, state: np.ndarray | None) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        """Return where each token's contexts are in the tables, how long its past is, and the last state.

        The rows of the contexts of length 0 … order − 1 that end at a token are (batch, time) each, and mean
        something where the past is that long.
        """
        tokens, past = self._checked(tokens), self.order - 1
        if state is None:
            state = np.full((len(tokens), past), NONE)
        if state.shape != (len(tokens), past):
            raise ValueError(f"state has shape {state.shape}; {(len(tokens), past)} is expected: (batch, order − 1)")
        read = np.concatenate([state, tokens], axis=1)  # (batch, past + time)
        rows = [np.zeros(read.shape, dtype=np.int64)]
        for k in range(1, self.order):
            before = np.pad(rows[-1][:, :-1], ((0, 0), (1, 0)))  # the context one shorter that ends a token earlier
            rows.append(self.find(k, before, read))
        lengths = np.cumsum(read != NONE, axis=1)
        return [row[:, past:] for row in rows], lengths[:, past:], read[:, tokens.shape[1] :]

    def _probability(self, rows: list[np.ndarray], lengths: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Return the probabilities of words after contexts given as by `_read`; the shapes broadcast."""
        uniform = 1.0 / self.vocab_size
        p = np.full(np.broadcast_shapes(lengths.shape, words.shape), uniform)
        for length, context in enumerate(rows):
            row = self.find(length + 1, np.broadcast_to(context, p.shape), words)
            share = np.where(row == NONE, 0.0, self.share[length][row])
            rest = np.where(context == NONE, 1.0, self.rest[length][context])
            lower = p if self.interpolates else uniform
            p = np.where(lengths >= length, share + rest * lower, p)
        return p


def _log(p: np.ndarray) -> torch.Tensor:
    """Return the logarithm, minus infinity for a probability of zero: maximum likelihood knows such."""
    with np.errstate(divide="ignore"):
        return torch.from_numpy(np.log(p))


class AddK(NGram):
    """Pretend that every word was seen k more times after every context (:eq:`eq-add-k`).

        p(w | context) = (count(context w) + k) / (count(context ·) + k V)

    After a context that was never seen, every word is as probable as any other.

    Args:
        counts, order: as for `NGram`.
        k: how many times more; 1 is Laplace's rule.

    Raises:
        ValueError: k is negative.
    """

    interpolates = False

    def __init__(self, counts: Counts, order: int | None = None, *, k: float = 1.0):
        if k < 0:
            raise ValueError(f"k is {k}; it must not be negative")
        self.k = k
        super().__init__(counts, order)

    def _estimate(self, level: Level, k: int, contexts: int) -> tuple[np.ndarray, np.ndarray]:
        total = np.bincount(level.parent, weights=level.count, minlength=contexts)
        added = self.k * self.vocab_size
        with np.errstate(invalid="ignore"):
            rest = np.where(total + added > 0, added / (total + added), 1.0)
        return level.count / (total + added)[level.parent], rest


class MaximumLikelihood(AddK):
    """Predict what was seen, in the proportion in which it was seen (:eq:`eq-maximum-likelihood`).

    What was never seen after a context has the probability 0 there, and costs infinitely many nats.

    Args:
        counts, order: as for `NGram`.
    """

    def __init__(self, counts: Counts, order: int | None = None):
        super().__init__(counts, order, k=0.0)


class KneserNey(NGram):
    """Interpolated Kneser–Ney with one discount an order (:eq:`eq-kneser-ney`; Kneser & Ney 1995).

        p(w | context) = max(c − D, 0) / Σ c + D · types(context) / Σ c · p(w | shorter context)

    At the highest order c is a count. Below, it is the number of different words that the k-gram followed. The
    lowest order is interpolated with the uniform distribution, so that nothing is impossible. Where no discount is
    given it is D = n₁ / (n₁ + 2 n₂), with n₁ and n₂ k-grams whose c is 1 and 2 (Ney et al. 1994).

    Args:
        counts, order: as for `NGram`.
        discount: D for every order, or one for each, the lowest first; None: estimated.

    Attributes:
        discounts: for each order what is taken from a c of 1, of 2, and of 3 or more, (order, 3).

    Raises:
        ValueError: a discount is not between 0 and 1, or there is not one for each order.
    """

    def __init__(self, counts: Counts, order: int | None = None, *, discount: float | Sequence[float] | None = None):
        self._given = None
        if discount is not None:
            levels = counts.order if order is None else order
            self._given = np.broadcast_to(discount, levels) if np.ndim(discount) == 0 else np.asarray(discount)
            if len(self._given) != levels or not ((self._given >= 0) & (self._given <= 1)).all():
                raise ValueError(f"discount is {discount}; give a number from 0 to 1, or {levels} of them")
        self._discounts = []
        super().__init__(counts, order)
        self.discounts = np.array(self._discounts)

    def _estimate(self, level: Level, k: int, contexts: int) -> tuple[np.ndarray, np.ndarray]:
        c = level.count if k == self.order else level.left
        if self._given is None:
            discounts = self._discount(np.bincount(c.clip(max=5), minlength=6))
        else:
            discounts = (self._given[k - 1],) * 3
        self._discounts.append(discounts)
        taken = np.array([0.0, *discounts])[c.clip(max=3)]
        total = np.bincount(level.parent, weights=c, minlength=contexts)
        rest = np.bincount(level.parent, weights=taken, minlength=contexts)
        with np.errstate(invalid="ignore"):
            return (c - taken) / total[level.parent], np.where(total > 0, rest / total, 1.0)

    def _discount(self, n: np.ndarray) -> tuple[float, float, float]:
        """Return what is taken from a c of 1, of 2, and of more, given how many k-grams have c = 0 … 4."""
        if n[1] == 0 or n[2] == 0:
            return (FALLBACK[0],) * 3
        return (n[1] / (n[1] + 2 * n[2]),) * 3


class ModifiedKneserNey(KneserNey):
    """Interpolated Kneser–Ney with three discounts an order (:eq:`eq-three-discounts`; Chen & Goodman 1999).

        Y = n₁ / (n₁ + 2 n₂),   D₁ = 1 − 2 Y n₂/n₁,   D₂ = 2 − 3 Y n₃/n₂,   D₃₊ = 3 − 4 Y n₄/n₃

    Args:
        counts, order: as for `NGram`.
    """

    def __init__(self, counts: Counts, order: int | None = None):
        super().__init__(counts, order)

    def _discount(self, n: np.ndarray) -> tuple[float, float, float]:
        if (n[1:5] == 0).any():
            return FALLBACK
        y = n[1] / (n[1] + 2 * n[2])
        found = tuple(c - (c + 1) * y * n[c + 1] / n[c] for c in (1, 2, 3))
        return found if all(0 < d < c for c, d in enumerate(found, start=1)) else FALLBACK
