"""Chapter 11's experiments: new pairs, answers counted by hand, and heads and models whose measures are known."""

import inspect
import math

import pytest
import torch

import lab
from lab.ch11_attention import apart, bottleneck, induction, phonemes
from lab.ch11_attention.pronunciations import Pronunciations
from lab.engine.training import model_of
from small_experiments import small
from unrolled.models import EncoderDecoder
from unrolled.tasks import rewriting
from unrolled.tasks.rewriting import Reversal

# The bottleneck


def test_a_target_is_right_when_it_is_written_exactly(monkeypatch):
    pairs = Reversal(4).pairs(6, torch.Generator().manual_seed(0))
    targets = [target for _, target in pairs]
    written = [type("Hypothesis", (), {"tokens": each}) for each in (targets[0], targets[1][:-1], *targets[2:])]
    monkeypatch.setattr(inspect.getmodule(bottleneck.right), "translate", lambda *_, **__: written)
    assert bottleneck.right(EncoderDecoder(26, 28, hidden_size=4), pairs, 5) == pytest.approx(5 / 6)


def test_what_is_asked_was_never_learnt_from():
    seeds = {bottleneck.VALIDATION_SEED % 2**32, bottleneck.TEST_SEED % 2**32}
    learnt = {1_000_000 * seed + update for seed in range(5) for update in (0, bottleneck.UPDATES)}
    assert len(seeds) == 2 and not seeds & learnt and min(seeds) > 5_000_000


def test_stop_is_the_same_for_tasks_and_phonemes():
    assert (phonemes.START, phonemes.STOP) == (rewriting.START, rewriting.STOP)


# Phonemes

WORDS = Pronunciations(
    {"tax": (("T", "AE", "K", "S"),), "at": (("AE", "T"),), "ta": (("T", "AA"), ("T", "AH"))},
    {"tat": (("T", "AE", "T"),)},
    {"attax": (("AE", "T", "AE", "K", "S"),), "taxtax": (("T", "AE", "K", "S", "T", "AE", "K", "S"),)},
)


@pytest.fixture
def few_words(monkeypatch):
    monkeypatch.setattr(phonemes, "dictionary", lambda: WORDS)


def test_every_pronunciation_is_an_example_and_ends(few_words):
    read = phonemes.spelt()
    pairs = read.pairs(WORDS.train)
    assert len(pairs) == 4 and all(int(target[-1]) == phonemes.STOP for _, target in pairs)
    assert [tuple(read.sounds.decode(target[:-1])) for _, target in pairs][2:] == [("T", "AA"), ("T", "AH")]


def test_error_rates_go_by_the_length_of_the_word():
    test = {"at": (("A",),), "atatat": (("B",),), "tatata": (("B",),)}
    rates = phonemes.rates("beam", [("A",), ("B",), ("C",)], test)
    assert rates["beam_words"] == pytest.approx(1 / 3) and rates["beam_phonemes"] == pytest.approx(1 / 3)
    at = [low <= 6 < high for low, high in zip(phonemes.EDGES, phonemes.EDGES[1:], strict=False)].index(True)
    assert rates["beam_by_length"][at] == 0.5 and sum(rates["beam_by_length"]) == 0.5


# Induction heads


@pytest.mark.parametrize("circles", [True, False])
def test_what_can_be_known_is_what_followed_before(circles):
    rows, several = induction.associated(50, seed=3, circles=circles), False
    for row, known in zip(rows.tolist(), induction.known(rows).tolist(), strict=True):
        followers = {}
        for now, then, tells in zip(row, row[1:], known, strict=False):
            assert tells == (now in followers)
            if now < induction.FOLLOWED:
                assert followers.setdefault(now, then) == then
                assert circles or then >= induction.FOLLOWED
        several |= len(set(followers.values())) > 1
    assert several  # letters have followers of their own
    free = rows[:, :-1] >= induction.FOLLOWED
    assert len(set(rows[:, 1:][free].tolist())) == len(induction.SYMBOLS)


class Perfect(torch.nn.Module):
    """A model that knows what can be known."""

    def costs(self, inputs, targets):
        rows = induction.associated(induction.ASKED, seed=2**31, circles=False)
        assert torch.equal(inputs, rows[:, :-1]) and torch.equal(targets, rows[:, 1:])
        nats = torch.full(targets.shape, math.log(26), dtype=torch.float64)
        nats[induction.known(rows)] = 0.0
        return nats, None


def test_a_model_that_looks_back_pays_nothing_for_what_can_be_known():
    assert induction.ask(Perfect()) == {"known": 0.0, "unknown": pytest.approx(math.log(26))}


def test_what_heads_look_at_is_what_pytorchs_attention_gives_to_those_places():
    torch.manual_seed(0)
    network = model_of(lab.find("induction-heads").config("transformer-1 0.001"), 26).eval()
    (layer,), rows = network.layers, induction.associated(3, seed=1)
    read, there = rows[:, :-1], induction.known(rows)
    steps = read.shape[1]
    x = layer.norm1(network.embed(read) + network.positions.weight[:steps])
    ahead = torch.ones(steps, steps, dtype=torch.bool).triu(1)
    _, alpha = layer.self_attn(x, x, x, attn_mask=ahead, average_attn_weights=False)  # (windows, heads, time, time)
    after, before = torch.zeros(4), torch.zeros(4)
    for window, step in there.nonzero().tolist():
        earlier = [place for place in range(step) if read[window, place] == read[window, step]]
        after += alpha[window, :, step, [place + 1 for place in earlier]].sum(dim=1)
        before += alpha[window, :, step, step - 1]
    shares = induction.looks(network, rows)
    torch.testing.assert_close(shares["after"][0], after / there.sum())
    torch.testing.assert_close(shares["before"][0], before / there.sum())


# Attention and direction apart


def test_attention_and_direction_differ_one_at_a_time_and_all_else_is_alike(tmp_path):
    bases = {name: apart.base(name) for name in apart.CONTENDERS}
    models = {name: config.pop("model") for name, config in bases.items()}
    assert all(config == bases["forward"] for config in bases.values())
    assert {(each["direction"], each["attention"]) for each in models.values()} == {
        (direction, attention) for direction in ("forward", "both") for attention in (None, "additive")
    }
    measured = apart.draw(small("attention-apart-tuning", "both, attention"), 0, tmp_path)
    assert len(measured["trial_cost"]) >= 3 and min(measured["trial_cost"]) > 0
