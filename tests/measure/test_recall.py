"""Recall: an oracle is always right, a reader without memory half of the time."""

import numpy as np
import torch
from torch import nn

from reader import Reader
from unrolled.measure import recall_by_lag
from unrolled.measure.recall import mean_by_lag
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


def test_a_questions_bin_is_that_of_its_lag():
    recalls = [stories.Recall("hero", "name", "Ada", position=lag, lag=lag) for lag in (3, 5, 10, 40, 100)]
    shares, counts = mean_by_lag(np.array([1.0, 0.0, 1.0, 1.0, 0.0]), recalls, [0, 10, 100, 100])
    assert shares[:2].tolist() == [0.5, 1] and np.isnan(shares[2]) and counts.tolist() == [2, 2, 0]
