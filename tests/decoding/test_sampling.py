"""Sampling carries the state and follows the model's distribution, narrowed as requested."""

import math

import numpy as np
import pytest
import torch

from unrolled.decoding import distribution, generate, sample
from unrolled.text import Vocabulary, WordVocabulary
from writers import KINDS, Noting, Table, writer

VOCABULARY = Vocabulary("abcd")
P = [0.1, 0.4, 0.3, 0.2]
WAYS = [
    {},
    {"top_k": 2},
    {"top_k": 3},
    {"top_p": 0.3},
    {"top_p": 0.6},
    {"top_p": 0.8},
    {"temperature": 0.5, "top_p": 0.7},
    {"top_k": 3, "top_p": 0.75},
]


def narrowed(p, temperature=1.0, top_k=None, top_p=1.0):
    """Return what `distribution` should, by walking down from the most probable symbol."""
    p = np.array(p) ** (1 / temperature)
    order = np.argsort(-p)[:top_k]
    mass, kept = 0.0, []
    for number in order:
        if mass < top_p:
            kept.append(number)
        mass += p[number] / p[order].sum()
    narrow = np.zeros(len(p))
    narrow[kept] = p[kept] / p[kept].sum()
    return narrow


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_the_distribution_is_the_narrowed_one_and_draws_follow_it(way):
    logits = torch.tensor(P, dtype=torch.float64).log() + 3  # logits are free to be shifted
    assert distribution(logits, **way).numpy() == pytest.approx(narrowed(P, **way))
    rows = torch.randn(2, 3, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for p, row in zip(distribution(rows, **way).view(6, 7), torch.softmax(rows, dim=-1).view(6, 7), strict=True):
        assert p.numpy() == pytest.approx(narrowed(row.numpy(), **way))
    rows = generate(Table(*[P] * 4), torch.zeros(4000, 1, dtype=torch.int64), length=1, seed=1, **way)
    observed, expected = np.bincount(torch.cat(rows), minlength=4), 4000 * narrowed(P, **way)
    kept = expected > 0
    assert not observed[~kept].any()
    chi_squared = ((observed - expected)[kept] ** 2 / expected[kept]).sum()
    assert chi_squared < [1e-9, 10.8, 13.8, 16.3][kept.sum() - 1]  # by degrees of freedom: one in a thousand fails


def test_of_equally_probable_symbols_the_first_are_kept_and_what_keeps_all_changes_nothing():
    for way in ({"top_k": 20}, {"top_p": 0.39}):
        assert (distribution(torch.zeros(3, 50), **way) > 0).int().tolist() == [[1] * 20 + [0] * 30] * 3
    logits = 30 * torch.randn(20, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for way in ({"top_k": 9}, {"top_k": 99}, {"top_p": 1.0}):
        assert torch.equal(distribution(logits, **way), torch.softmax(logits, dim=-1))


# States, batches, ends


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
def test_the_state_is_carried_exactly_and_a_small_choice_is_greedy(kind):
    """The slow way reads everything again for each symbol."""
    model, generator = writer(kind), torch.Generator().manual_seed(5)
    text, greedy = sample(model, VOCABULARY, prompt="abca", length=30, seed=5), "ac"
    assert len(text) == 34 and text != sample(model, VOCABULARY, prompt="abca", length=30, seed=6)
    for at in range(4, 34):
        chances = torch.softmax(model(VOCABULARY.encode(text[:at]).view(1, -1))[0][0, -1], dim=0)
        assert VOCABULARY.symbols[int(torch.multinomial(chances, 1, generator=generator))] == text[at]
    for _ in range(12):
        greedy += VOCABULARY.symbols[int(model(VOCABULARY.encode(greedy)[None])[0][0, -1].argmax())]
    for way in ({"top_k": 1}, {"top_p": 1e-20}, {"temperature": 1e-4}):
        assert sample(model, VOCABULARY, prompt="ac", length=12, **way) == greedy


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_a_batch_writes_what_it_writes_alone(kind):
    model, prompts = writer(kind), ["abc", "dda", "abc", "cab"]
    batch = torch.stack([VOCABULARY.encode(prompt) for prompt in prompts])
    rows = generate(model, batch, length=25, seed=7, top_k=3, temperature=1.5)
    for row, (prompt, written) in enumerate(zip(prompts, rows, strict=True)):
        alone = sample(model, VOCABULARY, prompt=prompt, length=25, seed=7 + row, top_k=3, temperature=1.5)
        assert prompt + VOCABULARY.decode(written) == alone
    assert not torch.equal(rows[0], rows[2])  # the same prompt, but another seed


def test_a_row_ends_on_the_stop_symbol_and_every_symbol_is_read_once():
    model, prompt = Table(*[[0.7, 0.2, 0.05, 0.05]] * 4), torch.zeros(50, 1, dtype=torch.int64)
    whole, stopped = (generate(model, prompt, length=12, stop=stop) for stop in (None, 1))
    ends = [row.tolist().index(1) + 1 if 1 in row else 12 for row in whole]
    assert [row.tolist() for row in stopped] == [row[:end].tolist() for row, end in zip(whole, ends, strict=True)]
    assert min(ends) == 1 and max(ends) == 12 and any(row[-1] != 1 for row in stopped)
    noting = Noting(Table([0.0, 1.0], [1.0, 0.0]))
    assert [row.tolist() for row in generate(noting, torch.tensor([[0], [1]]), length=99, stop=1)] == [[1], [0, 1]]
    assert noting.read == [(2, 1), (2, 1)]  # once every row has ended nothing more is read


def test_texts_and_lists_of_words_end_on_the_stop_symbol():
    model = Table([0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0])
    assert sample(model, VOCABULARY, prompt="dab", length=9, stop="a") == "dabcda"
    assert sample(model, VOCABULARY, prompt="dab", length=2, stop="a") == "dabcd"
    assert sample(model, VOCABULARY, prompt="dab", length=0) == "dab"
    words = WordVocabulary(["sun", "moon", "."])  # numbered . moon sun after <unk>
    assert sample(model, words, prompt=["moon"], length=9, stop="<unk>") == ["moon", "sun", "<unk>"]


def test_the_model_writes_in_evaluation_mode():
    model = torch.nn.Sequential(torch.nn.Embedding(4, 8), torch.nn.Dropout(0.9), torch.nn.Linear(8, 4))
    model.forward = lambda tokens, state=None: (torch.nn.Sequential.forward(model, tokens), tokens[:, -1:])
    with_dropout = sample(model.train(), VOCABULARY, prompt="a", length=40)
    assert model.training and model[1].training
    assert with_dropout == sample(model.eval(), VOCABULARY, prompt="a", length=40) and not model.training


UNSURE, WORDS = Table([0.25] * 4), WordVocabulary(["the", "cat", "sat"])


@pytest.mark.parametrize(
    "call, message",
    [
        *(
            (
                lambda way=way: distribution(torch.tensor([1.0, 2.0]), **way),
                f"{name} (is )?{value}.*; give a finite temp",
            )
            for name, values in {
                "temperature": (math.inf, math.nan, 0, -1.0, 1e-320),
                "top_k": (0,),
                "top_p": (0.0, 1.1),
            }.items()
            for value in values
            for way in ({name: value},)
        ),
        (
            lambda: generate(UNSURE, torch.zeros(3, 0).long(), length=1),
            r"the symbols of the prompt have shape \(3, 0\)",
        ),
        (lambda: generate(UNSURE, torch.zeros(4).long(), length=1), r"two axes are expected: \(batch, time\)"),
        (
            lambda: generate(writer("rnn"), torch.tensor([[4]]), length=1),
            "prompt run from 4 to 4; symbols are numbered",
        ),
        (
            lambda: generate(Table([math.nan] * 4), torch.tensor([[0]]), length=1),
            "some of the model's logits are not num",
        ),
        (
            lambda: generate(UNSURE, torch.tensor([[0]]), length=1, stop=99),
            "stop is 99; the vocabulary has the symbols 0",
        ),
        (lambda: sample(UNSURE, VOCABULARY, prompt="a", length=-5), "length is -5; it must be 0 or more"),
        (lambda: sample(UNSURE, VOCABULARY, prompt="", length=1), "with at least one step"),
        (lambda: sample(UNSURE, VOCABULARY, prompt="az", length=1), "'z' at position 1 is not among the 4 symbols"),
        (lambda: sample(UNSURE, WORDS, prompt=["the", "zebra"], length=1), "'zebra' at position 1 is not among the 4"),
        (lambda: sample(UNSURE, WORDS, prompt=["the"], length=1, stop="stars"), "'stars' .* not among the 4 symbols"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
