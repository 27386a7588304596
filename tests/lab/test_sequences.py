"""Depth, the bottleneck, phonemes and induction heads: what is trained, what is asked, and that both can be told."""

import copy
import math

import pytest
import torch
from unrolled.experiments import base, bottleneck, depth_width, find, induction, phonemes, reading, records

from unrolled.models import EncoderDecoder, LanguageModel, TransformerLM
from unrolled.tasks.rewriting import STOP, Reversal
from unrolled.text import Pronunciations


@pytest.fixture(autouse=True)
def no_record(monkeypatch, tmp_path):
    monkeypatch.setattr(records, "FOLDER", tmp_path / "measured")


# Depth against width


@pytest.mark.parametrize("profile, weights", [("quick", 80_000), ("full", 1_000_000)])
def test_deep_and_wide_networks_have_as_many_weights(profile, weights):
    for name in depth_width.SHAPES:
        config = depth_width._base(name, 1, profile)
        assert base.parameters(base.model_of(config, 59)) == pytest.approx(weights, rel=0.015), name


@pytest.mark.parametrize("name", depth_width.SHAPES)
def test_a_network_of_layers_is_trained_and_its_gradients_measured(name, hold_out, tmp_path):
    hold_out(20_000)
    config = copy.deepcopy(depth_width._base(name, 3, "quick"))
    config["model"]["options"]["hidden_size"] = 8
    config["recipe"] |= {"updates": 3, "batch": 2, "seq_len": 16}
    config["text"] = reading.text("stories", 20_000, three_parts=True)
    measured = depth_width.measure(config | {"by_story": True}, 0, tmp_path)
    find("depth-against-width").check(records.Contender(name, config, [measured], {}))
    layers = depth_width.SHAPES[name][1]
    assert len(measured["gradient_before"]) == len(measured["gradient_after"]) == layers
    assert measured["gradient_before"] != measured["gradient_after"]


def test_the_gradient_of_a_layer_is_that_of_its_weights():
    torch.manual_seed(0)
    network = LanguageModel(5, hidden_size=6, num_layers=2, core="gru")
    read = reading.Encoded(None, None, torch.randint(5, (4 * 9,)))
    found = depth_width.by_layer(network, read, sequences=4, steps=8)
    rows = read.held_out.view(4, 9)
    logits, _ = network(rows[:, :-1])
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten()).backward()
    for cell, norm in zip(network.core.layers, found, strict=True):
        flat = torch.cat([weight.grad.flatten() for weight in cell.parameters()])
        assert norm == pytest.approx(flat.square().mean().sqrt().item(), rel=1e-4)


# The bottleneck


@pytest.mark.parametrize("label", bottleneck._bases("quick"))
def test_an_encoder_decoder_is_trained_and_asked_by_length(label, tmp_path):
    config = copy.deepcopy(bottleneck._bases("quick")[label])
    config["model"]["options"]["hidden_size"] = 6
    config["recipe"] |= {"updates": 2, "batch": 3}
    config |= {"asked": 4, "lengths": config["lengths"][:2], "validations": 1}
    measured = bottleneck.measure(config, 0, tmp_path)
    find("bottleneck").check(records.Contender(label, config, [measured], bottleneck.axes(config)))
    assert ("by_length" in measured) == label.startswith("reversal")


def test_searches_and_contenders_of_the_bottleneck_are_alike():
    searches = bottleneck._searches("quick")
    half = bottleneck.UPDATES["quick"] // 2
    assert {(len(one["settings"]), one["recipe"]["updates"]) for one in searches.values()} == {(8, half)}
    units = {label: base.parameters(base.model_of(one, 26, 28)) for label, one in bottleneck._bases("quick").items()}
    assert units["reversal/plain 64"] == units["reversal/backwards 64"] < units["reversal/attention 64"]


def test_a_target_is_right_when_it_is_written_exactly(monkeypatch):
    pairs = Reversal(4).pairs(6, torch.Generator().manual_seed(0))
    network = EncoderDecoder(26, 28, hidden_size=4)
    targets = [target for _, target in pairs]
    answers = [targets[0], targets[1][:-1], *targets[2:]]
    said = [type("Hypothesis", (), {"tokens": answer}) for answer in answers]
    monkeypatch.setattr(bottleneck, "translate", lambda *_, **__: said)
    assert bottleneck.right(network, pairs, 5) == pytest.approx(5 / 6)


def test_what_is_asked_was_never_learnt_from():
    config = copy.deepcopy(bottleneck._bases("quick")["reversal/plain 32"])
    seeds = {bottleneck.VALIDATION_SEED % 2**32, bottleneck.TEST_SEED % 2**32}
    learnt = {1_000_000 * seed + update for seed in range(5) for update in (0, config["recipe"]["updates"])}
    assert len(seeds) == 2 and not seeds & learnt and min(seeds) > 5_000_000


# Phonemes

WORDS = Pronunciations(
    {"tax": (("T", "AE", "K", "S"),), "at": (("AE", "T"),), "ta": (("T", "AA"), ("T", "AH"))},
    {"tat": (("T", "AE", "T"),)},
    {"attax": (("AE", "T", "AE", "K", "S"),), "taxtax": (("T", "AE", "K", "S", "T", "AE", "K", "S"),)},
    left_out=0,
)


@pytest.fixture
def few_words(monkeypatch):
    monkeypatch.setattr(phonemes, "dictionary", lambda: WORDS)


@pytest.mark.parametrize("label", [*phonemes.KINDS, "joint-sequence 3"])
def test_words_are_transcribed_and_errors_counted(few_words, label, tmp_path):
    config = copy.deepcopy((phonemes._counting() | phonemes._bases("quick"))[label])
    if "recipe" in config:
        config["recipe"] |= {"updates": 2, "batch": 2}
        config["model"]["options"]["hidden_size"] = 5
    measured = phonemes.measure(config | {"validations": 1}, 0, tmp_path)
    experiment = find("phonemes" if "recipe" in config else "phonemes-counted")
    experiment.check(records.Contender(label, config, [measured], phonemes.axes(config)))
    assert ("aligned" in measured) == (label == "attention")
    if label == "attention":
        assert measured["aligned"] == ["taxtax"] and len(measured["weights"][0].split()) == 9 * 6


def test_every_pronunciation_is_an_example_and_ends(few_words):
    read = phonemes.spelt()
    pairs = read.pairs(WORDS.train)
    assert len(pairs) == 4 and all(int(target[-1]) == phonemes.STOP for _, target in pairs)
    assert [tuple(read.sounds.decode(target[:-1])) for _, target in pairs][2:] == [("T", "AA"), ("T", "AH")]


def test_error_rates_go_by_the_length_of_the_word():
    test = {"at": (("A",),), "atatat": (("B",),), "tatata": (("B",),)}
    found = phonemes.rates("beam", [("A",), ("B",), ("C",)], test)
    assert found["beam_words"] == pytest.approx(1 / 3) and found["beam_phonemes"] == pytest.approx(1 / 3)
    at = [low <= 6 < high for low, high in zip(phonemes.EDGES, phonemes.EDGES[1:], strict=False)].index(True)
    assert found["beam_by_length"][at] == 0.5 and sum(found["beam_by_length"]) == 0.5


# Induction heads


@pytest.mark.parametrize("circles", [True, False])
def test_what_can_be_known_is_what_followed_before(circles):
    rows, several = induction.associated(50, seed=3, circles=circles), False
    for row, known in zip(rows.tolist(), induction.known(rows).tolist(), strict=True):
        followers = {}
        for now, then, told in zip(row, row[1:], known, strict=False):
            assert told == (now in followers)
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
    found = induction.ask(Perfect())
    assert found == {"known": 0.0, "unknown": pytest.approx(math.log(26))}


def test_a_head_that_looks_where_it_should_scores_one(monkeypatch):
    """In place of each layer's attention: head 0 looks after the last such letter, head 1 at the step before."""
    network = TransformerLM(26, context=induction.WINDOW, hidden_size=8, num_layers=1, num_heads=2)
    rows = induction.associated(20, seed=1, circles=False)
    time = induction.WINDOW - 1
    alpha = torch.zeros(20, 2, time, time)
    for window, row in enumerate(rows[:, :-1].tolist()):
        for step, letter in enumerate(row):
            before = [place for place in range(step) if row[place] == letter]
            alpha[window, 0, step, before[-1] + 1 if before else 0] = 1.0
    alpha[:, 1, range(1, time), range(time - 1)] = 1.0
    block = type("Block", (), {"eval": lambda self: lambda x, mask: (x, alpha)})()
    monkeypatch.setattr(induction.TransformerBlock, "from_torch", lambda layer: block)
    found = induction.looks(network, rows)
    assert found["after"][0, 0] == found["before"][0, 1] == 1.0
    assert found["before"][0, 0] < 0.1 and found["after"][0, 1] < 0.1


@pytest.mark.parametrize("label", [f"{name} 0.004" for name in induction.MODELS])
def test_a_model_is_asked_on_the_way(label, tmp_path):
    config = copy.deepcopy(induction._contenders("quick")[label])
    config["recipe"] |= {"updates": 2, "batch": 2}
    config["points"] = [1, 2]
    measured = induction.measure(config, 0, tmp_path)
    contender = records.Contender(label, config, [measured], induction.axes(config))
    find("induction-heads").check(contender)
    assert measured["known"][0] == pytest.approx(math.log(26), abs=0.6)
    for name in ("after", "before"):
        assert (name in measured) == label.startswith("transformer")
        if label.startswith("transformer"):
            assert contender[name].shape == (1, 2, 4 * config["model"]["options"]["num_layers"])


def test_stop_is_the_same_for_tasks_and_phonemes():
    assert phonemes.STOP == STOP
