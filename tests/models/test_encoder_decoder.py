"""Encoder–decoders: padding changes nothing, the state is carried, beams serve them, and errors."""

import pytest
import torch

from unrolled.decoding import translate
from unrolled.models import EncoderDecoder
from unrolled.text import pad_pairs
from unrolled.text.pairs import PairBatch

KINDS = {
    "plain": {},
    "additive": {"attention": "additive", "direction": "both"},
    "dot": {"attention": "dot", "core": "gru", "direction": "backward"},
    "scaled": {"attention": "scaled", "core": "torch-lstm", "num_layers": 2, "direction": "both"},
    "deep": {"num_layers": 2, "core": "gru"},
    "rnn": {"core": "rnn", "num_layers": 3},
}
CLOSE = {"rtol": 0, "atol": 1e-10}


@pytest.fixture(params=KINDS)
def model(request):
    torch.manual_seed(0)
    return EncoderDecoder(7, 9, embedding_size=4, hidden_size=5, **KINDS[request.param]).double()


@pytest.fixture
def pairs():
    generator = torch.Generator().manual_seed(1)
    sizes = [(6, 3), (1, 5), (4, 1)]
    return [
        (torch.randint(7, (n,), generator=generator), torch.randint(2, 9, (m,), generator=generator)) for n, m in sizes
    ]


def test_a_padded_batch_equals_one_by_one(model, pairs):
    batch = pad_pairs(pairs, start=0, pad=3)
    logits, _ = model(batch.inputs, model.encode(batch.sources, batch.lengths))
    nats = 0.0
    for row, pair in enumerate(pairs):
        alone = pad_pairs([pair], start=0)
        own, _ = model(alone.inputs, model.encode(alone.sources, alone.lengths))
        m = len(pair[1])
        assert torch.allclose(own[0], logits[row, :m], **CLOSE)
        nats += model.loss(alone).item() * m
        costs, _ = model.costs(alone.inputs, alone.targets, model.encode(alone.sources, alone.lengths))
        assert costs.mean().item() == pytest.approx(model.loss(alone).item())
    assert model.loss(batch).item() == pytest.approx(nats / 9)


def test_reading_the_target_in_pieces_with_the_state_carried_is_the_same(model, pairs):
    batch = pad_pairs(pairs, start=0)
    state = model.encode(batch.sources, batch.lengths)
    logits, _ = model(batch.inputs, state)
    first, state = model(batch.inputs[:, :2], state)
    second, _ = model(batch.inputs[:, 2:], state)
    assert torch.allclose(torch.cat([first, second], dim=1), logits, **CLOSE)


def test_every_symbol_of_the_source_matters_and_no_pad(model, pairs):
    batch = pad_pairs(pairs, start=0)
    before, _ = model(batch.inputs, model.encode(batch.sources, batch.lengths))
    for place in range(6):
        sources = batch.sources.clone()
        sources[:, place] = (sources[:, place] + 1) % 7
        after, _ = model(batch.inputs, model.encode(sources, batch.lengths))
        changed = (after - before).abs().flatten(1).max(dim=1).values > 1e-12
        assert changed.tolist() == (place < batch.lengths).tolist()


def test_all_weights_get_a_gradient(model, pairs):
    model.loss(pad_pairs(pairs, start=0)).backward()
    idle = [name for name, weight in model.named_parameters() if weight.requires_grad and not weight.grad.any()]
    assert not idle
    assert model.bridge.weight.grad.any(dim=1).all()  # every part of the state of every layer


@pytest.mark.parametrize("width", [1, 2, 4])
def test_the_beam_decodes_each_source_as_it_would_alone(model, pairs, width):
    batch = pad_pairs(pairs, start=0)
    options = {"start": 0, "stop": 1, "length": 5, "width": width}
    hypotheses = translate(model, batch.sources, batch.lengths, **options)
    for row, (source, _) in enumerate(pairs):
        (alone,) = translate(model, source[None], torch.tensor([len(source)]), **options)
        assert alone.tokens.tolist() == hypotheses[row].tokens.tolist()
        assert alone.score == pytest.approx(hypotheses[row].score)
        cost = model.loss(pad_pairs([(source, alone.tokens)], start=0)).item()
        assert alone.score == pytest.approx(-cost)  # α = 1: the mean over the symbols
    assert model.training  # as it was


def test_alignments_are_weights_over_the_symbols_of_the_source(pairs):
    model = EncoderDecoder(7, 9, hidden_size=5, attention="scaled", dropout=0.3)
    alignments = model.alignments(pad_pairs(pairs, start=0))
    assert [tuple(weights.shape) for weights in alignments] == [(3, 6), (5, 1), (1, 4)]
    assert (
        all(torch.allclose(weights.sum(dim=1), torch.ones(len(weights))) for weights in alignments) and model.training
    )
    with pytest.raises(ValueError, match="the model has no attention, so nothing is aligned"):
        EncoderDecoder(7, 9, hidden_size=5).alignments(pad_pairs(pairs, start=0))


def test_what_does_not_fit_is_named(model, pairs):
    batch = pad_pairs(pairs, start=0)
    state = model.encode(batch.sources, batch.lengths)
    with pytest.raises(ValueError, match="begins with the state that encode"):
        model(batch.inputs)
    with pytest.raises(ValueError, match="lengths run from 0 to 4"):
        model.encode(batch.sources, torch.tensor([0, 1, 4]))
    with pytest.raises(ValueError, match="sources run from 0 to 7; symbols are numbered 0 to 6"):
        model.encode(torch.full((3, 6), 7).tril(), batch.lengths)
    with pytest.raises(ValueError, match="tokens run from 0 to 9; symbols are numbered 0 to 8"):
        model(torch.tensor([[0, 9]] * 3), state)
    with pytest.raises(ValueError, match=r"axis 0 \(batch\) is 3 and should be 2"):
        model(batch.inputs[:2], state)
    mismatched = PairBatch(batch.sources[:2], batch.lengths[:2], *batch[2:])
    with pytest.raises(ValueError, match=r"axis 0 \(batch\) is 2 and should be 3"):
        model.loss(mismatched)
    with pytest.raises(ValueError, match="the mask is False everywhere"):
        model.loss(batch._replace(mask=torch.zeros_like(batch.mask)))


def test_a_memory_of_another_batch_is_refused():
    torch.manual_seed(0)
    model = EncoderDecoder(5, 5, hidden_size=4, embedding_size=4, attention="dot")
    before, memory, allowed = model.encode(torch.tensor([[1, 2], [3, 4]]), torch.tensor([2, 2]))
    with pytest.raises(ValueError, match="the tokens have 2 rows and the memory of the sources 1"):
        model(torch.tensor([[0], [0]]), (before, memory[:1], allowed[:1]))


def test_attention_needs_a_memory():
    model = EncoderDecoder(7, 9, hidden_size=5, attention="dot")
    with pytest.raises(ValueError, match="the state has no memory of a source"):
        model(torch.zeros(1, 1, dtype=torch.long), torch.zeros(1, 5))
