"""Contiguous streams, and sentences in padded batches, in which no pad counts."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from unrolled.models import LanguageModel
from unrolled.text import Sentences, Streams, backwards, last_states, masked_loss

START, PAD, SYMBOLS = 7, 8, 9  # what the sentences below are made of: 0 … 6
LISTS = st.lists(st.lists(st.integers(0, 6), min_size=2, max_size=12), min_size=1, max_size=30)
GOOD = torch.tensor([1, 2])
LOGITS, TARGETS, MASK = torch.zeros(1, 3, 4), torch.tensor([[0, 1, -100]]), torch.tensor([[True, True, False]])


def drawn(count, longest=20):
    """Return sentences of 2 to `longest` symbols, always the same ones."""
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(2, longest + 1, (count,), generator=generator).tolist()
    return [torch.randint(7, (length,), generator=generator) for length in lengths]


@given(st.integers(2, 400), st.integers(1, 8), st.integers(1, 20))
def test_streams_are_contiguous_and_targets_are_one_ahead(length, batch, seq_len):
    if (length - 1) // batch < seq_len:
        with pytest.raises(ValueError, match=f"seq_len is {seq_len}, but {length} symbols"):
            Streams(torch.arange(length), batch, seq_len)
        return
    streams = Streams(torch.arange(length), batch, seq_len)
    windows = [streams.window(update) for update in range(len(streams))]
    for row in range(batch):
        read = torch.cat([window.inputs[row] for window in windows])
        assert torch.equal(read, torch.arange(len(read)) + row * ((length - 1) // batch))  # no gap between windows
    assert all(torch.equal(window.targets, window.inputs + 1) for window in windows)
    assert [window.fresh for window in windows] == [True] + [False] * (len(windows) - 1)
    again = streams.window(len(streams))
    assert again.fresh and torch.equal(again.inputs, windows[0].inputs)  # the streams begin again


@given(LISTS, st.integers(1, 8), st.sampled_from([None, START]), st.integers(0, 2**32))
def test_every_sentence_comes_once_and_the_mask_says_what_it_is(lists, batch, start, seed):
    sentences = Sentences([torch.tensor(numbers) for numbers in lists], batch, pad=PAD, start=start)
    batches = list(sentences.epoch(seed))
    sizes = sorted(len(each.lengths) for each in batches)
    assert len(batches) == len(sentences) and sizes[1:] == [batch] * (len(batches) - 1)  # one may be smaller
    seen, pads, targets = [], 0, 0
    for each in batches:
        assert torch.equal(each.mask.sum(dim=1), each.lengths)
        assert int(each.lengths.max()) == each.mask.shape[1]  # no column of nothing but pads
        assert torch.equal(each.mask, each.targets != PAD) and torch.equal(each.mask, each.inputs != PAD)
        pads, targets = pads + int((~each.mask).sum()), targets + each.mask.numel()
        for inputs, outputs, length in zip(each.inputs, each.targets, each.lengths, strict=True):
            assert torch.equal(inputs[1:length], outputs[: length - 1])
            assert start is None or inputs[0] == start
            seen.append([*inputs[: int(start is None)].tolist(), *outputs[:length].tolist()])
    assert sorted(seen) == sorted(lists)
    assert sentences.padding == pytest.approx(pads / targets, abs=1e-12)


@pytest.mark.parametrize("start", [None, START])
@pytest.mark.parametrize("pad", [PAD, 0])  # a number of its own, and one that the sentences use too
def test_the_masked_loss_is_that_of_the_sentences_one_by_one_and_teaches_nothing_about_pads(start, pad):
    torch.manual_seed(0)
    model = LanguageModel(SYMBOLS, embedding_size=4, hidden_size=6).double()
    sentences = drawn(50)
    one_by_one = masked = 0.0
    for sentence in sentences:
        read = sentence if start is None else torch.cat([torch.tensor([start]), sentence])
        one_by_one += cross_entropy(model(read[None, :-1])[0][0], read[1:], reduction="sum").item()
    for batch in Sentences(sentences, 8, pad=pad, start=start).epoch(seed=3):
        loss = masked_loss(model(batch.inputs)[0], batch.targets, batch.mask)
        masked += (loss * batch.mask.sum()).item()
        loss.backward()
    assert masked == pytest.approx(one_by_one, abs=1e-5)
    assert pad == 0 or not model.embedding.weight.grad[PAD].any()


def test_rows_are_read_backwards_and_at_their_ends_up_to_their_lengths():
    rows, lengths = torch.tensor([[5, 6, 9, 4], [7, 9, PAD, PAD], [3, PAD, PAD, PAD]]), torch.tensor([4, 2, 1])
    reverse = backwards(rows, lengths)
    assert reverse.tolist() == [[4, 9, 6, 5], [9, 7, PAD, PAD], [3, PAD, PAD, PAD]]
    assert torch.equal(backwards(reverse, lengths), rows)
    vectors = torch.randn(10, 2)
    assert torch.equal(backwards(vectors[rows], lengths), vectors[reverse])
    assert torch.equal(last_states(vectors[rows], lengths), vectors[[4, 9, 3]])


def test_similar_lengths_share_a_batch_and_a_seed_decides_the_order():
    sentences = Sentences(drawn(1000), 32, pad=PAD)
    assert 0 < sentences.padding < 0.05  # in the order in which they come it is over 0.3
    epochs = [[batch.targets.tolist() for batch in sentences.epoch(seed)] for seed in (1, 1, 2)]
    assert epochs[0] == epochs[1] and sorted(epochs[0]) != sorted(epochs[2])  # other batches, not only another order
    longest = [len(batch[0]) for batch in epochs[0]]
    assert longest != sorted(longest)  # short and long batches are mixed


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: Streams(torch.zeros(2, 3).long(), 1, 1), r"tokens have shape \(2, 3\); one axis is expected"),
        (lambda: Streams(torch.arange(9), 0, 1), "batch is 0 and seq_len is 1; both must be 1 or more"),
        (lambda: Streams(torch.tensor([1, -100, 2]), 1, 1), "tokens run from -100 to 2; symbols are numbered from 0"),
        (lambda: Streams(torch.rand(9), 1, 1), "tokens are torch.float32; symbol numbers are integers"),
        (lambda: Sentences([], 2, pad=PAD), "batch is 2, for 0 sentences; both must be 1 or more"),
        (lambda: Sentences([GOOD], 0, pad=PAD), "batch is 0, for 1 sentences"),
        (lambda: Sentences([GOOD, GOOD[:0]], 2, pad=PAD), r"symbols of sentence 1 have shape \(0,\)"),
        (lambda: Sentences([GOOD, GOOD[1:]], 2, pad=PAD), "a sentence is one symbol, with nothing before it"),
        (lambda: Sentences(GOOD, 2, pad=PAD), r"symbols of sentence 0 have shape \(\); one axis"),
        (lambda: masked_loss(LOGITS, TARGETS, ~MASK | MASK), "targets run from -100 to 1; symbols are numbered 0 to 3"),
        (lambda: masked_loss(LOGITS, TARGETS, MASK[:, 0]), r"mask \(1,\); \(batch, time, vocab_size\) and twice"),
        (lambda: masked_loss(LOGITS, TARGETS, MASK & ~MASK), "the mask is False everywhere; a mean needs"),
        (lambda: masked_loss(LOGITS, TARGETS, MASK.int()), "mask is torch.int32; torch.bool is expected"),
        (lambda: last_states(torch.zeros(2, 3, 4), torch.tensor([3, 0])), "a length is 0; leave out rows without a"),
    ],
)
def test_what_makes_no_batch_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
