"""Contiguous streams, and sentences in padded batches, in which no pad counts."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from unrolled.models import LanguageModel
from unrolled.text import Sentences, Streams, backwards, last_states, masked_loss

START, PAD, SYMBOLS = 7, 8, 9  # what the sentences below are made of: 0 … 6
LISTS = st.lists(st.lists(st.integers(0, 6), min_size=2, max_size=12), min_size=1, max_size=30)


def tensors(lists):
    return [torch.tensor(numbers, dtype=torch.int64) for numbers in lists]


def drawn(count, longest=20):
    """Return sentences of 2 to `longest` symbols, always the same ones."""
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(2, longest + 1, (count,), generator=generator).tolist()
    return [torch.randint(7, (length,), generator=generator) for length in lengths]


@given(st.integers(2, 400), st.integers(1, 8), st.integers(1, 20))
def test_streams_are_contiguous_and_targets_are_one_ahead(length, batch, seq_len):
    tokens = torch.arange(length)
    if (length - 1) // batch < seq_len:
        with pytest.raises(ValueError, match=f"seq_len is {seq_len}, but {length} symbols"):
            Streams(tokens, batch, seq_len)
        return
    streams = Streams(tokens, batch, seq_len)
    windows = [streams.window(update) for update in range(len(streams))]
    for row in range(batch):
        read = torch.cat([window.inputs[row] for window in windows])
        assert torch.equal(read, torch.arange(len(read)) + int(read[0]))  # no gap between windows
    assert all(torch.equal(window.targets, window.inputs + 1) for window in windows)
    seen = torch.cat([window.inputs.flatten() for window in windows])
    assert len(seen) == len(set(seen.tolist()))  # nothing is read twice
    assert [window.fresh for window in windows] == [True] + [False] * (len(windows) - 1)
    again = streams.window(len(streams))
    assert again.fresh and torch.equal(again.inputs, windows[0].inputs)  # the streams begin again


def test_bad_shapes_are_named():
    with pytest.raises(ValueError, match=r"tokens have shape \(2, 3\)"):
        Streams(torch.zeros(2, 3, dtype=torch.long), 1, 1)
    with pytest.raises(ValueError, match="batch is 0"):
        Streams(torch.arange(9), 0, 1)


@given(LISTS, st.integers(1, 8), st.sampled_from([None, START]), st.integers(0, 2**32))
def test_every_sentence_comes_once_and_the_mask_says_what_it_is(lists, batch, start, seed):
    sentences = Sentences(tensors(lists), batch, pad=PAD, start=start)
    batches = list(sentences.epoch(seed))
    assert len(batches) == len(sentences)
    sizes = sorted(len(each.lengths) for each in batches)
    assert sizes[1:] == [batch] * (len(batches) - 1) and 1 <= sizes[0] <= batch  # one may be smaller
    seen, pads, targets = [], 0, 0
    for each in batches:
        assert each.inputs.shape == each.targets.shape == each.mask.shape and each.mask.dtype == torch.bool
        assert each.inputs.dtype == each.targets.dtype == each.lengths.dtype == torch.int64
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


@torch.no_grad()
@pytest.mark.parametrize("start", [None, START])
@pytest.mark.parametrize("pad", [PAD, 0])  # a number of its own, and one that the sentences use too
def test_the_masked_loss_is_that_of_the_sentences_one_by_one(start, pad):
    torch.manual_seed(0)
    model = LanguageModel(SYMBOLS, embedding_size=4, hidden_size=6).double()
    sentences = drawn(50)
    one_by_one = 0.0
    for sentence in sentences:
        read = sentence if start is None else torch.cat([torch.tensor([start]), sentence])
        one_by_one += float(cross_entropy(model(read[None, :-1])[0][0], read[1:], reduction="sum"))
    masked = with_pads = 0.0
    for batch in Sentences(sentences, 8, pad=pad, start=start).epoch(seed=3):
        logits, _ = model(batch.inputs)
        masked += float(masked_loss(logits, batch.targets, batch.mask) * batch.mask.sum())
        with_pads += float(cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), reduction="sum"))
    assert abs(masked - one_by_one) < 1e-5
    assert abs(with_pads - one_by_one) > 1


def test_the_masked_loss_teaches_nothing_about_pads():
    (batch,) = Sentences(drawn(8), 8, pad=PAD, start=START).epoch(seed=0)
    model = LanguageModel(SYMBOLS, hidden_size=6)
    masked_loss(model(batch.inputs)[0], batch.targets, batch.mask).backward()
    gradient = model.embedding.weight.grad
    assert not gradient[PAD].any() and gradient[START].any()


def test_rows_are_read_backwards_and_at_their_ends_up_to_their_lengths():
    rows, lengths = torch.tensor([[5, 6, 9, 4], [7, 9, PAD, PAD], [3, PAD, PAD, PAD]]), torch.tensor([4, 2, 1])
    reverse = backwards(rows, lengths)
    assert reverse.tolist() == [[4, 9, 6, 5], [9, 7, PAD, PAD], [3, PAD, PAD, PAD]]
    assert torch.equal(backwards(reverse, lengths), rows)
    vectors = torch.randn(10, 2)
    assert torch.equal(backwards(vectors[rows], lengths), vectors[reverse])
    assert torch.equal(last_states(vectors[rows], lengths), vectors[[4, 9, 3]])


def test_similar_lengths_share_a_batch():
    lists = drawn(1000)
    sentences = Sentences(lists, 32, pad=PAD)
    lengths = torch.tensor([len(sentence) - 1 for sentence in lists])
    as_they_come = 1 - int(lengths.sum()) / sum(len(some) * int(some.max()) for some in lengths.split(32))
    assert 0 < sentences.padding < 0.05 < 0.3 < as_they_come
    assert Sentences(lists, 1, pad=PAD).padding == 0
    longest = [int(batch.lengths.max()) for batch in sentences.epoch(seed=0)]
    assert longest != sorted(longest)  # short and long batches are mixed


def test_a_seed_decides_the_epoch():
    sentences = Sentences(drawn(100), 8, pad=PAD, start=START)

    def epoch(seed):
        return [[part.tolist() for part in batch] for batch in sentences.epoch(seed)]

    assert epoch(1) == epoch(1) != epoch(2)
    companions = [{str(row) for row in batch.targets.tolist()} for batch in sentences.epoch(1)]
    assert any({str(row) for row in batch.targets.tolist()} not in companions for batch in sentences.epoch(2))


def test_sentences_that_make_no_batch_are_named():
    good = torch.tensor([1, 2])
    with pytest.raises(ValueError, match="there are no sentences"):
        Sentences([], 2, pad=PAD)
    with pytest.raises(ValueError, match="sentence 1 is empty; leave it out"):
        Sentences([good, good[:0]], 2, pad=PAD, start=START)
    with pytest.raises(ValueError, match="sentence 1 is the single symbol 2, .* give a start"):
        Sentences([good, good[1:]], 2, pad=PAD)
    assert len(Sentences([good, good[1:]], 2, pad=PAD, start=START)) == 1
    for batch in (0, -1):
        with pytest.raises(ValueError, match=f"batch is {batch}; it must be 1 or more"):
            Sentences([good], batch, pad=PAD)
    with pytest.raises(ValueError, match=r"sentence 1 have shape \(1, 2\); one axis is expected"):
        Sentences([good, good[None]], 2, pad=PAD)
    with pytest.raises(ValueError, match=r"sentence 0 have shape \(\); one axis"):
        Sentences(good, 2, pad=PAD)  # the symbols of one sentence, where a list of sentences should be
    for pad, start in ((-100, None), (0, -1)):
        with pytest.raises(ValueError, match=f"pad is {pad} and start is {start}; the model reads both"):
            Sentences([good], 2, pad=pad, start=start)
    for wrong in (torch.tensor([1, -100]), torch.tensor([1.0, 2.0])):
        with pytest.raises(ValueError, match="of sentence 1 (run from -100 to 1|are torch.float32); symbol"):
            Sentences([good, wrong], 2, pad=PAD)
        with pytest.raises(ValueError, match="tokens (run from -100 to 1|are torch.float32); symbol"):
            Streams(wrong.repeat(4), 2, 1)
    (batch,) = Sentences([good.int()], 2, pad=PAD).epoch(seed=0)
    assert {part.dtype for part in (*batch[:2], *Streams(good.int(), 1, 1).window(0)[:2])} == {torch.int64}


def test_a_masked_loss_of_what_does_not_count_or_cannot_is_refused():
    logits, targets, mask = torch.zeros(1, 3, 4), torch.tensor([[0, 1, -100]]), torch.tensor([[True, True, False]])
    assert masked_loss(logits, targets, mask) == pytest.approx(math.log(4))
    with pytest.raises(ValueError, match="targets run from -100 to 1; symbols are numbered 0 to 3"):
        masked_loss(logits, targets, ~mask | mask)
    with pytest.raises(ValueError, match="targets are torch.float32; symbol numbers are integers"):
        masked_loss(logits, targets.float(), mask)
    with pytest.raises(ValueError, match=r"mask \(1,\); \(batch, time, vocab_size\) and twice"):
        masked_loss(logits, targets, mask[:, 0])
    with pytest.raises(ValueError, match="the mask is False everywhere"):
        masked_loss(logits, targets, mask & ~mask)
    for dtype in (torch.int64, torch.uint8, torch.float32):
        with pytest.raises(ValueError, match=rf"mask is {dtype}; torch.bool is expected: use mask.bool\(\)"):
            masked_loss(logits, targets, mask.to(dtype))
