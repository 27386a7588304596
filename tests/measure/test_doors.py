"""What a reader might hand over by mistake, and what would be silent and wrong, is refused in one line."""

import math

import numpy as np
import pytest
import torch

from reader import Reader
from unrolled.cells import GRUCell, RNNCell
from unrolled.measure import (
    comparison,
    evaluate,
    gradients,
    neurons,
    probes,
    recall_by_lag,
    token_nats,
)
from unrolled.measure.memory import pass_through
from unrolled.models import LanguageModel
from unrolled.ngram import Counts, KneserNey
from unrolled.text import Vocabulary, stories

TEXT = torch.arange(5)
NETWORK, COUNTING = LanguageModel(9), KneserNey(Counts(TEXT, 9, 2))
CELL, INPUTS = RNNCell(4, 5), torch.zeros(2, 6, 4)
CORPUS = stories.corpus(10_000)
VOCABULARY = Vocabulary(CORPUS.text)
PREDICTED = torch.zeros(len(CORPUS.text), len(VOCABULARY))
STATES, LABELS = torch.zeros(4, 2), torch.arange(4)
UNITS = np.full((9000, 3), np.nan)


def recalled(predicted, kind):
    return recall_by_lag(Reader(predicted), VOCABULARY, CORPUS, kind, [0, 1000])


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: evaluate(NETWORK, torch.tensor([1])), "there are 0 tokens to score"),
        (lambda: evaluate(NETWORK, torch.arange(12)), "tokens run from 0 to 11; .* 0 to 8"),
        (lambda: evaluate(COUNTING, -TEXT), "tokens run from -4 to 0; .* 0 to 8"),
        (lambda: token_nats(NETWORK, TEXT, instead=TEXT[1:]), "there are 4 tokens to score and 3 instead"),
        (lambda: comparison.over_seeds([1.0], [2.0]), r"shapes are \(1,\) and \(1,\); .*with 2 seeds or more"),
        (lambda: comparison.over_seeds([1.0, 2.0, 3.0], [2.0]), r"shapes are \(3,\) and \(1,\)"),
        (lambda: comparison.over_seeds([0.5, math.nan], [0.6, 0.7]), "a score is nan; leave a training"),
        (lambda: comparison.over_stories([1, 2], [[2, math.inf]], [3, 4]), "a score is inf"),
        (lambda: comparison.over_stories([1, 2, 3], [2], [1, 1, 1]), r"shapes are \(1, 3\), \(1, 1\) and \(3,\) for"),
        (lambda: comparison.t_quantile(95, 4), "confidence is 95; it must be between 0 and 1"),
        (lambda: gradients.gradient_by_lag(CELL, INPUTS, torch.sum), r"the loss has shape \(\); .*expected, \(2,\)"),
        (lambda: gradients.gradient_by_lag(GRUCell(4, 5), INPUTS, torch.sum, part="c"), "part is 'c'; .*GRUCell has h"),
        (lambda: gradients.lag_of(np.ones(3), 1), "share is 1; it lies between 0 and what is left at lag 0"),
        (lambda: gradients.lag_of(np.array([[1.0, 0.2], [1.0, math.nan]])), "no lag has NaN left"),
        (lambda: recalled(PREDICTED, "planet"), "kind is 'planet', which this corpus never recalls; it recalls animal"),
        (lambda: recalled(math.nan * PREDICTED, "name"), "some of the model's costs are not numbers; train it again"),
        (lambda: neurons.correlations(UNITS, np.arange(9000.0)), "the units have values that are not finite"),
        (lambda: probes.linear_probe(STATES, LABELS, STATES, LABELS[:1]), r"4 states have labels of shape \(1,\)"),
        (lambda: probes.linear_probe(STATES, LABELS - 100, STATES, LABELS), "the least -100; each .* a label from 0"),
        (lambda: probes.linear_probe(STATES, LABELS, math.nan * STATES, LABELS), "each state is finite"),
        (lambda: pass_through(CELL, INPUTS, "whole"), "way is 'whole', and the inputs do not need a gradient"),
        (lambda: pass_through(CELL, INPUTS.clone().requires_grad_(), "halved"), "way is 'halved'.* one of .'whole'"),
    ],
)
def test_a_mistake_is_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()
