"""What each prediction depends on, of models of which one knows it."""

import torch

from unrolled import ngram
from unrolled.measure import symbol_influence
from unrolled.models import FixedWindowLM, LanguageModel
from unrolled.ngram import Counts

V = 5


def test_each_model_is_seen_to_look_back_as_far_as_it_does():
    torch.manual_seed(0)
    tokens = torch.randint(V, (12,))
    trigrams = ngram.KneserNey(Counts(torch.randint(V, (300,)), V, 3))  # of two symbols it tells the third
    window, gru = FixedWindowLM(V, window=3).double(), LanguageModel(V, hidden_size=8, core="gru").double()
    for symbols, model in ((2, trigrams), (3, window), (12, gru)):
        expected = torch.ones(12, 12).tril().triu(1 - symbols).bool()
        assert torch.equal(symbol_influence(model, tokens) > 1e-9, expected)
    ahead = symbol_influence(lambda tokens: window(tokens.roll(-1, 1)), tokens) > 1e-9  # reads what it is to predict
    assert ahead.triu(1).diagonal(1).all()


def test_a_change_of_a_table_is_the_tables():
    table = torch.tensor([[0.5, 0.25, 0.25], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1]], dtype=torch.float64).log()
    measured = symbol_influence(lambda tokens: (table[tokens] + 7, None), torch.tensor([0, 2, 1]))
    expected = [(table[0] - table[1]).abs().max(), (table[2] - table[0]).abs().max(), (table[1] - table[2]).abs().max()]
    assert torch.allclose(measured, torch.stack(expected).diag())


def test_the_model_is_evaluated_and_its_mode_restored():
    model, tokens = LanguageModel(V, hidden_size=8, dropout=0.9).double(), torch.randint(V, (6,))
    assert torch.equal(symbol_influence(model, tokens), symbol_influence(model.eval(), tokens)) and not model.training
    symbol_influence(model.train(), tokens)
    assert model.training
