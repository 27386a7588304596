"""Recall: an oracle is always right, a reader without memory half of the time."""

import numpy as np
import pytest
import torch
from torch import nn

from reader import Reader
from unrolled.measure import recall_by_lag
from unrolled.text import Vocabulary, stories

CORPUS = stories.corpus(100_000, seed=5)
VOCABULARY = Vocabulary(CORPUS.text)
EDGES = [0, 100, 300, 2000]


def test_an_oracle_is_always_right_and_its_opposite_never():
    truth = nn.functional.one_hot(VOCABULARY.encode(CORPUS.text), len(VOCABULARY)).float()
    for kind in ("name", "pronoun", "place"):
        for sign, expected in ((1, 1.0), (-1, 0.0)):
            shares, counts = recall_by_lag(Reader(sign * truth), VOCABULARY, CORPUS, kind, EDGES)
            assert counts.sum() > 100 and np.allclose(shares[counts > 0], expected)


def test_without_memory_half_of_the_answers_are_right():
    torch.manual_seed(0)
    same = torch.randn(len(VOCABULARY)).expand(len(CORPUS.text), -1)  # prefers some letters, always the same
    tied = torch.zeros(len(CORPUS.text), len(VOCABULARY))
    for kind in ("name", "pronoun"):
        shares, counts = recall_by_lag(Reader(same), VOCABULARY, CORPUS, kind, [0, 5000])
        assert abs(shares[0] - 0.5) < 4 * 0.5 / np.sqrt(counts[0])
        assert recall_by_lag(Reader(tied), VOCABULARY, CORPUS, kind, [0, 5000])[0] == 0.5


def test_an_empty_bin_is_nan_and_an_unknown_kind_is_named():
    indifferent = Reader(torch.zeros(len(CORPUS.text), len(VOCABULARY)))
    shares, counts = recall_by_lag(indifferent, VOCABULARY, CORPUS, "name", [0, 1])
    assert counts[0] == 0 and np.isnan(shares[0])
    with pytest.raises(ValueError, match="kind is 'planet', which this corpus never recalls; it recalls animal"):
        recall_by_lag(Reader(torch.zeros(1, 1)), VOCABULARY, CORPUS, "planet", EDGES)


def test_a_model_that_predicts_no_numbers_is_refused():
    nothing = torch.full((len(VOCABULARY),), torch.nan).expand(len(CORPUS.text), -1)
    with pytest.raises(ValueError, match="some of the model's costs are not numbers; train it again"):
        recall_by_lag(Reader(nothing), VOCABULARY, CORPUS, "name", EDGES)
