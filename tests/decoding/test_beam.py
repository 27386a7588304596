"""Beam search finds what brute force finds where it is wide enough, and never anything better."""

import inspect
import math
from itertools import product

import pytest
import torch

from unrolled.decoding import beam_search, generate, translate
from writers import KINDS, Noting, Table, writer

PROMPT = torch.tensor([[0, 2]])


def log_p(model, prompt, texts):
    """Return ln p(text | prompt) of each text, (texts, n), read in one go with the prompt before it."""
    whole = torch.cat([prompt.expand(len(texts), -1), texts], dim=1)
    costs, _ = model.costs(whole[:, :-1], whole[:, 1:])
    return -costs[:, len(prompt) - 1 :].sum(dim=1)


def brute_force(model, prompt, *, length, alpha, stop):
    """Return the score of every text of three symbols that may be result."""
    scores = {}
    for n in range(1, length + 1):
        texts = [
            text for text in product(range(3), repeat=n) if stop not in text[:-1] and (n == length or text[-1] == stop)
        ]
        if texts:
            scores |= zip(texts, (log_p(model, prompt, torch.tensor(texts)) / n**alpha).tolist(), strict=True)
    return scores


@pytest.mark.parametrize("alpha", [0, 0.7, 1, 2])
@pytest.mark.parametrize("stop", [None, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_a_wide_beam_finds_the_best_and_a_narrow_one_nothing_better(kind, stop, alpha):
    model, options = writer(kind, 3), {"length": 4, "alpha": alpha, "stop": stop}
    scores = brute_force(model, PROMPT[0], **options)
    best = max(scores, key=scores.get)
    (result,) = beam_search(model, PROMPT, width=3**4, **options)
    assert tuple(result.tokens.tolist()) == best and result.score == pytest.approx(scores[best], abs=1e-9)
    for width in (1, 2, 3):
        (result,) = beam_search(model, PROMPT, width=width, **options)
        assert result.score == pytest.approx(scores[tuple(result.tokens.tolist())], abs=1e-9)
        assert result.score <= scores[best] + 1e-9


# After 3: the stop symbol, 2, is the likeliest next symbol, but there is a text of three that is surer of each symbol
# on average, and what would follow a stop symbol is surer still.
ENDING = Table([0.01, 0.97, 0.01, 0.01], [0.01, 0.01, 0.97, 0.01], [0.98, 0.01, 0.005, 0.005], [0.3, 0.29, 0.4, 0.01])


@pytest.mark.parametrize("width", [3, 4, 50])
@pytest.mark.parametrize("alpha, tokens", [(0, [2]), (0.1, [2]), (0.5, [0, 1, 2]), (1, [0, 1, 2])])
def test_length_normalisation_chooses_the_longer_text(alpha, tokens, width):
    (result,) = beam_search(ENDING, torch.tensor([[3]]), length=8, width=width, alpha=alpha, stop=2)
    assert result.tokens.tolist() == tokens
    expected = (torch.tensor([0.4]) if alpha < 0.5 else torch.tensor([0.3, 0.97, 0.97])).log().sum()
    assert result.score == pytest.approx(expected.item() / len(tokens) ** alpha, abs=1e-6)


@pytest.mark.parametrize("stop", [None, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_a_beam_of_one_is_greedy(kind, stop):
    prompts = torch.tensor([[0, 2], [3, 1], [2, 2]])
    hypotheses = beam_search(writer(kind), prompts, length=10, width=1, stop=stop)
    greedy = generate(writer(kind), prompts, length=10, top_k=1, stop=stop)
    assert [hypothesis.tokens.tolist() for hypothesis in hypotheses] == [row.tolist() for row in greedy]


@pytest.mark.parametrize("stop", [None, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_finds_what_each_prompt_finds_alone(kind, stop):
    model, options = writer(kind, seed=4), {"length": 9, "width": 4, "stop": stop}
    prompts = torch.tensor([[0, 2, 1], [3, 3, 0], [2, 1, 2], [0, 2, 1]])
    together = beam_search(model, prompts, **options)
    for prompt, result in zip(prompts, together, strict=True):
        (alone,) = beam_search(model, prompt[None], **options)
        assert torch.equal(result.tokens, alone.tokens) and result.score == pytest.approx(alone.score, abs=1e-12)
        total = log_p(model, prompt, result.tokens[None]).item()
        assert result.score * len(result.tokens) == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_every_symbol_of_a_hypothesis_is_read_once(kind):
    noting = Noting(writer(kind))
    beam_search(noting, torch.zeros(2, 7, dtype=torch.int64), length=5, width=6)
    assert noting.read == [(2, 7), (8, 1), (12, 1), (12, 1), (12, 1)]  # two prompts; four hypotheses, then six, each


def test_the_search_is_over_when_nothing_can_win_any_more():
    noting = Noting(Table([0.1, 0.9], [0.5, 0.5]))
    (result,) = beam_search(noting, torch.tensor([[0]]), length=50, width=2, alpha=0, stop=1)
    assert result.tokens.tolist() == [1] and len(noting.read) == 1
    noting.read.clear()  # the mean of 50 symbols might still be better than one of probability 0.9
    (result,) = beam_search(noting, torch.tensor([[0]]), length=50, width=2, alpha=1, stop=1)
    assert result.tokens.tolist() == [1] and len(noting.read) > 1


def test_what_is_impossible_is_never_found():
    model = Table([0, 0, 1, 0], [0.25] * 4, [1, 0, 0, 0], [0.25] * 4)
    (result,) = beam_search(model, torch.tensor([[0]]), length=5, width=4)
    assert result.tokens.tolist() == [2, 0, 2, 0, 2] and result.score == 0


def test_of_equally_good_texts_the_first_is_found():
    (result,) = beam_search(Table(*[[1 / 40] * 40] * 40), torch.tensor([[7]]), length=3, width=5)
    assert result.tokens.tolist() == [0, 0, 0]


def test_a_translation_is_scored_by_the_symbol():
    assert inspect.signature(translate).parameters["alpha"].default == 1.0


def test_bad_input_is_named():
    model = writer("rnn")
    with pytest.raises(ValueError, match="width is 0 and length is 5; both must be 1 or more"):
        beam_search(model, PROMPT, length=5, width=0)
    with pytest.raises(ValueError, match="width is 2 and length is 0; both must be 1 or more"):
        beam_search(model, PROMPT, length=0, width=2)
    for stop in (-1, 99):
        with pytest.raises(ValueError, match=f"stop is {stop}; the vocabulary has the symbols 0 to"):
            beam_search(model, PROMPT, length=5, width=2, stop=stop)
        with pytest.raises(ValueError, match=f"stop is {stop}; the vocabulary has the symbols 0 to"):
            generate(model, PROMPT, length=5, stop=stop)
    for alpha in (-1, math.nan):
        with pytest.raises(ValueError, match=f"alpha is {alpha}; it must be 0 or more"):
            beam_search(model, PROMPT, length=5, width=2, alpha=alpha)
    with pytest.raises(ValueError, match=r"the symbols of the prompt have shape \(1, 0\)"):
        beam_search(model, PROMPT[:, :0], length=5, width=2)
