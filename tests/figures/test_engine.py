"""The engine of the demonstrations computes in a browser what the library computes in Python."""

import math

import numpy as np
import pytest
import torch

from running import (
    LETTERS,
    REWRITE,
    SOURCES,
    TARGETS,
    in_browser,
    in_python,
    influence,
    largest_difference,
    lively,
    rewriter,
    rewritten,
    source,
)
from unrolled import decoding
from unrolled.figures.weights import eight_bits, weights_script
from unrolled.models import LanguageModel
from unrolled.text import WordVocabulary, stories

TEXT = LETTERS.encode("the quick brown fox jumps over the lazy dog, and then it sleeps.\n")
CLOSE = 1e-5
MODELS = {
    "rnn": ("rnn", {}),
    "rnn with relu": ("rnn", {"cell_options": {"nonlinearity": "relu"}, "std": 0.2}),  # else its state explodes
    "lstm": ("lstm", {}),
    "gru": ("gru", {}),
    "two layers and a first state": ("lstm", {"num_layers": 2, "learn_initial_state": True}),
}


@pytest.fixture(scope="module")
def engine(browser):
    """A blank page with the engine in it."""
    page = browser.new_page()
    page.add_script_tag(content=source("engine"))
    page.add_script_tag(content=source("symbols"))
    yield page
    page.close()


@pytest.mark.parametrize("name", MODELS)
def test_states_gates_and_probabilities_are_those_of_python(browser, name):
    core, options = MODELS[name]
    model = lively(core, **options)
    assert largest_difference(in_browser(browser, model, TEXT), in_python(model, TEXT)) < CLOSE


@pytest.mark.parametrize(
    "options", [{"num_layers": 2, "dropout": 0.5}, {"tied": True, "embedding_size": 12, "embedding_scale": 4.0}]
)
def test_what_changes_only_the_training_or_the_embedding_is_the_same_too(browser, options):
    model = lively("gru", **options)
    p = [step["p"] for step in in_browser(browser, model, TEXT)]
    with torch.no_grad():
        expected = model(TEXT[None])[0].softmax(dim=-1)[0]
    assert torch.allclose(torch.tensor(p, dtype=torch.float64), expected, atol=CLOSE)


@pytest.mark.parametrize("name", MODELS)
def test_an_influence_is_the_share_of_a_prediction_that_moves(browser, name):
    core, options = MODELS[name]
    model, page = lively(core, **options), browser.new_page()
    for script in (source("engine"), source("symbols"), source("influence"), weights_script("test", model, LETTERS)):
        page.add_script_tag(content=script)
    text = "the quick brown fox jumps"
    shares = page.evaluate(
        """([text]) => {
            const model = Unrolled.load(...unrolledWeights.test);
            const read = Unrolled.reader(model);
            const symbols = Unrolled.split(model, text);
            const reread = Unrolled.rereader(model, read);
            while (reread(symbols, 0).length <= text.length); // a moment at a time
            return read(symbols).map((step, t) => Unrolled.moved(model, reread(symbols), step, t));
        }""",
        [text],
    )
    page.close()
    expected = influence(model, LETTERS.encode("\n" + text)).double()
    assert [len(row) for row in shares] == list(range(1, len(text) + 2))
    for row, exact in zip(shares, expected, strict=True):
        assert torch.allclose(torch.tensor(row, dtype=torch.float64), exact[: len(row)], atol=CLOSE)
    assert expected.max() > 0.03 and expected.triu(1).max() < 1e-12  # nothing looks ahead


MISTAKES = {
    "input and forget gate swapped": ("lstm", 'hold("f", a_f.map(sigmoid))', 'hold("f", a_i.map(sigmoid))'),
    "update gate the other way round": (
        "gru",
        "(1 - z[k]) * value + z[k] * candidate[k]",
        "z[k] * value + (1 - z[k]) * candidate[k]",
    ),
    "reset after the product": (
        "gru",
        "product(W_hh, times(r, h), 2 * n, 3 * n)",
        "times(r, product(W_hh, h, 2 * n, 3 * n))",
    ),
    "no tanh": ("rnn", "a.map(PHI[nonlinearity])", "a"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_the_engine_is_noticed(browser, name):
    core, right, wrong = MISTAKES[name]
    assert right in source("engine")
    read = in_browser(browser, lively(core), TEXT, source("engine").replace(right, wrong))
    assert largest_difference(read, in_python(lively(core), TEXT)) > 100 * CLOSE


def test_a_transposed_matrix_is_noticed(browser):
    transposed = lively("lstm")
    blocks = transposed.core.layers[0].W_hh.data.view(-1, 12, 12)
    blocks.copy_(blocks.mT.clone())
    assert largest_difference(in_browser(browser, transposed, TEXT), in_python(lively("lstm"), TEXT)) > 100 * CLOSE


WAYS = [
    {},
    {"temperature": 0.5},
    {"temperature": 1.7, "top_k": 5},
    {"top_p": 0.6},
    {"temperature": 0.8, "top_k": 12, "top_p": 0.9},
]


def in_js(options):
    names = {"temperature": "temperature", "top_k": "topK", "top_p": "topP"}
    return {names[name]: value for name, value in options.items()}


@pytest.mark.parametrize("options", WAYS)
def test_the_distribution_that_is_drawn_from_is_that_of_python(engine, options):
    torch.manual_seed(1)
    logits = torch.randn(8, 40, dtype=torch.float64) * 2
    logits[0, :20] = logits[0, 0]  # equals, of which the first are kept
    script = (
        "([rows, options]) => rows.map((row) => Array.from(Unrolled.distribution(Float64Array.from(row), options)))"
    )
    computed = torch.tensor(engine.evaluate(script, [logits.tolist(), in_js(options)]), dtype=torch.float64)
    expected = decoding.distribution(logits, **options)
    assert torch.allclose(computed, expected, atol=1e-12) and torch.equal(computed > 0, expected > 0)


def mulberry(seed):
    """Yield the random numbers of the engine's generator, by another hand."""
    state = seed
    while True:
        state = (state + 0x6D2B79F5) % 2**32
        t = (state ^ state >> 15) * (state | 1) % 2**32
        t ^= (t + (t ^ t >> 7) * (t | 61)) % 2**32
        yield (t ^ t >> 14) / 2**32


def test_the_generator_gives_the_same_numbers_everywhere_and_they_are_even(engine):
    drawn = engine.evaluate("(n) => { const r = Unrolled.generator(7); return Array.from({ length: n }, r); }", 20_000)
    numbers = mulberry(7)
    assert drawn == [next(numbers) for _ in drawn]
    assert abs(np.mean(drawn) - 0.5) < 0.01 and abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 0.03
    assert min(np.histogram(drawn, 10, (0, 1))[0]) > 1850


@torch.no_grad()
def written(model, prompt, length, seed, **options):
    """Return what Python writes when a symbol is the first whose cumulative probability is above a random number."""
    numbers, random, tokens, state = [], mulberry(seed), prompt[None], None
    for _ in range(length):
        logits, state = model(tokens, state)
        cumulative = decoding.distribution(logits[:, -1].double(), **options)[0].cumsum(dim=0)
        numbers.append(int((cumulative <= next(random)).sum()))
        tokens = torch.tensor([numbers[-1:]])
    return numbers


@pytest.mark.parametrize("core", ["rnn", "lstm", "gru"])
def test_with_the_same_random_numbers_it_writes_the_same_text(engine, core):
    model, prompt = lively(core), TEXT[:9]
    engine.add_script_tag(content=weights_script("test", model, LETTERS))
    script = """([prompt, seed, options]) => {
        const model = Unrolled.load(...unrolledWeights.test);
        return Unrolled.write(model, model.read(prompt).at(-1), 100, Unrolled.generator(seed), options);
    }"""
    for seed, options in enumerate(WAYS):
        computed = engine.evaluate(script, [prompt.tolist(), seed, in_js(options)])
        assert LETTERS.decode(computed) == LETTERS.decode(written(model, prompt, 100, seed, **options)), options
    assert engine.evaluate(script, [prompt.tolist(), 99, {}]) != computed


@pytest.mark.parametrize("width", [1, 4])
def test_the_beam_finds_what_the_librarys_beam_finds(engine, width):
    model, prompt = lively("gru"), TEXT[:9]
    engine.add_script_tag(content=weights_script("test", model, LETTERS))
    script = """([prompt, length, width]) => {
        const model = Unrolled.load(...unrolledWeights.test);
        return Unrolled.beam(model, model.read(prompt).at(-1), length, width);
    }"""
    computed = engine.evaluate(script, [prompt.tolist(), 12, width])
    (best,) = decoding.beam_search(model, prompt[None], length=12, width=width, alpha=0)
    assert len(computed) == width and computed[0]["numbers"] == best.tokens.tolist()
    assert math.isclose(computed[0]["nats"], -best.score, rel_tol=1e-9)


def rewriting(browser, model, right="", wrong=""):
    """Return the largest difference between what a page and Python make of a source, given the same target."""
    text, target = SOURCES.encode("a big cab fade"), torch.tensor([0, 5, 2, 12, 7, 1])
    page = browser.new_page()
    for name in ("engine", "encoder_decoder"):
        assert name != "encoder_decoder" or right in source(name)
        page.add_script_tag(content=source(name).replace(right, wrong) if right else source(name))
    page.add_script_tag(content=weights_script("test", model, (SOURCES, TARGETS)))
    computed = torch.tensor(page.evaluate(REWRITE, [text.tolist(), target.tolist()]), dtype=torch.float64)
    page.close()
    expected = torch.tensor(rewritten(model, text, target), dtype=torch.float64)
    assert computed.shape == expected.shape
    return float((computed - expected).abs().max())


@pytest.mark.parametrize("core, direction", [("rnn", "forward"), ("gru", "backward"), ("lstm", "both")])
def test_an_encoder_decoder_looks_and_predicts_as_in_python(browser, core, direction):
    assert rewriting(browser, rewriter(core, direction=direction)) < CLOSE
    assert rewriting(browser, rewriter(core, direction=direction, attention=None)) < CLOSE


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("states : states.toReversed()", "states : states"),
        ("[...mean, ...next.h]", "[...next.h, ...mean.slice(0, 7), ...mean.slice(7)]"),
        ("product(W_q, next.h)", "product(W_q, state.h)"),
        ("b_b).map(Math.tanh)", "b_b)"),
    ],
)
def test_a_mistake_in_the_attention_is_noticed(browser, right, wrong):
    assert rewriting(browser, rewriter("lstm"), right=right, wrong=wrong) > 100 * CLOSE


def test_sixteen_bits_are_read_as_they_are_meant(engine):
    finite = np.arange(2**16, dtype=np.uint16).view(np.float16)
    computed = engine.evaluate("() => Array.from({ length: 65536 }, (_, bits) => Unrolled.half(bits))")
    known = np.isfinite(finite)
    assert (np.array(computed)[known] == finite[known].astype(float)).all() and known.sum() > 60_000


def of_eight_bits(core, **options):
    """Return a small model whose weights have been rounded to 8 bits; the rows of each matrix differ in size."""
    model = lively(core, **options)
    for weights in model.state_dict().values():
        rows = torch.linspace(0.5, 1.5, weights.shape[0]).view(-1, *[1] * (weights.dim() - 1))
        weights.copy_(torch.mul(*eight_bits(weights * rows)))
    return model


@pytest.mark.parametrize("name", MODELS)
def test_with_8_bits_to_a_weight_a_page_computes_what_python_does(browser, name):
    core, options = MODELS[name]
    model = of_eight_bits(core, **options)
    assert largest_difference(in_browser(browser, model, TEXT, bits=8), in_python(model, TEXT)) < CLOSE


@pytest.mark.parametrize(
    "right, wrong", [("4 * row, true", "0, true"), ("4 * row, true", "4 * row, false"), ("new Int8", "new Uint8")]
)
def test_a_mistake_in_reading_8_bits_is_noticed(browser, right, wrong):
    assert right in source("engine")
    engine, model = source("engine").replace(right, wrong), of_eight_bits("gru")
    difference = largest_difference(in_browser(browser, model, TEXT, engine, bits=8), in_python(model, TEXT))
    assert not difference < 100 * CLOSE


def test_every_weight_of_8_bits_arrives_exactly(engine):
    model = of_eight_bits("lstm")
    engine.add_script_tag(content=weights_script("test", model, LETTERS, bits=8))
    arrived = engine.evaluate("() => Array.from(Unrolled.load(...unrolledWeights.test).weights['0.W_hh'])")
    assert arrived == model.core.layers[0].W_hh.flatten().tolist()


def test_8_bits_are_the_nearest_and_are_found_again():
    torch.manual_seed(0)
    weights = torch.randn(60, 30) * torch.logspace(-9, 3, 60)[:, None]
    weights[7] = 0
    scale, whole = eight_bits(weights)
    assert (whole.abs().amax(dim=1) == 127).sum() == 59 and not whole[7].any()
    assert ((scale * whole - weights).abs() <= scale / 2).all()
    again = eight_bits(scale * whole)
    assert torch.equal(again[0], scale) and torch.equal(again[1], whole)
    with pytest.raises(ValueError, match="a weight is not finite; train with a smaller rate"):
        eight_bits(torch.tensor([1.0, math.inf]))


@pytest.mark.parametrize("part", ["head", "weights"])
def test_weights_that_were_changed_are_refused(engine, part):
    script = weights_script("test", lively("gru"), LETTERS)
    changed = script.replace("gru", "rnn", 1) if part == "head" else script[:3000] + "A" + script[3001:]
    assert changed != script
    engine.add_script_tag(content=changed)
    message = engine.evaluate("() => { try { Unrolled.load(...unrolledWeights.test) } catch (e) { return e.message } }")
    assert message.startswith("These weights are not the ones that were written: their checksum is ")


def test_words_are_split_and_written_as_the_stories_have_them(engine):
    corpus = stories.corpus(20_000, seed=3)
    vocabulary = WordVocabulary(stories.words(stories.corpus(300_000).text))
    model = LanguageModel(len(vocabulary), embedding_size=2, hidden_size=2)
    engine.add_script_tag(content=weights_script("words", model, vocabulary))
    script = """([text]) => {
        const model = Unrolled.load(...unrolledWeights.words);
        const symbols = Unrolled.split(model, text);
        const texts = symbols.map((each) => each.text);
        return [texts, symbols.map((each) => each.number ?? 0), Unrolled.spaced(model, texts).join("")];
    }"""
    words, numbers, again = engine.evaluate(script, [corpus.text])
    assert words == stories.words(corpus.text) and again == corpus.text
    assert numbers == vocabulary.encode(words).tolist()
