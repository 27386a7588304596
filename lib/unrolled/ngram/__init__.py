"""Models that count: language models (chapter 1) and taggers (chapter 10).

`counts` finds the n-grams of every order in one sort; `models` turns them into probabilities: maximum likelihood,
additive smoothing, Kneser–Ney and its modified form. `tagging` gives words their tags.
"""

from unrolled.ngram.counts import Counts
from unrolled.ngram.models import AddK, KneserNey, MaximumLikelihood, ModifiedKneserNey, NGram
from unrolled.ngram.tagging import HiddenMarkovTagger, MostFrequentTag

__all__ = ["AddK", "Counts", "HiddenMarkovTagger", "KneserNey"]
__all__ += ["MaximumLikelihood", "ModifiedKneserNey", "MostFrequentTag", "NGram"]
