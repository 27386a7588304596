"""Predict the next symbol by counting: maximum likelihood, add-k, and interpolated Kneser–Ney in two forms.

The models are estimated from the `Counts` of a text, and read text as every model of this book does: ``model(tokens,
state) -> (logits, state)``, where the state holds the last symbols read. At its beginning the contexts are shorter.
"""

from collections.abc import Sequence

import numpy as np
import torch

from unrolled.ngram.counts import Counts, Level
from unrolled.text import NONE, check_range, symbol_numbers

FALLBACK = (0.5, 1.0, 1.5)  # discounts where counts are too few or too regular to estimate any, as in KenLM


class NGram:
    """Predict a symbol from the n − 1 before it: what all counting models share. Use one of its subclasses.

    After a context that was seen, the probability of a word is its own share plus a part of a lower-order estimate;
    after one that was not, it is the lower-order estimate alone:

        p(w | context) = share(context w) + rest(context) · lower(w)

    Args:
        counts: the n-grams of a text.
        order: n; the order of the counts if None.

    Attributes:
        keys: for each order k the keys of its k-grams, ascending: V · (row of the first k − 1 words) + last word.
        share: for each order the shares of its k-grams, (rows,).
        rest: for each order the rests of the contexts before its last words, (rows of the order below,).

    >>> model: NGram = KneserNey(Counts([0, 1, 0, 1, 2], vocab_size=3, order=2))
    >>> logits, state = model(torch.tensor([[0, 1]]))
    >>> tuple(logits.shape), state.tolist()  # (batch, time, vocab_size); a bigram model keeps one symbol
    ((1, 2, 3), [[1]])
    """

    interpolates = True  # whether the lower-order estimate is that of the shorter context; otherwise it is uniform

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
    def nbytes(self) -> int:
        """The size of the model's tables in bytes."""
        return sum(table.nbytes for table in (*self.keys, *self.share, *self.rest))

    def __call__(self, tokens: torch.Tensor, state: np.ndarray | None = None) -> tuple[torch.Tensor, np.ndarray]:
        """Return ln p of all symbols after each token, float64, (batch, time, vocab_size), and the last state.

        The state is the tokens before, (batch, order − 1), with `NONE` where there is none; None begins a text.
        """
        rows, lengths, state = self._read(tokens, state)
        p = self._probability([row[..., None] for row in rows], lengths[..., None], np.arange(self.vocab_size))
        return _log(p), state

    def costs(
        self, inputs: torch.Tensor, targets: torch.Tensor, state: np.ndarray | None = None
    ) -> tuple[torch.Tensor, np.ndarray]:
        """Return −ln p(target | inputs up to its place) of each target, float64, (batch, time), and the last state."""
        rows, lengths, state = self._read(inputs, state)
        words = self._checked(targets, "targets")
        if words.shape != lengths.shape:
            raise ValueError(f"targets have shape {words.shape} and inputs {lengths.shape}; they must agree")
        return -_log(self._probability(rows, lengths, words)), state

    def find(self, k: int, context: np.ndarray, word: np.ndarray) -> np.ndarray:
        """Return the rows of k-grams, with `NONE` for those that were never seen.

        The context is the rows of their first k − 1 words, 0 if k is 1; the words are their last. The shapes broadcast.
        """
        keys, wanted = self.keys[k - 1], context * self.vocab_size + word
        row = np.searchsorted(keys, wanted)
        row[row == len(keys)] = 0
        return np.where(keys[row] == wanted, row, NONE)  # after an unseen context the key is negative

    def _checked(self, tokens: torch.Tensor, name: str = "tokens", least: int = 0) -> np.ndarray:
        """Return checked tokens as an array; with `NONE` as the least, a state's."""
        tokens = symbol_numbers(tokens, name=name, empty=least == NONE)
        check_range(tokens, self.vocab_size, name, least=least)
        return tokens.numpy()

    def _read(self, tokens: torch.Tensor, state: np.ndarray | None) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        """Return the rows of each token's contexts, the length of its past, and the last state.

        The rows are those of the contexts of length 0 … order − 1 that end at a token, (batch, time) each. They are
        meaningful where the past is that long.
        """
        tokens, past = self._checked(tokens), self.order - 1
        if state is None:
            state = np.full((len(tokens), past), NONE)
        state = self._checked(state, "the symbols of the state", NONE)
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
        """Return the probabilities of words after contexts, both as from `_read`; the shapes broadcast."""
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
    """Return ln p, minus infinity for the zero probabilities of maximum likelihood."""
    with np.errstate(divide="ignore"):
        return torch.from_numpy(np.log(p))


class AddK(NGram):
    """Pretend that every word was seen k more times after every context (:eq:`eq-add-k`).

        p(w | context) = (count(context w) + k) / (count(context ·) + k V)

    After a context that was never seen, all words are equally likely. With k = 1 it is Laplace's rule.

    >>> model = AddK(Counts([0, 1, 0, 1, 2], vocab_size=3, order=2), k=1)
    >>> logits, _ = model(torch.tensor([[0]]))
    >>> [round(p, 3) for p in logits[0, -1].exp().tolist()]  # 0 was followed twice by 1, and by nothing else
    [0.2, 0.6, 0.2]
    """

    interpolates = False

    def __init__(self, counts: Counts, order: int | None = None, *, k: float = 1.0):
        if not 0 <= k < np.inf:
            raise ValueError(f"k is {k}; it must be 0 or more, and finite")
        self.k = k
        super().__init__(counts, order)

    def _estimate(self, level: Level, k: int, contexts: int) -> tuple[np.ndarray, np.ndarray]:
        total = np.bincount(level.parent, weights=level.count, minlength=contexts)
        added = self.k * self.vocab_size
        with np.errstate(invalid="ignore"):
            rest = np.where(total + added > 0, added / (total + added), 1.0)
        return level.count / (total + added)[level.parent], rest


class MaximumLikelihood(AddK):
    """Predict words in the proportions in which they were seen (:eq:`eq-maximum-likelihood`).

        p(w | context) = count(context w) / count(context ·)

    A word never seen after a context has probability 0 there, and costs infinitely many nats.

    >>> model = MaximumLikelihood(Counts([0, 1, 0, 1, 2], vocab_size=3, order=2))
    >>> costs, _ = model.costs(torch.tensor([[0, 1, 1]]), torch.tensor([[1, 0, 1]]))
    >>> [round(inverse, 4) for inverse in costs[0].exp().tolist()]  # 1/p
    [1.0, 2.0, inf]
    """

    def __init__(self, counts: Counts, order: int | None = None):
        super().__init__(counts, order, k=0.0)


class KneserNey(NGram):
    """Interpolated Kneser–Ney with one discount an order (:eq:`eq-kneser-ney`; Kneser & Ney 1995).

        p(w | context) = max(c − D, 0) / Σ c + D · types(context) / Σ c · p(w | shorter context)

    At the highest order c is a count; at lower orders it is the number of different words that the k-gram followed. The
    lowest order is interpolated with the uniform distribution, so that nothing is impossible. By default the discount
    is D = n₁ / (n₁ + 2 n₂), where n₁ and n₂ are the numbers of k-grams with c = 1 and c = 2 (Ney et al. 1994).

    Args:
        counts, order: as for `NGram`.
        discount: D for every order, or one for each, the lowest first; None estimates them.

    Attributes:
        discounts: for each order the discounts of c = 1, c = 2 and c ≥ 3, (order, 3).

    >>> model = KneserNey(Counts([0, 1, 0, 1, 2], vocab_size=3, order=2), discount=0.5)
    >>> logits, _ = model(torch.tensor([[0]]))
    >>> [round(p, 4) for p in logits[0, -1].exp().tolist()]  # 1.5 / 2 for the pair 01; 0.5 / 2 is shared out
    [0.125, 0.8125, 0.0625]
    """

    def __init__(self, counts: Counts, order: int | None = None, *, discount: float | Sequence[float] | None = None):
        levels = counts.order if order is None else order
        self._given = discount if discount is None else np.array(np.broadcast_to(discount, levels), dtype=float)
        if discount is not None and not ((self._given >= 0) & (self._given <= 1)).all():
            raise ValueError(f"discount is {discount}; give a number from 0 to 1, or {levels} of them")
        self.discounts = np.zeros((levels, 3))
        super().__init__(counts, order)

    def _estimate(self, level: Level, k: int, contexts: int) -> tuple[np.ndarray, np.ndarray]:
        c = level.count if k == self.order else level.left
        n = np.bincount(c.clip(max=5), minlength=6)
        self.discounts[k - 1] = self._discount(n) if self._given is None else self._given[k - 1]
        taken = np.array([0.0, *self.discounts[k - 1]])[c.clip(max=3)]
        total = np.bincount(level.parent, weights=c, minlength=contexts)
        rest = np.bincount(level.parent, weights=taken, minlength=contexts)
        with np.errstate(invalid="ignore"):
            return (c - taken) / total[level.parent], np.where(total > 0, rest / total, 1.0)

    def _discount(self, n: np.ndarray) -> tuple[float, float, float]:
        """Return the discounts of c = 1, c = 2 and c ≥ 3, given how many k-grams have c = 0 … 4."""
        if n[1] == 0 or n[2] == 0:
            return (FALLBACK[0],) * 3
        return (n[1] / (n[1] + 2 * n[2]),) * 3


class ModifiedKneserNey(KneserNey):
    """Interpolated Kneser–Ney with three discounts an order (exercise 1.6; Chen & Goodman 1999).

        Y = n₁ / (n₁ + 2 n₂),   D₁ = 1 − 2 Y n₂/n₁,   D₂ = 2 − 3 Y n₃/n₂,   D₃₊ = 3 − 4 Y n₄/n₃

    Here n₁ … n₄ are the numbers of k-grams with c = 1 … 4. Where they do not give discounts between 0 and c, the
    discounts are 0.5, 1 and 1.5.

    >>> tokens = np.random.default_rng(0).geometric(0.3, size=2000) % 9
    >>> d_1, d_2, d_3 = ModifiedKneserNey(Counts(tokens, vocab_size=9, order=3)).discounts[-1]
    >>> bool(0 < d_1 < d_2 < d_3 < 3)
    True
    """

    def __init__(self, counts: Counts, order: int | None = None):
        super().__init__(counts, order)

    def _discount(self, n: np.ndarray) -> tuple[float, float, float]:
        if (n[1:5] == 0).any():
            return FALLBACK
        y = n[1] / (n[1] + 2 * n[2])
        discounts = tuple(c - (c + 1) * y * n[c + 1] / n[c] for c in (1, 2, 3))
        return discounts if all(0 < d < c for c, d in enumerate(discounts, start=1)) else FALLBACK
