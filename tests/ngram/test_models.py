"""Counting models: sums to one, against definitions, dictionaries, NLTK and KenLM."""

import itertools
import math
import re
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import arpa
from dictionary_ngram import DictionaryKneserNey
from unrolled import ngram
from unrolled.decoding import sample
from unrolled.measure import evaluate
from unrolled.ngram import Counts
from unrolled.text import Vocabulary, WordVocabulary, corpora, stories

TEXT = stories.corpus(60_000, seed=3).text
CHARACTERS = Vocabulary(TEXT)
WORDS = WordVocabulary(stories.words(TEXT))
MODELS = {
    "maximum likelihood": ngram.MaximumLikelihood,
    "add-k": lambda counts, order=None: ngram.AddK(counts, order, k=0.1),
    "Kneser–Ney": ngram.KneserNey,
    "one discount of 0.75": lambda counts, order=None: ngram.KneserNey(counts, order, discount=0.75),
    "modified Kneser–Ney": ngram.ModifiedKneserNey,
}


def naive_counts(tokens, k):
    return Counter(tuple(tokens[at : at + k]) for at in range(len(tokens) - k + 1))


def grams(counts, k):
    """Return the k-grams of a level, in its order, as tuples."""
    level = counts.levels[k - 1]
    if k == 1:
        return [(word,) for word in level.word.tolist()]
    shorter = grams(counts, k - 1)
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
@pytest.mark.parametrize("kind", ["characters", "words"])
def test_every_distribution_sums_to_one(make, kind):
    """Contexts from the text, contexts of random symbols, and contexts cut short by the beginning of a text."""
    tokens = (CHARACTERS.encode(TEXT) if kind == "characters" else WORDS.encode(stories.words(TEXT))).numpy()
    vocab_size, rng = (len(CHARACTERS) if kind == "characters" else len(WORDS)), np.random.default_rng(1)
    contexts, orders = (2000, (1, 2, 3, 6)) if kind == "characters" else (150, (1, 3))
    counts = Counts(tokens, vocab_size, max(orders))
    for order in orders:
        model, length = make(counts, order), order + 1
        places = rng.integers(0, len(tokens) - length, contexts)
        seen = tokens[places[:, None] + np.arange(length)]
        unseen = rng.integers(0, vocab_size, (contexts, length))
        p = torch.exp(model(np.concatenate([seen, unseen]))[0])  # every place of a row is a context
        assert p.shape == (2 * contexts, length, vocab_size) and (p >= 0).all()
        assert (p.sum(dim=2) - 1).abs().max() < 1e-9


@pytest.mark.parametrize("order", [1, 2, 4, 6])
def test_kneser_ney_equals_its_dictionary_version(order):
    tokens = CHARACTERS.encode(TEXT[:20_000]).numpy()
    held_out = CHARACTERS.encode(TEXT[30_000:32_000])
    model = ngram.KneserNey(Counts(tokens, len(CHARACTERS), 6), order)
    slow = DictionaryKneserNey(tokens.tolist(), len(CHARACTERS), order)
    ours = evaluate(model, held_out, streams=1).nats_per_symbol
    assert ours == pytest.approx(slow.nats(held_out.tolist()), abs=1e-9)


def test_maximum_likelihood_and_add_k_are_their_formulas():
    tokens = CHARACTERS.encode(TEXT[:5000]).numpy()
    counts, V = Counts(tokens, len(CHARACTERS), 3), len(CHARACTERS)
    pairs, triples = naive_counts(tokens[:-1], 2), naive_counts(tokens, 3)
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


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_after_a_context_that_only_ends_the_text_something_is_predicted(make):
    model = make(Counts(np.array([0, 1, 0, 2]), 3, 2))
    assert torch.exp(model(np.array([[2]]))[0]).sum().item() == pytest.approx(1)


def test_the_size_of_a_model_is_that_of_its_tables():
    tokens = CHARACTERS.encode(TEXT[:2000]).numpy()
    sizes = [len(naive_counts(tokens, k)) for k in (1, 2, 3)]
    model = ngram.KneserNey(Counts(tokens, len(CHARACTERS), 3))
    assert model.nbytes == 8 * (2 * sum(sizes) + 1 + sum(sizes[:2]))  # a key and a share each; a rest a context


def test_modified_discounts_are_chen_and_goodmans():
    tokens = CHARACTERS.encode(TEXT).numpy()
    model = ngram.ModifiedKneserNey(Counts(tokens, len(CHARACTERS), 4))
    n = Counter(naive_counts(tokens, 4).values())
    y = n[1] / (n[1] + 2 * n[2])
    expected = [1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3]]
    assert model.discounts[3] == pytest.approx(expected)
    followed = Counter(gram[1:] for gram in naive_counts(tokens, 4))
    followed[tuple(tokens[:3])] += 1  # nothing stands before the text's first 3-gram
    left = Counter(followed.values())
    y = left[1] / (left[1] + 2 * left[2])
    assert model.discounts[2][0] == pytest.approx(1 - 2 * y * left[2] / left[1])


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
        counts = Counts(tokens, len(symbols), order)
        ours = ngram.KneserNey(counts, discount=[0.0] + [discount] * (order - 1))
        for number in range(60):  # contexts of the text, and made-up ones
            at = int(rng.integers(order, len(tokens)))
            context = tokens[at - order + 1 : at] if number % 2 else rng.integers(0, len(symbols), order - 1)
            word = tokens[at] if number % 3 else rng.integers(0, len(symbols))
            p = math.exp(ours(context[None])[0][0, -1, word])
            assert p == pytest.approx(
                theirs.score(symbols.symbols[word], [symbols.symbols[c] for c in context]), abs=1e-9
            )


@pytest.mark.parametrize("order", [2, 3, 4, 5, 6])  # KenLM reads no unigram models
@pytest.mark.parametrize("make", [ngram.KneserNey, ngram.ModifiedKneserNey])
@pytest.mark.parametrize("kind", ["characters", "words"])
def test_an_arpa_file_scores_the_same_in_kenlm(tmp_path, order, make, kind):
    kenlm = pytest.importorskip("kenlm", reason="kenlm is not installed: pip install kenlm, with a C++ compiler")
    vocabulary = CHARACTERS if kind == "characters" else WordVocabulary(stories.words(TEXT), size=300)
    split = str if kind == "characters" else stories.words
    training, held_out = vocabulary.encode(split(TEXT[:40_000])), vocabulary.encode(split(TEXT[45_000:50_000]))
    model = make(Counts(training, len(vocabulary), order))
    arpa.write(model, vocabulary.symbols, tmp_path / "model.arpa")
    theirs = kenlm.Model(str(tmp_path / "model.arpa"))
    sentence = " ".join(arpa.word(vocabulary.symbols[number]) for number in held_out)
    logs = [log for log, *_ in theirs.full_scores(sentence, bos=False, eos=False)]
    ours = -model.costs(held_out[None, :-1], held_out[None, 1:])[0][0] / math.log(10)
    assert np.abs(np.array(logs[1:]) - ours.numpy()).max() < 1e-4


def read_arpa(path):
    """Return (log₁₀ p, log₁₀ of the back-off weight) for each n-gram of a file, and the number of each order."""
    head, *parts, end = path.read_text(encoding="utf8").split("\n\n")
    table, sizes = {}, []
    for part in parts:
        rows = [row.split("\t") for row in part.split("\n")[1:]]
        table |= {tuple(row[1].split(" ")): (float(row[0]), float(row[2]) if len(row) > 2 else 0.0) for row in rows}
        sizes.append(len(rows))
    assert head == "\\data\\\n" + "\n".join(f"ngram {k}={size}" for k, size in enumerate(sizes, start=1))
    assert end == "\\end\\\n"
    return table


def backed_off(table, context, word):
    """Return log₁₀ p as any reader of ARPA files computes it."""
    if (*context, word) in table:
        return table[*context, word][0]
    return table.get(context, (0.0, 0.0))[1] + backed_off(table, context[1:], word)


@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("make", [ngram.KneserNey, ngram.ModifiedKneserNey])
def test_an_arpa_file_holds_what_the_model_computes(tmp_path, order, make):
    words = WordVocabulary(stories.words(TEXT))  # some of them are not in the part that is counted
    counts = Counts(words.encode(stories.words(TEXT[:20_000])), len(words), order)
    model = make(counts)
    arpa.write(model, words.symbols, tmp_path / "model.arpa")
    table, names = read_arpa(tmp_path / "model.arpa"), [arpa.word(symbol) for symbol in words.symbols]
    assert [path.name for path in tmp_path.iterdir()] == ["model.arpa"]
    held_out = words.encode(stories.words(TEXT[40_000:43_000]))
    ours = -model.costs(held_out[None, :-1], held_out[None, 1:])[0][0] / math.log(10)
    read = [names[number] for number in held_out.tolist()]
    theirs = [backed_off(table, tuple(read[max(0, at - order + 1) : at]), read[at]) for at in range(1, len(read))]
    assert np.allclose(ours, theirs, atol=1e-6)


def test_an_arpa_file_has_no_infinite_logarithm(tmp_path):
    model = ngram.KneserNey(Counts(np.array([0, 1, 0, 1, 2]), 4, 2), discount=0)
    arpa.write(model, "abcd", tmp_path / "model.arpa")
    table = read_arpa(tmp_path / "model.arpa")
    assert table["d",] == (-99, 0) and table["a",][1] == -99 and np.isfinite(list(table.values())).all()


def test_arpa_names_are_distinct_and_free_of_spaces(tmp_path):
    symbols = [" ", "\n", "\t", "\\", "\\u20;", "u", "\u2028", "a b", "a\\b"]
    names = [arpa.word(symbol) for symbol in symbols]
    assert len(set(names)) == len(names) and not any(c.isspace() for name in names for c in name)
    model = ngram.KneserNey(Counts(np.array([0, 1, 0]), 2, 1))
    with pytest.raises(ValueError, match="there are 3 symbols, and the model numbers 2"):
        arpa.write(model, "abc", tmp_path / "x.arpa")
    with pytest.raises(ValueError, match="'</s>' cannot be a word of an ARPA file"):
        arpa.write(model, ["a", "</s>"], tmp_path / "x.arpa")
    assert not list(tmp_path.iterdir())


def test_reading_in_pieces_equals_reading_at_once():
    tokens = CHARACTERS.encode(TEXT[:400]).view(4, 100)
    for order in (1, 2, 5):
        model = ngram.KneserNey(Counts(CHARACTERS.encode(TEXT), len(CHARACTERS), 5), order)
        whole, last = model(tokens)
        first, state = model(tokens[:, :2])
        second, end = model(tokens[:, 2:], state)
        assert torch.equal(torch.cat([first, second], dim=1), whole) and np.array_equal(end, last)
        costs, _ = model.costs(tokens[:, :-1], tokens[:, 1:])
        assert torch.equal(-costs, whole[:, :-1].gather(2, tokens[:, 1:, None])[..., 0])


def test_a_share_of_the_counts_is_the_model_of_that_order():
    """One count of order 6 gives the same models as counts of each order."""
    tokens = CHARACTERS.encode(TEXT)
    counts = Counts(tokens, len(CHARACTERS), 6)
    for order in (1, 3, 5):
        a = ngram.ModifiedKneserNey(counts, order)
        b = ngram.ModifiedKneserNey(Counts(tokens, len(CHARACTERS), order))
        assert all(np.array_equal(x, y) for x, y in zip(a.share, b.share, strict=True))
        assert all(np.array_equal(x, y) for x, y in zip(a.rest, b.rest, strict=True))


def test_samples_follow_the_model():
    model = ngram.KneserNey(Counts(CHARACTERS.encode(TEXT), len(CHARACTERS), 4))
    text = sample(model, CHARACTERS, prompt="Once", length=3000, seed=1)
    drawn = evaluate(model, CHARACTERS.encode(text), streams=1)
    logs = model(CHARACTERS.encode(text)[None])[0][0]
    entropy = -(logs.exp() * logs).sum(dim=1).mean().item()
    assert drawn.nats_per_symbol == pytest.approx(entropy, abs=0.1)
    words = WordVocabulary(stories.words(TEXT))
    writer = ngram.KneserNey(Counts(words.encode(stories.words(TEXT)), len(words), 3))
    written = sample(writer, words, prompt=["Once", "upon"], length=20)
    assert written[:3] == ["Once", "upon", "a"] and len(written) == 22


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


def test_bad_input_is_named():
    tokens = np.array([0, 1, 2, 1])
    with pytest.raises(ValueError, match="order is 5; it must be from 1 to the length of the text, 4"):
        Counts(tokens, 3, 5)
    with pytest.raises(ValueError, match="tokens run from 0 to 2; symbols are numbered 0 to 1"):
        Counts(tokens, 2, 2)
    with pytest.raises(ValueError, match=r"tokens have shape \(2, 2\); one axis"):
        Counts(tokens.reshape(2, 2), 3, 2)
    counts = Counts(tokens, 3, 2)
    with pytest.raises(ValueError, match="order is 3; it must be from 1 to 2"):
        ngram.KneserNey(counts, 3)
    with pytest.raises(ValueError, match="discount is 1.5; give a number from 0 to 1, or 2 of them"):
        ngram.KneserNey(counts, discount=1.5)
    with pytest.raises(ValueError, match="k is -1"):
        ngram.AddK(counts, k=-1)
    with pytest.raises(NotImplementedError, match="use MaximumLikelihood, AddK or KneserNey"):
        ngram.NGram(counts)
    model = ngram.KneserNey(counts)
    with pytest.raises(ValueError, match="targets run from 3 to 3; symbols are numbered 0 to 2"):
        model.costs(np.array([[0]]), np.array([[3]]))
    with pytest.raises(ValueError, match=r"state has shape \(1, 3\); \(1, 1\) is expected"):
        model(tokens[None], np.zeros((1, 3), dtype=int))
    assert "orders 1 to 2 over 3 symbols: 3, 3 different n-grams" in repr(counts)
    with pytest.raises(ValueError, match="vocab_size is 2.5; it must be a whole number"):
        Counts(tokens, 2.5, 2)
    for wrong in (np.array([0, 1.7, 2]), np.array([0, np.nan]), [True, False]):
        with pytest.raises(ValueError, match="symbol numbers are integers"):
            Counts(wrong, 3, 2)
    for k in (math.nan, math.inf, 1e308):
        with pytest.raises(ValueError, match=re.escape(f"k is {k}; it must be 0 or more, and k V finite")):
            ngram.AddK(counts, k=k)
