"""Language models that count (chapter 1).

`counts` finds the n-grams of every order in one sort; `models` turns them into probabilities: maximum likelihood,
additive smoothing, Kneser–Ney and its modified form.
"""

from unrolled.ngram.counts import Counts
from unrolled.ngram.models import AddK, KneserNey, MaximumLikelihood, ModifiedKneserNey, NGram

__all__ = ["AddK", "Counts", "KneserNey", "MaximumLikelihood", "ModifiedKneserNey", "NGram"]
