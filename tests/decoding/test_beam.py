"""Beam search finds what brute force finds where it is wide enough, and never anything better."""

import math
from itertools import product

import pytest
import torch

from unrolled.decoding import beam_search, generate, translate
from unrolled.models import EncoderDecoder
from writers import KINDS, Noting, Table, writer

PROMPT = torch.tensor([[0, 2]])


def log_p(model, prompt, texts):
    """Return ln p(text | prompt) of each text, (texts, n), read in one go with the prompt before it."""
    whole = torch.cat([prompt.expand(len(texts), -1), texts], dim=1)
    logits, _ = model(whole[:, :-1])
    chosen = torch.log_softmax(torch.as_tensor(logits), dim=-1).gather(2, whole[:, 1:, None])[..., 0]
    return chosen[:, len(prompt) - 1 :].sum(dim=1)


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


@torch.no_grad()
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


@torch.no_grad()
def test_a_translation_of_each_source_is_the_best_of_all_and_scored_by_the_symbol():
    torch.manual_seed(0)
    model = EncoderDecoder(5, 3, hidden_size=6, attention="dot").double().train()
    for weight in model.parameters():
        weight *= 4
    sources, lengths = torch.tensor([[1, 2, 3], [4, 0, 0]]), torch.tensor([3, 1])
    found = translate(model, sources, lengths, start=0, stop=1, length=3, width=27)
    assert model.training
    for source, length, result in zip(sources, lengths, found, strict=True):

        def model_of(tokens, source=source[:length], length=length):
            many = len(tokens)
            return model(tokens, model.encode(source.expand(many, -1), length.expand(many)))

        scores = brute_force(model_of, torch.tensor([0]), length=3, alpha=1, stop=1)
        assert result.score == pytest.approx(max(scores.values()), abs=1e-9)
        assert tuple(result.tokens.tolist()) == max(scores, key=scores.get)


@pytest.mark.parametrize("stop", [None, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_a_beam_of_one_is_greedy_and_a_batch_finds_what_each_prompt_finds_alone(kind, stop):
    model, prompts = writer(kind, seed=4), torch.tensor([[0, 2], [3, 1], [2, 2], [0, 2]])
    hypotheses = beam_search(model, prompts, length=10, width=1, stop=stop)
    greedy = generate(model, prompts, length=10, top_k=1, stop=stop)
    assert [hypothesis.tokens.tolist() for hypothesis in hypotheses] == [row.tolist() for row in greedy]
    together = beam_search(model, prompts, length=9, width=4, stop=stop)
    for prompt, result in zip(prompts, together, strict=True):
        (alone,) = beam_search(model, prompt[None], length=9, width=4, stop=stop)
        assert torch.equal(result.tokens, alone.tokens) and result.score == pytest.approx(alone.score, abs=1e-12)


def test_every_symbol_is_read_once_until_nothing_can_win_any_more():
    noting = Noting(writer("rnn"))
    beam_search(noting, torch.zeros(2, 7, dtype=torch.int64), length=5, width=6)
    assert noting.read == [(2, 7), (8, 1), (12, 1), (12, 1), (12, 1)]  # two prompts; four hypotheses, then six, each
    noting = Noting(Table([0.1, 0.9], [0.5, 0.5]))
    for alpha in (0, 1):  # with 1 the mean of 50 symbols might still be better than one of probability 0.9
        noting.read.clear()
        (result,) = beam_search(noting, torch.tensor([[0]]), length=50, width=2, alpha=alpha, stop=1)
        assert result.tokens.tolist() == [1] and (len(noting.read) == 1) == (alpha == 0)


def test_what_is_impossible_is_never_found_and_of_equally_good_texts_the_first():
    model = Table([0, 0, 1, 0], [0.25] * 4, [1, 0, 0, 0], [0.25] * 4)
    (result,) = beam_search(model, torch.tensor([[0]]), length=5, width=4)
    assert result.tokens.tolist() == [2, 0, 2, 0, 2] and result.score == 0
    (result,) = beam_search(Table(*[[1 / 40] * 40] * 40), torch.tensor([[7]]), length=3, width=5)
    assert result.tokens.tolist() == [0, 0, 0]


@pytest.mark.parametrize("way", [{"width": 0}, {"length": 0}, {"alpha": -1}, {"alpha": math.nan}, {"stop": 99}])
def test_bad_input_is_named(way):
    ((name, value),) = way.items()
    with pytest.raises(ValueError, match=f"{name}( is)? {value}"):
        beam_search(writer("rnn"), PROMPT, **{"length": 5, "width": 2} | way)
