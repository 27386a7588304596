"""Models for the tests of decoding: every kind of them, a table, and a model that notes what it reads."""

import torch

from unrolled import ngram
from unrolled.models import FixedWindowLM, LanguageModel, TransformerLM
from unrolled.ngram import Counts

KINDS = ["n-gram", "window", "rnn", "lstm", "gru", "torch-lstm", "transformer"]


def writer(kind: str, vocab_size: int = 4, seed: int = 2):
    """Return an untrained model of a kind, with uneven predictions; the torch-lstm has two layers."""
    torch.manual_seed(seed)
    if kind == "n-gram":
        return ngram.KneserNey(Counts(torch.randint(vocab_size, (60,)), vocab_size, 3))
    if kind == "window":
        model = FixedWindowLM(vocab_size, window=3, embedding_size=3, hidden_size=5, hidden_layers=1)
    elif kind == "transformer":
        model = TransformerLM(vocab_size, context=4, hidden_size=4, num_layers=1, num_heads=2).eval()
    else:
        layers = 2 if kind == "torch-lstm" else 1
        model = LanguageModel(vocab_size, embedding_size=3, hidden_size=5, core=kind, num_layers=layers)
    with torch.no_grad():
        for weight in model.double().parameters():
            weight *= 3
    return model


class Table:
    """Predict from the last symbol alone: row i of the table is the distribution of what follows symbol i."""

    def __init__(self, *rows: list[float]):
        self.logits = torch.tensor(rows, dtype=torch.float64).log()

    def __call__(self, tokens, state=None):
        return self.logits[tokens], tokens[:, -1:]


class Noting:
    """Do what a model does, and note the shapes of what it reads."""

    def __init__(self, model):
        self.model, self.read = model, []

    def __call__(self, tokens, state=None):
        self.read.append(tuple(tokens.shape))
        return self.model(tokens, state)
