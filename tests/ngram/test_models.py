"""Counting models: sums to one, against definitions, dictionaries, NLTK and KenLM."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ngram_oracles import DictionaryKneserNey, arpa, word
from unrolled import ngram
from unrolled.measure import evaluate
from unrolled.ngram import Counts
from unrolled.text import Vocabulary, WordVocabulary, corpora, stories

TEXT = stories.corpus(60_000, seed=3).text
CHARACTERS = Vocabulary(TEXT)
WORDS = WordVocabulary(stories.words(TEXT), size=300)  # some are unknown, and some of these are not counted below
TOKENS = {"characters": CHARACTERS.encode(TEXT).numpy(), "words": WORDS.encode(stories.words(TEXT)).numpy()}
V = len(CHARACTERS)
MODELS = {
    "maximum likelihood": ngram.MaximumLikelihood,
    "add-k": lambda counts, order=None: ngram.AddK(counts, order, k=0.1),
    "Kneser–Ney": ngram.KneserNey,
    "one discount of 0.75": lambda counts, order=None: ngram.KneserNey(counts, order, discount=0.75),
    "modified Kneser–Ney": ngram.ModifiedKneserNey,
}
SMALL = Counts(np.array([0, 1, 2, 1]), 3, 2)


def naive_counts(tokens, k):
    return Counter(tuple(tokens[at : at + k]) for at in range(len(tokens) - k + 1))


def grams(counts, k):
    """Return the k-grams of a level, in its order, as tuples."""
    level = counts.levels[k - 1]
    shorter = grams(counts, k - 1) if k > 1 else [()]
    return [(*shorter[p], w) for p, w in zip(level.parent.tolist(), level.word.tolist(), strict=True)]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(1, 6))
@settings(max_examples=200, deadline=None)
def test_counts_are_those_of_a_dictionary(tokens, order):
    order = min(order, len(tokens))
    counts = Counts(np.array(tokens), 5, order)
    for k, level in enumerate(counts.levels, start=1):
        distinct = grams(counts, k)
        assert distinct == sorted(distinct)
        assert dict(zip(distinct, level.count.tolist(), strict=True)) == naive_counts(tokens, k)
        if k < order:
            left = Counter(gram[1:] for gram in naive_counts(tokens, k + 1))
            left[tuple(tokens[:k])] += 1
            assert dict(zip(distinct, level.left.tolist(), strict=True)) == left


@pytest.mark.parametrize("vocab_size", [33_000, 70_000])
def test_symbols_that_do_not_fit_one_number_are_sorted_too(vocab_size):
    """Of 33,000 words four fit into 63 bits, of 70,000 three; the order of the rest must come from a second key."""
    rng, apart = np.random.default_rng(0), vocab_size // 5
    few = rng.integers(0, 5, 400)
    small, large = Counts(few, 5, 9), Counts(few * apart, vocab_size, 9)
    for a, b in zip(small.levels, large.levels, strict=True):
        assert np.array_equal(a.parent, b.parent)
        assert np.array_equal(a.word * apart, b.word) and np.array_equal(a.left, b.left)


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("kind", TOKENS)
def test_every_distribution_sums_to_one(make, kind):
    """Contexts from the text, contexts of random symbols, and contexts cut short by the beginning of a text."""
    tokens, rng = TOKENS[kind], np.random.default_rng(1)
    contexts, orders = (1000, (1, 2, 3, 6)) if kind == "characters" else (150, (1, 3))
    vocab_size = V if kind == "characters" else len(WORDS)
    counts = Counts(tokens, vocab_size, max(orders))
    for order in orders:
        model, length = make(counts, order), order + 1
        places = rng.integers(0, len(tokens) - length, contexts)
        seen = tokens[places[:, None] + np.arange(length)]
        unseen = rng.integers(0, vocab_size, (contexts, length))
        p = torch.exp(model(np.concatenate([seen, unseen]))[0])  # every place of a row is a context
        assert p.shape == (2 * contexts, length, vocab_size) and (p >= 0).all()
        assert (p.sum(dim=2) - 1).abs().max() < 1e-9
    ended = make(Counts(np.array([0, 1, 0, 2]), 3, 2))(np.array([[2]]))[0]  # after what only ends the text
    assert torch.exp(ended).sum().item() == pytest.approx(1)


@pytest.mark.parametrize("order", [1, 2, 4, 6])
def test_kneser_ney_equals_its_dictionary_version(order):
    tokens, held_out = TOKENS["characters"][:3000], TOKENS["characters"][30_000:30_150].tolist()
    model = ngram.KneserNey(Counts(tokens, V, 6), order)  # one count of order 6 gives the models of every order
    slow = DictionaryKneserNey(tokens.tolist(), V, order)
    costs, _ = model.costs(np.array([held_out[:-1]]), np.array([held_out[1:]]))
    pasts = (tuple(held_out[max(0, at - order + 1) : at]) for at in range(1, len(held_out)))
    expected = [slow.probability(past, token) for past, token in zip(pasts, held_out[1:], strict=True)]
    assert costs[0].neg().exp().tolist() == pytest.approx(expected, abs=1e-12)


def test_maximum_likelihood_and_add_k_are_their_formulas():
    tokens = TOKENS["characters"][:5000]
    counts, pairs, triples = Counts(tokens, V, 3), naive_counts(tokens[:-1], 2), naive_counts(tokens, 3)
    likelihood, added = ngram.MaximumLikelihood(counts), ngram.AddK(counts, k=0.5)
    for (a, b, c), count in itertools.islice(triples.items(), 0, None, 7):
        context = torch.tensor([[a, b]])
        assert math.exp(likelihood(context)[0][0, 1, c]) == pytest.approx(count / pairs[a, b])
        assert math.exp(added(context)[0][0, 1, c]) == pytest.approx((count + 0.5) / (pairs[a, b] + 0.5 * V))
    a, b = next(pair for pair in itertools.product(range(V), repeat=2) if pair not in pairs)
    for model in (likelihood, added):  # a context that was never seen
        assert torch.allclose(model(torch.tensor([[a, b]]))[0][0, 1].exp(), torch.tensor(1 / V, dtype=torch.float64))
    unseen = next(c for c in range(V) if (*tokens[:2].tolist(), c) not in triples)
    assert likelihood(tokens[None, :2])[0][0, 1, unseen] == -math.inf


def test_the_size_of_a_model_is_that_of_its_tables():
    tokens = TOKENS["characters"][:2000]
    sizes = [len(naive_counts(tokens, k)) for k in (1, 2, 3)]
    assert ngram.KneserNey(Counts(tokens, V, 3)).nbytes == 8 * (2 * sum(sizes) + 1 + sum(sizes[:2]))


def test_modified_discounts_are_chen_and_goodmans():
    tokens = TOKENS["characters"]
    model = ngram.ModifiedKneserNey(Counts(tokens, V, 4))
    followed = Counter(gram[1:] for gram in naive_counts(tokens, 4))
    followed[tuple(tokens[:3])] += 1  # nothing stands before the text's first 3-gram
    for k, of in ((3, followed), (4, naive_counts(tokens, 4))):
        n = Counter(of.values())
        y = n[1] / (n[1] + 2 * n[2])
        expected = [1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3]]
        assert model.discounts[k - 1] == pytest.approx(expected)


def test_too_few_counts_fall_back_to_fixed_discounts():
    counts = Counts(np.arange(30) % 3, 3, 2)
    assert ngram.KneserNey(counts).discounts.tolist() == [[0.5] * 3] * 2
    assert ngram.ModifiedKneserNey(counts).discounts.tolist() == [[0.5, 1.0, 1.5]] * 2
    once = Counts(np.arange(30), 30, 2)  # n₂ = 0: all would be discounted
    assert ngram.KneserNey(once).discounts.tolist() == [[0.5] * 3] * 2
    uneven = Counts(np.arange(22).repeat([1] * 10 + [2] + [3] * 10 + [4]), 22, 1)  # D₂ would be below 0
    assert ngram.ModifiedKneserNey(uneven).discounts.tolist() == [[0.5, 1.0, 1.5]]


def test_equal_to_nltk_where_the_definitions_agree():
    """NLTK has one discount for all orders and takes none at the lowest; and where a text begins it needs a mark."""
    from nltk.lm import KneserNeyInterpolated
    from nltk.util import everygrams

    text, discount, rng = TEXT[:2500], 0.3, np.random.default_rng(0)
    symbols, tokens = Vocabulary(text), Vocabulary(text).encode(text).numpy()
    for order in (2, 3, 4):
        marked = ["<s>", *text]
        theirs = KneserNeyInterpolated(order, discount=discount)
        theirs.fit([list(everygrams(marked, max_len=order))], marked)
        ours = ngram.KneserNey(Counts(tokens, len(symbols), order), discount=[0.0] + [discount] * (order - 1))
        for number in range(60):  # contexts of the text, and made-up ones
            at = int(rng.integers(order, len(tokens)))
            context = tokens[at - order + 1 : at] if number % 2 else rng.integers(0, len(symbols), order - 1)
            token = tokens[at] if number % 3 else rng.integers(0, len(symbols))
            expected = theirs.score(symbols.symbols[token], [symbols.symbols[c] for c in context])
            assert math.exp(ours(context[None])[0][0, -1, token]) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("order", [2, 3, 4, 5, 6])  # KenLM reads no unigram models
@pytest.mark.parametrize("make", [ngram.KneserNey, ngram.ModifiedKneserNey])
@pytest.mark.parametrize("kind", TOKENS)
def test_an_arpa_file_scores_the_same_in_kenlm(tmp_path, order, make, kind):
    kenlm = pytest.importorskip("kenlm", reason="kenlm is not installed: pip install kenlm, with a C++ compiler")
    vocabulary, tokens = CHARACTERS if kind == "characters" else WORDS, TOKENS[kind]
    cut = len(tokens) * 2 // 3
    model, held_out = make(Counts(tokens[:cut], len(vocabulary), order)), tokens[cut : cut + 3000]
    (tmp_path / "model.arpa").write_text(arpa(model, vocabulary.symbols), encoding="utf8")
    theirs = kenlm.Model(str(tmp_path / "model.arpa"))
    sentence = " ".join(word(vocabulary.symbols[token]) for token in held_out)
    logs = [log for log, *_ in theirs.full_scores(sentence, bos=False, eos=False)]
    ours = -model.costs(held_out[None, :-1], held_out[None, 1:])[0][0] / math.log(10)
    assert np.abs(np.array(logs[1:]) - ours.numpy()).max() < 1e-4


def test_reading_in_pieces_equals_reading_at_once():
    tokens = CHARACTERS.encode(TEXT[:400]).view(4, 100)
    for order in (1, 2, 5):
        model = ngram.KneserNey(Counts(TOKENS["characters"], V, 5), order)
        whole, last = model(tokens)
        first, state = model(tokens[:, :2])
        second, end = model(tokens[:, 2:], state)
        assert torch.equal(torch.cat([first, second], dim=1), whole) and np.array_equal(end, last)
        costs, _ = model.costs(tokens[:, :-1], tokens[:, 1:])
        assert torch.equal(-costs, whole[:, :-1].gather(2, tokens[:, 1:, None])[..., 0])


@pytest.mark.parametrize(("order", "nats"), [(5, 1.579), (6, 1.558), (7, 1.565)])
def test_tiny_shakespeare_costs_what_others_found(order, nats):
    try:
        corpus = corpora.load_corpus("tiny-shakespeare")
    except corpora.CorpusError as error:
        if "cannot download" not in str(error):
            raise
        pytest.skip(f"no network and no mirror: {error}")
    vocabulary = Vocabulary(corpus.train + corpus.validation)
    counts = Counts(vocabulary.encode(corpus.train), len(vocabulary), order)
    model, held_out = ngram.KneserNey(counts), vocabulary.encode(corpus.validation)
    assert evaluate(model, held_out).nats_per_symbol == pytest.approx(nats, abs=0.01)
    assert evaluate(ngram.ModifiedKneserNey(counts), held_out).nats_per_symbol < nats


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: Counts([0, 1, 2], 3, 4), "order is 4; it must be from 1 to the length of the text, 3"),
        (lambda: Counts([0, 1, 2], 2, 2), "tokens run from 0 to 2; symbols are numbered 0 to 1"),
        (lambda: Counts([[0, 1], [1, 0]], 3, 2), r"tokens have shape \(2, 2\); one axis"),
        (lambda: Counts([0, 1.7, 2], 3, 2), "symbol numbers are integers"),
        (lambda: ngram.KneserNey(SMALL, 3), "order is 3; it must be from 1 to 2"),
        (lambda: ngram.KneserNey(SMALL, discount=1.5), "discount is 1.5; give a number from 0 to 1, or 2 of them"),
        (lambda: ngram.AddK(SMALL, k=-1), "k is -1; it must be 0 or more, and finite"),
        (lambda: ngram.AddK(SMALL, k=math.nan), "k is nan"),
        (lambda: ngram.KneserNey(SMALL).costs(np.array([[0]]), np.array([[3]])), "targets run from 3 to 3; symbols"),
        (lambda: ngram.KneserNey(SMALL).costs([[0, 1]], [[0]]), r"targets have shape \(1, 1\) and inputs \(1, 2\)"),
        (lambda: ngram.KneserNey(SMALL)(np.array([[0]]), np.zeros((1, 3), int)), r"state has shape \(1, 3\); \(1, 1\)"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
