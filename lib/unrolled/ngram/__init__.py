"""Models that count: language models (chapter 1), taggers (chapter 10) and letters to phonemes (chapter 11).

`counts` finds the n-grams of every order in one sort; `models` turns them into probabilities: maximum likelihood,
additive smoothing, Kneser–Ney and its modified form. `tagging` gives words their tags, and `graphones` words their
phonemes.
"""

from unrolled.ngram.counts import Counts, Level
from unrolled.ngram.graphones import JointSequence
from unrolled.ngram.models import AddK, KneserNey, MaximumLikelihood, ModifiedKneserNey, NGram
from unrolled.ngram.tagging import HiddenMarkovTagger, MostFrequentTag

__all__ = [
    "AddK",
    "Counts",
    "HiddenMarkovTagger",
    "JointSequence",
    "KneserNey",
    "Level",
    "MaximumLikelihood",
    "ModifiedKneserNey",
    "MostFrequentTag",
    "NGram",
]
