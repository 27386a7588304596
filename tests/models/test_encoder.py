"""Encoders and taggers: every direction reads what it should and no pad, alone as in a batch."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from unrolled.cells import CELLS, unroll
from unrolled.models import (
    CORES,
    Encoder,
    LanguageModel,
    ResidualLM,
    Tagger,
)
from unrolled.models.encoder import read_from
from unrolled.text import pad_tagged

LENGTHS = torch.tensor([6, 1, 4])
CLOSE = {"rtol": 0, "atol": 1e-10}


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def vectors(size=3):
    return torch.randn(3, 6, size, dtype=torch.float64)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
def test_a_padded_batch_equals_one_by_one(core, direction):
    encoder = Encoder(3, 4, core=core, num_layers=2, direction=direction).double()
    x = vectors()
    states = encoder(x, LENGTHS)
    summary = encoder.summary(states, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        lone = torch.tensor([length])
        alone = encoder(x[row : row + 1, :length], lone)
        assert torch.allclose(alone[0], states[row, :length], **CLOSE)
        assert torch.allclose(encoder.summary(alone, lone)[0], summary[row], **CLOSE)


@pytest.mark.parametrize("kind, theirs", [("rnn", nn.RNN), ("lstm", nn.LSTM), ("gru", nn.GRU)])
def test_both_directions_of_two_layers_are_pytorchs(kind, theirs):
    network = theirs(3, 4, num_layers=2, bidirectional=True, batch_first=True).double()
    options = {"reset": "after"} if kind == "gru" else {}
    encoder = Encoder(3, 4, core=kind, num_layers=2, cell_options=options).double()
    for number, layer in enumerate(encoder.layers):
        for side, suffix in (("from_left", ""), ("from_right", "_reverse")):
            single = theirs(layer[side].input_size, 4, batch_first=True).double()
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                getattr(single, f"{name}_l0").data = getattr(network, f"{name}_l{number}{suffix}").data
            layer[side] = CELLS[kind].from_torch(single)
    x = vectors()
    packed, last = network(pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False))
    expected, _ = pad_packed_sequence(packed, batch_first=True)
    states, there = encoder(x, LENGTHS), torch.arange(6) < LENGTHS[:, None]
    assert torch.allclose(states[there], expected[there], **CLOSE)
    h = last[0] if kind == "lstm" else last
    assert torch.allclose(encoder.summary(states, LENGTHS), torch.cat([h[2], h[3]], dim=1), **CLOSE)


@pytest.mark.parametrize("direction, past, future", [("forward", 1, 0), ("backward", 0, 1), ("both", 1, 1)])
def test_each_direction_sees_its_side_of_the_sequence(direction, past, future):
    encoder = Encoder(3, 4, core="gru", direction=direction).double()
    x = vectors().requires_grad_()
    states = encoder(x, torch.full((3,), 6))
    (gradient,) = torch.autograd.grad(states[:, 3].sum(), x)
    seen = gradient.abs().sum(dim=(0, 2)) > 0
    assert seen.tolist() == [bool(past)] * 3 + [True] + [bool(future)] * 2


def test_a_layer_reads_all_that_the_one_below_says():
    encoder, x = Encoder(3, 4, num_layers=3).double(), vectors()
    outputs = encoder.all_layers(x, LENGTHS)
    for layer, below, above in zip(encoder.layers, [x, *outputs], outputs, strict=False):
        sides = [read_from(side, layer[side], below, LENGTHS) for side in encoder.sides]
        assert torch.equal(above, torch.cat(sides, dim=2))


def test_a_residual_language_model_adds_what_each_layer_reads_and_carries_its_state():
    model = ResidualLM(7, hidden_size=8, num_layers=3, core="gru", dropout=0.1).double().eval()
    tokens = torch.randint(7, (2, 6))
    logits, state = model(tokens)
    x, parts = model.embed(tokens), []
    for number, layer in enumerate(model.core.layers):
        states, last = unroll(layer, x)
        x = x + states if number else states
        parts.append(last)
    assert torch.allclose(model.output(x), logits, **CLOSE)
    assert all(torch.allclose(*pair, **CLOSE) for pair in zip(parts, state, strict=True))
    first, state = model(tokens[:, :4])
    second, _ = model(tokens[:, 4:], state)
    assert torch.allclose(torch.cat([first, second], dim=1), logits, **CLOSE)
    plain = LanguageModel(7, hidden_size=8, num_layers=3, core="gru")
    assert sum(w.numel() for w in model.parameters()) == sum(w.numel() for w in plain.parameters())


# Taggers


def taggers():
    return {
        "forward": Tagger(9, 4, hidden_size=5, direction="forward"),
        "both": Tagger(9, 4, hidden_size=5, num_layers=2, direction="both"),
    }


@pytest.mark.parametrize("name", taggers())
def test_a_tagger_gives_each_word_a_tag_whatever_the_pads(name):
    tagger = taggers()[name].double()
    rows = [torch.randint(9, (n,)) for n in (6, 1, 4)]
    batch = pad_tagged([(row, row % 4) for row in rows], pad=8)
    logits = tagger(batch.inputs, batch.lengths)
    nats = 0.0
    for row, sentence in enumerate(rows):
        alone = tagger(sentence[None], torch.tensor([len(sentence)]))
        assert torch.allclose(alone[0], logits[row, : len(sentence)], **CLOSE)
        nats += nn.functional.cross_entropy(alone[0], sentence % 4, reduction="sum").item()
    assert tagger.loss(batch).item() == pytest.approx(nats / 11)
    assert [row.tolist() for row in tagger.tags(batch)] == [
        logits[row, :n].argmax(dim=1).tolist() for row, n in enumerate((6, 1, 4))
    ]
    assert tagger.training  # as it was


@pytest.mark.parametrize("name", taggers())
def test_what_is_no_sentence_is_refused(name):
    tagger = taggers()[name]
    with pytest.raises(ValueError, match="lengths run from 0 to 2; a row has 1 to 2"):
        tagger(torch.zeros(2, 2, dtype=torch.long), torch.tensor([0, 2]))
    with pytest.raises(ValueError, match=r"lengths are torch.int64 and have shape \(3,\)"):
        tagger(torch.zeros(2, 2, dtype=torch.long), torch.tensor([1, 2, 2]))
    with pytest.raises(ValueError, match="run from 0 to 9; symbols are numbered 0 to 8"):
        tagger(torch.tensor([[0, 9]]), torch.tensor([2]))


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Encoder(3, 4, direction="up"), "direction is 'up'; it can be one of forward, backward, both"),
        (lambda: Encoder(3, 4, core="elman"), "core is 'elman'"),
        (lambda: Encoder(3, 4, num_layers=0), "num_layers is 0"),
        (lambda: ResidualLM(5, num_layers=1), "num_layers is 1; a residual connection needs 2"),
        (lambda: ResidualLM(5, core="torch-gru"), "core is 'torch-gru'; residual connections"),
    ],
)
def test_what_cannot_be_made_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
