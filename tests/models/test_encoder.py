"""Encoders, taggers and encoder–decoders: every direction reads what it should and no pad, alone as in a batch."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from unrolled.cells import CELLS
from unrolled.models import Encoder, EncoderDecoder, Tagger
from unrolled.text import pad_pairs, pad_tagged

LENGTHS = torch.tensor([6, 1, 4])
CLOSE = {"rtol": 0, "atol": 1e-10}


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize("core", ["rnn", "torch-lstm", "delta"])
@pytest.mark.parametrize("direction, past, future", [("forward", 1, 0), ("backward", 0, 1), ("both", 1, 1)])
def test_a_padded_batch_equals_one_by_one_and_each_direction_sees_its_side(core, direction, past, future):
    encoder = Encoder(3, 4, core=core, num_layers=2, direction=direction).double()
    x = torch.randn(3, 6, 3, dtype=torch.float64, requires_grad=True)
    states = encoder(x, LENGTHS)
    summary = encoder.summary(states, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        lone = torch.tensor([length])
        alone = encoder(x[row : row + 1, :length], lone)
        assert torch.allclose(alone[0], states[row, :length], **CLOSE)
        assert torch.allclose(encoder.summary(alone, lone)[0], summary[row], **CLOSE)
    (gradient,) = torch.autograd.grad(states[0, 3].sum(), x)
    assert (gradient[0].abs().sum(dim=1) > 0).tolist() == [bool(past)] * 3 + [True] + [bool(future)] * 2


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
def test_both_directions_of_two_layers_are_pytorchs(kind):
    theirs = CELLS[kind].torch_layer
    network = theirs(3, 4, num_layers=2, bidirectional=True, batch_first=True).double()
    encoder = Encoder(3, 4, core=kind, num_layers=2).double()
    for number, layer in enumerate(encoder.layers):
        for side, suffix in (("from_left", ""), ("from_right", "_reverse")):
            single = theirs(layer[side].input_size, 4, batch_first=True).double()
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                getattr(single, f"{name}_l0").data = getattr(network, f"{name}_l{number}{suffix}").data
            layer[side] = CELLS[kind].from_torch(single)
    x = torch.randn(3, 6, 3, dtype=torch.float64)
    packed, last = network(pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False))
    expected, _ = pad_packed_sequence(packed, batch_first=True)
    states, there = encoder(x, LENGTHS), torch.arange(6) < LENGTHS[:, None]
    assert torch.allclose(states[there], expected[there], **CLOSE)
    h = last[0] if kind == "lstm" else last
    assert torch.allclose(encoder.summary(states, LENGTHS), torch.cat([h[2], h[3]], dim=1), **CLOSE)
    masked = Encoder(3, 4, core=kind, num_layers=2, dropout=0.5)
    assert not torch.equal(masked(x.float(), LENGTHS), masked(x.float(), LENGTHS))


def test_a_tagger_gives_each_word_a_tag_whatever_the_pads():
    tagger = Tagger(9, 4, hidden_size=5, num_layers=2).double()
    rows, nats = [torch.randint(9, (n,)) for n in (6, 1, 4)], 0.0
    batch = pad_tagged([(row, row % 4) for row in rows], pad=8)
    logits = tagger(batch.inputs, batch.lengths)
    for row, sentence in enumerate(rows):
        alone = tagger(sentence[None], torch.tensor([len(sentence)]))
        assert torch.allclose(alone[0], logits[row, : len(sentence)], **CLOSE)
        nats += nn.functional.cross_entropy(alone[0], sentence % 4, reduction="sum").item()
    assert tagger.loss(batch).item() == pytest.approx(nats / 11)
    right = [logits[row, :n].argmax(dim=1).tolist() for row, n in enumerate((6, 1, 4))]
    assert [row.tolist() for row in tagger.tags(batch)] == right and tagger.training  # as it was


PAIRS = [(torch.arange(n) % 7, 2 + torch.arange(m) % 7) for n, m in ((6, 3), (1, 5), (4, 1))]
KINDS = {
    "plain": {},
    "additive": {"attention": "additive", "direction": "both"},
    "dot": {"attention": "dot", "core": "gru", "direction": "backward"},
    "scaled": {"attention": "scaled", "core": "torch-lstm", "num_layers": 2, "direction": "both"},
    "deep": {"num_layers": 2, "core": "gru"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_encoder_decoder_reads_each_source_to_its_end_and_the_target_in_pieces(kind):
    model, nats = EncoderDecoder(7, 9, embedding_size=4, hidden_size=5, **KINDS[kind]).double(), 0.0
    batch = pad_pairs(PAIRS, start=0, pad=3)
    logits, _ = model(batch.inputs, model.encode(batch.sources, batch.lengths))
    for row, pair in enumerate(PAIRS):
        alone = pad_pairs([pair], start=0)
        own, _ = model(alone.inputs, model.encode(alone.sources, alone.lengths))
        assert torch.allclose(own[0], logits[row, : len(pair[1])], **CLOSE)
        costs, _ = model.costs(alone.inputs, alone.targets, model.encode(alone.sources, alone.lengths))
        assert costs.mean().item() == pytest.approx(model.loss(alone).item())
        nats += costs.sum().item()
    assert model.loss(batch).item() == pytest.approx(nats / 9)
    first, state = model(batch.inputs[:, :2], model.encode(batch.sources, batch.lengths))
    second, _ = model(batch.inputs[:, 2:], state)
    assert torch.allclose(torch.cat([first, second], dim=1), logits, **CLOSE)
    for place in range(6):
        sources = batch.sources.clone()
        sources[:, place] = (sources[:, place] + 1) % 7
        after, _ = model(batch.inputs, model.encode(sources, batch.lengths))
        changed = (after - logits).abs().flatten(1).max(dim=1).values > 1e-12
        assert changed.tolist() == (place < batch.lengths).tolist()
    model.loss(batch).backward()
    assert all(weight.grad.any() for weight in model.parameters() if weight.requires_grad)
    assert model.bridge.weight.grad.any(dim=1).all()  # every part of the state of every layer


def test_the_decoder_begins_with_the_bridge_and_attends_after_its_step():
    model = EncoderDecoder(7, 9, embedding_size=4, hidden_size=5, core="gru", attention="dot").double()
    batch = pad_pairs(PAIRS[:1], start=0)
    memory = model.encoder(model.source_embedding(batch.sources), batch.lengths)[0]  # (n, hidden)
    s = torch.tanh(model.bridge.weight @ memory[-1] + model.bridge.bias)
    logits, _ = model(batch.inputs, model.encode(batch.sources, batch.lengths))
    for t, number in enumerate(batch.inputs[0]):
        s = model.core.layers[0](model.embedding.weight[number][None], s[None])[0]
        alpha = torch.softmax((model.score.query.weight @ s) @ (model.score.key.weight @ memory.T), dim=0)
        answer = torch.tanh(model.combine.weight @ torch.cat([alpha @ memory, s]) + model.combine.bias)
        assert torch.allclose(logits[0, t], model.output.weight @ answer + model.output.bias, **CLOSE)


TOKENS = torch.tensor([[0, 1]])


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: Encoder(3, 4, direction="up"), "direction is 'up'; it can be one of forward, backward, both"),
        (lambda: Encoder(3, 4, num_layers=0), "num_layers is 0"),
        (lambda: Tagger(9, 4)(TOKENS, torch.tensor([0])), "lengths run from 0 to 0; a row has 1 to 2"),
        (lambda: Tagger(9, 4)(TOKENS, torch.tensor([1, 2])), "and there are 1 rows"),
        (lambda: Tagger(9, 4)(9 * TOKENS, torch.tensor([2])), "run from 0 to 9; symbols are numbered 0 to 8"),
        (lambda: EncoderDecoder(3, 3, attention="cosine"), "attention is 'cosine'; it can be one of additive, dot"),
        (lambda: EncoderDecoder(3, 3)(TOKENS), "begins with what encode"),
        (lambda: EncoderDecoder(3, 9).encode(3 * TOKENS, torch.tensor([2])), "sources run from 0 to 3; symbols"),
    ],
)
def test_bad_input_is_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()
