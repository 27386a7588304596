"""Sentences in a padded batch give what each gives alone: the loss, the last state, the reverse direction."""

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from unrolled.cells import CELLS, unroll
from unrolled.cells.twin import WEIGHTS
from unrolled.models import LanguageModel
from unrolled.text import Sentences, backwards, last_states, masked_loss

START, PAD, V = 7, 8, 9  # the sentences are made of 0 … 6


@pytest.fixture
def batch():
    """Return eight sentences of 2 to 12 symbols, of which some, but not all, are as long as the batch."""
    torch.manual_seed(0)
    sentences = [torch.randint(7, (length,)) for length in torch.randint(2, 13, (8,)).tolist()]
    (batch,) = Sentences(sentences, 8, pad=PAD, start=START).epoch(seed=0)
    assert 0 < (batch.lengths == batch.inputs.shape[1]).sum() < len(batch.lengths)
    return batch


def test_the_masked_loss_teaches_nothing_about_pads(batch):
    model = LanguageModel(V, hidden_size=6)
    masked_loss(model(batch.inputs)[0], batch.targets, batch.mask).backward()
    gradient = model.embedding.weight.grad
    assert not gradient[PAD].any() and gradient[START].any()


def test_a_loss_names_what_does_not_fit(batch):
    logits = torch.zeros(*batch.targets.shape, V)
    with pytest.raises(ValueError, match=r"mask \(8,\); \(batch, time, vocab_size\) and twice"):
        masked_loss(logits, batch.targets, batch.mask[:, 0])
    with pytest.raises(ValueError, match="the mask is False everywhere"):
        masked_loss(logits, batch.targets, torch.zeros_like(batch.mask))


@torch.no_grad()
@pytest.mark.parametrize("kind", CELLS)
def test_the_last_state_is_the_one_after_the_sentence_and_not_at_a_pad(kind, batch):
    model = LanguageModel(V, core=kind, hidden_size=6).double()
    states, _ = model.hidden_states(batch.inputs)
    last = last_states(states, batch.lengths)
    for row, length in enumerate(batch.lengths.tolist()):
        alone, _ = model.hidden_states(batch.inputs[row : row + 1, :length])
        assert torch.allclose(last[row], alone[0, -1], atol=1e-12)
        assert length == states.shape[1] or not torch.allclose(last[row], states[row, -1], atol=1e-3)


@torch.no_grad()
@pytest.mark.parametrize("kind", CELLS)
def test_the_reverse_direction_begins_at_the_end_of_the_sentence_and_not_at_a_pad(kind, batch):
    cell = CELLS[kind](4, 6).double()
    vectors = torch.randn(V, 4, dtype=torch.float64)[batch.inputs]
    states = backwards(unroll(cell, backwards(vectors, batch.lengths))[0], batch.lengths)
    for row, length in enumerate(batch.lengths.tolist()):
        alone, _ = unroll(cell, vectors[row : row + 1, :length].flip(1))
        assert torch.allclose(states[row, :length], alone[0].flip(0), atol=1e-12)


def test_rows_are_read_backwards_up_to_their_lengths():
    rows, lengths = torch.tensor([[5, 6, 9, 4], [7, 9, PAD, PAD], [3, PAD, PAD, PAD]]), torch.tensor([4, 2, 1])
    reverse = backwards(rows, lengths)
    assert reverse.tolist() == [[4, 9, 6, 5], [9, 7, PAD, PAD], [3, PAD, PAD, PAD]]
    assert torch.equal(backwards(reverse, lengths), rows)
    vectors = torch.randn(10, 2)
    assert torch.equal(backwards(vectors[rows], lengths), vectors[reverse])


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
def test_packed_sentences_through_torchs_layers_equal_masked_ones_through_ours(kind, batch):
    options = {"reset": "after"} if kind == "gru" else {}
    forward, reverse = (CELLS[kind](4, 6, **options).double() for _ in range(2))
    module = CELLS[kind].torch_layer(4, 6, batch_first=True, bidirectional=True, dtype=torch.float64)
    for cell, suffix in ((forward, "_l0"), (reverse, "_l0_reverse")):
        for name, weight in zip(WEIGHTS, cell.torch_weights(), strict=True):
            getattr(module, name + suffix).data.copy_(weight)
    embedding, weigh = torch.randn(V, 4, dtype=torch.float64), torch.randn(12, dtype=torch.float64)
    results = []
    for packed in (False, True):
        vectors = embedding[batch.inputs].requires_grad_()
        if packed:
            output, last = module(pack_padded_sequence(vectors, batch.lengths, batch_first=True, enforce_sorted=False))
            states, lengths = pad_packed_sequence(output, batch_first=True)
            assert torch.equal(lengths, batch.lengths)
            ends = torch.cat(tuple(last[0] if kind == "lstm" else last), dim=1)  # (batch, 2 · hidden)
        else:
            right, left = unroll(forward, vectors)[0], unroll(reverse, backwards(vectors, batch.lengths))[0]
            states = torch.cat([right, backwards(left, batch.lengths)], dim=2)
            ends = torch.cat([last_states(right, batch.lengths), last_states(left, batch.lengths)], dim=1)
        states = states * batch.mask[..., None]
        (gradient,) = torch.autograd.grad((states @ weigh).square().sum() + ends.sum(), vectors)
        results.append((states, ends, gradient))
    for ours, theirs in zip(*results, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-10)
    assert not gradient[~batch.mask].any()  # nothing flows into a pad
