"""A submission is scored as the library scores, and refused in a sentence where its price is not honest."""

import os

import numpy as np
import pytest
import torch

from unrolled.measure import evaluate, submission
from unrolled.measure.submission import IN_A_ROW, Submission, in_both
from unrolled.models import LanguageModel
from unrolled.ngram import Counts, KneserNey
from unrolled.text import Vocabulary, stories

SYMBOLS = "abc"
RNG = np.random.default_rng(0)
TRAINING, TEST = ("".join(RNG.choice(list(SYMBOLS), size)) for size in (3000, 400))


def recent(text: str) -> np.ndarray:
    """Return what counting the last ten characters says: honest, since it looks only back."""
    rows = [[text[max(0, t - 10) : t].count(symbol) + 1 for symbol in SYMBOLS] for t in range(len(text))]
    return np.array(rows) / np.sum(rows, axis=1, keepdims=True)


def score(predict=recent, training=TRAINING, test=TEST, symbols=SYMBOLS):
    return submission.score(Submission(symbols, training, test, predict))


def test_an_honest_model_pays_what_its_probabilities_say():
    paid = score()
    by_hand = -sum(np.log(row[SYMBOLS.index(symbol)]) for row, symbol in zip(recent(TEST), TEST, strict=True))
    assert paid.nats == pytest.approx(by_hand) and paid.symbols == len(TEST)
    assert score(lambda text: recent(text).tolist()) == paid
    assert score(lambda text: torch.tensor(recent(text), requires_grad=True)) == paid


def test_the_price_is_that_of_the_books_protocol():
    text = stories.corpus(6_000, seed=0).text
    vocabulary = Vocabulary(text)
    training, test = text[:5_000], text[5_000:5_300]
    n_gram = KneserNey(Counts(vocabulary.encode(training), len(vocabulary), 3), discount=0.5)
    torch.manual_seed(0)
    network = LanguageModel(len(vocabulary), hidden_size=8).requires_grad_(False)
    last = vocabulary[training[-1]]
    for model in (n_gram, network):

        def predict(new, model=model):
            tokens = torch.cat([torch.tensor([last]), vocabulary.encode(new)[:-1]])
            return model(tokens[None])[0][0].softmax(dim=-1)

        ours = submission.score(Submission("".join(vocabulary.symbols), training, test, predict))
        right = evaluate(model, vocabulary.encode(test), start=last, streams=1)
        assert ours.nats_per_symbol == pytest.approx(right.nats_per_symbol, rel=1e-5)


def peeking(ahead: int):
    """Return a model that looks so many characters ahead, from the one that it has to predict on."""

    def predict(text):
        given = recent(text)
        for t in range(len(text) - ahead):
            given[t] = 0.5 * given[t] + 0.5 * (np.array(list(SYMBOLS)) == text[t + ahead])
        return given

    return predict


@pytest.mark.parametrize("ahead", [0, 1, 7])
def test_who_looks_ahead_is_refused(ahead):
    with pytest.raises(ValueError, match="a later character changes an earlier price"):
        score(peeking(ahead))


def test_who_reads_backward_too_counts_the_whole_text_or_draws_at_random_is_refused():
    def both_ways(text):
        return (recent(text) + recent(text[::-1])[::-1]) / 2

    def whole(text):
        shares = np.array([text.count(symbol) for symbol in SYMBOLS]) / len(text)
        return np.tile(shares, (len(text), 1))

    def drawn(text):
        return np.random.dirichlet([1, 1, 1], len(text))

    def long_or_short(text):
        return np.tile([0.5, 0.3, 0.2] if len(text) == len(TEST) else [0.4, 0.4, 0.2], (len(text), 1))

    for predict in (both_ways, whole, drawn, long_or_short):
        with pytest.raises(ValueError, match="a later character changes an earlier price"):
            score(predict)


def test_no_call_remembers_what_an_earlier_one_has_read():
    read = []

    def predict(text):
        read.append(text)
        sure = 0.94 * np.array([[symbol == known for symbol in SYMBOLS] for known in read[0]]) + 0.02
        return sure if len(read) > 1 and len(text) == len(read[0]) else recent(text)

    read.append(TEST)
    assert predict(TEST)[0].max() > 0.9
    read.clear()
    assert score(predict) == score() and not read


def test_the_places_are_drawn_anew_and_beginnings_are_read_before_the_whole(tmp_path):
    log, drawn = tmp_path / "log", []

    def predict(text):
        with log.open("a") as file:
            file.write(f"{len(text)}\n")
        return recent(text)

    for _ in range(2):
        log.write_text("")
        score(predict)
        *begun, whole = [int(line) for line in log.read_text().split()][:9]
        assert len(set(begun)) == 8 and max(begun) == whole == len(TEST)
        drawn.append(begun)
    assert drawn[0] != drawn[1]


def test_whoever_peeks_except_at_the_places_of_equal_distance_is_refused():
    spared = [round(part * (len(TEST) - 1) / 8) for part in range(9)]

    def predict(text):
        given, honest = peeking(0)(text), recent(text)
        here = [t for t in spared if t < len(text)]
        given[here] = honest[here]
        return given

    with pytest.raises(ValueError, match="a later character changes an earlier price"):
        score(predict)


def test_an_error_of_the_model_names_its_line_and_the_call():
    def predict(text):
        return {}[text]

    with pytest.raises(RuntimeError, match=r"^predict\('.*line \d+ of test_submission.py: KeyError"):
        score(predict)
    with pytest.raises(RuntimeError, match="ended its process"):
        score(lambda text: os._exit(3))


@pytest.mark.parametrize(
    ("predict", "message"),
    [
        (lambda text: 2 * recent(text), "sum to 2,"),
        (lambda text: np.log(recent(text)), "from 0 on that sum to 1"),
        (lambda text: recent(text) * np.nan, "sum to nan"),
        (
            lambda text: recent(text) + [0.1, -0.1, 0] * (np.arange(len(text)) == 5)[:, None] * 9,
            "the least of all is -",
        ),
        (lambda text: recent(text)[:-1], r"returned the shape \(\d+, 3\); right is .* \(\d+, 3\)"),
        (lambda text: np.tile([1, 0, 0], (len(text), 1)), "has the probability 0"),
    ],
)
def test_what_are_no_probabilities_is_refused(predict, message):
    with pytest.raises(ValueError, match=message):
        score(predict)


def test_a_test_that_was_trained_on_is_refused():
    with pytest.raises(ValueError, match="50 characters in a row of the test occur in the training text"):
        score(training=TRAINING + TEST[100 : 100 + IN_A_ROW])
    other = SYMBOLS[SYMBOLS.index(TEST[99]) - 1]
    assert score(training=TRAINING + other + TEST[100 : 99 + IN_A_ROW]).symbols == len(TEST)


def test_the_first_shared_part_is_named():
    assert in_both(TEST, "x" + TEST[30:100] + "y" + TEST[200:300]) == TEST[30 : 30 + IN_A_ROW]
    assert in_both("ab", "ab") is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"symbols": list(SYMBOLS)}, r"symbols is of type list; right is a string, as ''\.join\(symbols\) makes one"),
        ({"symbols": "abca"}, "symbols has 'a' more than once"),
        ({"symbols": "ab"}, "the test has 'c', which is not among the symbols"),
        ({"test": ""}, "the test is empty"),
    ],
)
def test_what_does_not_fit_together_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        score(**change)
